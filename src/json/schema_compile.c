/*
 * json/schema_compile: from the text of a schema to nodes.
 *
 * One table lists all keywords and what compiles them. A keyword that is not in it is an annotation
 * and ignored, as the standard demands. A keyword whose value has the wrong shape is a problem with
 * the path of that keyword; it is never silently ignored.
 *
 * Holds always: an allocation that fails leaves the arena exhausted, which fails the compilation as
 * a whole. So a missing node may be followed, but is never kept.
 */
#include "json/schema_inside.h"

#include <stdlib.h>

#include "json/number.h"

enum { ENUM_VALUES_MOST = 10000 }; /* values of one enum in a schema */

struct keyword {
    struct str name;
    bool (*compile)(struct compiler *c, struct node *node, const struct json *value,
                    const struct place *place);
};

#define KEYWORD(function)                                                                          \
    static bool function(struct compiler *c, struct node *node, const struct json *value,          \
                         const struct place *place)

/* --- problems and places --- */

bool compile_problem(struct compiler *c, const struct place *place, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    c->failed = true;
    problem_add(c->problems, c->problem_arena, place, arena_vfmt(c->problem_arena, format, args));
    va_end(args);
    return false;
}

struct place *compile_place(struct compiler *c, const struct place *up, struct str key,
                            size_t index)
{
    struct place *place = ARENA_NEW(c->arena, struct place);

    if (place)
        *place = (struct place){ .up = up, .key = key, .index = index };
    return place;
}

static bool expected(struct compiler *c, const struct place *place, const char *what,
                     const struct json *value)
{
    return compile_problem(c, place, "expected %s, got %s", what, json_type_name(value));
}

/* --- groups of rules, made when their first keyword comes --- */

#define GROUP(function, field, type)                                                               \
    static type *function(struct compiler *c, struct node *node)                                   \
    {                                                                                              \
        if (!node->field)                                                                          \
            node->field = ARENA_NEW(c->arena, type);                                               \
        return node->field;                                                                        \
    }

GROUP(logic_of, logic, struct logic_rules)
GROUP(number_of, number, struct number_rules)
GROUP(string_of, string, struct string_rules)
GROUP(array_made, array, struct array_rules)
GROUP(object_made, object, struct object_rules)

static struct array_rules *array_of(struct compiler *c, struct node *node)
{
    bool fresh = !node->array;
    struct array_rules *rules = array_made(c, node);

    if (rules && fresh)
        rules->min_contains = 1;
    return rules;
}

/* --- subschemas --- */

static struct node *child(struct compiler *c, struct node *node, const struct json *value,
                          const struct place *place)
{
    return compile_node(c, value, place, node->base, node->resource);
}

static bool child_into(struct compiler *c, struct node *node, const struct json *value,
                       const struct place *place, struct node **into)
{
    *into = child(c, node, value, place);
    return *into != NULL;
}

static bool children_into(struct compiler *c, struct node *node, const struct json *value,
                          const struct place *place, struct nodes *into)
{
    if (!json_is(value, JSON_ARRAY))
        return expected(c, place, "an array of schemas", value);
    if (value->count == 0)
        return compile_problem(c, place, "must have at least one schema");
    into->at = arena_alloc(c->arena, value->count * sizeof(*into->at));
    if (!into->at)
        return false;
    JSON_EACH (item, value) {
        struct node *made = child(c, node, item, compile_place(c, place, STR_NONE, into->count));
        if (!made)
            return false;
        into->at[into->count++] = made;
    }
    return true;
}

#define ONE_CHILD(function, group, field)                                                          \
    KEYWORD(function)                                                                              \
    {                                                                                              \
        return group(c, node) && child_into(c, node, value, place, &group(c, node)->field);        \
    }
#define MANY_CHILDREN(function, group, field)                                                      \
    KEYWORD(function)                                                                              \
    {                                                                                              \
        return group(c, node) && children_into(c, node, value, place, &group(c, node)->field);     \
    }

