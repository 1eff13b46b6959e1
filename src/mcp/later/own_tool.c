/*
 * mcp/later/own_tool: see own_tool.h.
 */
#include "mcp/later/own_tool.h"

#include "core/catalog.h"
#include "core/run.h"

static void tool_start(struct provider *provider, struct run *run)
{
    struct own_tool *tool = own_tool_of(run->target);

    (void)provider;
    if (tool->ops->start)
        tool->ops->start(tool, run);
    else
        run_done(run, NOD_E_USAGE, STR_NONE); /* it never becomes a call */
}

static void tool_cancelled(struct provider *provider, struct run *run)
{
    const struct own_tool *tool = own_tool_of(run->target);

    (void)provider;
    if (tool->ops->cancelled)
        tool->ops->cancelled(run);
}

static void tool_released(struct provider *provider, struct target *target)
{
    struct own_tool *tool = own_tool_of(target);

    (void)provider;
    if (tool->ops->released)
        tool->ops->released(tool);
}

static const struct provider_ops provider_ops = {
    .name = "own", .start = tool_start, .cancelled = tool_cancelled, .released = tool_released
};
static struct provider own_provider = { .ops = &provider_ops };

bool own_tool_add(struct own_tool *tool, struct mcp_server *server)
{
    tool->server = server;
    tool->target.provider = &own_provider;
    tool->target.inside = true;
    tool->added = catalog_add(server->opts.catalog, &tool->target) == NOD_OK;
    return tool->added;
}

void own_tool_remove(struct own_tool *tool)
{
    if (tool->added)
        catalog_remove(tool->server->opts.catalog, &tool->target);
    tool->added = false;
}

struct own_tool *own_tool_of(const struct target *target)
{
    if (target->provider != &own_provider)
        return NULL;
    return (struct own_tool *)(void *)((char *)(uintptr_t)target -
                                       offsetof(struct own_tool, target));
}
