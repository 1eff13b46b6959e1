/*
 * core/run: one execution of a target, from the top, with the journal so far.
 *
 * A provider may work on a run on another thread. The run has its own arena. It reads its call's
 * journal, which does not change during the run; if the call ends first, it leaves the journal to
 * the run. The provider calls run_* to look things up and to record what is new, and ends the run
 * with run_done, on the loop thread.
 *
 * What a run records (asks, steps) takes effect only when run_done is called; a live run, which
 * stays open, commits it by run_commit (core/live.c).
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
    struct str key; /* empty: nod gives it a number */
    struct str message;
    size_t authored;   /* bytes of the message that are the author's: what follows are the call's
                          arguments, which ask for nothing; 0: all */
    struct str detail; /* JSON text; ASK_FORM, ASK_APPROVAL: the schema (empty: an empty form);
                          ASK_SAMPLE: params */
    struct str url;
    /* An approval that grants may answer, and that may be remembered: the tool path that it is for,
     * and the digest of the arguments (grant_digest). Empty: neither. */
    struct str path, path_digest;
    struct str remember; /* set when it is put to people: for ask_record.remember */
    int64_t ttl_ms;      /* 0: the default; negative is refused */
    int attempts;
    bool consent;
    bool sensitive;
    bool wait_done;
    bool again;  /* a run may come to it more than once, and is given the same answer each time: it
                    is the same question whenever its key is the same */
    bool worded; /* the message is made of titles, which may change while the question waits: it is
                    the same question all the same */
    enum ask_page page; /* ASK_URL: one of our own pages; url is empty, and nod makes it */
};

/* A value that the journal must not hold: see need.h. Two needs of a run with the same three texts
 * are the same. */
struct need_spec {
    struct str source; /* the name of a need_source */
    struct str name;   /* of the value */
    struct str detail; /* what else the source has to know, such as scopes; may be empty */
};

/* Why a run failed. It is kept so that a status which the handler passes on keeps its meaning. */
struct fault {
    nod_status status;
    const char *code;
    struct str message;
    struct str details;
    struct str meta;
    bool request_error; /* see struct outcome */
    struct str error_data;
    bool no_room;
};

struct run_item { /* a new entry, or a new ask */
    struct run_item *next;
    bool is_ask;
    struct entry entry;   /* with is_ask: its key and digest */
    struct ask_spec spec; /* is_ask; its text is in the run's arena */
};

struct run_list {
    struct run_item *first, *last;
    uint32_t entries, asks;
    size_t bytes;
};

enum {
    RUN_KEY_MAX = 128,                /* of an ask's or a step's key */
    RUN_MESSAGE_MAX = 32 * 1024,      /* of a question */
    RUN_DETAIL_MAX = 64 * 1024,       /* of its schema or parameters */
    RUN_URL_MAX = 2048,               /* of a page */
    RUN_ROUND_MAX = STORE_CLAIM_MOST, /* questions of one round: their answers may come together */
    RUN_STEP_SHARE = 16, /* this part of the journal (1/16) is kept free for the result of a step */
};

/* The longest time to live of a question: ten years. */
#define RUN_TTL_MAX_MS INT64_C(315360000000)

/* How long a call is waited for, unless whoever waits says so: a day. */
#define RUN_CALL_TTL_MS INT64_C(86400000)

/* The prefix of keys of questions that are asked before a target starts. No handler may use it. */
#define RUN_RESERVED_PREFIX "nod."

/*
 * The digests of questions whose form and message were checked, and may be asked. A handler mostly
 * asks what it asked before, and looking for secrets in words takes longer than the digest, which
 * is needed anyway.
 */
enum { QUESTIONS_CHECKED = 64 }; /* digests that are kept; a new one replaces an older one */
struct questions {
    unsigned char digests[QUESTIONS_CHECKED][DIGEST_BYTES];
};

