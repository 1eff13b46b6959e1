/*
 * json/form: is this schema one that a person's form may have?
 *
 * MCP's elicitation forms are a small part of JSON Schema: a flat object of primitives. What
 * exactly is allowed depends on the protocol revision (its schema.ts).
 *
 * - form_check refuses what the newest revision does not know (except `pattern`, which is checked
 *   on the server and never sent), with the path of the offending keyword.
 * - form_for_revision writes the schema as a client of a given revision can take it. What the
 *   revision does not know is left out or replaced: titled enums become enum + enumNames, a
 *   multi-select becomes a text that names its choices. `pattern` is always left out, and at the
 *   top level only type, properties and required are written.
 * - form_read_back undoes these replacements in an answer.
 */
#ifndef NOD_JSON_FORM_H
#define NOD_JSON_FORM_H

#include "json/schema.h"

/* Oldest first. Later revisions know at least what earlier ones do. */
enum form_revision { FORM_2025_06_18, FORM_2025_11_25, FORM_2026_07_28 };

enum {
    FORM_FIELDS_MOST = 64,   /* fields of one question */
    FORM_CHOICES_MOST = 256, /* choices of one field */
};

/* NOD_OK, or NOD_E_BAD_SCHEMA with problems whose paths point into the schema. */
nod_status form_check(const struct json *schema, enum form_revision revision, struct arena *arena,
                      struct schema_problems *problems);

/*
 * The schema for a client of `revision`. NULL, with problems: it cannot be written for that
 * revision. `schema` has passed form_check for the newest revision.
 */
struct json *form_for_revision(const struct json *schema, enum form_revision revision,
                               struct arena *arena, struct schema_problems *problems);

/*
 * The answer of a client of `revision` to such a form, converted to fit `schema`. It is not
 * checked, and may be `content` itself. `arena` is exhausted if it is too large.
 */
const struct json *form_read_back(const struct json *schema, enum form_revision revision,
                                  const struct json *content, struct arena *arena);

/* Has the operator allowed to ask for this field? */
typedef bool form_allowed(const void *data, struct str field);

/*
 * True: a field asks for a secret (password, API key, token, card number, ...), by its name, title,
 * description, format, or the message above the form; *field says which. `allowed` may be NULL.
 */
bool form_asks_secret(const struct json *schema, struct str message, form_allowed *allowed,
                      const void *data, struct str *field);

#endif
