/*
 * provider/register_tool: from a row of an author's table to a tool in the catalog.
 *
 * The listing carries the author's schema as it was written: every keyword, `$schema` and the text
 * of each number. A form is turned into a schema. The compiled schemas check the input before a
 * run, and the structured reply after it.
 */
#include "base/log.h"
#include "json/form.h"
#include "provider/form_build.h"
#include "provider/local_inside.h"

static bool tool_name_fits(struct str name)
{
    if (name.len < 1 || name.len > LOCAL_TOOL_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '_' && c != '-' && c != '.' && c != '/')
            return false;
    }
    return true;
}

static nod_status tool_check(const nod_tool *tool)
{
    const char *name = tool->name;

    if (!name || !tool_name_fits(str_of(name)))
        return register_refuse("tool", name, NOD_E_USAGE,
                               "a name has 1 to %d characters out of A-Z a-z 0-9 _ - . /",
                               LOCAL_TOOL_NAME_MAX);
    if (!tool->handler)
        return register_refuse("tool", name, NOD_E_USAGE, "it has no handler");
    if (tool->input && tool->input_schema)
        return register_refuse("tool", name, NOD_E_USAGE, "it has both .input and .input_schema");
    if (tool->strict && tool->input_schema)
        return register_refuse("tool", name, NOD_E_USAGE,
                               "it has .strict and .input_schema: say \"additionalProperties\": "
                               "false in the schema instead");
    if (tool->timeout_ms < 0)
        return register_refuse("tool", name, NOD_E_USAGE, "its timeout_ms is negative");
    const char *wrong = engine_journal_wrong(tool->journal_entries, tool->journal_bytes);
    if (wrong)
        return register_refuse("tool", name, NOD_E_USAGE, "its %s", wrong);
    if (tool->ask_ttl_ms < 0 || tool->ask_ttl_ms > RUN_TTL_MAX_MS)
        return register_refuse("tool", name, NOD_E_USAGE,
                               "its ask_ttl_ms is negative, or more than ten years (%lld)",
                               (long long)RUN_TTL_MAX_MS);
    if (tool->remember_ms < 0 || tool->remember_ms > GRANT_MS_MAX)
        return register_refuse("tool", name, NOD_E_USAGE,
                               "its remember_ms is negative, or more than ten years (%lld)",
                               (long long)GRANT_MS_MAX);
    if (tool->remember >= 2 * NOD_REMEMBER_TOOL)
        return register_refuse("tool", name, NOD_E_USAGE,
                               "its remember has bits that are no NOD_REMEMBER_...");
    if (tool->soft_deadline_ms < 0)
        return register_refuse("tool", name, NOD_E_USAGE, "its soft_deadline_ms is negative");
    enum consent_from consent;
    if (tool->consent && *tool->consent && !consent_named(str_of(tool->consent), &consent))
        return register_refuse(
            "tool", name, NOD_E_USAGE,
            "its consent is \"%s\"; it can be \"roles\", \"inbox\" or \"any\", or left out",
            tool->consent);
    if (tool->view && strncmp(tool->view, "ui://", 5) != 0)
        return register_refuse("tool", name, NOD_E_USAGE, "its view does not begin with ui://");
    if ((unsigned)tool->task > NOD_TASK_REQUIRED)
        return register_refuse("tool", name, NOD_E_USAGE, "its task is not a nod_task_mode");
    if (tool->task_asks_first && tool->task == NOD_TASK_NEVER)
        return register_refuse("tool", name, NOD_E_USAGE,
                               "it asks before the task (task_asks_first), but is never one");
    if (tool->read_only && tool->destructive)
        return register_refuse("tool", name, NOD_E_USAGE, "it is both read_only and destructive");
    if (tool->additive && tool->destructive)
        return register_refuse("tool", name, NOD_E_USAGE, "it is both additive and destructive");
    return NOD_OK;
}

static struct json *parse_text(struct local_target *t, const char *name, const char *field,
                               const char *text)
{
    struct json_opts opts = { .refuse_duplicates = true };
    struct json_error error;
    struct json *value = json_parse(&t->arena, arena_str(&t->arena, str_of(text)), &opts, &error);

    if (!value)
        register_refuse("tool", name, NOD_E_BAD_SCHEMA, "its %s is not JSON: %s at byte %zu", field,
                        error.what, error.offset);
    return value;
}

static struct json *closed(struct local_target *t, const nod_tool *tool, struct json *form)
{
    if (form && tool->strict)
        json_set(&t->arena, form, STR("additionalProperties"), json_new_bool(&t->arena, false));
    return form;
}

static struct json *tool_input(struct local_target *t, const nod_tool *tool)
{
    static const nod_form nothing = { sizeof(nod_field), NULL, 0 };
    struct str why;

    if (tool->input_schema)
        return parse_text(t, tool->name, "input_schema", tool->input_schema);
    struct json *schema = form_build(tool->input ? tool->input : &nothing, &t->arena, &why);
    if (!schema)
        register_refuse("tool", tool->name, NOD_E_BAD_SCHEMA, "its input cannot be used: " STR_FMT,
                        STR_ARG(why));
    return closed(t, tool, schema);
}

