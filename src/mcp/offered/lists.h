/*
 * mcp/offered/lists: lists of targets, by page.
 */
#ifndef NOD_MCP_OFFERED_LISTS_H
#define NOD_MCP_OFFERED_LISTS_H

#include "mcp/shared/request.h"

enum {
    LISTS_CURSOR_MAX = 32,
    LISTS_DESCRIPTOR_MAX = 8 << 20, /* memory of a descriptor while it is written anew */
    MCP_LIST_FRESH_MS = 60000,      /* ttlMs of lists and of server/discover */
    LISTS_PAGE_BYTES = 256 << 10,   /* a page ends behind the item that makes it so long */
};

/* Is this target listed to the sender of the request? And may the sender call it? */
bool lists_show(const struct request *request, const struct target *target);
bool lists_allow(const struct request *request, const struct target *target);

/* Is any target of that kind listed to the sender? */
bool lists_any(const struct request *request, enum target_kind kind, bool templates);
/* May a shared cache keep a list? Not if there are tokens: it may differ between principals. Not if
 * questions are asked in views: it depends on what the client declares. */
bool lists_are_public(const struct mcp_server *server);

/* Replies with one page of a list, under the given name ("tools"). */
void lists_reply(struct request *request, enum target_kind kind, bool templates, struct str name,
                 enum revision_part part);

/* The cursor of a place in a list, and back. False: it is not a cursor of this list. */
struct str lists_cursor(enum target_kind kind, bool templates, uint64_t place,
                        char out[LISTS_CURSOR_MAX]);
bool lists_place(enum target_kind kind, bool templates, struct str cursor, uint64_t *place);

#endif
