/*
 * provider/handler: one run of a C handler, as the files of provider/ share it.
 *
 * A nod_call wraps a struct run of the core and what the handler makes of it: its reply, its
 * defers, what it waits for. It belongs to the thread the handler runs on; everything in it dies
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
    REPLY_BYTES_MAX = 16 * 1024 * 1024,  /* of a result as JSON */
    APPROVE_SHOWN_MAX = 4096,            /* bytes of arguments shown to a person; the rest is cut */
    COMPLETION_BYTES_MAX = 1024 * 1024,  /* memory of a completion handler */
    HANDLER_TEXT_MAX = 16 * 1024 * 1024, /* of one JSON text made by nod_text */
};

struct defer {
    struct defer *next;
    void (*fn)(void *data);
    void *data;
};

struct reply {
    struct buf out;       /* the body, written as the handler speaks */
    struct json_writer w; /* inside the array of blocks once `blocks` is not 0 */
    size_t blocks;
    struct str structured; /* JSON text */
    struct json *meta;
    struct str error; /* the newest text of nod_reply_error */
    bool is_error;
    nod_role_name role;
};

struct nod_call {
    struct run *run;
    struct local *local;
    const struct local_target *target;
    const struct json *args; /* every string NUL-terminated; made when first asked for */
    struct reply reply;
    struct defer *defers;          /* newest first */
    struct completion *completion; /* only in a .complete handler */
    struct nod_step_run *step;     /* inside of a step */
    const char *mute;              /* where nothing may be asked: "a hook that ..."; NULL: it may */
    struct str step_key;           /* the newest step that this run reached */
    bool stopped;                  /* NOD_PENDING was given back: nothing more counts in this run */
    bool waiting;                  /* a wanted answer is not there yet */
    bool awaited;                  /* nod_await saw everything that was wanted */
    nod_status await;              /* the first failure of a wanted answer */
    nod_status broken;             /* a failure the handler cannot handle: it ends the call */
};

/* The public face of the JSON tree. */
static inline const nod_json *json_out(const struct json *v)
{
    return (const nod_json *)(const void *)v;
}

static inline const struct json *json_in(const nod_json *v)
{
    return (const struct json *)(const void *)v;
}

/* --- text (handler_text.c) --- */

/* Valid UTF-8: the text itself, or a copy in the arena with U+FFFD for every byte that is out of
 * place. */
struct str text_clean(struct arena *arena, struct str text);
/* The same of a C string; NULL is empty. */
struct str call_text(nod_call *call, const char *text);
/* NUL-terminated, in the run's memory; "" past its limit, never NULL. */
const char *call_cstr(nod_call *call, struct str text);
/* A tree of which every string is NUL-terminated, from JSON text. NULL where it is not JSON. */
struct json *call_parse(nod_call *call, struct str text);
/* A string or key with a NUL in it: a handler would see another text than the one that was checked.
 */
bool text_has_nul(const struct json *value);
/* The text of a tree, in the run's memory; {NULL, 0} past its limit. */
struct str call_json(nod_call *call, const struct json *value);
/* "tool x", "prompt y": for messages. */
const char *call_what(const nod_call *call);
struct str call_name(const nod_call *call);

/* --- the run (handler_run.c) --- */

/* Runs the handler and judges what it did; the thread it belongs to. *body is in call->reply. */
nod_status handler_run(nod_call *call, struct str *body);
/* Newest first, also when the handler waits: what was opened in this run is closed with it. */
void handler_defers(nod_call *call);
/* Whose code runs on this thread from now on, for what is called without a call; gives back whose
 * it was. */
nod_call *handler_enter(nod_call *call);
/* After run_done: what is left of a call. */
void handler_finish(nod_call *call);

/* Whether an ask or a step may be made here; else a bug is noted and *status is what to return. */
bool call_may_ask(nod_call *call, const char *function, nod_status *status);

/* --- asking (handler_ask.c) --- */

/* Asks, or gives the answer that is journalled; keeps the books of the call. `*answer` may stay
 * NULL. */
nod_status call_ask(nod_call *call, const struct ask_spec *spec, const struct entry **answer);
/* The same for one question of a round, which nod_await waits for. */
nod_status want_ask(nod_call *call, const struct ask_spec *spec, nod_answer *answer);
/* What is only a no to somebody who waits for a yes. */
bool is_a_no(nod_status status);
void answer_fill(nod_call *call, nod_answer *answer, const struct entry *entry);
/*
 * The schema text of a form, or of `schema`; {NULL, 0} and a fault where it makes none. It lives
 * until the next form: whoever asks with it (run_ask) takes a copy.
 */
nod_status call_form(nod_call *call, const nod_form *form, const char *schema, struct str *detail);
/* https, or http on loopback, and nothing that could be read as something else. */
bool url_is_safe(struct str url);

/* --- steps (handler_step.c) --- */

struct step_spec {
    struct str key;
    nod_step_fn *fn;
    void *arg;
    const nod_answer *answer; /* that nod_step_answer gives; may be NULL */
    bool at_most_once, idempotent;
};
/* Does it, or gives back what came of it; `result` may be NULL. *ended: the status is what came of
 * it, also if that is not known, and not why it could not be done. */
nod_status call_step(nod_call *call, const struct step_spec *spec, const nod_json **result,
                     bool *ended);
/* nod_reply_error inside of a step: its own failure, in the run's memory. */
void step_error(struct nod_step_run *step, struct str text);

/* --- replies (handler_reply.c) --- */

void reply_init(struct reply *reply);
/* Closes the body: NOD_OK and *body, or a fault. */
nod_status reply_close(nod_call *call, struct str *body);

#define OPTS_READ(out, in) opts_read(&(out), sizeof(out), (in), (in) ? (in)->size : 0)

/* Copies options of any version: what the other side does not have is zero. */
static inline void opts_read(void *out, size_t room, const void *in, size_t size)
{
    memset(out, 0, room);
    if (in)
        memcpy(out, in, size < room ? size : room);
}

#endif