/* The getters can read all arguments that fit: numbers are in their range, and no choice occurs
 * twice. */
static struct schema *input_schema(struct local_target *t, const nod_tool *tool,
                                   const struct json *schema)
{
    if (!schema)
        return NULL;
    if (!str_eq(json_get_str(schema, STR("type")), STR("object"))) {
        register_refuse("tool", tool->name, NOD_E_BAD_SCHEMA,
                        "its input schema must say \"type\": \"object\" at the top");
        return NULL;
    }
    return register_schema(t, "tool", tool->name, "input schema", schema,
                           &(struct schema_opts){ .assert_formats = true,
                                                  .getter_numbers = true,
                                                  .distinct_items = tool->input != NULL });
}

static bool hint_fits(struct local_target *t, const struct json *property)
{
    static const struct schema_opts opts = { 0 };
    struct json *only = json_new_object(&t->arena);
    const struct json *hint = json_get(property, STR(SCHEMA_HINT));
    struct schema_problems problems;

    if (!json_is(hint, JSON_STRING))
        return true;
    json_set(&t->arena, only, STR("pattern"),
             json_new_str(&t->arena, json_get_str(property, STR("pattern"))));
    struct schema *schema = schema_compile(only, &opts, &t->arena, &problems);
    bool fits = !schema || schema_check(schema, hint, &t->arena, &problems) == NOD_OK;
    schema_destroy(schema);
    return fits;
}

static bool hints_fit(struct local_target *t, const char *name, const struct json *input)
{
    JSON_EACH (property, json_get(input, STR("properties"))) {
        if (hint_fits(t, property))
            continue;
        register_refuse("tool", name, NOD_E_BAD_SCHEMA,
                        "its input cannot be used: the hint of \"" STR_FMT
                        "\" does not fit its pattern: give an example that does",
                        STR_ARG(property->key));
        return false;
    }
    return true;
}

static bool presets_fit(struct local_target *t, const char *name, const struct json *input)
{
    struct str why;
    bool fit = form_presets_fit(input, &t->arena, &why);

    if (!fit)
        register_refuse("tool", name, NOD_E_BAD_SCHEMA, "its input cannot be used: " STR_FMT,
                        STR_ARG(why));
    return fit;
}

/* It may be meant (a tool that stores a key), but arguments pass through the model, and are shown
 * to whoever has to confirm the call. */
static void warn_of_secrets(const char *name, const struct json *input)
{
    struct str field;

    if (form_asks_secret(input, STR(""), NULL, NULL, &field))
        LOG_WARN("a tool takes what looks like a secret as an argument: the model will see it; "
                 "nod_secret asks a person for it instead, on a page",
                 LOG_CSTR("tool", name), LOG_STR("argument", field));
}

/* Any schema. Clients of the 2025 era are shown it only if it is of an object
 * (mcp/wire/revision.c). */
static struct schema *output_schema(struct local_target *t, const nod_tool *tool,
                                    const struct json *schema)
{
    if (!schema)
        return NULL;
    if (!json_is(schema, JSON_OBJECT)) {
        register_refuse("tool", tool->name, NOD_E_BAD_SCHEMA,
                        "its output_schema must be an object, and is %s", json_type_name(schema));
        return NULL;
    }
    return register_schema(t, "tool", tool->name, "output_schema", schema,
                           &(struct schema_opts){ .assert_formats = true });
}

static bool write_descriptor(struct local_target *t, const nod_tool *tool, const struct json *input,
                             const struct json *output, const struct json *meta)
{
    struct buf out;
    struct json_writer w;

    buf_init(&out, LOCAL_DESCRIPTOR_BYTES);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key_str(&w, STR("name"), t->base.name);
    if (tool->title)
        jw_key_str(&w, STR("title"), t->base.title);
    register_key(&w, "description", t->description);
    jw_key_value(&w, STR("inputSchema"), input);
    if (output)
        jw_key_value(&w, STR("outputSchema"), output);
    jw_key(&w, STR("annotations"));
    jw_object(&w);
    if (tool->title)
        jw_key_str(&w, STR("title"), t->base.title);
    jw_key_bool(&w, STR("readOnlyHint"), tool->read_only);
    if (!tool->read_only) { /* the two mean nothing for a tool that changes nothing */
        if (tool->destructive || tool->additive) /* the default of MCP is destructive */
            jw_key_bool(&w, STR("destructiveHint"), tool->destructive);
        jw_key_bool(&w, STR("idempotentHint"), tool->idempotent);
    }
    jw_key_bool(&w, STR("openWorldHint"), !tool->closed_world);
    jw_end(&w);
    if (meta)
        jw_key_value(&w, STR("_meta"), meta);
    return register_listing(t, &w, &out);
}