ONE_CHILD(compile_not, logic_of, not_)
ONE_CHILD(compile_if, logic_of, if_)
ONE_CHILD(compile_then, logic_of, then_)
ONE_CHILD(compile_else, logic_of, else_)
ONE_CHILD(compile_contains, array_of, contains)
ONE_CHILD(compile_property_names, object_made, property_names)
ONE_CHILD(compile_additional, object_made, additional)
MANY_CHILDREN(compile_all_of, logic_of, all_of)
MANY_CHILDREN(compile_any_of, logic_of, any_of)
MANY_CHILDREN(compile_one_of, logic_of, one_of)
MANY_CHILDREN(compile_prefix_items, array_of, prefix)

KEYWORD(compile_items)
{
    if (json_is(value, JSON_ARRAY))
        return compile_problem(c, place, "must be one schema; a list of them is prefixItems");
    return array_of(c, node) && child_into(c, node, value, place, &node->array->items);
}

KEYWORD(compile_unevaluated_items)
{
    return child_into(c, node, value, place, &node->unevaluated_items);
}

KEYWORD(compile_unevaluated_properties)
{
    return child_into(c, node, value, place, &node->unevaluated_properties);
}

/* Compiled for their $id and $anchor, and so that mistakes in them are found. */
KEYWORD(compile_defs)
{
    if (!json_is(value, JSON_OBJECT))
        return expected(c, place, "an object of schemas", value);
    JSON_EACH (member, value)
        if (!child(c, node, member, compile_place(c, place, member->key, 0)))
            return false;
    return true;
}

/* An annotation with a schema inside. */
KEYWORD(compile_content_schema)
{
    return child(c, node, value, place) != NULL;
}

/* --- references --- */

static bool note_reference(struct compiler *c, struct node *node, const struct json *value,
                           const struct place *place, struct node **to, const char *keyword)
{
    if (!json_is(value, JSON_STRING))
        return expected(c, place, "a string", value);
    struct reference *ref = ARENA_NEW(c->arena, struct reference);
    if (!ref)
        return false;
    *ref = (struct reference){
        .next = c->references, .node = node, .to = to, .text = value->text, .keyword = keyword
    };
    c->references = ref;
    return true;
}

KEYWORD(compile_ref)
{
    return logic_of(c, node) && note_reference(c, node, value, place, &node->logic->ref, "$ref");
}

KEYWORD(compile_dynamic_ref)
{
    return logic_of(c, node) &&
           note_reference(c, node, value, place, &node->logic->dynamic_ref, "$dynamicRef");
}

KEYWORD(compile_string)
{
    (void)node;
    return json_is(value, JSON_STRING) || expected(c, place, "a string", value);
}

/* --- any value --- */

static const struct {
    struct str name;
    uint8_t bits;
} type_names[] = {
    { STR_INIT("null"), 1 << JSON_NULL },     { STR_INIT("boolean"), 1 << JSON_BOOL },
    { STR_INIT("number"), 1 << JSON_NUMBER }, { STR_INIT("integer"), 1 << TYPE_INTEGER_BIT },
    { STR_INIT("string"), 1 << JSON_STRING }, { STR_INIT("array"), 1 << JSON_ARRAY },
    { STR_INIT("object"), 1 << JSON_OBJECT },
};

static bool add_type(struct compiler *c, struct node *node, const struct json *value,
                     const struct place *place)
{
    if (!json_is(value, JSON_STRING))
        return expected(c, place, "the name of a type", value);
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (!str_eq(value->text, type_names[i].name))
            continue;
        if (node->types & type_names[i].bits)
            return compile_problem(c, place, "names the same type twice");
        node->types |= type_names[i].bits;
        return true;
    }
    return compile_problem(c, place,
                           "is not a type: null, boolean, number, integer, string, array "
                           "and object are");
}

KEYWORD(compile_type)
{
    size_t index = 0;

    if (!json_is(value, JSON_ARRAY))
        return add_type(c, node, value, place);
    if (value->count == 0)
        return compile_problem(c, place, "must name at least one type");
    JSON_EACH (item, value)
        if (!add_type(c, node, item, compile_place(c, place, STR_NONE, index++)))
            return false;
    return true;
}

