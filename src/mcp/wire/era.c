/*
 * mcp/wire/era: the table that decides the era of a message.
 *
 *   transport  version header    params._meta     ▶ era
 *   any        any               modern           2026, which checks the rest (versions, headers)
 *   HTTP       2026-07-28        not modern       2026, which refuses it: _meta is missing
 *   HTTP       of the 2025 era   not modern       2025
 *   HTTP       none              not modern       2025
 *   HTTP       anything else     not modern       unknown
 *   stdio      -                 not modern       2025
 *   stdio      -                 not modern       2026 for server/discover, which refuses it
 *
 * _meta is modern if it has one of the two members that every request of the 2026 era must have.
 * One of them is enough: such a client speaks the new way but has made a mistake, and is told
 * which. The name of a client decides nothing, and neither does its session.
 */
#include "mcp/wire/era.h"

#include "mcp/wire/meta.h"
#include "mcp/wire/revision.h"

const struct str era_versions[ERA_VERSIONS] = {
    STR_INIT("2026-07-28"),
    STR_INIT("2025-11-25"),
    STR_INIT("2025-06-18"),
    STR_INIT("2025-03-26"),
};

bool era_speaks_2026(struct str version)
{
    return str_eq(version, era_versions[0]);
}

enum era era_of(const struct era_opening *opening)
{
    if (meta_is_modern(opening->params))
        return ERA_2026;
    if (opening->http) {
        struct str version = opening->version;
        enum revision revision;

        if (era_speaks_2026(version))
            return ERA_2026;
        return version.len == 0 || revision_find(version, &revision) ? ERA_2025 : ERA_UNKNOWN;
    }
    return str_eq(opening->method, STR("server/discover")) ? ERA_2026 : ERA_2025;
}