static bool tool_texts(struct local_target *t, const nod_tool *tool)
{
    const char *name = tool->name;
    size_t max = LOCAL_TARGET_BYTES;

    return register_text(t, "tool", name, "name", name, max, &t->base.name) &&
           register_text(t, "tool", name, "title", tool->title ? tool->title : name, max,
                         &t->base.title) &&
           register_text(t, "tool", name, "description", tool->description, max, &t->description) &&
           register_text(t, "tool", name, "view", tool->view, LOCAL_NAME_MAX, &t->base.view) &&
           register_text(t, "tool", name, "confirm_message", tool->confirm_message, RUN_MESSAGE_MAX,
                         &t->base.confirm_message);
}

/* An annotation that clients would have to reject is refused here, where its author sees it. */
static bool tool_param_headers(struct local_target *t, const char *name, const struct json *input)
{
    struct str problem = STR_NONE;

    if (param_headers_find(input, &t->arena, &t->base.param_headers, &t->base.param_header_count,
                           &problem))
        return true;
    register_refuse("tool", name, NOD_E_BAD_SCHEMA, "%s",
                    problem.at ? problem.at : "its annotations are too large");
    return false;
}

static bool tool_listing(struct local_target *t, const nod_tool *tool)
{
    struct json *input = tool_input(t, tool);
    struct json *output = NULL, *meta = NULL;
    struct str why;

    t->base.input = t->input = input_schema(t, tool, input);
    if (!t->input || !tool_param_headers(t, tool->name, input) ||
        !presets_fit(t, tool->name, input) || !hints_fit(t, tool->name, input))
        return false;
    warn_of_secrets(tool->name, input);
    if (tool->output_schema) {
        output = parse_text(t, tool->name, "output_schema", tool->output_schema);
        t->output = output_schema(t, tool, output);
        if (!t->output)
            return false;
    }
    if (tool->meta) {
        meta = parse_text(t, tool->name, "meta", tool->meta);
        if (!json_is(meta, JSON_OBJECT)) {
            register_refuse("tool", tool->name, NOD_E_USAGE, "its meta is not a JSON object");
            return false;
        }
    }
    if (tool->input)
        input = closed(t, tool, form_build_plain(tool->input, &t->arena, &why));
    if (!write_descriptor(t, tool, input, output, meta) ||
        !register_version(t, input, tool->version)) {
        register_refuse("tool", tool->name, NOD_E_LIMIT, "its listing is larger than %d bytes",
                        LOCAL_DESCRIPTOR_BYTES);
        return false;
    }
    return true;
}

/* A copy of names, NULL-terminated; NULL: there are none. */
static const char *const *names_copy(struct arena *arena, const char *const *names)
{
    size_t count = 0;

    while (names && names[count])
        count++;
    const char **copy = arena_zalloc(arena, (count + 1) * sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++)
        copy[i] = arena_str(arena, str_of(names[i])).at;
    return count ? copy : NULL;
}

/* Surfaces are checked when it is known which there are. */
static bool tool_names(struct local_target *t, const nod_tool *tool)
{
    t->base.surfaces = names_copy(&t->arena, tool->surfaces);
    t->base.approves = names_copy(&t->arena, tool->approves);
    if (tool->consent && *tool->consent)
        consent_named(str_of(tool->consent), &t->base.consent);
    return !t->arena.exhausted;
}

static struct local_target *tool_build(struct local *local, const void *table, size_t index,
                                       size_t row_size, nod_status *status)
{
    static const enum target_detach detaches[] = { [NOD_TASK_NEVER] = DETACH_NEVER,
                                                   [NOD_TASK_OPTIONAL] = DETACH_MAY,
                                                   [NOD_TASK_REQUIRED] = DETACH_MUST };
    nod_tool tool;

    register_row(&tool, sizeof(tool), table, index, row_size);
    *status = tool_check(&tool);
    if (*status != NOD_OK)
        return NULL;
    struct local_target *t = local_target_new(local, TARGET_TOOL);
    *status = NOD_E_USAGE;
    if (!tool_texts(t, &tool) || !tool_names(t, &tool))
        goto refused;
    *status = NOD_E_BAD_SCHEMA;
    if (!tool_listing(t, &tool))
        goto refused;
    t->handler = tool.handler;
    t->blocking = tool.blocking;
    t->data = tool.data;
    t->base.portable = tool.portable;
    t->base.requires_confirmation = tool.requires_confirmation;
    t->base.asks = tool.asks;
    t->base.destructive = tool.destructive && !tool.read_only;
    t->base.remember = tool.remember;
    t->base.remember_ms = tool.remember_ms;
    t->base.detach = detaches[tool.task];
    t->base.detach_after_asks = tool.task_asks_first;
    t->base.journal_entries = tool.journal_entries;
    t->base.journal_bytes = tool.journal_bytes;
    t->base.ask_ttl_ms = tool.ask_ttl_ms;
    t->base.soft_deadline_ms = tool.soft_deadline_ms;
    t->base.timeout_ms = tool.timeout_ms ? tool.timeout_ms : LOCAL_TIMEOUT_MS;
    return t;
refused:
    local_target_free(t);
    return NULL;
}

nod_status local_add_tools(struct local *local, const nod_tool *tools, size_t count, size_t size)
{
    struct register_batch batch = { local, "tool", tool_build };

    return register_all(&batch, tools, count, size, offsetof(nod_tool, title));
}
