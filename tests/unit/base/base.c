/*
 * tests/unit/base/base: arena, buf, map, heap, list, str, clock. The log and ids have their own
 * files.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/id.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "../runner.h"

#define assert_str(got, want)                                                                      \
    do {                                                                                           \
        struct str got_ = (got), want_ = (want);                                                   \
        if (!str_eq(got_, want_))                                                                  \
            fail_msg("got [" STR_FMT "], want [" STR_FMT "]", STR_ARG(got_), STR_ARG(want_));      \
    } while (0)

/* The same numbers in every run: a failure can be looked at again. */
static uint32_t rolled;

static uint32_t roll(uint32_t below)
{
    rolled = rolled * 1664525u + 1013904223u;
    return (rolled >> 8) % below;
}

/* --- arena --- */

static void an_arena_never_gives_more_than_its_cap(void **state)
{
    (void)state;
    for (size_t cap = 0; cap < 6000; cap += 97) {
        struct arena arena;
        size_t given = 0;
        arena_init(&arena, cap);
        while (arena_alloc_aligned(&arena, 10, 1)) {
            given += 10;
            assert_true(arena.used <= cap);
        }
        assert_true(arena.exhausted);
        assert_true(given <= cap);
        arena_finish(&arena);
    }
}

static void an_arena_gives_what_fits_its_cap_exactly(void **state)
{
    struct arena arena;
    (void)state;

    arena_init(&arena, 4096);
    assert_non_null(arena_alloc(&arena, 4096 - 16));
    assert_false(arena.exhausted);
    assert_null(arena_alloc(&arena, 1));
    assert_true(arena.exhausted);
    arena_finish(&arena);
}

static void sizes_that_overflow_are_refused(void **state)
{
    struct arena arena;
    (void)state;

    arena_init(&arena, SIZE_MAX);
    for (size_t less = 0; less < 16; less++) /* what a block adds does not fit */
        assert_null(arena_alloc_aligned(&arena, SIZE_MAX - less, less % 2 ? 1 : 64));
    assert_true(arena.exhausted);
    assert_null(arena_str(&arena, str_n("x", SIZE_MAX)).at);
    assert_non_null(arena_alloc(&arena, 1)); /* and small ones are still given */
    arena_finish(&arena);
}

static void a_copied_text_is_whole_whatever_its_length_and_the_room_left(void **state)
{
    enum { LONGEST = 80, TEXTS = 4000 };
    static struct str copies[TEXTS];
    char text[LONGEST];
    struct arena arena;
    (void)state;

    for (size_t i = 0; i < LONGEST; i++)
        text[i] = (char)('!' + i);
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < TEXTS; i++)
        copies[i] = arena_str(&arena, str_n(text, i % LONGEST));
    for (size_t i = 0; i < TEXTS; i++) {
        assert_int_equal(copies[i].len, i % LONGEST);
        assert_memory_equal(copies[i].at, text, copies[i].len);
        assert_int_equal(copies[i].at[copies[i].len], '\0');
    }
    assert_non_null(arena_str(&arena, STR_NONE).at); /* nothing has a copy too */
    arena_finish(&arena);
}

static void exhausted_stays_set_until_reset(void **state)
{
    struct arena arena;
    (void)state;

    arena_init(&arena, 2048);
    assert_null(arena_alloc(&arena, 5000));
    assert_non_null(arena_alloc(&arena, 10));
    assert_true(arena.exhausted);
    arena_reset(&arena);
    assert_false(arena.exhausted);
    arena_finish(&arena);
}

static void every_alignment_is_kept_and_nothing_overlaps(void **state)
{
    enum { PIECES = 2000 };
    static unsigned char *at[PIECES];
    static size_t size[PIECES];
    struct arena arena;
    (void)state;

    rolled = 1;
    arena_init(&arena, 16 << 20);
    for (int i = 0; i < PIECES; i++) {
        size_t align = (size_t)1 << roll(13);
        size[i] = roll(20) == 0 ? roll(9000) : roll(200);
        at[i] = arena_alloc_aligned(&arena, size[i], align);
        assert_non_null(at[i]);
        assert_int_equal((uintptr_t)at[i] % align, 0);
        memset(at[i], i & 0xff, size[i]);
    }
    for (int i = 0; i < PIECES; i++)
        for (size_t j = 0; j < size[i]; j++)
            assert_int_equal(at[i][j], i & 0xff);
    assert_int_equal((uintptr_t)arena_alloc(&arena, 1) % _Alignof(max_align_t), 0);
    arena_finish(&arena);
}

