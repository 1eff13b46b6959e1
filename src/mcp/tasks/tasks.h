/*
 * mcp/tasks/tasks: the extension io.modelcontextprotocol/tasks (SEP-2663).
 *
 * A task is a call that no request waits for: the client is given its id and comes back with it.
 * The id is the id of the call. tasks/get shows what the call asks, tasks/update answers it. The
 * end is kept until the time to live is over.
 *
 *   tasks.c         the life of a task, and the limits
 *   wire.c    a task as the client sees it, and notifications about it
 *   begin.c   how a call becomes a task
 *   rpc.c     tasks/get, tasks/cancel, and what requests that wait have in common
 *   update.c  tasks/update: answers, and answers that come too late
 *   store.c   the records of tasks, with a durable or shared store
 *   load.c    a task that is not worked on here, as the store knows it
 */
#ifndef NOD_MCP_TASKS_TASKS_H
#define NOD_MCP_TASKS_TASKS_H

#include "base/heap.h"
#include "base/list.h"
#include "json/write.h"
#include "mcp/era2026/methods.h"
#include "mcp/era2026/pipe.h"
#include "mcp/shared/work.h"

enum {
    TASKS_MAX = 20000,                        /* in all; the oldest that were fetched make room */
    TASKS_BYTES_MAX = 256 << 20,              /* of results that are kept */
    TASKS_BYTES_PER_PRINCIPAL_MAX = 64 << 20, /* the same, of one principal: its oldest go first */
    TASK_TTL_MS = 3600000,                    /* the time to live, from its creation */
    TASK_TTL_MAX_DAYS = 3650,                 /* a longer time to live counts as this */
    TASK_POLL_MS = 1000,                      /* how often a client is asked to look */
    TASK_ENDED_KEEP_MS = 60000,               /* an end is kept for at least so long */
    TASK_ASKS_MORE_MS = 5000, /* questions wait so much longer than their task lives */
    TASK_MESSAGE_MAX = 1000,  /* bytes of a statusMessage */
    TASK_END_MAX = MCP_MESSAGE_MAX - (64 << 10), /* bytes of a result or an error */
    TASK_RECORD_VERSION = 1,                     /* of the records of tasks */
    TASK_NOTES_MAX = 256,                        /* asks of a task about which something is noted */
};

#define TASKS_STORE_KIND "task"
#define TASKS_REQUIRED   "{\"requiredCapabilities\":{\"extensions\":{\"" META_TASKS "\":{}}}}"

enum task_status {
    TASK_WORKING,
    TASK_INPUT_REQUIRED,
    TASK_COMPLETED,
    TASK_FAILED,
    TASK_CANCELLED,
};

struct task_note { /* what is known of an ask beside its record */
    struct task_note *next;
    struct id ask;
    bool opened;         /* the person agreed to open the page; it ends when the page is done */
    struct str problems; /* of the last answer, JSON; in the task's arena */
};

struct task_owner { /* a principal with tasks */
    size_t count;
    size_t bytes;      /* of what is kept of them */
    size_t lost;       /* of these: nobody has fetched them, and only this process has them */
    struct list ended; /* oldest first */
    size_t len;
    char name[];
};

/*
 * The small record of a task, and its call: what is shown of the task is made from these two each
 * time (task_status, task_asks). The task is worked on here, or has ended here, and the server has
 * it in its lists. Or it is a view, made from the records in the store at this moment: a view is
 * in no list, has no live call, and is freed by whoever asked for it.
 */
struct task {
    struct caller caller; /* first */
    struct mcp_server *server;
    struct heap_node due; /* the store's clock: when it fails, or is forgotten */
    /* once it has ended: in the server's list and in its owner's; oldest first */
    struct list ended, own;
    struct task_owner *owner; /* NULL: it is a view */
    struct id id;
    struct arena arena; /* of what is noted while it lives */
    struct str principal;
    struct client client;     /* that made it; its name is known until its call begins */
    struct ask_record *shown; /* view: the open asks of its call; in the arena */
    size_t shown_count;
    uint64_t version;        /* view: the version of its record */
    enum task_status status; /* how it has ended; before that, what listeners were told last */
    bool running;            /* counted among the server's calls */
    bool storing;            /* a write of its record is under way */
    bool stale;              /* another write has to follow */
    bool lost; /* it has ended, nobody has fetched its end, and the store has no record of it */
    int64_t created_ms, updated_ms, ttl_ms;
    struct task_note *notes;
    size_t note_count;
    struct str message; /* heap */
    struct str end;     /* heap: the result (completed) or the error (failed), JSON */
};

