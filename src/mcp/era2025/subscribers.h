/*
 * mcp/era2025/subscribers: which sessions are told of the changes of which resources.
 */
#ifndef NOD_MCP_ERA2025_SUBSCRIBERS_H
#define NOD_MCP_ERA2025_SUBSCRIBERS_H

#include "mcp/shared/request.h"

/* resources/subscribe and resources/unsubscribe */
void subscribers_add(struct request *request);
void subscribers_remove(struct request *request);

struct subjects;
struct subjects *subjects_create(void);
void subjects_destroy(struct subjects *subjects);
/* A session's subscriptions end with it. */
void subscribers_forget(struct session *session);
/* A resource has changed, here or on another node: tells those who subscribe here. */
void subscribers_updated(struct mcp_server *server, struct str uri);
/* What a session subscribes to, as its record has it. `exact`: subscriptions not in it have
 * ended. */
void subscribers_write(const struct session *session, struct json_writer *w);
void subscribers_read(struct session *session, const struct json *uris, bool exact);

#endif