KEYWORD(compile_enum)
{
    if (!json_is(value, JSON_ARRAY))
        return expected(c, place, "an array", value);
    if (value->count > ENUM_VALUES_MOST)
        return compile_problem(c, place, "has more than %d values", ENUM_VALUES_MOST);
    node->choices = value;
    return true;
}

KEYWORD(compile_const)
{
    (void)c;
    (void)place;
    node->constant = value;
    return true;
}

/* --- numbers --- */

#define BOUND(function, field)                                                                     \
    KEYWORD(function)                                                                              \
    {                                                                                              \
        if (!json_is(value, JSON_NUMBER))                                                          \
            return expected(c, place, "a number", value);                                          \
        if (number_of(c, node))                                                                    \
            node->number->field = value;                                                           \
        return node->number != NULL;                                                               \
    }

BOUND(compile_minimum, minimum)
BOUND(compile_maximum, maximum)
BOUND(compile_exclusive_minimum, exclusive_minimum)
BOUND(compile_exclusive_maximum, exclusive_maximum)

KEYWORD(compile_multiple_of)
{
    struct multiple multiple;

    if (!json_is(value, JSON_NUMBER))
        return expected(c, place, "a number", value);
    if (!multiple_of_text(value->text, &multiple))
        return compile_problem(c, place, "must be above 0, with at most %d significant digits",
                               MULTIPLE_DIGITS_MOST);
    if (!number_of(c, node))
        return false;
    node->number->multiple = multiple;
    node->number->multiple_text = value;
    return true;
}

/* --- counts: lengths, items, properties --- */

/* A whole number from 0; one beyond 64 bits counts as the largest. */
static bool count_of(struct compiler *c, const struct json *value, const struct place *place,
                     uint64_t *out)
{
    int64_t n;

    if (!json_is(value, JSON_NUMBER))
        return expected(c, place, "a number", value);
    struct number_parts parts = number_parts(value->text);
    if (parts.exponent < 0 || parts.negative)
        return compile_problem(c, place, "must be a whole number, at least 0");
    *out = json_i64(value, &n) ? (uint64_t)n : UINT64_MAX;
    return true;
}

#define COUNT(function, group, flag, field)                                                        \
    KEYWORD(function)                                                                              \
    {                                                                                              \
        if (!group(c, node))                                                                       \
            return false;                                                                          \
        group(c, node)->flag = true;                                                               \
        return count_of(c, value, place, &group(c, node)->field);                                  \
    }

COUNT(compile_min_length, string_of, has_min, min)
COUNT(compile_max_length, string_of, has_max, max)
COUNT(compile_min_items, array_of, has_min, min)
COUNT(compile_max_items, array_of, has_max, max)
COUNT(compile_max_contains, array_of, has_max_contains, max_contains)
COUNT(compile_min_properties, object_made, has_min, min)
COUNT(compile_max_properties, object_made, has_max, max)

KEYWORD(compile_min_contains)
{
    return array_of(c, node) && count_of(c, value, place, &node->array->min_contains);
}

KEYWORD(compile_unique_items)
{
    if (!json_is(value, JSON_BOOL))
        return expected(c, place, "true or false", value);
    if (array_of(c, node))
        node->array->unique = value->truth;
    return node->array != NULL;
}

/* --- strings --- */

static const struct named_pattern *pattern_for(struct compiler *c, struct str text,
                                               const struct place *place)
{
    struct named_pattern *known = map_get(&c->patterns, text);
    struct str why = STR_NONE;

    if (known)
        return known;
    struct pattern *pattern = pattern_compile(text, c->problem_arena, &why);
    if (!pattern) {
        compile_problem(c, place, STR_FMT, STR_ARG(why));
        return NULL;
    }
    struct named_pattern *made = ARENA_NEW(c->arena, struct named_pattern);
    c->pattern_bytes += pattern_bytes(pattern);
    if (!made || c->pattern_bytes > SCHEMA_PATTERN_BYTES_MOST) {
        pattern_destroy(pattern);
        compile_problem(c, place, "is more than the patterns of one schema may take together");
        return NULL;
    }
    *made = (struct named_pattern){ .next = c->schema->patterns, .text = text, .pattern = pattern };
    c->schema->patterns = made;
    map_set(&c->patterns, text, made); /* past the map's limit the pattern is just not shared */
    return made;
}