struct run {
    /* Given; constant during the run. */
    struct engine *engine; /* for run_done only */
    struct call *call;     /* loop thread only */
    const struct target *target;
    struct str call_id, principal, uri;
    role_set roles; /* of whoever is behind the call */
    const struct json *args;
    struct str meta;   /* JSON object or empty: see call_record.meta */
    bool args_changed; /* hooks have written them: the client made the call with others */
    /* put before every key, so that a hook's keys are not the handler's; empty: none */
    struct str prefix;
    const struct entry *journal; /* the call's, or `left` */
    size_t journal_count;
    size_t journal_bytes;
    struct journal left; /* the journal of a call that dropped the run */
    unsigned supports;   /* a bit (1 << enum ask_kind) for each kind that some surface can ask */
    unsigned client;     /* the same for what the client itself can be asked */
    unsigned supports_consent;   /* the same where it counts as consent */
    unsigned lacks_role;         /* the same if its client had the role that consent needs */
    unsigned model;              /* those that a model can be asked, whether or not that counts */
    struct str instead_of_model; /* see engine_instead_of_model */
    unsigned pages;    /* bits of the pages of its own that this server has: engine_pages.kinds */
    bool pages_shut;   /* its principal cannot open them: engine_pages.may_open */
    bool fresh_intent; /* this node has just committed the last ENTRY_INTENT */
    bool portable;     /* only idempotent steps: see call_spec */
    bool carried;      /* see caller_ops.carries */
    bool hold_steps;   /* see call_spec */
    bool live;         /* see target.live: it is on the loop thread, and its journal grows */
    /* A live run: questions that were committed and have not ended; and how many were committed
     * since the oldest of them, with that one. */
    uint32_t held, since_oldest;
    /* not empty: the store, which does not know the call yet, is away, and why. No effect may
     * happen, because it could not be recorded */
    struct str store_away;
    const struct needed *needed; /* values that were fetched for it: see need.h */
    uint32_t notices_sent;       /* sent by earlier runs */
    int64_t ask_ttl_ms;
    size_t entries_max, bytes_max;
    const char *const *allowed_fields; /* see engine_opts */
    struct questions *checked;         /* loop thread only; NULL: the run is on another one */
    const struct clock *clock;
    int64_t store_ahead_ms; /* of the store's clock against that one, when the run began */

    /* Made by the run. */
    struct arena arena;
    struct run_list news; /* new entries and asks */
    size_t ask_ordinal, now_ordinal, random_ordinal, wanted;
    bool *noes_heard;   /* for each entry of the journal: it is a no that this run was told of */
    bool *entries_used; /* for each entry of the journal: this run has been given its result */
    struct run_refused *refused; /* keys of questions that this client cannot be asked */
    size_t entry_next;           /* where the search for the next entry begins */
    bool step_done; /* a step or an intent was recorded: nothing more may happen in this run */
    bool step_held; /* the run came to a step, and did not do it */
    bool need_more; /* the run came to a value that has to be fetched: `need` */
    struct need_spec need;
    bool dry; /* replay check: steps are not executed */
    uint32_t notice_ordinal;
    struct fault fault; /* the newest one */
    struct str bug;     /* a mistake of the handler; the call ends with an error that names it */
    struct str unasked; /* nobody could be asked: what is missing for it */
    void *handle;       /* for the provider */
    /* How a notice leaves the run. It is run_emit when the run begins. A provider whose run is on
     * another thread sets its own, which takes the notice to the loop thread. */
    void (*emit)(struct run *run, const struct notice *notice);

    atomic_bool cancelled; /* may be read from any thread */
};

/*
 * Asks, or returns the journalled answer. NOD_OK: *answer is the entry (accepted, declined,
 * cancelled, withdrawn). NOD_PENDING: the question is recorded, now or before. NOD_E_TIMEOUT,
 * NOD_E_NOT_SUPPORTED, NOD_E_INVALID: how it ended, with *answer set as well. NOD_E_NOT_SUPPORTED
 * without *answer: nobody could be asked, and nothing was recorded. NOD_E_BAD_SCHEMA,
 * NOD_E_NOT_DETERMINISTIC, NOD_E_LIMIT, NOD_E_USAGE: run->fault says why.
 */
nod_status run_ask(struct run *run, const struct ask_spec *spec, const struct entry **answer);
/* Arguments for the message of a question (core/args_shown.c). `own`: they are not the call's.
 * `lines`: each on a line of its own. */
