/*
 * provider/register_prompt: prompts and their arguments.
 *
 * Arguments of an MCP prompt are strings. The required ones become a schema, so that a prompts/get
 * without them is refused before the handler runs.
 */
#include "provider/local_inside.h"

static nod_status prompt_check(const nod_prompt *p)
{
    size_t count = 0;

    if (!p->name || !*p->name || strlen(p->name) > LOCAL_NAME_MAX)
        return register_refuse("prompt", p->name, NOD_E_USAGE, "a name has 1 to %d bytes",
                               LOCAL_NAME_MAX);
    if (!p->get)
        return register_refuse("prompt", p->name, NOD_E_USAGE, "it has no get handler");
    for (const nod_prompt_arg *a = p->args; a && a->name; a++, count++) {
        if (!*a->name || count >= LOCAL_PROMPT_ARGS_MAX)
            return register_refuse("prompt", p->name, NOD_E_USAGE,
                                   "an argument has an empty name, or there are more than %d",
                                   LOCAL_PROMPT_ARGS_MAX);
        for (const nod_prompt_arg *b = p->args; b != a; b++)
            if (strcmp(a->name, b->name) == 0)
                return register_refuse("prompt", p->name, NOD_E_USAGE,
                                       "the argument \"%s\" occurs twice", a->name);
    }
    return NOD_OK;
}

static bool prompt_arguments(struct local_target *t, const nod_prompt *p)
{
    struct json *schema = json_new_object(&t->arena);
    struct json *properties = json_new_object(&t->arena);
    struct json *required = json_new_array(&t->arena);
    size_t count = 0;

    while (p->args && p->args[count].name)
        count++;
    t->arguments = arena_zalloc(&t->arena, (count + 1) * sizeof(*t->arguments));
    for (size_t i = 0; t->arguments && i < count; i++) {
        const nod_prompt_arg *a = &p->args[i];
        struct json *property = json_new_object(&t->arena);

        if (!register_text(t, "prompt", p->name, "argument's name", a->name, LOCAL_NAME_MAX,
                           &t->arguments[i].name))
            return false;
        t->arguments[i].complete = a->complete;
        t->base.completes |= a->complete != NULL;
        json_set(&t->arena, property, STR("type"), json_new_str(&t->arena, STR("string")));
        json_set(&t->arena, properties, t->arguments[i].name, property);
        if (a->required)
            json_push(required, json_new_str(&t->arena, t->arguments[i].name));
    }
    t->argument_count = count;
    json_set(&t->arena, schema, STR("type"), json_new_str(&t->arena, STR("object")));
    json_set(&t->arena, schema, STR("properties"), properties);
    json_set(&t->arena, schema, STR("required"), required);
    if (t->arena.exhausted || !register_version(t, schema, p->version))
        return false;
    t->base.input = t->input = register_schema(t, "prompt", p->name, "list of arguments", schema,
                                               &(struct schema_opts){ .assert_formats = true });
    return t->input != NULL;
}

static bool write_descriptor(struct local_target *t, const nod_prompt *p)
{
    struct buf out;
    struct json_writer w;

    buf_init(&out, LOCAL_DESCRIPTOR_BYTES);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key_str(&w, STR("name"), t->base.name);
    if (p->title)
        jw_key_str(&w, STR("title"), t->base.title);
    register_key(&w, "description", t->description);
    if (t->argument_count) {
        jw_key(&w, STR("arguments"));
        jw_array(&w);
        for (size_t i = 0; i < t->argument_count; i++) {
            jw_object(&w);
            jw_key_str(&w, STR("name"), t->arguments[i].name);
            register_key(&w, "title", str_of(p->args[i].title));
            register_key(&w, "description", str_of(p->args[i].description));
            if (p->args[i].required)
                jw_key_bool(&w, STR("required"), true);
            jw_end(&w);
        }
        jw_end(&w);
    }
    if (register_listing(t, &w, &out))
        return true;
    register_refuse("prompt", p->name, NOD_E_USAGE, "its listing is too large, or not UTF-8");
    return false;
}

static struct local_target *prompt_build(struct local *local, const void *table, size_t index,
                                         size_t row_size, nod_status *status)
{
    nod_prompt p;

    register_row(&p, sizeof(p), table, index, row_size);
    *status = prompt_check(&p);
    if (*status != NOD_OK)
        return NULL;
    struct local_target *t = local_target_new(local, TARGET_PROMPT);
    size_t max = LOCAL_TARGET_BYTES;
    if (!register_text(t, "prompt", p.name, "name", p.name, max, &t->base.name) ||
        !register_text(t, "prompt", p.name, "title", p.title ? p.title : p.name, max,
                       &t->base.title) ||
        !register_text(t, "prompt", p.name, "description", p.description, max, &t->description) ||
        !prompt_arguments(t, &p) || !write_descriptor(t, &p)) {
        *status = NOD_E_USAGE;
        local_target_free(t);
        return NULL;
    }
    t->handler = p.get;
    t->blocking = p.blocking;
    t->data = p.data;
    t->base.timeout_ms = LOCAL_TIMEOUT_MS;
    t->base.portable = true;
    return t;
}

nod_status local_add_prompts(struct local *local, const nod_prompt *prompts, size_t count,
                             size_t size)
{
    struct register_batch batch = { local, "prompt", prompt_build };

    return register_all(&batch, prompts, count, size, offsetof(nod_prompt, title));
}
