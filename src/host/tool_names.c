/*
 * host/tool_names: how clients are shown the names of tools; and options that name a tool which
 * this server does not have.
 *
 * A tool that would be shown as another is refused when it is registered. A program registers its
 * tools before its command line is read, and so they are looked at again when the server starts.
 *
 *     --remember TOOL=WHAT     --soft-deadline tool:TOOL=TIME     --allow-field TOOL.FIELD
 *
 * Most such names are mistyped, and then the operator's word on a tool counts for nothing. It is a
 * warning and no refusal, because a program may add a tool while it serves, and the path of an
 * approval (nod_approve, .tool_path) need not be a tool.
 */
#include "host/host.h"

#include "base/log.h"

void tool_names_list(const struct catalog *catalog, struct str plugin, struct buf *out)
{
    static const struct str more = STR_INIT(", ...");
    size_t count = catalog_count(catalog, TARGET_TOOL, false);

    for (size_t i = 0; i < count; i++) {
        const struct target *tool = catalog_at(catalog, TARGET_TOOL, false, i);
        if (plugin.len && !str_eq(tool->from, plugin))
            continue;
        if (buf_str(out).len + tool->name.len + 2 * more.len > TOOL_NAMES_MAX) {
            buf_add(out, more);
            return;
        }
        buf_fmt(out, "%s" STR_FMT, buf_str(out).len ? ", " : "", STR_ARG(tool->name));
    }
}

static void warn(const nod_server *server, const char *option, struct str said)
{
    struct buf names;

    buf_init(&names, TOOL_NAMES_MAX);
    tool_names_list(server->catalog, STR_NONE, &names);
    LOG_WARN("an option names a tool that this server does not have, and does nothing",
             LOG_CSTR("option", option), LOG_STR("value", said), LOG_STR("tools", buf_str(&names)));
    buf_finish(&names);
}

/* Is what stands before one of these characters the name of a tool? Names may have dots. */
static bool names_one(const struct catalog *catalog, struct str text, char end)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] == end && catalog_has(catalog, str_n(text.at, i)))
            return true;
    return false;
}

bool tool_names_show(nod_server *server)
{
    bool underscores = str_eq(str_of(server->settings.opts.tool_names), STR("underscores"));
    const struct target *tool, *other;

    if (catalog_show(server->catalog, underscores, &tool, &other))
        return true;
    server->wrong_option = "--tool-names";
    LOG_ERROR("the server's options are not valid",
              LOG_CSTR("why",
                       "with --tool-names underscores clients would be shown two tools under "
                       "one name: rename one of the two, or take the option out"),
              LOG_STR("tool", tool->name), LOG_STR("other", other->name));
    return false;
}

void tool_names_check(const nod_server *server)
{
    const struct settings *settings = &server->settings;
    struct str tool, rest;
    int64_t ms;
    bool is_tool;

    for (const char *const *at = settings->opts.remember; at && *at; at++)
        if (str_cut(str_of(*at), '=', &tool, &rest) && !catalog_has(server->catalog, tool))
            warn(server, "--remember", str_of(*at));
    for (const char *const *at = settings->opts.soft_deadlines; at && *at; at++)
        if (settings_soft_deadline(str_of(*at), &is_tool, &tool, &ms) && is_tool &&
            !catalog_has(server->catalog, tool))
            warn(server, "--soft-deadline", tool);
    for (const char *const *at = settings->opts.allow_fields; at && *at; at++)
        if (!names_one(server->catalog, str_of(*at), '.'))
            warn(server, "--allow-field", str_of(*at));
}
