/*
 * json/schema: the outside of the validator: compile, destroy, and how a problem is written.
 *
 * schema_compile copies the document into the schema's own arena, makes nodes of its subschemas
 * (schema_compile.c) and resolves references (schema_ref.c). After that nothing is written to it
 * again.
 */
#include "json/schema_inside.h"

#include "base/mem.h"
#include "json/number.h"

/* --- places and problems --- */

/* Backwards from the end, so that the chain need not be reversed. A long key is cut. */
static size_t prepend(char *text, size_t room, struct str key)
{
    for (size_t i = key.len; i-- > 0;) {
        char c = key.at[i];
        if (room < 3)
            return room;
        if (c == '~' || c == '/') {
            text[--room] = c == '~' ? '0' : '1';
            c = '~';
        }
        text[--room] = c;
    }
    if (room > 0)
        text[--room] = '/';
    return room;
}

struct str place_text(struct arena *arena, const struct place *place)
{
    char text[SCHEMA_PATH_MOST];
    size_t at = sizeof(text);

    for (; place && at > 0; place = place->up) {
        struct number_text digits;
        number_from_u64(place->index, &digits);
        at = prepend(text, at, place->key.at ? place->key : number_str(&digits));
    }
    /* A cut must not leave the tail of a character behind. */
    while (at < sizeof(text) && ((unsigned char)text[at] & 0xc0) == 0x80)
        at++;
    struct str made = arena_str(arena, str_n(text + at, sizeof(text) - at));
    return made.at ? made : STR("");
}

void problem_add(struct schema_problems *problems, struct arena *arena, const struct place *place,
                 struct str message)
{
    if (problems->count == SCHEMA_PROBLEMS_MAX)
        return;
    struct schema_problem *problem = &problems->at[problems->count++];
    problem->path = place_text(arena, place);
    problem->message = message.at ? message : STR("does not fit its schema");
}

/* --- compiling --- */

static bool compile_document(struct compiler *c, const struct json *document)
{
    struct schema *schema = c->schema;
    const struct json *copy = json_copy(c->arena, document);

    if (!copy)
        return compile_problem(c, NULL, "is larger than a schema may be");
    schema->root = compile_node(c, copy, NULL, STR(""), copy);
    if (!schema->root)
        return false;
    /* A document without an $id can still be referred to as "#". */
    if (!map_get(&c->resources, schema->root->base))
        map_set(&c->resources, schema->root->base, schema->root);
    return ref_resolve_all(c) && ref_refuse_loops(c, schema->root);
}

struct schema *schema_compile(const struct json *document, const struct schema_opts *opts,
                              struct arena *arena, struct schema_problems *problems)
{
    static const struct schema_opts defaults = { 0 };
    struct schema *schema = MEM_NEW(struct schema);
    struct compiler c = { .schema = schema, .arena = &schema->arena, .problem_arena = arena };

    opts = opts ? opts : &defaults;
    problems->count = 0;
    c.problems = problems;
    c.assert_formats = opts->assert_formats;
    schema->getter_numbers = opts->getter_numbers;
    schema->distinct_items = opts->distinct_items;
    c.max_nodes = opts->max_subschemas ? opts->max_subschemas : SCHEMA_SUBSCHEMAS_DEFAULT;
    schema->max_depth = opts->max_depth ? opts->max_depth : SCHEMA_DEPTH_DEFAULT;
    if (schema->max_depth > SCHEMA_DEPTH_MOST)
        schema->max_depth = SCHEMA_DEPTH_MOST;
    schema->max_work = opts->max_work ? opts->max_work : SCHEMA_WORK_DEFAULT;
    arena_init(&schema->arena, SCHEMA_BYTES_MOST);
    map_init(&c.patterns, c.max_nodes);
    map_init(&c.resources, c.max_nodes);
    map_init(&c.anchors, (size_t)c.max_nodes * 2);
    map_init(&c.by_source, c.max_nodes);

    compile_document(&c, document);
    if (schema->arena.exhausted)
        compile_problem(&c, NULL, "takes more than %d bytes as a schema", SCHEMA_BYTES_MOST);
    map_finish(&c.patterns);
    map_finish(&c.resources);
    map_finish(&c.anchors);
    map_finish(&c.by_source);
    if (c.failed) {
        schema_destroy(schema);
        return NULL;
    }
    return schema;
}

void schema_destroy(struct schema *schema)
{
    if (!schema)
        return;
    for (struct named_pattern *p = schema->patterns; p; p = p->next)
        pattern_destroy(p->pattern);
    arena_finish(&schema->arena);
    mem_free(schema);
}
