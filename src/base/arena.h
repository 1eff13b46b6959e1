/*
 * base/arena: memory that is freed together.
 *
 * One arena for each run, request or message. Allocation moves a pointer; nothing is freed singly.
 * The cap is a constructor argument: an allocation past it returns NULL and sets `exhausted`, which
 * stays set, so that a builder may check once at the end. arena_reset keeps one block for reuse.
 *
 * Holds always: used <= cap, including the headers of blocks. An arena belongs to one thread at a
 * time. Under AddressSanitizer, memory that was not given out, or was given back by a reset, must
 * not be touched.
 */
#ifndef NOD_BASE_ARENA_H
#define NOD_BASE_ARENA_H

#include <stdarg.h>

#include "base/str.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_WATCHED 1
#endif
#endif

#ifdef ARENA_WATCHED
#include <sanitizer/asan_interface.h>
#define ARENA_GIVE(p, size) ASAN_UNPOISON_MEMORY_REGION((p), (size))
#define ARENA_KEEP(p, size) ASAN_POISON_MEMORY_REGION((p), (size))
#else
#define ARENA_GIVE(p, size) ((void)0)
#define ARENA_KEEP(p, size) ((void)0)
#endif

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    char *next;                 /* free space of the newest block */
    char *end;
    size_t used; /* bytes of blocks taken from the heap */
    size_t cap;
    bool exhausted;
    bool wiped; /* set after arena_init: its memory is wiped before it is given back or reused */
};

void arena_init(struct arena *arena, size_t cap);
void arena_finish(struct arena *arena);
void arena_reset(struct arena *arena);

void *arena_grow_(struct arena *arena, size_t size, size_t align) __attribute__((noinline));

/* `align` is a power of two. */
static inline void *arena_alloc_aligned(struct arena *arena, size_t size, size_t align)
{
    size_t room = (uintptr_t)arena->end - (uintptr_t)arena->next;
    size_t skip = (0 - (uintptr_t)arena->next) & (align - 1);

    if (size <= room && skip <= room - size && arena->next) {
        char *p = arena->next + skip;
        arena->next = p + size;
        ARENA_GIVE(p, size);
        return p;
    }
    return arena_grow_(arena, size, align);
}

/* Not zeroed; aligned for any object. NULL past the cap. */
static inline void *arena_alloc(struct arena *arena, size_t size)
{
    return arena_alloc_aligned(arena, size, _Alignof(max_align_t));
}

void *arena_zalloc(struct arena *arena, size_t size);

#define ARENA_NEW(arena, type) ((type *)arena_zalloc((arena), sizeof(type)))

/* A copy, with a NUL after its length. {NULL, 0} past the cap. */
struct str arena_str(struct arena *arena, struct str s);
/* A duration as people say it, in the largest unit that divides it: "5 minutes", "300 ms". */
struct str arena_time(struct arena *arena, int64_t ms);
struct str arena_fmt(struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct str arena_vfmt(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

#endif