static void a_first_piece_lies_within_its_block_however_it_is_aligned(void **state)
{
    (void)state;
    for (size_t align = 1; align <= 1 << 14; align *= 2) {
        for (size_t size = 0; size < 5000; size += 499) {
            struct arena arena;
            arena_init(&arena, 1 << 20);
            char *p = arena_alloc_aligned(&arena, size, align);
            assert_non_null(p);
            assert_int_equal((uintptr_t)p % align, 0);
            assert_true(arena.next <= arena.end && (size_t)(arena.end - p) >= size);
            arena_finish(&arena);
        }
    }
}

static void a_reset_gives_the_room_back(void **state)
{
    struct arena arena;
    (void)state;

    arena_init(&arena, 64 << 10);
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 40; i++)
            assert_non_null(arena_alloc(&arena, 1000));
        arena_reset(&arena);
    }
    arena_finish(&arena);
    assert_non_null(arena_alloc(&arena, 10)); /* a finished arena may be used again */
    arena_finish(&arena);
}

static void a_reset_does_not_keep_a_huge_block(void **state)
{
    struct arena arena;
    (void)state;

    arena_init(&arena, 64 << 20);
    assert_non_null(arena_alloc(&arena, 32 << 20));
    arena_reset(&arena);
    assert_true(arena.used <= 64 << 10);
    arena_finish(&arena);
}

static void copies_and_formats_end_in_nul(void **state)
{
    struct arena arena;
    (void)state;

    arena_init(&arena, 1 << 16);
    struct str copy = arena_str(&arena, str_n("abcdef", 3));
    assert_string_equal(copy.at, "abc");
    assert_int_equal(arena_str(&arena, STR_NONE).at[0], '\0');
    struct str text = arena_fmt(&arena, "%d-%s-%*d", 7, "x", 3000, 1);
    assert_int_equal(text.len, 3004);
    assert_int_equal(text.at[3004], '\0');
    assert_string_equal(arena_time(&arena, 300000).at, "5 minutes");
    assert_string_equal(arena_time(&arena, 86400000).at, "1 day");
    assert_string_equal(arena_time(&arena, 90 * 60000).at, "90 minutes");
    assert_string_equal(arena_time(&arena, 61000).at, "61 seconds");
    assert_string_equal(arena_time(&arena, 1500).at, "1500 ms");
    assert_string_equal(arena_time(&arena, 0).at, "0 ms");
    int *zeros = arena_zalloc(&arena, 100 * sizeof(int));
    for (int i = 0; i < 100; i++)
        assert_int_equal(zeros[i], 0);
    arena_finish(&arena);
}

/* --- buf --- */

static void a_buffer_takes_its_limit_and_not_a_byte_more(void **state)
{
    (void)state;
    for (size_t limit = 0; limit < 1200; limit += 7) {
        struct buf buf;
        buf_init(&buf, limit);
        for (size_t i = 0; i < limit; i++)
            assert_true(buf_add_char(&buf, 'x'));
        assert_true(buf.room <= limit);
        assert_false(buf.overflow);
        assert_false(buf_add_char(&buf, 'y'));
        assert_true(buf.overflow);
        assert_int_equal(buf.len, limit);
        buf_finish(&buf);
    }
}

static void what_does_not_fit_is_not_added_at_all(void **state)
{
    struct buf buf;
    (void)state;

    buf_init(&buf, 10);
    assert_true(buf_add(&buf, STR("12345678")));
    assert_false(buf_add(&buf, STR("abc")));
    assert_str(buf_str(&buf), STR("12345678"));
    assert_false(buf_add(&buf, STR("a"))); /* would fit, but the text has a hole already */
    assert_false(buf_add(&buf, STR_NONE));
    assert_null(buf_reserve(&buf, 0));
    buf_clear(&buf);
    assert_true(buf_add(&buf, STR("1234567890")));
    assert_false(buf_fmt(&buf, "%d", 1));
    assert_true(buf.overflow);
    buf_finish(&buf);
}

