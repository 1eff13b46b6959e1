/*
 * json/members: the members of an object by name, inside json/ only.
 *
 * The order that objects are compared and digested in. The list is heap memory for the moment, a
 * pointer a member; the tree itself is not touched.
 */
#ifndef NOD_JSON_MEMBERS_H
#define NOD_JSON_MEMBERS_H

#include "json/value.h"

/* The order of RFC 8785: by UTF-16 code units. */
int members_order(struct str a, struct str b);

/*
 * The members sorted by name; members of the same name stay in the order they came in. NULL for an
 * object without members. Free with mem_free.
 */
const struct json **members_sorted(const struct json *object);

#endif
