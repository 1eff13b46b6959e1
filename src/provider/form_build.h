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
    FORM_FIELDS_MAX = 200,   /* fields of one NOD_FORM */
    FORM_OPTIONS_MAX = 1000, /* of one field */
};

/*
 * The schema, in the arena. NULL with a sentence part in *why (in the arena, or constant) that
 * names the field where the form makes no sense: no name, a preset of another type, a bound that is
 * none.
 */
struct json *form_build(const nod_form *form, struct arena *arena, struct str *why);

#endif