static void adding_nothing_to_an_empty_buffer_is_fine(void **state)
{
    struct buf buf;
    (void)state;

    for (size_t limit = 0; limit < 2; limit++) {
        buf_init(&buf, limit);
        assert_non_null(buf_reserve(&buf, 0));
        assert_true(buf_add(&buf, STR_NONE));
        assert_true(buf_add(&buf, STR("")));
        assert_true(buf_fmt(&buf, "%s", ""));
        buf_drop(&buf, 0);
        buf_drop(&buf, 5);
        assert_int_equal(buf.len, 0);
        assert_false(buf.overflow);
        buf_finish(&buf);
    }
}

static void sizes_near_the_end_of_the_address_space_overflow_cleanly(void **state)
{
    struct buf buf;
    (void)state;

    buf_init(&buf, 1000);
    assert_true(buf_add(&buf, STR("abc")));
    for (size_t less = 0; less < 8; less++) {
        assert_null(buf_reserve(&buf, SIZE_MAX - less));
        buf_clear(&buf);
        assert_true(buf_add(&buf, STR("abc")));
    }
    buf_finish(&buf);
}

static void formatting_works_below_and_above_its_small_room(void **state)
{
    struct buf buf;
    (void)state;

    buf_init(&buf, 2000);
    for (int width = 250; width < 260; width++) {
        buf_clear(&buf);
        assert_true(buf_fmt(&buf, "%*d", width, 7));
        assert_int_equal(buf.len, width);
        assert_int_equal(buf.at[width - 1], '7');
    }
    assert_false(buf_fmt(&buf, "%*d", 1990, 7));
    assert_int_equal(buf.len, 259);
    buf_finish(&buf);
}

static void dropping_and_taking_leave_the_rest_whole(void **state)
{
    struct buf buf;
    (void)state;

    buf_init(&buf, 100);
    buf_add(&buf, STR("hello world"));
    buf_drop(&buf, 6);
    assert_str(buf_str(&buf), STR("world"));
    struct str taken = buf_take(&buf);
    assert_str(taken, STR("world"));
    assert_int_equal(buf.len, 0);
    assert_true(buf_add(&buf, STR("again"))); /* its own memory, not what was taken */
    assert_str(taken, STR("world"));
    mem_free((void *)(uintptr_t)taken.at);
    buf_finish(&buf);
}

/* --- map --- */

enum { KEYS = 3000 };

struct entry {
    char key[16];
    int value;
    bool there;
};

static struct entry *entries_new(void)
{
    struct entry *entries = mem_zalloc(KEYS * sizeof(*entries));

    for (int i = 0; i < KEYS; i++)
        snprintf(entries[i].key, sizeof(entries[i].key), "%0*d", 1 + i % 14, i);
    return entries;
}

static void assert_walk_sees(const struct map *map, struct entry *entries, size_t count)
{
    size_t at = 0, seen = 0;

    for (struct entry *entry; (entry = map_next(map, &at)); seen++)
        assert_true(entry >= entries && entry < entries + KEYS && entry->there);
    assert_int_equal(seen, count);
    assert_int_equal(map->count, count);
}

static void a_map_agrees_with_a_plain_table_over_100000_operations(void **state)
{
    struct entry *entries = entries_new();
    struct map map;
    size_t count = 0;
    (void)state;

    rolled = 7;
    map_init(&map, KEYS);
    for (int i = 0; i < 100000; i++) {
        /* The set of keys in use grows and shrinks, so that tables are rebuilt both ways. */
        struct entry *entry = &entries[roll(i / 10000 % 2 ? 40 : KEYS)];
        struct str key = str_of(entry->key);
        switch (roll(i / 20000 % 2 ? 3 : 4)) {
        case 0:
            assert_ptr_equal(map_get(&map, key), entry->there ? entry : NULL);
            break;
        case 1:
            assert_ptr_equal(map_remove(&map, key), entry->there ? entry : NULL);
            count -= entry->there;
            entry->there = false;
            break;
        default:
            assert_true(map_set(&map, key, entry));
            count += !entry->there;
            entry->there = true;
        }
        assert_true(map.used <= map.room && map.count <= map.used);
        if (i % 5000 == 0)
            assert_walk_sees(&map, entries, count);
    }
    for (int i = 0; i < KEYS; i++)
        assert_ptr_equal(map_get(&map, str_of(entries[i].key)),
                         entries[i].there ? &entries[i] : NULL);
    assert_walk_sees(&map, entries, count);
    map_finish(&map);
    mem_free(entries);
}

