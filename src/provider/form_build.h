/*
 * provider/form_build: a nod_form as JSON Schema.
 *
 * Only here do the fields of a form become a schema, both for what a person is asked and for what a
 * tool takes: {"type": "object", "properties": {...}, "required": [...]}.
 */
#ifndef NOD_PROVIDER_FORM_BUILD_H
#define NOD_PROVIDER_FORM_BUILD_H

#include "json/value.h"

enum {
    FORM_FIELDS_MAX = 200,   /* fields of one NOD_FORM */
    FORM_OPTIONS_MAX = 1000, /* options of one field */
};

/*
 * The schema, in the arena. NULL: the form makes no sense (a field without a name, a preset of
 * another type, an invalid bound). *why then names the field and the problem, in the arena or
 * constant.
 */
struct json *form_build(const nod_form *form, struct arena *arena, struct str *why);
/* The same as text. {NULL, 0}: *why. */
struct str form_text(const nod_form *form, struct arena *arena, struct str *why);
/* The same without hints, which are nod's own keyword: for a listing, which others read. */
struct json *form_build_plain(const nod_form *form, struct arena *arena, struct str *why);
/*
 * What a form starts with must be something that could be sent. A property that is no schema of its
 * own, because it refers to others, is left to the clients. False: *why, in the arena.
 */
bool form_presets_fit(const struct json *form, struct arena *arena, struct str *why);
/* Field `index`. A field of another version is converted to ours, in `room`. */
const nod_field *form_field(const nod_form *form, size_t index, nod_field *room);

#endif