/* What the server has of them. */
struct tasks;
struct tasks *tasks_create(void);
/* Nobody is told anything more. What the store knows stays, and its replies may still arrive. */
void tasks_drop(struct mcp_server *server);
void tasks_destroy(struct mcp_server *server);
/* Has the principal as many tasks as it may have, including ended ones? */
bool tasks_full(const struct mcp_server *server, struct str principal);
/* A client was given the end of this task, if it is one. */
void tasks_fetched(struct mcp_server *server, struct str id);
/* Bytes of ends of this principal, or of all (empty), that nobody has fetched, and that only this
 * process has. */
size_t tasks_lost(const struct mcp_server *server, struct str principal);
void tasks_sweep(struct mcp_server *server);
/* Does some tool have tasks? */
bool tasks_offered(const struct mcp_server *server);
/* Is there one, or may the store have one? Its tool may be gone, or at other nodes only. */
bool tasks_may_be(const struct mcp_server *server);

/* The methods. */
void tasks_get(struct request *request);
void tasks_update(struct request *request);
void tasks_cancel(struct request *request);

/* tools/call: true if the request was answered or taken over here. */
bool tasks_call(struct request *request, const struct start_spec *spec);
/* Replies that the client has to declare the extension. */
void tasks_missing(struct request *request);
/* If the call of this id is a task already, everybody who waits is given that task, or is told to
 * try again if the store does not say. done() is called later; `was` false: it is no task, and
 * nobody was told anything. */
struct caller2026;
void tasks_resumed(struct caller2026 *caller, struct str id,
                   void (*done)(struct caller2026 *caller, bool was));

/* recovery_opts.orphan; data is the server. Runs the call on, for a task or for whoever else comes
 * back for it. */
void tasks_orphan(void *data, const struct call_record *record);

/* By its id, for its principal; NULL: not known on this node. */
struct task *task_find(struct mcp_server *server, struct str id, struct str principal);

/* The members of a task; with `detailed` also inputRequests, result or error. */
void task_write(struct json_writer *w, struct task *task, bool detailed);
/* A whole response with resultType "task" in server->out. */
void task_write_created(struct mcp_server *server, struct str request_id, struct task *task);
/* The same for tasks/get, and a response that only acknowledges. */
void task_write_detailed(struct mcp_server *server, struct str request_id, struct task *task);
void task_write_done(struct mcp_server *server, struct str request_id);

/*
 * The call of a request is about to do its first step: it becomes a task, and everybody who waits
 * for it is told so. False: there is no room, and the request goes on waiting.
 */
bool tasks_take(struct caller2026 *caller, struct call *call);
/* Gives this task to everybody who waits. */
void tasks_respond(struct caller2026 *caller, struct task *task);

/* --- between the files of tasks --- */

struct task_spec {
    struct str id; /* empty: random */
    struct str principal;
    const struct json *client; /* clientInfo; NULL: it is known to its call, or to nobody */
    uint8_t can;
    role_set roles; /* of the token that made it */
};
/* A view, with nothing in it yet. */
struct task *task_make(struct mcp_server *server, const struct task_spec *spec);
/* The server has it from now on. False: there are too many tasks, or it has this one. */
bool task_enter(struct task *task);
/* Both. NULL: there are too many tasks. */
struct task *task_create(struct mcp_server *server, const struct task_spec *spec);
/* Its call begins, or goes on with the task as its caller. `opened`: the client has its id. */
void task_begin(struct task *task, const struct start_spec *wanted, bool opened);
/* Stores its call, for task_begin with `opened`. Nobody runs the call before its client has
 * something to come back with. */