static void entries_may_be_removed_during_a_walk(void **state)
{
    struct entry *entries = entries_new();
    struct map map;
    size_t at = 0, seen = 0;
    (void)state;

    map_init(&map, KEYS);
    for (int i = 0; i < KEYS; i++)
        assert_true(map_set(&map, str_of(entries[i].key), &entries[i]));
    for (struct entry *entry; (entry = map_next(&map, &at)); seen++) {
        entry->value++;
        assert_ptr_equal(map_remove(&map, str_of(entry->key)), entry);
    }
    assert_int_equal(seen, KEYS);
    assert_int_equal(map.count, 0);
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(entries[i].value, 1);
    map_finish(&map);
    mem_free(entries);
}

static void a_full_map_refuses_new_keys_and_still_replaces(void **state)
{
    struct map map;
    int one = 1, two = 2;
    (void)state;

    map_init(&map, 2);
    assert_true(map_set(&map, STR("a"), &one));
    assert_true(map_set(&map, STR(""), &one));
    assert_false(map_set(&map, STR("c"), &one));
    assert_null(map_get(&map, STR("c")));
    assert_true(map_set(&map, STR("a"), &two));
    assert_ptr_equal(map_get(&map, STR("a")), &two);
    assert_ptr_equal(map_get(&map, STR_NONE), &one); /* no text and empty text are one key */
    assert_false(map_set(&map, STR("a"), NULL));
    assert_ptr_equal(map_remove(&map, STR("a")), &two);
    assert_true(map_set(&map, STR("c"), &one));
    map_finish(&map);
    map_init(&map, 0);
    assert_false(map_set(&map, STR("a"), &one));
    map_finish(&map);
}

static void a_map_that_emptied_gives_its_memory_back(void **state)
{
    struct entry *entries = entries_new();
    struct map map;
    (void)state;

    map_init(&map, KEYS);
    for (int i = 0; i < KEYS; i++)
        assert_true(map_set(&map, str_of(entries[i].key), &entries[i]));
    for (int i = 0; i < KEYS; i++)
        map_remove(&map, str_of(entries[i].key));
    assert_true(map.room <= 64);
    map_finish(&map);
    mem_free(entries);
}

static void one_key_coming_and_going_never_grows_the_map(void **state)
{
    struct map map;
    char key[24];
    int value;
    (void)state;

    map_init(&map, 10);
    for (int i = 0; i < 10000; i++) {
        snprintf(key, sizeof(key), "%d", i);
        assert_true(map_set(&map, str_of(key), &value));
        assert_ptr_equal(map_remove(&map, str_of(key)), &value);
        assert_int_equal(map.used, 0); /* no grave is left where nobody has to probe on */
    }
    assert_true(map.room <= 16);
    map_finish(&map);
}

static void keys_may_hold_any_byte(void **state)
{
    struct map map;
    int a, b;
    (void)state;

    map_init(&map, 10);
    assert_true(map_set(&map, str_n("x\0a", 3), &a));
    assert_true(map_set(&map, str_n("x\0b", 3), &b));
    assert_ptr_equal(map_get(&map, str_n("x\0a", 3)), &a);
    assert_ptr_equal(map_get(&map, str_n("x\0b", 3)), &b);
    assert_null(map_get(&map, STR("x")));
    map_finish(&map);
}

static void keys_are_found_while_the_map_grows_and_shrinks(void **state)
{
    static char texts[64][8];
    struct map map;
    int value[64];

    (void)state;
    map_init(&map, 100);
    assert_null(map_get(&map, STR("k0")));
    for (int i = 0; i < 64; i++) {
        struct str key = str_n(texts[i], (size_t)snprintf(texts[i], sizeof(texts[i]), "k%d", i));
        assert_true(map_set(&map, key, &value[i]));
        assert_ptr_equal(map_get(&map, STR("k0")), &value[0]);
        assert_ptr_equal(map_get(&map, key), &value[i]);
    }
    /* Removed, put in again, and looked for through growth and shrinking. */
    for (int i = 0; i < 64; i++) {
        assert_ptr_equal(map_get(&map, str_of(texts[i])), &value[i]);
        assert_ptr_equal(map_remove(&map, str_of(texts[i])), &value[i]);
        assert_null(map_get(&map, str_of(texts[i])));
        assert_null(map_remove(&map, str_of(texts[i])));
    }
    assert_true(map_set(&map, STR("k0"), &value[1]));
    assert_ptr_equal(map_get(&map, STR("k0")), &value[1]);
    map_finish(&map);
    assert_null(map_get(&map, STR("k0")));
}

/* --- heap --- */