struct str run_show_args(struct run *run, const struct json *args, bool own, bool lines);

struct run_call_spec {
    struct str key; /* as of a question; empty: nod gives it a number */
    struct str tool;
    const struct json *args; /* object or NULL */
    int64_t ttl_ms;          /* how long its end is waited for; 0: RUN_CALL_TTL_MS */
};
/*
 * Calls another tool, for whoever is behind this call, and waits for its end (core/inner.c).
 * NOD_OK: *outcome is how it ended, well or not; its text is the run's. NOD_PENDING: return it.
 * NOD_E_TIMEOUT: it took longer than ttl_ms, and was cancelled. Anything else: see run_ask.
 */
nod_status run_call(struct run *run, const struct run_call_spec *spec, struct outcome *outcome);
/* Could a plain question of this kind be put to somebody, so that the answer counts? */
bool run_supports_kind(const struct run *run, enum ask_kind kind);

/* May a question with this schema (empty: none) have this message? */
nod_status run_check_message(struct run *run, struct str detail, struct str message);

/* NOD_OK: the step is journalled, and *entry is its result. NOD_PENDING with *go: do the step now,
 * then call run_step_done. NOD_PENDING without *go: return; for at_most_once the intent was
 * recorded. NOD_E_OUTCOME_UNKNOWN: the step was begun, and whether it was done is not known. */
nod_status run_step(struct run *run, struct str key, bool at_most_once, bool idempotent,
                    const struct entry **entry, bool *go);
/* Is there room for so many more entries? NOD_E_LIMIT: run->fault names the limit, its option, and
 * what was done so far. */
nod_status run_room(struct run *run, size_t more);
/* Has the call learned this already? */
bool run_knows(struct run *run, enum entry_class class, struct str key);
/* Has this question of the call ended in another way than with an answer that was accepted? */
bool run_was_refused(struct run *run, struct str key);
/* Bytes of a journal that answers leave free for the results of steps. */
size_t run_step_room(size_t journal_bytes);
/* Records the result of a step that was done. The run must return NOD_PENDING now. content: JSON or
 * empty. */
nod_status run_step_done(struct run *run, struct str key, nod_status status, struct str content);

/* Records that something is about to begin that must not begin twice. Returns NOD_PENDING. */
nod_status run_intent(struct run *run, struct str key, struct str by, struct str content);

nod_status run_now(struct run *run, int64_t *ms);
nod_status run_random(struct run *run, uint64_t *bits);

/* Hands a notice to the caller of the run's call, if it still has one. Loop thread only. For
 * run->emit. */
void run_emit(struct run *run, const struct notice *notice);
/* Emits a notice, unless an earlier run of this call has emitted it. */
void run_notice(struct run *run, const struct notice *notice);

/* Sets the fault and returns its status. `code` NULL: the code of the status. */
nod_status run_fail(struct run *run, nod_status status, const char *code, struct str message);
/* Records a mistake of the handler; the first one stays. */
void run_bug(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A live run, on the loop thread: stores what was recorded, beside the questions that wait, and the
 * run goes on. provider_ops.committed tells when it is stored. If it cannot be stored, the call
 * ends with an error. What is recorded and not committed goes with the end of the run. */
void run_commit(struct run *run);
/* A live run, on the loop thread: takes a question back. NOD_OK: it was not committed, and nobody
 * has heard of it. NOD_PENDING: provider_ops.answered tells what came of it: ASK_WITHDRAWN, or a
 * person was faster. `why` is for those who were asked. NOD_E_NOT_FOUND: no such question waits. */
nod_status run_take_back(struct run *run, struct str key, struct str why);

/*
 * Ends a run, on the loop thread, once. status NOD_OK: body is the result (a JSON object).
 * NOD_PENDING: the call is parked or goes on. Anything else: it failed (run->fault, if its status
 * is the same, says why). The run is freed.
 */
void run_done(struct run *run, nod_status status, struct str body);
/* The same for a run that its provider, which is stopping, has not begun. The call is left to other
 * nodes: see engine_stop. */
void run_unbegun(struct run *run);

#endif
