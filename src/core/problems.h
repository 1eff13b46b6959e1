/*
 * core/problems: what is wrong with an input, for programs and for people.
 *
 * Programs are given a list: [{"path": "/ticket", "title": "Ticket", "message": "is required"}].
 * The title is what a form calls the field: its title, or else its name. People are given a
 * sentence made of that list, which names fields by these and never by pointers.
 */
#ifndef NOD_CORE_PROBLEMS_H
#define NOD_CORE_PROBLEMS_H

#include "json/schema.h"

/* The list as JSON, in the arena. `schema` is what the input was checked against, for the titles;
 * NULL: names will do. */
struct str problems_list(struct arena *arena, const struct schema_problems *problems,
                         const struct json *schema);
/* The same of one problem. */
struct str problems_one(struct arena *arena, struct str path, struct str message);
/* Texts reach handlers as C strings. If one in `value` has a NUL in it, that becomes the only
 * problem, and this is false. */
bool problems_no_nul(struct arena *arena, const struct json *value,
                     struct schema_problems *problems);
/* "Ticket: must look like T-123; Age: is required", in the arena; empty if there is no list. */
struct str problems_sentence(struct arena *arena, struct str list);

#endif
