/*
 * base/arena: blocks of growing size, newest first. A large allocation gets its own block, placed
 * after the newest one, so that the room left there is still used.
 */
#include "base/arena.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { BLOCK_FIRST = 1024, BLOCKS_SMALL = 4, BLOCK_MOST = 64 * 1024 };
enum { TEXT_SHORT = 32 }; /* bytes of a text that is copied without a call */

struct arena_block {
    struct arena_block *older;
    size_t size; /* with this header */
    _Alignas(max_align_t) char bytes[];
};

void arena_init(struct arena *arena, size_t cap)
{
    *arena = (struct arena){ .cap = cap };
}

static void blocks_free(const struct arena *arena, struct arena_block *block)
{
    while (block) {
        struct arena_block *older = block->older;
        ARENA_GIVE(block->bytes, block->size - sizeof(*block));
        if (arena->wiped)
            explicit_bzero(block->bytes, block->size - sizeof(*block));
        mem_free_sized(block, block->size);
        block = older;
    }
}

void arena_finish(struct arena *arena)
{
    blocks_free(arena, arena->blocks);
    *arena = (struct arena){ .cap = arena->cap, .wiped = arena->wiped };
}

void arena_reset(struct arena *arena)
{
    struct arena_block *keep = arena->blocks;

    arena->exhausted = false;
    if (!keep)
        return;
    if (keep->size > BLOCK_MOST) { /* one large message must not cost memory for ever */
        arena_finish(arena);
        return;
    }
    blocks_free(arena, keep->older);
    if (arena->wiped) {
        ARENA_GIVE(keep->bytes, keep->size - sizeof(*keep));
        explicit_bzero(keep->bytes, keep->size - sizeof(*keep));
    }
    keep->older = NULL;
    arena->used = keep->size;
    arena->next = keep->bytes;
    arena->end = (char *)keep + keep->size;
    ARENA_KEEP(keep->bytes, keep->size - sizeof(*keep));
}

static struct arena_block *block_add(struct arena *arena, size_t size)
{
    if (size > arena->cap - arena->used) {
        arena->exhausted = true;
        return NULL;
    }
    struct arena_block *block = mem_alloc(size);
    block->size = size;
    arena->used += size;
    ARENA_KEEP(block->bytes, size - sizeof(*block));
    return block;
}

static void *block_give(struct arena_block *block, size_t size, size_t align)
{
    uintptr_t start = (uintptr_t)block->bytes;
    char *p = block->bytes + (((start + align - 1) & ~(uintptr_t)(align - 1)) - start);

    (void)size; /* used under AddressSanitizer only */
    ARENA_GIVE(p, size);
    return p;
}

/* Small blocks first, which the C library takes from a cache; then ever larger ones. */
static size_t usual_size(const struct arena *arena)
{
    if (arena->used < BLOCKS_SMALL * BLOCK_FIRST)
        return BLOCK_FIRST;
    size_t twice = arena->blocks->size * 2;
    if (twice < 2 * BLOCK_FIRST)
        twice = 2 * BLOCK_FIRST;
    return twice < BLOCK_MOST ? twice : BLOCK_MOST;
}

/* The first block of most arenas is also their last. */
static void *first_give(struct arena *arena, size_t size)
{
    struct arena_block *block = mem_alloc(BLOCK_FIRST);

    block->older = NULL;
    block->size = BLOCK_FIRST;
    arena->blocks = block;
    arena->used = BLOCK_FIRST;
    arena->next = block->bytes + size;
    arena->end = (char *)block + BLOCK_FIRST;
    ARENA_KEEP(block->bytes, BLOCK_FIRST - sizeof(*block));
    ARENA_GIVE(block->bytes, size);
    return block->bytes;
}

