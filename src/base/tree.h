/*
 * base/tree: an ordered set.
 *
 * The nodes are embedded in their objects, two pointers each. The caller defines the order: a key
 * is compared with a node, and no two objects have the same key. Adding, removing and finding are
 * logarithmic.
 *
 * It is a treap: a binary tree by key that is a heap by rank. The rank of a node is made from its
 * address, so it takes no room, and nobody who chooses keys can choose the shape.
 */
#ifndef NOD_BASE_TREE_H
#define NOD_BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>

struct tree_node {
    struct tree_node *left, *right;
};

struct tree { /* begins zeroed */
    struct tree_node *root;
};

#define TREE_OF(node_ptr, type, member)                                                            \
    ((type *)(void *)((char *)(node_ptr)-offsetof(type, member)))

/* Less than 0: the key comes before the node; 0: it is the node's. */
typedef int tree_order(const void *key, const struct tree_node *node);

/* `key` is the node's own. */
void tree_add(struct tree *tree, struct tree_node *node, const void *key, tree_order *order);
/* False: it is not in the tree. */
bool tree_remove(struct tree *tree, struct tree_node *node, const void *key, tree_order *order);

/* The first of all, or NULL. */
struct tree_node *tree_first(const struct tree *tree);
/* The first node that is not before the key; the first after it. Or NULL. */
struct tree_node *tree_from(const struct tree *tree, const void *key, tree_order *order);
struct tree_node *tree_after(const struct tree *tree, const void *key, tree_order *order);

#endif
