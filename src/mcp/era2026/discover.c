/*
 * mcp/era2026/discover: server/discover, which tells the versions and capabilities of this server.
 */
#include "mcp/era2026/methods.h"
#include "mcp/offered/lists.h"
#include "mcp/offered/methods.h"
#include "mcp/tasks/tasks.h"
#include "mcp/wire/era.h"

void discover(struct request *request)
{
    const struct mcp_opts *opts = &request->server->opts;
    struct json_writer w;

    reply_begin(request, &w);
    reply_cacheable(request, &w, MCP_LIST_FRESH_MS, lists_are_public(request->server));
    jw_key(&w, STR("supportedVersions"));
    jw_array(&w);
    for (size_t i = 0; i < ERA_VERSIONS; i++)
        jw_str(&w, era_versions[i]);
    jw_end(&w);
    jw_key(&w, STR("capabilities"));
    jw_object(&w);
    capabilities_write(request, &w);
    if (tasks_offered(request->server)) {
        jw_key(&w, STR("extensions"));
        jw_object(&w);
        jw_key(&w, STR(META_TASKS));
        jw_object(&w);
        jw_end(&w);
        jw_end(&w);
    }
    jw_end(&w);
    if (opts->instructions.len)
        jw_key_str(&w, STR("instructions"), opts->instructions);
    reply_end(request, &w);
}
