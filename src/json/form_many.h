/*
 * json/form_many: several choices as one text, for a client that knows no multi-select.
 */
#ifndef NOD_JSON_FORM_MANY_H
#define NOD_JSON_FORM_MANY_H

#include "json/value.h"

/* The field as a text field, whose description names the choices. NULL: they are too long. */
struct json *form_many_as_text(const struct json *field, struct arena *arena);

/*
 * The answer, with arrays where `schema` has a multi-select and a text came. `content` itself if
 * there is none; otherwise in `arena`, which is exhausted if it is too large.
 */
const struct json *form_many_from_text(const struct json *schema, const struct json *content,
                                       struct arena *arena);

#endif
