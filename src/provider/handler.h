/*
 * provider/handler: one run of a C handler, as the files of provider/ share it.
 *
 * A nod_call wraps a run of the core and what the handler makes of it: its reply, its defers, and
 * what it waits for. It belongs to the thread on which the handler runs. Everything in it is freed
 * with the run.
 */
#ifndef NOD_PROVIDER_HANDLER_H
#define NOD_PROVIDER_HANDLER_H

#include "core/run.h"
#include "json/schema.h"
#include "json/write.h"

struct local;
struct local_target;

enum {
    REPLY_BYTES_MAX = 16 * 1024 * 1024, /* bytes of a result as JSON */
    APPROVE_ATTEMPTS = 8, /* times an approval is asked for while what comes back does not fit */
    COMPLETION_BYTES_MAX = 1024 * 1024,  /* memory of a completion handler */
    HANDLER_TEXT_MAX = 16 * 1024 * 1024, /* bytes of one JSON text made by nod_json_text */
};

struct defer {
    struct defer *next;
    void (*fn)(void *data);
    void *data;
};

struct reply {
    struct buf out;       /* the body, written while the handler runs */
    struct json_writer w; /* once `blocks` is not 0, inside the array of blocks */
    size_t blocks;
    struct str structured; /* JSON text */
    struct json *meta;
    struct str error; /* the newest text of nod_reply_error */
    bool is_error;
    nod_speaker role;
};

struct nod_call {
    struct run *run;
    struct local *local;
    const struct local_target *target;
    const struct json *args; /* every string ends with a NUL; made when first asked for */
    const struct json *meta; /* likewise: nod_meta */
    struct reply reply;
    struct defer *defers;          /* newest first */
    struct each_key *each_keys;    /* of nod_each, in this run */
    struct completion *completion; /* only in a .complete handler */
    struct nod_step_run *step;     /* not NULL: inside a step */
    const char *mute;    /* not NULL: nothing may be asked here, because it is "a hook that ..." */
    struct str step_key; /* the newest step that this run reached */
    bool stopped;     /* NOD_PENDING was returned to the handler: nothing more counts in this run */
    bool waiting;     /* an answer of nod_want is not there yet */
    bool awaited;     /* nod_await has seen every answer that was wanted */
    nod_status await; /* the first failure among those answers */
    nod_status broken; /* a failure that the handler cannot handle: it ends the call */
};

/* The JSON tree as handlers see it. */
static inline const nod_json *json_out(const struct json *v)
{
    return (const nod_json *)(const void *)v;
}

static inline const struct json *json_in(const nod_json *v)
{
    return (const struct json *)(const void *)v;
}

/* --- text (handler_text.c) --- */

/* Valid UTF-8: the text itself, or a copy in the arena with U+FFFD for every invalid byte. */
struct str text_clean(struct arena *arena, struct str text);
/* The same for a C string; NULL counts as empty. */
struct str call_text(nod_call *call, const char *text);
/* Ends with a NUL, in the run's memory; "" if there is no room, never NULL. */
const char *call_cstr(nod_call *call, struct str text);
/* A tree from JSON text, in which every string ends with a NUL. NULL: it is not JSON. */
struct json *call_parse(nod_call *call, struct str text);
/* The text of a tree, in the run's memory; {NULL, 0} if there is no room. */
struct str call_json(nod_call *call, const struct json *value);
/* "tool x", "prompt y": for messages. */
const char *call_what(const nod_call *call);
struct str call_name(const nod_call *call);

/* --- the run (handler_run.c) --- */

/* Runs the handler and judges the result, on the handler's thread. *body is in call->reply. */
nod_status handler_run(nod_call *call, struct str *body);
/* Newest first, even if the call goes on later: what was opened in this run is closed with it. */
void handler_defers(nod_call *call);
/* Sets whose code runs on this thread, for functions that have no call; returns whose it was. */
nod_call *handler_enter(nod_call *call);
/* After run_done: frees what is left of a call. */
void handler_finish(nod_call *call);

/* May an ask or a step be made here? If not, a bug is recorded, and this is what to return. */
nod_status call_may_ask(nod_call *call, const char *function);
/* NOD_E_USAGE, and a bug: the handler gave no place for the answer. */
nod_status call_place(nod_call *call, const char *function, const void *place);
/* Both, for a question whose answer says that it waits until there is another. */
nod_status call_begin_ask(nod_call *call, const char *function, nod_answer *answer);

/* --- asking (handler_ask.c) --- */

/* A question needs a message that says something; else a bug is noted that names the function. */
nod_status call_message(nod_call *call, const char *function, const char *message);

/* Asks, or returns the journalled answer, and keeps the call's flags. `*answer` may stay NULL. */
/* NOD_OK, or a bug of the handler: keys that begin with "nod." are nod's own. */
nod_status call_check_key(nod_call *call, const char *does, struct str key);
nod_status call_ask(nod_call *call, const struct ask_spec *spec, const struct entry **answer);
/* The same, with the answer filled in; the run ends here if there is none yet. */
nod_status ask_now(nod_call *call, const struct ask_spec *spec, nod_answer *answer);
/* The page of a spec is foreign, and sends the person back (handler_page.c). */
nod_status page_foreign(nod_call *call, struct ask_spec *spec);
/* The same for one question of a round that nod_await waits for. */
nod_status want_ask(nod_call *call, const struct ask_spec *spec, nod_answer *answer);
/* A status that means "no" if the handler waits for a yes. */
bool is_a_no(nod_status status);
void answer_fill(nod_call *call, nod_answer *answer, const struct entry *entry);
/*
 * The schema text of a form, or of `schema`. {NULL, 0} and a fault: it makes no schema. The text is
 * valid until the next form; run_ask copies it.
 */
nod_status call_form(nod_call *call, const nod_form *form, const char *schema, struct str *detail);
/* https, or http on loopback, and nothing that could be read as something else. */
bool url_is_safe(struct str url);

/* --- values that no journal holds (handler_need.c) --- */

struct need_spec;
/* run_need (core/need.h), which also keeps the call's flags. After call_may_ask. */
nod_status call_need(nod_call *call, const struct need_spec *spec, struct str *value);

/* --- steps (handler_step.c) --- */

struct step_spec {
    struct str key;
    nod_step_fn *fn;
    void *arg;
    const nod_answer *answer; /* that nod_step_answer gives; may be NULL */
    bool at_most_once, idempotent;
};
/* Does the step, or returns its journalled result; `result` may be NULL. *ended: the status is the
 * step's own, even if its outcome is unknown; otherwise it says why the step could not be done. */
nod_status call_step(nod_call *call, const struct step_spec *spec, const nod_json **result,
                     bool *ended);
/* nod_reply_error inside a step: the step's own failure, in the run's memory. */
void step_error(struct nod_step_run *step, struct str text);

/* --- replies (handler_reply.c) --- */

void reply_init(struct reply *reply);
/* Closes the body: NOD_OK and *body, or a fault. */
nod_status reply_close(nod_call *call, struct str *body);

#define OPTS_READ(out, in) opts_read(&(out), sizeof(out), (in), (in) ? (in)->size : 0)

/* Copies options of any version: members that the other version lacks are zero. */
static inline void opts_read(void *out, size_t room, const void *in, size_t size)
{
    memset(out, 0, room);
    if (in)
        memcpy(out, in, size < room ? size : room);
}

#endif
