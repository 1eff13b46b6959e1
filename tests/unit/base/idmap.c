/*
 * tests/unit/base/idmap: an object is found by its id, whatever is added and removed beside it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/idmap.h"
#include "../runner.h"

enum { OBJECTS = 3000, OPERATIONS = 200000 };

struct object {
    int before; /* the id is not the first thing in it */
    struct id id;
    bool there;
    bool seen;
};

static struct object objects[OBJECTS];
static struct idmap map;

static int begin(void **state)
{
    (void)state;
    for (size_t i = 0; i < OBJECTS; i++) {
        objects[i] = (struct object){ .before = 7 };
        id_random(&objects[i].id);
    }
    idmap_init(&map, OBJECTS, offsetof(struct object, id));
    return 0;
}

static int end(void **state)
{
    (void)state;
    idmap_finish(&map);
    return 0;
}

static void assert_walk_sees_what_is_there(void)
{
    struct idmap_walk walk = { 0 };
    size_t seen = 0, there = 0;

    for (size_t i = 0; i < OBJECTS; i++)
        objects[i].seen = false;
    for (struct object *object; (object = idmap_next(&map, &walk)); seen++) {
        assert_true(object->there && !object->seen);
        object->seen = true;
    }
    for (size_t i = 0; i < OBJECTS; i++)
        there += objects[i].there;
    assert_int_equal(seen, there);
    assert_int_equal(map.count, there);
}

static void it_agrees_with_a_plain_table_over_200000_operations(void **state)
{
    (void)state;
    srand(7);
    for (int i = 0; i < OPERATIONS; i++) {
        struct object *object = &objects[(size_t)rand() % OBJECTS];
        assert_ptr_equal(idmap_get(&map, id_str(&object->id)), object->there ? object : NULL);
        if (object->there || rand() % 8 == 0) /* sometimes one that is not in */
            idmap_remove(&map, object);
        else
            assert_true(idmap_add(&map, object));
        object->there = idmap_get(&map, id_str(&object->id)) != NULL;
        assert_true(map.count * 4 <= map.room * 3);
        if (i % 20000 == 0)
            assert_walk_sees_what_is_there();
    }
    assert_walk_sees_what_is_there();
}

static void what_only_looks_like_an_id_is_not_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < OBJECTS; i += 2)
        assert_true(idmap_add(&map, &objects[i]));
    for (size_t i = 0; i < OBJECTS; i++) {
        char text[ID_LEN + 2] = { 0 };
        memcpy(text, objects[i].id.text, ID_LEN);
        assert_ptr_equal(idmap_get(&map, str_n(text, ID_LEN)), i % 2 ? NULL : &objects[i]);
        for (size_t len = 0; len < ID_LEN; len++) {
            assert_null(idmap_get(&map, str_n(text, len)));
            text[len] ^= 1;
            assert_null(idmap_get(&map, str_n(text, ID_LEN)));
            text[len] ^= 1;
        }
        assert_null(idmap_get(&map, str_n(text, ID_LEN + 1)));
    }
}

static void a_walk_may_remove(void **state)
{
    struct idmap_walk walk = { 0 };
    size_t seen = 0;

    (void)state;
    for (size_t i = 0; i < OBJECTS; i++)
        assert_true(idmap_add(&map, &objects[i]));
    for (struct object *object; (object = idmap_next(&map, &walk)); seen++) {
        assert_false(object->seen);
        object->seen = true;
        idmap_remove(&map, object);
    }
    assert_int_equal(seen, OBJECTS);
    assert_int_equal(map.count, 0);
    assert_true(map.room <= 64); /* a table that once was large becomes small again */
}

/* Whoever stays is seen once, whatever moves up when the others go. */
static void a_walk_may_remove_some(void **state)
{
    struct idmap_walk walk = { 0 };
    size_t seen = 0;

    (void)state;
    srand(11);
    for (size_t i = 0; i < OBJECTS; i++)
        assert_true(idmap_add(&map, &objects[i]));
    for (struct object *object; (object = idmap_next(&map, &walk)); seen++) {
        assert_false(object->seen);
        object->seen = true;
        object->there = rand() % 2;
        if (!object->there)
            idmap_remove(&map, object);
    }
    assert_int_equal(seen, OBJECTS);
    assert_walk_sees_what_is_there();
}

