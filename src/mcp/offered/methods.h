/*
 * mcp/offered/methods: the methods that list and use what is offered, the same in both eras.
 */
#ifndef NOD_MCP_OFFERED_METHODS_H
#define NOD_MCP_OFFERED_METHODS_H

#include "mcp/shared/request.h"

void tools_list(struct request *request);
void tools_call(struct request *request);
void resources_list(struct request *request);
void resources_templates_list(struct request *request);
void resources_read(struct request *request);
void prompts_list(struct request *request);
void prompts_get(struct request *request);
void completion_complete(struct request *request);

/* capabilities.c: the members of ServerCapabilities that both eras have. */
void capabilities_write(const struct request *request, struct json_writer *w);

/* resources.c: the resource that params.uri names, or NULL after an error reply. `reads`: or NULL
 * because the same request was made when that resource was here. */
struct target *resources_find(struct request *request, struct str *uri, struct json **variables,
                              bool reads);

#endif