static int64_t least_of(const struct heap_node *nodes, int count)
{
    int64_t least = INT64_MAX;

    for (int i = 0; i < count; i++)
        if (heap_has(&nodes[i]) && nodes[i].at < least)
            least = nodes[i].at;
    return least;
}

static bool is_ordered(const struct heap *heap)
{
    for (size_t i = 0; i < heap->count; i++)
        if (heap->slots[i].node->place != i + 1 || heap->slots[i].node->at != heap->slots[i].at ||
            heap->slots[i ? (i - 1) / 4 : 0].at > heap->slots[i].at)
            return false;
    return true;
}

static void a_heap_always_knows_the_earliest(void **state)
{
    enum { NODES = 120 };
    static struct heap_node nodes[NODES];
    static const int64_t edges[] = { INT64_MIN, INT64_MAX, 0, -1 };
    struct heap heap;
    size_t count = 0;
    (void)state;

    rolled = 3;
    heap_init(&heap);
    assert_null(heap_first(&heap));
    for (int i = 0; i < 20000; i++) {
        struct heap_node *node = &nodes[roll(NODES)];
        if (roll(3) == 0) {
            count -= heap_has(node);
            heap_remove(&heap, node);
            assert_false(heap_has(node));
        } else {
            count += !heap_has(node);
            heap_set(&heap, node, roll(50) == 0 ? edges[roll(4)] : (int64_t)roll(1000));
        }
        assert_int_equal(heap.count, count);
        assert_true(is_ordered(&heap));
        struct heap_node *first = heap_first(&heap);
        assert_int_equal(first ? first->at : INT64_MAX, least_of(nodes, NODES));
    }
    int64_t last = INT64_MIN;
    for (struct heap_node *first; (first = heap_first(&heap)); count--) {
        assert_true(first->at >= last);
        last = first->at;
        heap_remove(&heap, first);
    }
    assert_int_equal(count, 0);
    heap_finish(&heap);
}

/* --- list --- */

static void a_list_keeps_its_order_and_lets_go_of_the_current(void **state)
{
    struct item {
        int n;
        struct list link;
    } items[5];
    struct list list;
    int sum = 0;
    (void)state;

    list_init(&list);
    assert_null(list_first(&list));
    for (int i = 0; i < 5; i++) {
        items[i].n = i;
        list_append(&list, &items[i].link);
    }
    LIST_EACH (at, &list) {
        struct item *item = LIST_OF(at, struct item, link);
        sum = sum * 10 + item->n;
        if (item->n % 2)
            list_remove(at);
    }
    assert_int_equal(sum, 1234);
    list_remove(&items[1].link); /* twice is fine */
    sum = 0;
    LIST_EACH (at, &list) {
        sum = sum * 10 + LIST_OF(at, struct item, link)->n;
    }
    assert_int_equal(sum, 24);
}

/* --- str --- */

static void slices_compare_by_bytes_and_never_read_through_null(void **state)
{
    (void)state;
    assert_true(str_eq(STR_NONE, STR("")));
    assert_false(str_eq(STR("a"), STR_NONE));
    assert_true(str_eq(str_n("a\0b", 3), str_n("a\0b", 3)));
    assert_true(str_starts(STR("abc"), STR("ab")) && str_starts(STR_NONE, STR_NONE));
    assert_false(str_starts(STR("a"), STR("ab")));
    assert_true(str_ends(STR("abc"), STR("bc")) && str_ends(STR("abc"), STR_NONE));
    assert_false(str_ends(STR("c"), STR("bc")));
    assert_true(str_cmp(STR("a"), STR("ab")) < 0 && str_cmp(STR("b"), STR("ab")) > 0);
    assert_true(str_cmp(STR("\xff"), STR("a")) > 0); /* bytes are unsigned */
    assert_int_equal(str_cmp(STR_NONE, STR("")), 0);
    assert_true(str_eq_nocase(STR("Content-Type"), STR("content-tYPE")));
    assert_false(str_eq_nocase(STR("a["), STR("A{"))); /* letters only */
    assert_int_equal(str_of(NULL).len, 0);
}

