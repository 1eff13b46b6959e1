/*
 * mcp/era2025/ask_inside: what the files that ask a client of the 2025 era share.
 *
 * ask.c           the surface: what can be asked, what is up, whose answer it is
 * ask_question.c  a question as a request
 * ask_answer.c    a response as an answer
 */
#ifndef NOD_MCP_ERA2025_ASK_INSIDE_H
#define NOD_MCP_ERA2025_ASK_INSIDE_H

#include "json/form.h"
#include "json/write.h"
#include "mcp/era2025/ask.h"
#include "mcp/era2025/session.h"
#include "mcp/era2025/stream.h"

enum { CLIENT_ARENA_MAX = 8 << 20 }; /* memory of a question or an answer while it is worked on */

/* An offer that is being written. */
struct drawing {
    struct session *session;
    const struct ask_record *record;
    struct arena arena;
    struct json_writer w;
    struct str problems;
    bool confirm;
};

/* Writes the whole request, with this JSON-RPC id, into server->out. False: it cannot be sent to
 * this client. */
bool ask2025_draw(struct drawing *d, struct str id);

/* What a response says to a question. */
enum reading {
    READ_ANSWER,  /* action and content */
    READ_NOTHING, /* the client has no handler, or it broke: nobody has refused anything */
};

struct response {
    enum reading reading;
    enum ask_state action;
    const struct json *content;
    bool too_large; /* there was more content than can be held here */
};

/* `result` is NULL for an error, and `code` is the error's code. `confirm`: the question was asked
 * with a single boolean. */
struct response ask2025_read(const struct ask_record *record, bool confirm,
                             const struct json *result, int64_t code);
/* Undoes, in `arena`, what was changed in the form for this client's revision. */
void ask2025_read_back(const struct ask_record *record, enum form_revision revision,
                       struct arena *arena, struct response *response);

#endif
