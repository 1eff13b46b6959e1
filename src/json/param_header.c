/*
 * json/param_header: finds the annotations of a schema, and refuses those that cannot work.
 *
 * The walk looks everywhere, because an annotation in a place where it has no meaning (an array's
 * items, a branch of oneOf, a definition) is a mistake that its author should hear of. Only members
 * of `properties` continue the path from the root; everything else breaks it.
 *
 * Instance data is not schema: what is under `const`, `default`, `enum` and `examples` is not
 * looked at.
 */
#include "json/param_header.h"

static const struct str annotation = STR_INIT("x-mcp-header");

struct walk {
    struct arena *arena;
    struct param_header *found;
    size_t count;
    struct str problem;
    struct str path[PARAM_HEADER_DEPTH_MAX];
};

static bool fail(struct walk *walk, const char *what, struct str name)
{
    if (!walk->problem.at)
        walk->problem =
            arena_fmt(walk->arena, "x-mcp-header \"" STR_FMT "\" %s", STR_ARG(name), what);
    return false;
}

_Static_assert(PARAM_HEADER_NAME_MAX == 128, "a message of this file names the limit");

static bool is_token(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alnum && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return name.len > 0;
}

static bool type_of(const struct json *property, enum param_header_type *out)
{
    struct str type = json_get_str(property, STR("type"));

    if (str_eq(type, STR("string")))
        *out = PARAM_HEADER_STRING;
    else if (str_eq(type, STR("integer")))
        *out = PARAM_HEADER_INTEGER;
    else if (str_eq(type, STR("boolean")))
        *out = PARAM_HEADER_BOOLEAN;
    else
        return false;
    return true;
}

/* `depth` names lead here through `properties` only; SIZE_MAX: something else is on the path. */
static bool take(struct walk *walk, const struct json *property, size_t depth)
{
    const struct json *value = json_get(property, annotation);
    struct str name = json_str(value);
    enum param_header_type type = PARAM_HEADER_STRING;

    if (!json_is(value, JSON_STRING))
        return fail(walk, "must be a string", json_is(value, JSON_NULL) ? STR("null") : STR("?"));
    if (name.len > PARAM_HEADER_NAME_MAX)
        return fail(walk, "has more than 128 characters", str_n(name.at, PARAM_HEADER_NAME_MAX));
    if (!is_token(name))
        return fail(walk, "is not a token, as header names are", STR(""));
    if (depth == SIZE_MAX || depth == 0)
        return fail(walk, "must be on a property that is reached through `properties` only", name);
    if (!type_of(property, &type))
        return fail(walk, "must be on a string, an integer or a boolean", name);
    for (size_t i = 0; i < walk->count; i++)
        if (str_eq_nocase(walk->found[i].name, name))
            return fail(walk, "occurs twice", name);
    if (walk->count == PARAM_HEADER_MAX)
        return fail(walk, "is one more than there may be", name);

    if (!walk->found)
        walk->found = arena_alloc(walk->arena, PARAM_HEADER_MAX * sizeof(*walk->found));
    if (!walk->found)
        return fail(walk, "does not fit into memory", name);
    struct param_header *header = &walk->found[walk->count++];
    *header =
        (struct param_header){ .name = arena_str(walk->arena, name), .type = type, .depth = depth };
    for (size_t i = 0; i < depth; i++)
        header->path[i] = arena_str(walk->arena, walk->path[i]);
    return true;
}

static bool is_data(struct str key)
{
    return str_eq(key, STR("const")) || str_eq(key, STR("default")) || str_eq(key, STR("enum")) ||
           str_eq(key, STR("examples"));
}

static bool visit(struct walk *walk, const struct json *schema, size_t depth, bool names);

static bool visit_properties(struct walk *walk, const struct json *properties, size_t depth)
{
    JSON_EACH (property, properties) {
        size_t inner = SIZE_MAX;
        if (depth < PARAM_HEADER_DEPTH_MAX) {
            walk->path[depth] = property->key;
            inner = depth + 1;
        }
        if (!visit(walk, property, inner, false))
            return false;
    }
    return true;
}

/* `names`: the members are names given by the author (properties, definitions), not keywords. */
static bool visit(struct walk *walk, const struct json *schema, size_t depth, bool names)
{
    if (!names && json_get(schema, annotation) && !take(walk, schema, depth))
        return false;
    JSON_EACH (member, schema) {
        bool object = json_is(schema, JSON_OBJECT);
        if (!json_first(member) || (object && !names && is_data(member->key)))
            continue;
        bool properties = object && !names && str_eq(member->key, STR("properties"));
        bool named =
            object && !names &&
            (str_eq(member->key, STR("$defs")) || str_eq(member->key, STR("definitions")) ||
             str_eq(member->key, STR("patternProperties")) ||
             str_eq(member->key, STR("dependentSchemas")));
        bool fine = properties && depth != SIZE_MAX
                        ? visit_properties(walk, member, depth)
                        : visit(walk, member, SIZE_MAX, named || properties);
        if (!fine)
            return false;
    }
    return true;
}

bool param_headers_find(const struct json *schema, struct arena *arena,
                        const struct param_header **out, size_t *count, struct str *problem)
{
    struct walk walk = { .arena = arena };
    bool fine = visit(&walk, schema, 0, false);

    *out = walk.found;
    *count = fine ? walk.count : 0;
    *problem = walk.problem;
    return fine && !arena->exhausted;
}

const struct json *param_header_value(const struct param_header *header, const struct json *args)
{
    const struct json *at = args;

    for (size_t i = 0; at && i < header->depth; i++)
        at = json_is(at, JSON_OBJECT) ? json_get(at, header->path[i]) : NULL;
    return json_is(at, JSON_NULL) ? NULL : at;
}
