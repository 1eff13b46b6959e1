/*
 * mcp/later/view: questions inside the chat, for clients that show views (MCP Apps) and have no
 * forms.
 *
 * Such a client declares the extension io.modelcontextprotocol/ui. A tool that may ask is listed to
 * it with the view that nod serves, one HTML file (web/view.html). The view fetches what waits for
 * its principal with one tool of ours, and answers with another; both are listed to such clients
 * only, and are no tools of the model's.
 *
 *     view.c            the surface: questions that are offered to views, and if none looks
 *     view_record.c     what the store remembers of a question that is offered to views
 *     view_questions.c  the tool nodQuestions
 *     view_write.c      a question as it is given to a view
 *     view_answer.c     the tool nodAnswer
 *     view_page.c       the view as a resource, and the tools that are listed with it
 *
 * Holds always: an answer counts for the principal that was asked, with the nonce of the question,
 * once, in whatever session it comes. That nonce is given to the chat whose call it is, and to
 * whoever shows the handle of its pending result. What a view says is its client's word: the server
 * cannot tell a host's model from its view.
 */
#ifndef NOD_MCP_LATER_VIEW_H
#define NOD_MCP_LATER_VIEW_H

#include "mcp/shared/request.h"

#define VIEW_URI STR("ui://nod/ask")

struct views;

/* After the surfaces that ask through the client's own requests. */
struct views *views_create(struct mcp_server *server);
/* The server shuts down: requests that wait for a question are answered. */
void views_stop(struct views *views);
/* What waits is told nothing more. While the engine can still end its runs. */
void views_drop(struct views *views);
void views_destroy(struct views *views);

/* Some tool may ask in a view: what is listed depends on the client. */
bool views_used(const struct mcp_server *server);
/* Is a client that can be asked this (enum client_can) asked in views what this tool asks? */
bool views_ask(const struct target *target, unsigned can);
/* The listing of a tool, with the view that belongs to it for such a client. */
struct str views_listing(struct arena *arena, const struct target *target, unsigned can,
                         struct str descriptor);
/* Writes members of the _meta of a pending result: the view in which its question can be answered.
 */
void views_write_meta(struct json_writer *w, const struct call *call);
/* One of the questions of the call is up in views. */
bool views_show(const struct mcp_server *server, const struct call *call);

#endif