KEYWORD(compile_pattern)
{
    if (!json_is(value, JSON_STRING))
        return expected(c, place, "a regular expression", value);
    if (string_of(c, node))
        node->string->pattern = pattern_for(c, value->text, place);
    if (node->string)
        node->string->hint = json_get_str(node->source, STR(SCHEMA_HINT));
    return node->string && node->string->pattern;
}

KEYWORD(compile_format)
{
    if (!json_is(value, JSON_STRING))
        return expected(c, place, "the name of a format", value);
    if (c->assert_formats && format_find(value->text) && string_of(c, node))
        node->string->format = format_find(value->text);
    return true;
}

/* --- objects --- */

/*
 * The names of one node while it is compiled: found by text, then sorted for checking. A node's
 * object keywords are compiled together, because they share the names.
 */
static struct name *name_for(struct compiler *c, struct map *names, struct str text)
{
    struct name *name = map_get(names, text);

    if (name)
        return name;
    name = ARENA_NEW(c->arena, struct name);
    if (!name)
        return NULL;
    name->text = text;
    return map_set(names, text, name) ? name : NULL;
}

/* properties; with `dependent` dependentSchemas. */
static bool name_schemas(struct compiler *c, struct node *node, const struct json *value,
                         const struct place *place, struct map *names, bool dependent)
{
    if (!json_is(value, JSON_OBJECT))
        return expected(c, place, "an object of schemas", value);
    JSON_EACH (member, value) {
        struct name *name = name_for(c, names, member->key);
        if (!name || !child_into(c, node, member, compile_place(c, place, member->key, 0),
                                 dependent ? &name->dependent : &name->schema))
            return false;
    }
    return true;
}

static bool compile_properties(struct compiler *c, struct node *node, const struct json *value,
                               const struct place *place, struct map *names)
{
    return name_schemas(c, node, value, place, names, false);
}

static bool compile_dependent_schemas(struct compiler *c, struct node *node,
                                      const struct json *value, const struct place *place,
                                      struct map *names)
{
    return name_schemas(c, node, value, place, names, true);
}

/* The names of a list without repeats. */
static bool names_of(struct compiler *c, const struct json *value, const struct place *place,
                     struct map *names, struct name **into, size_t *count)
{
    struct map seen;
    bool fine = true;

    if (!json_is(value, JSON_ARRAY))
        return expected(c, place, "an array of names", value);
    map_init(&seen, value->count);
    JSON_EACH (item, value) {
        const struct place *here = compile_place(c, place, STR_NONE, *count);
        if (!json_is(item, JSON_STRING))
            fine = expected(c, here, "a name", item);
        else if (map_get(&seen, item->text))
            fine = compile_problem(c, here, "is named twice");
        else if (!(into[*count] = name_for(c, names, item->text)))
            fine = false;
        if (!fine)
            break;
        map_set(&seen, item->text, into[(*count)++]);
    }
    map_finish(&seen);
    return fine;
}

static struct name **name_list(struct compiler *c, const struct json *value)
{
    size_t count = json_is(value, JSON_ARRAY) ? value->count : 0;

    return arena_alloc(c->arena, (count + 1) * sizeof(struct name *));
}

static bool compile_required(struct compiler *c, struct node *node, const struct json *value,
                             const struct place *place, struct map *names)
{
    struct name **list = name_list(c, value);
    size_t count = 0;

    (void)node;
    if (!list || !names_of(c, value, place, names, list, &count))
        return false;
    for (size_t i = 0; i < count; i++)
        list[i]->required = true;
    return true;
}

