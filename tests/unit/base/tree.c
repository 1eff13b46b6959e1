/*
 * tests/unit/base/tree: nodes come in order, whatever is added and removed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/tree.h"
#include "../runner.h"

enum { OBJECTS = 2000, OPERATIONS = 100000, DEPTH_MOST = 64 };

struct object {
    int key;
    struct tree_node node;
    bool there;
};

static struct object objects[OBJECTS];
static struct tree tree;

static int order(const void *key, const struct tree_node *node)
{
    int mine = *(const int *)key, other = TREE_OF(node, struct object, node)->key;

    return mine < other ? -1 : mine > other;
}

static int begin(void **state)
{
    (void)state;
    tree = (struct tree){ 0 };
    for (int i = 0; i < OBJECTS; i++)
        objects[i] = (struct object){ .key = 2 * i }; /* odd ones are between two */
    return 0;
}

static void check(void)
{
    struct tree_node *at = tree_first(&tree);

    for (int i = 0; i < OBJECTS; i++) {
        if (!objects[i].there)
            continue;
        assert_ptr_equal(at, &objects[i].node);
        at = tree_after(&tree, &objects[i].key, order);
    }
    assert_null(at);
}

static void what_is_in_comes_in_order(void **state)
{
    (void)state;
    srand(1);
    for (int n = 0; n < OPERATIONS; n++) {
        struct object *object = &objects[rand() % OBJECTS];
        if (object->there)
            assert_true(tree_remove(&tree, &object->node, &object->key, order));
        else
            tree_add(&tree, &object->node, &object->key, order);
        object->there = !object->there;
        if (n % 1000 == 0)
            check();
    }
    check();
}

static void one_is_found_by_a_key_that_nobody_has(void **state)
{
    int between = 101, itself = 100, before = -1, behind = 2 * OBJECTS;
    (void)state;

    for (int i = 0; i < OBJECTS; i++)
        tree_add(&tree, &objects[i].node, &objects[i].key, order);
    assert_ptr_equal(tree_after(&tree, &between, order), &objects[51].node);
    assert_ptr_equal(tree_from(&tree, &between, order), &objects[51].node);
    assert_ptr_equal(tree_from(&tree, &itself, order), &objects[50].node);
    assert_ptr_equal(tree_after(&tree, &itself, order), &objects[51].node);
    assert_ptr_equal(tree_from(&tree, &before, order), &objects[0].node);
    assert_null(tree_after(&tree, &behind, order));
    assert_true(tree_remove(&tree, &objects[50].node, &itself, order));
    assert_false(tree_remove(&tree, &objects[50].node, &itself, order));
    assert_ptr_equal(tree_from(&tree, &itself, order), &objects[51].node);
}

static size_t depth(const struct tree_node *node)
{
    size_t left = node ? depth(node->left) : 0, right = node ? depth(node->right) : 0;

    return node ? 1 + (left > right ? left : right) : 0;
}

/* Keys that come in order do not make it deep. */
static void it_stays_shallow(void **state)
{
    (void)state;
    for (int i = 0; i < OBJECTS; i++)
        tree_add(&tree, &objects[i].node, &objects[i].key, order);
    assert_true(depth(tree.root) < DEPTH_MOST);
}

SUBJECT(tree)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_in_comes_in_order, begin),
        cmocka_unit_test_setup(one_is_found_by_a_key_that_nobody_has, begin),
        cmocka_unit_test_setup(it_stays_shallow, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