/* Separate from its caller, which mostly finds the room it wants. */
__attribute__((noinline)) void *arena_grow_(struct arena *arena, size_t size, size_t align)
{
    if (!arena->blocks && size <= BLOCK_FIRST - sizeof(struct arena_block) &&
        align <= _Alignof(max_align_t) && arena->cap >= BLOCK_FIRST)
        return first_give(arena, size);
    size_t usual = usual_size(arena);
    /* A fresh block is aligned for any object. A larger alignment may have to skip some bytes. */
    size_t skip = align > _Alignof(max_align_t) ? align : 0;
    size_t needed;

    if (__builtin_add_overflow(size, sizeof(struct arena_block) + skip, &needed)) {
        arena->exhausted = true;
        return NULL;
    }
    if (needed > usual / 2 && arena->blocks) {
        struct arena_block *own = block_add(arena, needed);
        if (!own)
            return NULL;
        own->older = arena->blocks->older;
        arena->blocks->older = own;
        return block_give(own, size, align);
    }
    size_t room = arena->cap - arena->used;
    if (usual > room)
        usual = room;
    struct arena_block *block = block_add(arena, needed > usual ? needed : usual);
    if (!block)
        return NULL;
    block->older = arena->blocks;
    arena->blocks = block;
    char *p = block_give(block, size, align);
    arena->next = p + size;
    arena->end = (char *)block + block->size;
    return p;
}

void *arena_zalloc(struct arena *arena, size_t size)
{
    void *p = arena_alloc(arena, size);

    if (p)
        memset(p, 0, size);
    return p;
}

__attribute__((noinline)) static struct str arena_str_slow(struct arena *arena, struct str s)
{
    char *copy = s.len < SIZE_MAX ? arena_alloc_aligned(arena, s.len + 1, 1) : NULL;

    if (!copy)
        return STR_NONE;
    if (s.len)
        memcpy(copy, s.at, s.len);
    copy[s.len] = '\0';
    return str_n(copy, s.len);
}

/* At most TEXT_SHORT bytes, from both ends, in pieces that may overlap in the middle. */
static void put_short(char *to, const char *at, size_t len)
{
    if (len >= 16) {
        char first[16], last[16];
        memcpy(first, at, 16);
        memcpy(last, at + len - 16, 16);
        memcpy(to, first, 16);
        memcpy(to + len - 16, last, 16);
    } else if (len >= 8) {
        uint64_t first, last;
        memcpy(&first, at, 8);
        memcpy(&last, at + len - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + len - 8, &last, 8);
    } else if (len >= 4) {
        uint32_t first, last;
        memcpy(&first, at, 4);
        memcpy(&last, at + len - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + len - 4, &last, 4);
    } else if (len) {
        to[0] = at[0];
        to[len / 2] = at[len / 2];
        to[len - 1] = at[len - 1];
    }
}

/* Most texts are short and have room: those are copied without a call. */
struct str arena_str(struct arena *arena, struct str s)
{
    char *copy = arena->next;

    if (s.len > TEXT_SHORT || s.len >= (uintptr_t)arena->end - (uintptr_t)copy)
        return arena_str_slow(arena, s);
    arena->next = copy + s.len + 1;
    ARENA_GIVE(copy, s.len + 1);
    put_short(copy, s.at, s.len);
    copy[s.len] = '\0';
    return str_n(copy, s.len);
}

struct str arena_vfmt(struct arena *arena, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, again);
    va_end(again);

    char *text = len >= 0 ? arena_alloc_aligned(arena, (size_t)len + 1, 1) : NULL;
    if (!text)
        return STR_NONE;
    vsnprintf(text, (size_t)len + 1, format, args);
    return str_n(text, (size_t)len);
}

struct str arena_fmt(struct arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str text = arena_vfmt(arena, format, args);
    va_end(args);
    return text;
}

struct str arena_time(struct arena *arena, int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = { { INT64_C(86400000), "day" },
                  { INT64_C(3600000), "hour" },
                  { INT64_C(60000), "minute" },
                  { INT64_C(1000), "second" } };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (ms >= units[i].ms && ms % units[i].ms == 0)
            return arena_fmt(arena, "%lld %s%s", (long long)(ms / units[i].ms), units[i].name,
                             ms == units[i].ms ? "" : "s");
    return arena_fmt(arena, "%lld ms", (long long)ms);
}