static void slices_that_differ_in_one_byte_are_not_the_same(void **state)
{
    enum { LONGEST = 70 };
    char a[LONGEST], b[LONGEST];

    (void)state;
    assert_true(str_same(STR_NONE, STR("")));
    assert_false(str_same(STR("a"), STR("ab")));
    for (size_t len = 0; len <= LONGEST; len++) {
        memset(a, 'x', len);
        memset(b, 'x', len);
        assert_true(str_same(str_n(a, len), str_n(b, len)));
        for (size_t at = 0; at < len; at++) {
            b[at] = 'y';
            assert_false(str_same(str_n(a, len), str_n(b, len)));
            b[at] = 'x';
        }
    }
}

static void slices_are_cut_skipped_trimmed_and_found(void **state)
{
    struct str before, after;
    (void)state;

    assert_true(str_cut(STR("a=b=c"), '=', &before, &after));
    assert_str(before, STR("a"));
    assert_str(after, STR("b=c"));
    assert_true(str_cut(STR("a="), '=', &before, &after));
    assert_int_equal(after.len, 0);
    assert_false(str_cut(STR("abc"), '=', &before, &after));
    assert_str(before, STR("abc"));
    assert_false(str_cut(STR_NONE, '=', &before, &after));
    assert_str(str_trim(STR(" \t a b\t ")), STR("a b"));
    assert_int_equal(str_trim(STR("  ")).len, 0);
    assert_int_equal(str_trim(STR_NONE).len, 0);
    assert_str(str_skip(STR("abc"), 2), STR("c"));
    assert_int_equal(str_skip(STR("abc"), 9).len, 0);
    assert_int_equal(str_skip(STR_NONE, 3).len, 0);
    assert_int_equal(str_find(STR("hello"), STR("lo")), 3);
    assert_int_equal(str_find(STR("hello"), STR("x")), -1);
    assert_int_equal(str_find(STR_NONE, STR("x")), -1);
    assert_int_equal(str_find(STR("x"), STR_NONE), 0);
    char *copy = str_dup(str_n("abc", 2));
    assert_string_equal(copy, "ab");
    free(copy);
}

static void numbers_are_read_exactly_or_not_at_all(void **state)
{
    static const char *const bad[] = { "",
                                       "-",
                                       "+1",
                                       " 1",
                                       "1 ",
                                       "1a",
                                       "0x1",
                                       "--1",
                                       "1.0",
                                       "9223372036854775808",
                                       "-9223372036854775809",
                                       "99999999999999999999999" };
    int64_t n = 42;
    uint64_t u = 42;
    (void)state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(str_to_i64(str_of(bad[i]), &n));
        assert_int_equal(n, 42);
    }
    assert_true(str_to_i64(STR("9223372036854775807"), &n) && n == INT64_MAX);
    assert_true(str_to_i64(STR("-9223372036854775808"), &n) && n == INT64_MIN);
    assert_true(str_to_i64(STR("-0"), &n) && n == 0);
    assert_true(str_to_u64(STR("18446744073709551615"), &u) && u == UINT64_MAX);
    assert_false(str_to_u64(STR("18446744073709551616"), &u));
    assert_false(str_to_u64(STR("-1"), &u));
    assert_true(str_to_u64(STR("007"), &u) && u == 7);
}

/* --- clock --- */

static void a_fake_clock_moves_only_when_it_is_moved(void **state)
{
    struct fake_clock fake;
    (void)state;

    fake_clock_init(&fake, 1700000000000);
    int64_t mono = clock_mono(&fake.clock);
    assert_int_equal(clock_wall(&fake.clock), 1700000000000);
    assert_int_equal(clock_mono(&fake.clock), mono);
    fake_clock_advance(&fake, 250);
    assert_int_equal(clock_wall(&fake.clock), 1700000000250);
    assert_int_equal(clock_mono(&fake.clock), mono + 250);

    const struct clock *system = clock_system();
    int64_t before = clock_mono(system);
    assert_true(clock_wall(system) > 1600000000000);
    assert_true(clock_mono(system) >= before);
}

/* The time of the system when it is another than it was. */
static int64_t time_goes_on(int64_t from)
{
    int64_t now;

    while ((now = clock_mono(clock_system())) <= from)
        ;
    return now;
}

static void *look_elsewhere(void *seen)
{
    *(int64_t *)seen = clock_mono(clock_held());
    return NULL;
}