/* A hundred of what were thousands: room for so many is not kept. */
static void a_table_that_was_large_is_fitted_to_what_is_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < OBJECTS; i++)
        assert_true(idmap_add(&map, &objects[i]));
    for (size_t i = 100; i < OBJECTS; i++)
        idmap_remove(&map, &objects[i]);
    for (size_t i = 100; i < 102; i++)
        assert_true(idmap_add(&map, &objects[i]));
    assert_true(map.room <= 512);
    for (size_t i = 0; i < OBJECTS; i++)
        assert_ptr_equal(idmap_get(&map, id_str(&objects[i].id)), i < 102 ? &objects[i] : NULL);
}

static void a_full_one_takes_no_more(void **state)
{
    struct object more = { 0 };

    (void)state;
    id_random(&more.id);
    for (size_t i = 0; i < OBJECTS; i++)
        assert_true(idmap_add(&map, &objects[i]));
    assert_false(idmap_add(&map, &more));
    assert_null(idmap_get(&map, id_str(&more.id)));
    idmap_remove(&map, &objects[0]);
    assert_true(idmap_add(&map, &more));
    assert_ptr_equal(idmap_get(&map, id_str(&more.id)), &more);
}

static void the_newest_with_an_id_takes_the_place_of_the_one_before(void **state)
{
    struct object newer = { .id = objects[1].id };

    (void)state;
    for (size_t i = 0; i < OBJECTS; i++)
        assert_true(idmap_set(&map, &objects[i]));
    assert_true(idmap_set(&map, &newer)); /* although it is full */
    assert_int_equal(map.count, OBJECTS);
    assert_ptr_equal(idmap_get(&map, id_str(&newer.id)), &newer);
    idmap_remove(&map, &objects[1]); /* which is not in any more, and takes nobody with it */
    assert_ptr_equal(idmap_get(&map, id_str(&newer.id)), &newer);
    idmap_remove(&map, &newer);
    assert_null(idmap_get(&map, id_str(&newer.id)));
    assert_true(idmap_set(&map, &objects[1]));
    id_random(&newer.id);
    assert_false(idmap_set(&map, &newer));
    assert_ptr_equal(idmap_get(&map, id_str(&objects[1].id)), &objects[1]);
}

/* The oldest goes and a new one comes, as the memory store has it. */
static void a_table_of_constant_size_stays_small(void **state)
{
    enum { KEPT = 1000, TURNS = 20 };

    (void)state;
    for (size_t i = 0; i < TURNS * OBJECTS; i++) {
        if (i >= KEPT)
            idmap_remove(&map, &objects[(i - KEPT) % OBJECTS]);
        assert_true(idmap_add(&map, &objects[i % OBJECTS]));
        assert_true(map.room <= 2048);
    }
    assert_int_equal(map.count, KEPT);
}

SUBJECT(idmap)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_agrees_with_a_plain_table_over_200000_operations, begin,
                                        end),
        cmocka_unit_test_setup_teardown(what_only_looks_like_an_id_is_not_found, begin, end),
        cmocka_unit_test_setup_teardown(a_walk_may_remove, begin, end),
        cmocka_unit_test_setup_teardown(a_walk_may_remove_some, begin, end),
        cmocka_unit_test_setup_teardown(a_table_that_was_large_is_fitted_to_what_is_left, begin,
                                        end),
        cmocka_unit_test_setup_teardown(a_full_one_takes_no_more, begin, end),
        cmocka_unit_test_setup_teardown(the_newest_with_an_id_takes_the_place_of_the_one_before,
                                        begin, end),
        cmocka_unit_test_setup_teardown(a_table_of_constant_size_stays_small, begin, end),
    };

    return cmocka_run_group_tests_name("idmap", tests, NULL, NULL);
}
