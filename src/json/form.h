/*
 * json/form: is this schema one that a person's form may have?
 *
 * MCP's elicitation forms are a small part of JSON Schema: a flat object of primitives. What
 * exactly is allowed depends on the protocol revision, by schema.ts of that revision.
 *
 * form_check refuses, with the path of the offending keyword, what the newest revision does not
 * know (plus `pattern`, which is checked on the server and never sent). form_for_revision writes
 * the schema as a client of a given revision can take it: what the revision does not know is left
 * out or taken down (titled enums become enum + enumNames, a multi-select becomes a text that names
 * its choices), `pattern` is always left out, and at the top level only type, properties and
 * required are emitted. form_read_back undoes for an answer what was taken down in its question.
 */
#ifndef NOD_JSON_FORM_H
#define NOD_JSON_FORM_H

#include "json/schema.h"

/* In order of age; later ones know at least what earlier ones do. */
enum form_revision { FORM_2025_06_18, FORM_2025_11_25, FORM_2026_07_28 };

enum {
    FORM_FIELDS_MOST = 64,   /* fields of one question */
    FORM_CHOICES_MOST = 256, /* of one field */
};

/* NOD_OK, or NOD_E_BAD_SCHEMA with problems whose paths point into the schema. */
nod_status form_check(const struct json *schema, enum form_revision revision, struct arena *arena,
                      struct schema_problems *problems);

/*
 * The schema for the wire of `revision`. NULL, with problems, where it cannot be taken down.
 * `schema` has passed form_check for the newest revision.
 */
struct json *form_for_revision(const struct json *schema, enum form_revision revision,
                               struct arena *arena, struct schema_problems *problems);

/*
 * What a client of `revision` has answered to such a form, as `schema` has it: unchecked, and
 * perhaps `content` itself. `arena` is exhausted if it is too large.
 */
const struct json *form_read_back(const struct json *schema, enum form_revision revision,
                                  const struct json *content, struct arena *arena);

/* May this field be asked all the same? An operator has said so. */
typedef bool form_allowed(const void *data, struct str field);

/*
 * True if a field asks for a secret (password, API key, token, card number, ...) by its name,
 * title, description, format, or the message above the form; *field says which. `allowed` may be
 * NULL.
 */
bool form_asks_secret(const struct json *schema, struct str message, form_allowed *allowed,
                      const void *data, struct str *field);

#endif
