/*
 * mcp/shared/shares: see shares.h.
 *
 * Holds always: what was added is dropped once, by whatever ends it. A principal has an entry only
 * while something of it is counted.
 */
#include "mcp/shared/shares.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/map.h"
#include "mcp/shared/request.h"
#include "mcp/shared/server_inside.h"

enum {
    MCP_URLS_PER_PRINCIPAL_MAX = 1000, /* URL elicitations whose end nod can report */
    MCP_HOLDERS_MAX = 100000,          /* principals that have any of these */
};

struct shares {
    struct map holders; /* principal -> struct holder */
};

struct holder {
    size_t held[MCP_SHARES];
    size_t len;
    char name[];
};

static const struct {
    size_t usual;
    const char *what;
} kinds[MCP_SHARES] = {
    [MCP_SHARE_SESSIONS] = { MCP_SESSIONS_PER_PRINCIPAL_MAX, "sessions" },
    [MCP_SHARE_CALLS] = { MCP_CALLS_PER_PRINCIPAL_MAX, "requests in flight" },
    [MCP_SHARE_LISTENERS] = { MCP_LISTENERS_PER_PRINCIPAL_MAX, "streams that listen" },
    [MCP_SHARE_SUBSCRIPTIONS] = { MCP_SUBSCRIPTIONS_PER_PRINCIPAL_MAX, "subscriptions" },
    [MCP_SHARE_TASKS] = { TASKS_PER_PRINCIPAL_MAX, "tasks" },
    [MCP_SHARE_URLS] = { MCP_URLS_PER_PRINCIPAL_MAX, "pages" },
};

struct shares *shares_create(struct mcp_opts *opts)
{
    struct shares *shares = MEM_NEW(struct shares);

    map_init(&shares->holders, MCP_HOLDERS_MAX);
    for (size_t i = 0; i < MCP_SHARES; i++)
        if (!opts->per_principal[i])
            opts->per_principal[i] = kinds[i].usual;
    return shares;
}

void shares_destroy(struct shares *shares)
{
    struct holder *holder;

    for (size_t at = 0; (holder = map_next(&shares->holders, &at));)
        mem_free(holder);
    map_finish(&shares->holders);
    mem_free(shares);
}

bool shares_full(struct mcp_server *server, struct str principal, enum mcp_share kind, size_t more)
{
    const struct holder *holder = map_get(&server->shares->holders, principal);
    size_t most = server->opts.per_principal[kind], held = holder ? holder->held[kind] : 0;

    return server_has_tokens(server) && (held >= most || more > most - held);
}

void shares_add(struct mcp_server *server, struct str principal, enum mcp_share kind, size_t count)
{
    struct holder *holder = map_get(&server->shares->holders, principal);

    if (!server_has_tokens(server) || !count)
        return;
    if (!holder) {
        holder = mem_zalloc(sizeof(*holder) + principal.len);
        holder->len = principal.len;
        memcpy(holder->name, principal.at, principal.len);
        if (!map_set(&server->shares->holders, str_n(holder->name, holder->len), holder)) {
            mem_free(holder);
            return;
        }
    }
    holder->held[kind] += count;
}

void shares_drop(struct mcp_server *server, struct str principal, enum mcp_share kind, size_t count)
{
    struct holder *holder = map_get(&server->shares->holders, principal);

    if (!holder)
        return;
    holder->held[kind] -= count < holder->held[kind] ? count : holder->held[kind];
    for (size_t i = 0; i < MCP_SHARES; i++)
        if (holder->held[i])
            return;
    map_remove(&server->shares->holders, str_n(holder->name, holder->len));
    mem_free(holder);
}

const char *shares_sentence(struct mcp_server *server, enum mcp_share kind,
                            char out[SHARES_SENTENCE_MAX])
{
    snprintf(out, SHARES_SENTENCE_MAX,
             "You have as many %s here as one principal may have (%zu); end some, or try again "
             "later.",
             kinds[kind].what, server->opts.per_principal[kind]);
    return out;
}

bool shares_refuse(struct request *request, struct str principal, enum mcp_share kind, size_t more)
{
    char why[SHARES_SENTENCE_MAX];

    if (!shares_full(request->server, principal, kind, more))
        return false;
    reply_error(request, RPC_INTERNAL_ERROR, str_of(shares_sentence(request->server, kind, why)));
    request->status = 429;
    return true;
}
