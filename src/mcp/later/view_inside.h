/*
 * mcp/later/view_inside: what the files of the view share, and nobody else sees.
 */
#ifndef NOD_MCP_LATER_VIEW_INSIDE_H
#define NOD_MCP_LATER_VIEW_INSIDE_H

#include "base/map.h"
#include "core/run.h"
#include "mcp/later/own_tool.h"
#include "mcp/shared/server_inside.h"
#include "mcp/later/view.h"
#include "mcp/shared/work.h"

enum {
    VIEW_OWNER_LEN = ID_LEN, /* a key begins with a digest of the principal */
    VIEW_KEY_LEN = VIEW_OWNER_LEN + ID_LEN,
    VIEW_NONCE_LEN = 2 * ID_LEN, /* the id of the ask, and a secret of its own */
    VIEW_OVER_KEEP_MS = 60000,   /* how long views are told how a question ended */
    VIEW_REQUEST_ID_MAX = 256,   /* bytes of the id of a request that are remembered */
    VIEW_ARGS_LEN = ID_LEN,      /* a digest of the arguments of a call */
    VIEW_CHAT_LEN = ID_LEN,      /* a digest of what only the requests of one chat have */
};

#define VIEW_KIND STR("view")

struct views {
    struct surface surface; /* first */
    struct mcp_server *server;
    struct own_tool questions, answer, page;
    struct map offers;   /* by the id of the ask: struct view_offer */
    struct list waits;   /* requests of nodQuestions */
    struct list answers; /* requests of nodAnswer */
    struct buf html;
    bool gone; /* it is freed with the last call of its tools */
};

/* --- view_record.c --- */

struct view_record {
    char key[VIEW_KEY_LEN + 1];
    char nonce[VIEW_NONCE_LEN + 1];
    struct id call; /* that the chat has made: the outermost, if an inner call asks */
    struct str tool;
    struct str request; /* JSON: the id of the request that the call came with; may be empty */
    char args[VIEW_ARGS_LEN + 1]; /* what the call was made with: see view_args; may be empty */
    char chat[VIEW_CHAT_LEN + 1]; /* whose call it is: see view_chat; may be empty */
    int64_t fetched_ms;           /* a view was given it; 0: none was */
    bool over;                    /* it has ended */
    uint64_t version;
};

/* What the keys of a principal begin with. */
void view_owner(struct str principal, char out[VIEW_OWNER_LEN + 1]);
void view_key(struct str principal, struct str ask_id, char out[VIEW_KEY_LEN + 1]);
struct str view_ask_id(const struct view_record *record);
/* Is this the nonce of the record? Takes the same time for every wrong one. */
bool view_nonce_is(const struct view_record *record, struct str nonce);
/* The arguments of a call, as far as they are compared: alike if they mean the same. Empty if they
 * are too large for that. */
void view_args(const struct json *args, char out[VIEW_ARGS_LEN + 1]);
/*
 * The chat that a call is of: its session (2025), or the pipe that it came by. Empty: requests of
 * 2026 over HTTP have nothing by which one chat could be told from another.
 */
void view_chat(const struct views *views, const struct call *call, struct str principal,
               char out[VIEW_CHAT_LEN + 1]);
/* May a request of this chat have the question, that shows this as the handle of its call? Tool,
 * arguments and the id of a request can be guessed, and show nothing. */
bool view_is_own(const struct view_record *record, const char *chat, struct str call_id);
/* Reads one as the store has it; texts are in the arena. */
bool view_record_read(struct arena *arena, struct str key, struct str value, uint64_t version,
                      struct view_record *out);
/* Writes it; `version` as in store_ops.put. `done` may be NULL; it is given no server when that is
 * gone. */
typedef void view_put_fn(struct mcp_server *server, void *data, nod_status status);
void view_record_put(struct mcp_server *server, const struct view_record *record, struct str whose,
                     uint64_t version, int64_t ttl_ms, view_put_fn *done, void *data);
/* `record` is NULL unless the status is NOD_OK. */
typedef void view_got_fn(struct mcp_server *server, void *data, nod_status status,
                         const struct view_record *record);
void view_record_get(struct mcp_server *server, const char *key, view_got_fn *done, void *data);

/* --- view.c --- */

/* own_tool_ops.released of all three: `data` is the views. */
void view_released(struct own_tool *tool);

/* A view was given this question. */
void view_seen(struct views *views, const struct view_record *record, int64_t expires_ms);
/* It has ended, by an answer that came through here. */
void view_over(struct views *views, const struct view_record *record);
/* The question is shown to views as far as this node knows. */
bool view_is_up(const struct views *views, struct str ask_id);

/* --- view_questions.c --- */

extern const struct own_tool_ops view_questions_ops;
/* It came up or ended: whoever waits for questions of its principal looks again. */
void view_questions_look(struct views *views, const struct view_record *record);
/* The server shuts down: whoever waits is answered. It is gone: nobody is. */
void view_questions_stop(struct views *views);
void view_questions_drop(struct views *views);

/* --- view_write.c --- */

enum view_rank {
    VIEW_RANK_REQUEST, /* of the host's request */
    VIEW_RANK_KNOWN,   /* the view has it */
    VIEW_RANK_OTHER,
    VIEW_RANK_ASIDE, /* the view has it, and is for another call: it is not given again */
};

struct view_shown {
    struct view_record record;
    struct ask_record ask; /* id empty: it is not there */
    struct str args, client;
    enum view_rank rank; /* what is read, and given, first */
    bool known;          /* the view has it */
    bool hidden;         /* it is not given: not one that the view is for, or there is no room */
    bool unread;         /* there was no room for the ask */
};

void view_write_question(struct json_writer *w, const struct views *views,
                         const struct view_shown *shown);
/* How many bytes of a reply it takes at most. */
size_t view_question_size(const struct ask_record *ask, const struct call_record *call);
void view_write_ended(struct json_writer *w, const struct view_shown *shown);
/* A question that the view has, and is not given again, still waits. */
void view_write_waiting(struct json_writer *w, struct str nonce, bool mine);

/* --- view_answer.c --- */

extern const struct own_tool_ops view_answer_ops;
void view_answers_drop(struct views *views);

/* --- view_page.c --- */

extern const struct own_tool_ops view_page_ops;
void view_page_make(struct views *views);

#endif