static bool compile_dependent_required(struct compiler *c, struct node *node,
                                       const struct json *value, const struct place *place,
                                       struct map *names)
{
    (void)node;
    if (!json_is(value, JSON_OBJECT))
        return expected(c, place, "an object of lists of names", value);
    JSON_EACH (member, value) {
        struct name *name = name_for(c, names, member->key);
        struct name **list = name_list(c, member);
        if (!name || !list)
            return false;
        name->needs = list;
        name->needs_count = 0;
        if (!names_of(c, member, compile_place(c, place, member->key, 0), names, list,
                      &name->needs_count))
            return false;
    }
    return true;
}

static const struct {
    struct str name;
    bool (*compile)(struct compiler *c, struct node *node, const struct json *value,
                    const struct place *place, struct map *names);
} name_keywords[] = {
    { STR_INIT("properties"), compile_properties },
    { STR_INIT("required"), compile_required },
    { STR_INIT("dependentRequired"), compile_dependent_required },
    { STR_INIT("dependentSchemas"), compile_dependent_schemas },
};

static int by_text(const void *a, const void *b)
{
    const struct name *const *x = a;
    const struct name *const *y = b;

    return str_cmp((*x)->text, (*y)->text);
}

static bool names_into(struct compiler *c, struct node *node, struct map *names)
{
    struct object_rules *rules = object_made(c, node);
    size_t count = names->count;
    size_t at = 0;

    if (!rules || count == 0)
        return rules != NULL;
    rules->names = arena_alloc(c->arena, count * sizeof(struct name *));
    if (!rules->names)
        return false;
    for (struct name *name; (name = map_next(names, &at));) {
        rules->names[rules->names_count++] = name;
        rules->properties_count += name->schema ? 1 : 0;
    }
    qsort(rules->names, count, sizeof(struct name *), by_text);
    for (size_t i = 0; i < count; i++)
        rules->names[i]->place = i;
    return true;
}

static bool compile_names(struct compiler *c, struct node *node)
{
    struct map names;
    bool any = false;
    bool fine = true;

    map_init(&names, SCHEMA_BYTES_MOST / sizeof(struct name));
    for (size_t i = 0; i < sizeof(name_keywords) / sizeof(name_keywords[0]) && fine; i++) {
        const struct json *value = json_get(node->source, name_keywords[i].name);
        if (!value)
            continue;
        any = true;
        fine = name_keywords[i].compile(
            c, node, value, compile_place(c, node->place, name_keywords[i].name, 0), &names);
    }
    if (fine && any)
        fine = names_into(c, node, &names);
    map_finish(&names);
    return fine;
}

KEYWORD(compile_pattern_properties)
{
    if (!json_is(value, JSON_OBJECT))
        return expected(c, place, "an object of schemas", value);
    struct object_rules *rules = object_made(c, node);
    if (!rules)
        return false;
    rules->patterns = arena_alloc(c->arena, (value->count + 1) * sizeof(*rules->patterns));
    if (!rules->patterns)
        return false;
    JSON_EACH (member, value) {
        const struct place *here = compile_place(c, place, member->key, 0);
        struct pattern_rule rule = { .pattern = pattern_for(c, member->key, here) };
        if (!rule.pattern || !child_into(c, node, member, here, &rule.schema))
            return false;
        rules->patterns[rules->patterns_count++] = rule;
    }
    return true;
}

/* --- the table, and a node --- */

