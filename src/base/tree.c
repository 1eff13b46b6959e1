/*
 * base/tree: an ordered set; see tree.h.
 *
 * Holds always: everything left of a node comes before it, everything right of it comes after it.
 * No node has a higher rank than the one above it.
 */
#include "base/tree.h"

#include <stdint.h>

/* Addresses are similar; their ranks are not (the finalizer of splitmix64). */
static uint64_t rank(const struct tree_node *node)
{
    uint64_t n = (uint64_t)(uintptr_t)node + 0x9e3779b97f4a7c15u;

    n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9u;
    n = (n ^ n >> 27) * 0x94d049bb133111ebu;
    return n ^ n >> 31;
}

void tree_add(struct tree *tree, struct tree_node *node, const void *key, tree_order *order)
{
    struct tree_node **link = &tree->root, **left = &node->left, **right = &node->right;
    uint64_t mine = rank(node);

    while (*link && rank(*link) >= mine)
        link = order(key, *link) < 0 ? &(*link)->left : &(*link)->right;
    struct tree_node *below = *link;
    *link = node;
    while (below) { /* the subtree that was here is split at the key */
        if (order(key, below) < 0) {
            *right = below;
            right = &below->left;
            below = below->left;
        } else {
            *left = below;
            left = &below->right;
            below = below->right;
        }
    }
    *left = *right = NULL;
}

bool tree_remove(struct tree *tree, struct tree_node *node, const void *key, tree_order *order)
{
    struct tree_node **link = &tree->root;

    while (*link && *link != node)
        link = order(key, *link) < 0 ? &(*link)->left : &(*link)->right;
    if (!*link)
        return false;
    struct tree_node *left = node->left, *right = node->right;
    while (left && right) { /* its two subtrees are merged */
        if (rank(left) > rank(right)) {
            *link = left;
            link = &left->right;
            left = left->right;
        } else {
            *link = right;
            link = &right->left;
            right = right->left;
        }
    }
    *link = left ? left : right;
    node->left = node->right = NULL;
    return true;
}

struct tree_node *tree_first(const struct tree *tree)
{
    struct tree_node *at = tree->root;

    while (at && at->left)
        at = at->left;
    return at;
}

/* The first node for which the key compares to no more than `most`. */
static struct tree_node *first_at(const struct tree *tree, const void *key, tree_order *order,
                                  int most)
{
    struct tree_node *at = tree->root, *found = NULL;

    while (at) {
        int order_of = order(key, at);
        if (order_of < 0 || (order_of == 0 && most == 0)) {
            found = at;
            at = at->left;
        } else {
            at = at->right;
        }
    }
    return found;
}

struct tree_node *tree_from(const struct tree *tree, const void *key, tree_order *order)
{
    return first_at(tree, key, order, 0);
}

struct tree_node *tree_after(const struct tree *tree, const void *key, tree_order *order)
{
    return first_at(tree, key, order, -1);
}
