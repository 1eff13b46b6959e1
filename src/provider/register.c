/*
 * provider/register: what the registration of tools, resources and prompts has in common.
 *
 * All rows of a table are built first, and added to the catalog only if every row is fine. So an
 * author who is told about one bad row does not find half of the table registered. Every refusal is
 * logged with the kind, the name and a sentence that says what to change.
 */
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/json_digest.h"
#include "json/utf8.h"
#include "provider/local_inside.h"

enum { REFUSAL_MAX = 512 };

nod_status register_refuse(const char *what, const char *name, nod_status status,
                           const char *format, ...)
{
    char why[REFUSAL_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    LOG_ERROR("registration refused", LOG_CSTR("kind", what),
              LOG_CSTR("name", name ? name : "(none)"), LOG_CSTR("why", why));
    return status;
}

void register_row(void *out, size_t room, const void *table, size_t index, size_t row_size)
{
    opts_read(out, room, (const char *)table + index * row_size, row_size);
}

bool register_listing(struct local_target *t, struct json_writer *w, struct buf *out)
{
    jw_end(w);
    t->base.descriptor = json_writer_done(w) ? arena_str(&t->arena, buf_str(out)) : STR_NONE;
    buf_finish(out);
    return t->base.descriptor.at != NULL;
}

bool register_text(struct local_target *t, const char *what, const char *name, const char *field,
                   const char *text, size_t max, struct str *out)
{
    struct str given = str_of(text);

    *out = STR_NONE;
    if (!text)
        return true;
    if (str_blank(given) &&
        (strcmp(field, "title") == 0 || strcmp(field, "confirm_message") == 0)) {
        register_refuse(what, name, NOD_E_USAGE, "its %s is blank: leave it out, or say something",
                        field);
        return false;
    }
    if (given.len > max) {
        register_refuse(what, name, NOD_E_USAGE, "its %s is longer than %zu bytes", field, max);
        return false;
    }
    if (!utf8_valid(given)) {
        register_refuse(what, name, NOD_E_USAGE, "its %s is not UTF-8", field);
        return false;
    }
    *out = arena_str(&t->arena, given);
    return !t->arena.exhausted;
}

void register_key(struct json_writer *w, const char *key, struct str text)
{
    if (text.at)
        jw_key_str(w, str_of(key), text);
}

struct schema *register_schema(struct local_target *t, const char *what, const char *name,
                               const char *field, const struct json *schema,
                               const struct schema_opts *opts)
{
    struct schema_problems problems = { 0 };
    struct schema *compiled = schema_compile(schema, opts, &t->arena, &problems);

    if (!compiled) {
        struct schema_problem none = { STR(""), STR("it is not a schema") };
        struct schema_problem first = problems.count ? problems.at[0] : none;
        register_refuse(what, name, NOD_E_BAD_SCHEMA,
                        "its %s is not valid: at \"" STR_FMT "\": " STR_FMT, field,
                        STR_ARG(first.path), STR_ARG(first.message));
    }
    return compiled;
}

bool register_version(struct local_target *t, const struct json *input, const char *version)
{
    struct arena arena;
    struct digest shape = { { 0 } }, whole;
    bool fine = true;

    arena_init(&arena, LOCAL_TARGET_BYTES);
    if (input) {
        const struct json *plain = schema_shape(&arena, input);
        fine = !arena.exhausted && digest_of_json(plain, &shape) == NOD_OK;
    }
    arena_finish(&arena);
    struct str parts[] = { digest_str(&shape), str_of(version) };
    digest_of_parts(parts, sizeof(parts) / sizeof(parts[0]), &whole);
    memcpy(t->base.version, whole.bytes, sizeof(t->base.version));
    return fine;
}

static nod_status add_now(struct local *local, struct local_target **built, size_t count,
                          struct catalog_refused *refused)
{
    struct target **targets = mem_zalloc(count * sizeof(*targets));

    for (size_t i = 0; i < count; i++)
        targets[i] = &built[i]->base;
    nod_status status = catalog_change(
        local->catalog, &(struct catalog_change){ .add = targets, .add_count = count }, refused);
    for (size_t i = 0; i < count && status == NOD_OK; i++)
        list_append(&local->targets, &built[i]->link);
    mem_free(targets);
    return status;
}

static nod_status add_built(const struct register_batch *batch, struct local_target **built,
                            size_t count)
{
    struct local *local = batch->local;
    struct catalog_refused refused = { 0 };
    nod_status status = local->staging ? set_stage(local->staging, built, count, &refused)
                                       : add_now(local, built, count, &refused);
    const char *name = built[refused.at]->base.name.at;

    if (status == NOD_E_LIMIT)
        register_refuse(batch->what, name, status,
                        "with these there would be more than %d, which is as many as there may be",
                        CATALOG_TARGETS_MAX);
    else if (status != NOD_OK && refused.shown)
        register_refuse(batch->what, name, status,
                        "with --tool-names underscores clients would be shown it and " STR_FMT
                        " under one name: rename one of the two",
                        STR_ARG(refused.other->name));
    else if (status != NOD_OK)
        register_refuse(batch->what, name, status, "there is another one of that name");
    if (status != NOD_OK)
        set_refuse(local->staging, batch->what, name, status);
    for (size_t i = 0; i < count && status != NOD_OK; i++)
        local_target_free(built[i]);
    return status;
}

/* The name in the row: in each of the three tables it comes first. */
static const char *row_name(const void *table, size_t index, size_t row_size)
{
    _Static_assert(offsetof(nod_tool, name) == 0 && offsetof(nod_resource, uri) == 0 &&
                       offsetof(nod_prompt, name) == 0,
                   "a row begins with its name");
    const char *name;

    register_row(&name, sizeof(name), table, index, row_size);
    return name;
}

nod_status register_all(const struct register_batch *batch, const void *table, size_t count,
                        size_t row_size, size_t least_size)
{
    nod_status status = NOD_OK;
    size_t built_count = 0;

    if (count == 0)
        return NOD_OK;
    if (!table || row_size < least_size || count > LOCAL_TABLE_MAX) {
        set_refuse(batch->local->staging, batch->what, NULL, NOD_E_USAGE);
        return register_refuse(batch->what, NULL, NOD_E_USAGE,
                               "the table of %zu rows of %zu bytes cannot be read", count,
                               row_size);
    }
    struct local_target **built = mem_zalloc(count * sizeof(struct local_target *));
    for (size_t i = 0; i < count && status == NOD_OK; i++) {
        status = NOD_E_USAGE;
        struct local_target *t = batch->build(batch->local, table, i, row_size, &status);
        if (t) {
            built[built_count++] = t;
            status = NOD_OK;
        } else {
            set_refuse(batch->local->staging, batch->what, row_name(table, i, row_size), status);
        }
    }
    if (status == NOD_OK)
        status = add_built(batch, built, count);
    else
        for (size_t i = 0; i < built_count; i++)
            local_target_free(built[i]);
    mem_free(built);
    return status;
}

/* --- removal --- */

/* While a set is staged nothing else goes: the set may be refused, and then nothing has changed.
 * What is staged is seen by nobody, so it may go. */
bool register_keeps(const struct local *local, const char *what, struct str name)
{
    if (local->staging)
        LOG_ERROR("nothing is removed while a plugin is loaded, but what it has registered itself",
                  LOG_STR("plugin", set_from(local->staging)), LOG_CSTR("kind", what),
                  LOG_STR("name", name));
    return local->staging != NULL;
}

static bool register_remove(struct local *local, struct target *target)
{
    if (!target || target->provider != &local->provider)
        return false;
    catalog_remove(local->catalog, target);
    return true;
}

static bool unstage(struct local *local, enum target_kind kind, struct str name)
{
    struct local_target *staged = local->staging ? set_staged(local->staging, kind, name) : NULL;

    local_target_free(staged);
    return staged != NULL;
}

bool local_remove_tool(struct local *local, struct str name)
{
    if (unstage(local, TARGET_TOOL, name))
        return true;
    return !register_keeps(local, "tool", name) &&
           register_remove(local, catalog_find(local->catalog, TARGET_TOOL, name));
}

bool local_remove_resource(struct local *local, struct str uri)
{
    if (unstage(local, TARGET_RESOURCE, uri))
        return true;
    return !register_keeps(local, "resource", uri) &&
           (register_remove(local, catalog_find(local->catalog, TARGET_RESOURCE, uri)) ||
            register_remove(local, catalog_template(local->catalog, uri)));
}

bool local_remove_prompt(struct local *local, struct str name)
{
    if (unstage(local, TARGET_PROMPT, name))
        return true;
    return !register_keeps(local, "prompt", name) &&
           register_remove(local, catalog_find(local->catalog, TARGET_PROMPT, name));
}
