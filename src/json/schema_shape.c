/*
 * json/schema_shape: what a schema demands, without the words around it.
 *
 * Two schemas that take the same values may differ in what they say to people and models: titles,
 * descriptions, examples, defaults. The shape of a schema is a copy without those, so that a better
 * sentence does not make it another schema. A member counts as words only where a keyword is: a
 * property named "title" stays, and so does everything inside const and enum.
 */
#include "json/schema.h"

enum shape_part {
    PART_PLAIN,   /* copied as it is */
    PART_WORDS,   /* left out */
    PART_SCHEMA,  /* a schema, or an array of them */
    PART_SCHEMAS, /* an object of schemas, by names that are not keywords */
};

static const struct {
    struct str keyword;
    enum shape_part part;
} parts[] = {
    { STR_INIT("title"), PART_WORDS },
    { STR_INIT("description"), PART_WORDS },
    { STR_INIT("$comment"), PART_WORDS },
    { STR_INIT("examples"), PART_WORDS },
    { STR_INIT("default"), PART_WORDS },
    { STR_INIT("deprecated"), PART_WORDS },
    { STR_INIT("enumNames"), PART_WORDS },
    { STR_INIT(SCHEMA_HINT), PART_WORDS },
    { STR_INIT("properties"), PART_SCHEMAS },
    { STR_INIT("patternProperties"), PART_SCHEMAS },
    { STR_INIT("$defs"), PART_SCHEMAS },
    { STR_INIT("definitions"), PART_SCHEMAS },
    { STR_INIT("dependentSchemas"), PART_SCHEMAS },
    { STR_INIT("items"), PART_SCHEMA },
    { STR_INIT("prefixItems"), PART_SCHEMA },
    { STR_INIT("contains"), PART_SCHEMA },
    { STR_INIT("additionalProperties"), PART_SCHEMA },
    { STR_INIT("propertyNames"), PART_SCHEMA },
    { STR_INIT("unevaluatedItems"), PART_SCHEMA },
    { STR_INIT("unevaluatedProperties"), PART_SCHEMA },
    { STR_INIT("contentSchema"), PART_SCHEMA },
    { STR_INIT("allOf"), PART_SCHEMA },
    { STR_INIT("anyOf"), PART_SCHEMA },
    { STR_INIT("oneOf"), PART_SCHEMA },
    { STR_INIT("not"), PART_SCHEMA },
    { STR_INIT("if"), PART_SCHEMA },
    { STR_INIT("then"), PART_SCHEMA },
    { STR_INIT("else"), PART_SCHEMA },
};

static enum shape_part part_of(struct str keyword)
{
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (str_eq(parts[i].keyword, keyword))
            return parts[i].part;
    return PART_PLAIN;
}

static struct json *shape_each(struct arena *arena, const struct json *schemas)
{
    struct json *out = json_new_object(arena);

    if (!json_is(schemas, JSON_OBJECT))
        return json_copy(arena, schemas);
    JSON_EACH (schema, schemas)
        json_set(arena, out, schema->key, schema_shape(arena, schema));
    return out;
}

/* Recurses as deep as the text was nested, which is bounded (JSON_DEPTH_MAX). */
struct json *schema_shape(struct arena *arena, const struct json *schema)
{
    if (json_is(schema, JSON_ARRAY)) {
        struct json *list = json_new_array(arena);
        JSON_EACH (one, schema)
            json_push(list, schema_shape(arena, one));
        return list;
    }
    if (!json_is(schema, JSON_OBJECT))
        return json_copy(arena, schema);
    struct json *out = json_new_object(arena);
    JSON_EACH (member, schema) {
        switch (part_of(member->key)) {
        case PART_WORDS:
            break;
        case PART_PLAIN:
            json_set(arena, out, member->key, json_copy(arena, member));
            break;
        case PART_SCHEMA:
            json_set(arena, out, member->key, schema_shape(arena, member));
            break;
        case PART_SCHEMAS:
            json_set(arena, out, member->key, shape_each(arena, member));
            break;
        }
    }
    return out;
}
