/*
 * core/run: one execution of a target, from the top, with the journal so far.
 *
 * A run has an arena of its own, and the journal is its call's, which is not changed while the run
 * is with its provider and is left to it by a call that ends before: so a provider may work on it
 * on another thread. The provider calls run_* to look things
 * up and to record what is new, and ends it with run_done, on the loop thread.
 *
 * What a run records (asks, steps) takes effect only when run_done is called.
 */
#ifndef NOD_CORE_RUN_H
#define NOD_CORE_RUN_H

#include <stdatomic.h>

#include "base/clock.h"
#include "core/record.h"
#include "core/caller.h"
#include "core/provider.h"
#include "core/store.h"
#include "core/surface.h"

struct ask_spec {
    enum ask_kind kind;
    struct str key; /* empty: numbered */
    struct str message;
    struct str detail; /* JSON text; ASK_FORM, ASK_APPROVAL: the schema (empty: an empty form);
                          ASK_SAMPLE: params */
    struct str url;
    int64_t ttl_ms; /* 0: the engine's; negative is refused */
    int attempts;
    bool consent;
    bool sensitive;
    bool wait_done;
};

/* Why a run failed, with what belongs to it; kept so that a status passed on by the handler keeps
 * its meaning. */
struct fault {
    nod_status status;
    const char *code;
    struct str message;
    struct str details;
    struct str meta;
    bool request_error; /* see struct outcome */
    struct str error_data;
};

struct run_item { /* a new entry, or a new ask */
    struct run_item *next;
    bool is_ask;
    struct entry entry;   /* with is_ask: its key and digest */
    struct ask_spec spec; /* is_ask; its text is in the run's arena */
};

struct run_list {
    struct run_item *first, *last;
    size_t entries, asks;
    size_t bytes;
};

enum {
    RUN_KEY_MAX = 128,                /* of an ask's or a step's key */
    RUN_MESSAGE_MAX = 32 * 1024,      /* of a question */
    RUN_DETAIL_MAX = 64 * 1024,       /* of its schema or parameters */
    RUN_URL_MAX = 2048,               /* of a page */
    RUN_ROUND_MAX = STORE_CLAIM_MOST, /* questions of one round: their answers may come together */
    RUN_STEP_SHARE = 16, /* of the journal: this part is kept free for the result of a step */
};

/* Of a question's time to live: ten years. */
#define RUN_TTL_MAX_MS INT64_C(315360000000)

/* What is asked before a target starts has keys with this prefix; no handler has. */
#define RUN_RESERVED_PREFIX "nod."

struct run {
    /* Given, constant during the run. */
    struct engine *engine; /* for run_done only */
    struct call *call;     /* loop thread only */
    const struct target *target;
    struct str call_id, principal, uri;
    const struct json *args;
    struct str prefix; /* of every key, so that a hook's are not the handler's; empty: none */
    const struct entry *journal; /* of the call, or in `left` */
    size_t journal_count;
    size_t journal_bytes;
    struct journal left;       /* by a call that let go of the run */
    unsigned supports;         /* bit (1 << enum ask_kind): some surface can */
    unsigned supports_consent; /* the same, but a model's word does not count */
    bool fresh_intent;         /* the last ENTRY_INTENT was committed by this very node just now */
    bool portable;             /* only idempotent steps: see call_spec */
    bool carried;              /* see caller_ops.carries */
    bool hold_steps;           /* see call_spec */
    struct str store_away;     /* not empty: why the store, which does not know the call yet, takes
                                  nothing now: no effect may happen that it could not be told of */
    uint32_t notices_sent;     /* by earlier runs */
    int64_t ask_ttl_ms;
    size_t entries_max, bytes_max;
    const char *const *allowed_fields; /* see engine_allow_fields */
    const struct clock *clock;

    /* Made by the run. */
    struct arena arena;
    struct run_list news; /* new entries and asks */
    size_t ask_ordinal, now_ordinal, random_ordinal, wanted;
    bool *entries_used; /* of each entry of the journal: this run has had its result */
    size_t entry_next;  /* where the next entry is looked for first */
    bool step_done;     /* a step or an intent was recorded: nothing more may happen in this run */
    bool step_held;     /* it came to a step, which was not done */
    bool dry;           /* replay check: steps are not executed */
    uint32_t notice_ordinal;
    struct fault fault; /* the newest */
    struct str bug;     /* a mistake of the handler: ends the call with an error that names it */
    void *handle;       /* the provider's */
    void (*emit)(
        struct run *run,
        const struct notice *notice); /* set by the provider; loop thread or not is its matter */

    atomic_bool cancelled; /* may be read from any thread */
};

/*
 * Asks, or gives the journalled answer. NOD_OK: *answer is the entry (accepted, declined,
 * cancelled, withdrawn). NOD_PENDING: recorded (or recorded before). NOD_E_TIMEOUT,
 * NOD_E_NOT_SUPPORTED, NOD_E_INVALID: how it ended, with *answer set as well. NOD_E_NOT_SUPPORTED
 * without *answer: nobody could be asked, nothing was recorded. NOD_E_BAD_SCHEMA,
 * NOD_E_NOT_DETERMINISTIC, NOD_E_LIMIT, NOD_E_USAGE: run->fault says what.
 */
nod_status run_ask(struct run *run, const struct ask_spec *spec, const struct entry **answer);

/* May a question with this schema (empty: none) be put with this message? */
nod_status run_check_message(struct run *run, struct str detail, struct str message);

/* The result of a step if it is journalled: NOD_OK and *entry. NOD_PENDING: it is to be done now
   (then run_step_done). NOD_E_OUTCOME_UNKNOWN. For at_most_once without a committed intent, records
   it and returns NOD_PENDING with *go false. */
nod_status run_step(struct run *run, struct str key, bool at_most_once, bool idempotent,
                    const struct entry **entry, bool *go);
/* Is there room for so many more entries? NOD_E_LIMIT: run->fault says the number, the option, and
 * what was done so far. */
nod_status run_room(struct run *run, size_t more);
/* Has the call learned this already? */
bool run_knows(struct run *run, enum entry_class class, struct str key);
/* Bytes of a journal that answers leave free for the results of steps. */
size_t run_step_room(size_t journal_bytes);
/* Records the result of a step that was done: the run must return NOD_PENDING now. content: JSON or
 * empty. */
nod_status run_step_done(struct run *run, struct str key, nod_status status, struct str content);

/* Records that something is about to begin that must not begin twice: NOD_PENDING. */
nod_status run_intent(struct run *run, struct str key);

nod_status run_now(struct run *run, int64_t *ms);
nod_status run_random(struct run *run, uint64_t *bits);

/* Hands a notice to the caller of the run's call, if it still has one. Loop thread only: for
 * run->emit. */
void run_emit(struct run *run, const struct notice *notice);
/* Emits, unless an earlier run of this call has emitted it. */
void run_notice(struct run *run, const struct notice *notice);

/* Sets the fault and returns its status. `code` NULL: by the status. */
nod_status run_fail(struct run *run, nod_status status, const char *code, struct str message);
/* Notes a mistake of the handler; the first one stays. */
void run_bug(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * The end of a run, on the loop thread, once. status NOD_OK: body is the result (JSON object).
 * NOD_PENDING: park or go on. Anything else: the failure (run->fault where it fits). The run is
 * freed.
 */
void run_done(struct run *run, nod_status status, struct str body);
/* The same for a run that its provider, which is stopping, has not begun: the call is left to
 * others, see engine_stop. */
void run_unbegun(struct run *run);

#endif