static void an_event_sees_one_time_until_it_looks_again(void **state)
{
    const struct clock *held = clock_held();
    int64_t elsewhere, later;
    pthread_t thread;
    (void)state;

    clock_hold();
    int64_t mono = clock_mono(held), wall = clock_wall(held);
    later = time_goes_on(mono + 1);
    assert_int_equal(clock_mono(held), mono);
    assert_int_equal(clock_wall(held), wall);
    assert_int_equal(pthread_create(&thread, NULL, look_elsewhere, &elsewhere), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(elsewhere >= later);
    clock_look_again();
    assert_true(clock_mono(held) >= later);
    assert_true(clock_wall(held) > wall);

    clock_hold(); /* the next event */
    assert_true(clock_mono(held) >= later);
    clock_release();
    later = time_goes_on(clock_mono(held));
    assert_true(clock_mono(held) >= later);
}

/* --- bytes that are wiped where they are left --- */

static void a_wiped_buffer_leaves_nothing_in_what_it_keeps(void **state)
{
    struct buf buf;

    (void)state;
    buf_init(&buf, 4096);
    buf_wiped(&buf, true);
    assert_true(buf_add(&buf, STR("secret")));
    buf_clear(&buf);
    assert_memory_equal(buf.at, "\0\0\0\0\0\0", 6);
    for (int i = 0; i < 100; i++) /* it grows, and its bytes move along */
        assert_true(buf_add(&buf, STR("secret")));
    assert_int_equal(buf.len, 600);
    assert_memory_equal(buf.at + 594, "secret", 6);
    buf_finish(&buf);
    assert_true(buf.wiped);
}

static void a_wiped_arena_gives_no_old_bytes_out_again(void **state)
{
    struct arena arena;

    (void)state;
    arena_init(&arena, 65536);
    arena.wiped = true;
    struct str text = arena_str(&arena, STR("secret"));
    arena_reset(&arena);
    char *again = arena_alloc_aligned(&arena, 6, 1);
    assert_ptr_equal(again, text.at);
    assert_memory_equal(again, "\0\0\0\0\0\0", 6);
    arena_finish(&arena);
}

SUBJECT(base)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wiped_buffer_leaves_nothing_in_what_it_keeps),
        cmocka_unit_test(a_wiped_arena_gives_no_old_bytes_out_again),
        cmocka_unit_test(an_arena_never_gives_more_than_its_cap),
        cmocka_unit_test(an_arena_gives_what_fits_its_cap_exactly),
        cmocka_unit_test(a_copied_text_is_whole_whatever_its_length_and_the_room_left),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(exhausted_stays_set_until_reset),
        cmocka_unit_test(every_alignment_is_kept_and_nothing_overlaps),
        cmocka_unit_test(a_first_piece_lies_within_its_block_however_it_is_aligned),
        cmocka_unit_test(a_reset_gives_the_room_back),
        cmocka_unit_test(a_reset_does_not_keep_a_huge_block),
        cmocka_unit_test(copies_and_formats_end_in_nul),
        cmocka_unit_test(a_buffer_takes_its_limit_and_not_a_byte_more),
        cmocka_unit_test(what_does_not_fit_is_not_added_at_all),
        cmocka_unit_test(adding_nothing_to_an_empty_buffer_is_fine),
        cmocka_unit_test(sizes_near_the_end_of_the_address_space_overflow_cleanly),
        cmocka_unit_test(formatting_works_below_and_above_its_small_room),
        cmocka_unit_test(dropping_and_taking_leave_the_rest_whole),
        cmocka_unit_test(a_map_agrees_with_a_plain_table_over_100000_operations),
        cmocka_unit_test(entries_may_be_removed_during_a_walk),
        cmocka_unit_test(a_full_map_refuses_new_keys_and_still_replaces),
        cmocka_unit_test(a_map_that_emptied_gives_its_memory_back),
        cmocka_unit_test(one_key_coming_and_going_never_grows_the_map),
        cmocka_unit_test(keys_may_hold_any_byte),
        cmocka_unit_test(keys_are_found_while_the_map_grows_and_shrinks),
        cmocka_unit_test(a_heap_always_knows_the_earliest),
        cmocka_unit_test(a_list_keeps_its_order_and_lets_go_of_the_current),
        cmocka_unit_test(slices_compare_by_bytes_and_never_read_through_null),
        cmocka_unit_test(slices_that_differ_in_one_byte_are_not_the_same),
        cmocka_unit_test(slices_are_cut_skipped_trimmed_and_found),
        cmocka_unit_test(numbers_are_read_exactly_or_not_at_all),
        cmocka_unit_test(a_fake_clock_moves_only_when_it_is_moved),
        cmocka_unit_test(an_event_sees_one_time_until_it_looks_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
