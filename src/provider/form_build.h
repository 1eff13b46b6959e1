/*
 * provider/form_build: a nod_form as JSON Schema.
 *
 * The one place where the fields of a form become a schema, for what a person is asked and for what
 * a tool takes alike: {"type": "object", "properties": {...}, "required": [...]}.
 */
#ifndef NOD_PROVIDER_FORM_BUILD_H
#define NOD_PROVIDER_FORM_BUILD_H

#include "json/value.h"

enum {
    FORM_FIELDS_MAX = 200,
    FORM_OPTIONS_MAX = 1000, /* of one field */
    FORM_KEY_MAX = 4096,     /* bytes of a form whose schema is kept */
};

/*
 * The schema, in the arena. NULL with a sentence part in *why (in the arena, or constant) that
 * names the field where the form makes no sense: no name, a preset of another type, a bound that is
 * none.
 */
struct json *form_build(const nod_form *form, struct arena *arena, struct str *why);

/*
 * The bytes that the form is known by: other forms have others. None: too large to be kept, or no
 * form at all.
 */
struct str form_key(const nod_form *form, char out[FORM_KEY_MAX]);

/* --- for form_key.c --- */

bool form_shape_fits(const nod_form *form);
/* Field `index`; one of another version is made one of ours, in `room`. */
const nod_field *form_field(const nod_form *form, size_t index, nod_field *room);
/* False: it has no name, or a kind that we do not know. */
bool field_known(const nod_field *field);

#endif