static const struct keyword keywords[] = {
    { STR_INIT("$schema"), compile_string },
    { STR_INIT("$comment"), compile_string },
    { STR_INIT("$ref"), compile_ref },
    { STR_INIT("$dynamicRef"), compile_dynamic_ref },
    { STR_INIT("$defs"), compile_defs },
    { STR_INIT("definitions"), compile_defs },
    { STR_INIT("type"), compile_type },
    { STR_INIT("enum"), compile_enum },
    { STR_INIT("const"), compile_const },
    { STR_INIT("multipleOf"), compile_multiple_of },
    { STR_INIT("minimum"), compile_minimum },
    { STR_INIT("maximum"), compile_maximum },
    { STR_INIT("exclusiveMinimum"), compile_exclusive_minimum },
    { STR_INIT("exclusiveMaximum"), compile_exclusive_maximum },
    { STR_INIT("minLength"), compile_min_length },
    { STR_INIT("maxLength"), compile_max_length },
    { STR_INIT("pattern"), compile_pattern },
    { STR_INIT("format"), compile_format },
    { STR_INIT("minItems"), compile_min_items },
    { STR_INIT("maxItems"), compile_max_items },
    { STR_INIT("uniqueItems"), compile_unique_items },
    { STR_INIT("contains"), compile_contains },
    { STR_INIT("minContains"), compile_min_contains },
    { STR_INIT("maxContains"), compile_max_contains },
    { STR_INIT("prefixItems"), compile_prefix_items },
    { STR_INIT("items"), compile_items },
    { STR_INIT("unevaluatedItems"), compile_unevaluated_items },
    { STR_INIT("minProperties"), compile_min_properties },
    { STR_INIT("maxProperties"), compile_max_properties },
    { STR_INIT("patternProperties"), compile_pattern_properties },
    { STR_INIT("additionalProperties"), compile_additional },
    { STR_INIT("propertyNames"), compile_property_names },
    { STR_INIT("unevaluatedProperties"), compile_unevaluated_properties },
    { STR_INIT("allOf"), compile_all_of },
    { STR_INIT("anyOf"), compile_any_of },
    { STR_INIT("oneOf"), compile_one_of },
    { STR_INIT("not"), compile_not },
    { STR_INIT("if"), compile_if },
    { STR_INIT("then"), compile_then },
    { STR_INIT("else"), compile_else },
    { STR_INIT("contentSchema"), compile_content_schema },
};

/* In the order of the table, not of the members. If a keyword occurs twice, the last one counts. */
static bool compile_keywords(struct compiler *c, struct node *node)
{
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
        const struct json *value = json_get(node->source, keywords[i].name);
        if (value && !keywords[i].compile(c, node, value,
                                          compile_place(c, node->place, keywords[i].name, 0)))
            return false;
    }
    return compile_names(c, node);
}

static struct str source_key(const struct json *const *source)
{
    return str_n((const char *)source, sizeof(*source));
}

struct node *compile_known(const struct compiler *c, const struct json *source)
{
    return source ? map_get(&c->by_source, source_key(&source)) : NULL;
}

static struct node *node_new(struct compiler *c, const struct json *source,
                             const struct place *place)
{
    struct node *node = ARENA_NEW(c->arena, struct node);

    if (!node)
        return NULL;
    node->source = source;
    node->place = place;
    if (++c->nodes > c->max_nodes || !map_set(&c->by_source, source_key(&node->source), node)) {
        compile_problem(c, place, "is one subschema more than the %u there may be", c->max_nodes);
        return NULL;
    }
    return node;
}

struct node *compile_node(struct compiler *c, const struct json *source, const struct place *place,
                          struct str base, const struct json *resource)
{
    struct node *node = compile_known(c, source);

    if (node)
        return node;
    if (!json_is(source, JSON_OBJECT) && !json_is(source, JSON_BOOL)) {
        expected(c, place, "a schema (an object, true or false)", source);
        return NULL;
    }
    if (c->depth == SCHEMA_NEST_MOST) {
        compile_problem(c, place, "is nested deeper than %d schemas", SCHEMA_NEST_MOST);
        return NULL;
    }
    node = node_new(c, source, place);
    if (!node)
        return NULL;
    node->base = base;
    node->resource = resource;
    if (json_is(source, JSON_BOOL)) {
        node->sort = source->truth ? NODE_TRUE : NODE_FALSE;
        return node;
    }
    c->depth++;
    bool fine = ref_register(c, node) && compile_keywords(c, node);
    c->depth--;
    return fine && !c->arena->exhausted ? node : NULL;
}
