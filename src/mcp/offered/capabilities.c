/*
 * mcp/offered/capabilities: the capabilities of this server, as both eras tell them.
 */
#include "mcp/offered/lists.h"
#include "mcp/offered/methods.h"

static bool any_completes(const struct catalog *catalog)
{
    static const struct {
        enum target_kind kind;
        bool templates;
    } kinds[] = { { TARGET_PROMPT, false }, { TARGET_RESOURCE, true } };

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (size_t i = 0; i < catalog_count(catalog, kinds[k].kind, kinds[k].templates); i++)
            if (catalog_at(catalog, kinds[k].kind, kinds[k].templates, i)->completes)
                return true;
    return false;
}

static void write_flags(struct json_writer *w, struct str name, bool list, bool subscribe)
{
    jw_key(w, name);
    jw_object(w);
    if (list)
        jw_key_bool(w, STR("listChanged"), true);
    if (subscribe)
        jw_key_bool(w, STR("subscribe"), true);
    jw_end(w);
}

/* Tools are declared even if there are none: they may come later, and listeners are told then. */
void capabilities_write(const struct request *request, struct json_writer *w)
{
    const struct catalog *catalog = request->server->opts.catalog;

    write_flags(w, STR("tools"), true, false);
    if (lists_any(request, TARGET_RESOURCE, false) || lists_any(request, TARGET_RESOURCE, true))
        write_flags(w, STR("resources"), true, true);
    if (catalog_count(catalog, TARGET_PROMPT, false))
        write_flags(w, STR("prompts"), true, false);
    if (any_completes(catalog))
        write_flags(w, STR("completions"), false, false);
    write_flags(w, STR("logging"), false, false);
}