void task_open(struct task *task, const struct start_spec *wanted, store_done *done, void *data);
void task_go_on(struct task *task, struct call *call);
/* Does its call run? A server that shuts down waits for it. */
void task_count(struct task *task, bool running);
/* For any principal. */
struct task *task_by_id(const struct mcp_server *server, struct str id);
/* At any time of its life: the task leaves its call. Also of a view. */
void task_forget(struct task *task);
bool task_over(const struct task *task);
/* As its client sees it at this moment. */
enum task_status task_status(struct task *task);
int64_t task_expires(const struct task *task);
/* Ends the task. `end` (heap) belongs to the task from now on. */
void task_end(struct task *task, enum task_status status, struct str end, struct str message);
void task_end_outcome(struct task *task, const struct outcome *outcome);
void task_fail(struct task *task, struct str message);
/* What is shown of it has changed now. */
void task_touch(struct task *task);
/* The status message. */
void task_say(struct task *task, struct str message);
/* A request with these roles looks at it. What its client cannot be asked any more is asked
 * elsewhere, if it can be. */
void task_visited(struct task *task, role_set roles);
/* Does it wait for input? Tells listeners if that has changed, or if `tell` is true. */
void task_refresh(struct task *task, bool tell);
struct task_note *task_note(const struct task *task, struct str ask_id);
struct task_note *task_note_add(struct task *task, struct str ask_id);

/* The key under which an ask is up now, in the arena. In the life of a task no two asks, and no two
 * offers of one ask, have the same key. */
struct str task_key(struct arena *arena, const struct ask_record *ask);
/* Is it shown to the client? */
bool task_shows(const struct task *task, const struct ask_record *ask);

/* Walks over what it waits for. Begins zeroed but for the task. */
struct task_asks {
    struct task *task;
    struct ask *live;
    size_t at;
};
const struct ask_record *task_asks_next(struct task_asks *walk);

extern const struct caller_ops task_caller_ops;

/* store.c. Writes its record anew, if it has one, when the last write has ended. Of a view: unless
 * the record was written in the meantime. */
void task_store(struct task *task);
/*
 * Writes the first record, with a durable or shared store. done(task): it is there, perhaps at
 * once. done(NULL): it could not be written, or the task or the server is gone; without a record
 * there is no task. `insist`: the client has something to come back with, so the store is waited
 * for.
 */
void task_store_first(struct task *task, bool insist, void (*done)(void *data, struct task *task),
                      void *data);
/* Nobody was told its id: removes its record. */
void task_record_drop(struct mcp_server *server, struct str id);

/* load.c. */
typedef void task_loaded(void *data, struct task *task, nod_status status);
/*
 * Looks in the store for a task of this principal. `done` is called later, with NULL if there is
 * none. TASK_TO_WORK: if the store is ours alone, the task is worked on here from then on, or has
 * ended. If other nodes share the store, or with TASK_TO_LOOK, it is a view. TASK_TO_RUN_ON: its
 * call is run on while its client is away; what `done` is given says nothing.
 */
enum task_why { TASK_TO_WORK, TASK_TO_LOOK, TASK_TO_RUN_ON };
void task_load(struct mcp_server *server, struct str id, struct str principal, role_set roles,
               enum task_why why, task_loaded *done, void *data);

/* --- requests that wait (rpc.c) --- */

/* A request that waits for a task to be loaded, for its record to be stored, or for its answers. */
struct task_wait {
    struct server_work work; /* first */
    struct queue_turn turn;  /* tasks/get: in server->queue */
    struct response response;
    struct in_flight in_flight;
    void (*go_on)(struct task_wait *wait, struct task *task);
    struct arena arena;
    struct str request_id, principal;
    role_set roles;               /* of the token that the request came with */
    struct task *view;            /* the request's own view, or NULL */
    const struct json *responses; /* inputResponses */
    struct start_spec wanted;     /* tools/call: with its target held, or no target */
    struct id task;
    size_t feeding;
    bool finishing;      /* the end of its call is on its way from here to the store */
    nod_status failed;   /* the status of an answer that could not be stored */
    const char *unheard; /* why one does not count: see answer_unheard */
};

/* NULL: an error was replied. */
struct task_wait *task_wait_create(struct request *request);
/* Sends server->out as the answer. */
void task_wait_end(struct task_wait *wait, int status);
void task_wait_fail(struct task_wait *wait, int status, int64_t code, struct str message,
                    struct str data);
void task_wait_free(struct task_wait *wait);
/* Calls go_on() with the task of the request: at once if the task is worked on here, or has ended
 * here, otherwise when it has been loaded. If there is no such task, an error is replied. */
void task_of_request(struct request *request, const struct json *responses, bool in_line,
                     void (*go_on)(struct task_wait *wait, struct task *task));
extern const struct str task_unknown;

#endif
