/*
 * json/members: the members of an object by name, inside json/ only.
 *
 * This is the order in which objects are compared and digested. The list is temporary heap memory,
 * one pointer for each member; the tree itself is not touched.
 */
#ifndef NOD_JSON_MEMBERS_H
#define NOD_JSON_MEMBERS_H

#include "json/value.h"

/*
 * The members sorted by name; members of the same name keep their order. NULL for an object without
 * members. Free with mem_free.
 */
const struct json **members_sorted(const struct json *object);

#endif
