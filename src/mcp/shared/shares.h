/*
 * mcp/shared/shares: how many sessions, live calls, listeners, subscriptions and tasks one
 * principal may have at the same time.
 *
 * Things are counted here, for each principal, and no bytes: those are bounded where they are held.
 * docs/inside/store.md, "Whose bytes", has the table of these places. A principal
 * that wants more than its share is told 429 and when to come back; nobody else is affected.
 * Without tokens there is only one principal, the local user, which may have everything.
 */
#ifndef NOD_MCP_SHARED_SHARES_H
#define NOD_MCP_SHARED_SHARES_H

#include "mcp/server.h"

struct request;
struct shares;

/* Would the principal have more than its share with `more` of them? */
bool shares_full(struct mcp_server *server, struct str principal, enum mcp_share kind, size_t more);
/* Counts, even past the share. */
void shares_add(struct mcp_server *server, struct str principal, enum mcp_share kind, size_t count);
void shares_drop(struct mcp_server *server, struct str principal, enum mcp_share kind,
                 size_t count);

enum { SHARES_SENTENCE_MAX = 160 }; /* bytes of the sentence for a principal past its share */

/* Writes it, and returns it: "You have as many sessions here as ...". */
const char *shares_sentence(struct mcp_server *server, enum mcp_share kind,
                            char out[SHARES_SENTENCE_MAX]);
/* 429 with that sentence, if the request would be one too many. False: there is room. */
bool shares_refuse(struct request *request, struct str principal, enum mcp_share kind, size_t more);

/* Fills in the default shares where the options name none. */
struct shares *shares_create(struct mcp_opts *opts);
void shares_destroy(struct shares *shares);

#endif
