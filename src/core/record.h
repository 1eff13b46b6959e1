/*
 * core/record: what is remembered of a call and of an ask.
 *
 * The engine and a store exchange these records. They are views: their slices point into memory of
 * whoever hands them over, and are valid during that call or callback.
 *
 * The journal is the ordered list of what a call has learned. An entry is never changed or removed,
 * and (class, key) is unique in a call.
 */
#ifndef NOD_CORE_RECORD_H
#define NOD_CORE_RECORD_H

#include <nod/nod.h>

#include "base/arena.h"
#include "base/id.h"
#include "base/str.h"
#include "core/pages.h"
#include "core/roles.h"
#include "json/value.h"

enum {
    DIGEST_BYTES = 32,
    ASK_APPROVERS = 16, /* ask_record.approver is always less than this */
    ASK_TURNS = 8,      /* ask_record.turn is always less than this */
};

enum ask_kind {
    ASK_FORM,
    ASK_URL,
    ASK_APPROVAL,
    ASK_SAMPLE,
    ASK_ROOTS,
    ASK_CALL, /* another call, whose end is the answer: it is put to the engine (core/inner.c) */
} __attribute__((packed));
enum { ASK_KINDS = ASK_CALL + 1 };

enum ask_state {
    ASK_PENDING,
    ASK_ACCEPTED,
    ASK_DECLINED,
    ASK_CANCELLED,
    ASK_EXPIRED,
    ASK_WITHDRAWN,
    ASK_UNSUPPORTED, /* no surface was left: nobody was asked, so nobody refused */
    ASK_INVALID,     /* the content did not fit, and no attempt was left */
} __attribute__((packed));

/*
 * Whether an ask has come to a surface that every question may come to (surface_ops.every), such as
 * the inbox. There it stays, also if the server is started again with another plan.
 */
enum ask_listed {
    NOT_LISTED,
    LISTED,
    LISTED_BY_CLOCK, /* not when it was asked, but the clock of its plan comes to it */
    ASK_LISTINGS = 4 /* ask_record.listed is always less than this */
} __attribute__((packed));

/* "accepted", "declined", ... */
struct str ask_state_name(enum ask_state state);

struct ask_record {
    struct str id;
    struct str call_id;
    struct str key;       /* unique in the call: the author's key, or "#n" */
    struct str principal; /* whom it was put to */
    struct str scope;
    enum ask_kind kind;
    enum ask_state state; /* set by the store */
    bool consent;         /* a person has to answer: a model may not */
    bool sensitive;
    bool wait_done : 1; /* ASK_URL: ends when the page is done, not when it is opened */
    bool inner : 1;     /* another call waits for its call (core/inner.c) */
    /* Asked in turn (core/plan.h): the first turn in which anybody could be asked, or a later one
     * that has come before its time (claim_item.turn). */
    uint8_t turn;
    enum ask_page page; /* ASK_URL: not PAGE_NONE if it is one of ours; then wait_done is set */
    /* not 0: it is put to whoever has this role, and never to the principal of the call (four
     * eyes) */
    enum ask_listed listed;
    role_set approver;
    int attempts;      /* how often invalid content is asked again; 0: the surface's rule */
    int attempt;       /* which offer is up, from 1; counted by the store: see claim_item.again */
    struct str target; /* the tool that asks */
    /* The version that its call began with (target_version), where a store has it at hand; 0: not
     * known. Set by the store. */
    int64_t call_version;
    struct str message;
    struct str detail; /* JSON: the schema of a form or an approval; a sample's params; of a page of
                          ours: see enum ask_page; of ASK_CALL: the tool and its arguments, see
                          run_call; else empty */
    struct str url;    /* ASK_URL: what the person opens, if it is no page of ours. The link of a
                          page of ours is made when it is shown: see ask_url() in core/engine.h.
                          Older records of such a page have one here, which nobody reads */
    /* What an approval may be remembered for, and how long (core/grant.h); empty: nothing. */
    struct str remember;
    unsigned char digest[DIGEST_BYTES]; /* digest of the question */
    int64_t ttl_ms;
    uint64_t seq; /* its event in the caller's stream; 0: none */

    /* Set by the store, or given for an ask that comes back with its call. Wall clock. */
    int64_t asked_ms;
    int64_t expires_ms;

    /* Set by the store. */
    /* JSON, only with ASK_ACCEPTED; with ASK_INVALID the problems. The content of a sensitive ask
     * is erased as soon as the call ends, even if somebody is looking at it. */
    struct str content;
    struct str by;  /* the principal who answered */
    struct str via; /* where: "client", "inbox", "page", "api", "clock", "nod", ...; may be empty */
    /* What the answerer said beside the content: JSON (core/note.h), or empty. */
    struct str note;
    int64_t ended_ms;
};

/* How a message ends that does not have all arguments of its call in it (core/args_shown.c), and
 * one of which nobody has the rest. */
#define ARGS_ELSEWHERE                                                                             \
    STR("Whoever made the call has all of them, and so has the inbox if this question is there.")
#define ARGS_NOWHERE STR("They can be seen nowhere.")
/* Does the inbox have more of the arguments than the message? */
bool args_are_cut(const struct ask_record *ask);

/* Under which name it is put to whoever carries the questions of a call and of its inner calls: its
 * key, or its id where keys of several calls could be the same. */
struct str ask_carried_key(const struct ask_record *ask);

/* Where it was answered, as people read it: a client is a client, in whatever era; what ended with
 * its call was ended by nod. */
struct str ask_via_shown(struct str via);
/* The word of the protocol for how an ask ended: "accept", ...; empty if nobody answered. */
struct str ask_action(enum ask_state state);
/* The other way round. False: it is none of the three, and nothing is set. */
bool ask_action_read(struct str word, enum ask_state *out);

enum entry_class {
    ENTRY_ASK,    /* an ask has ended: state, content, by */
    ENTRY_STEP,   /* a step has ended: status, content */
    ENTRY_INTENT, /* a step that must not be repeated is about to begin */
    ENTRY_NOW,
    ENTRY_RANDOM,
};

struct entry {
    enum entry_class class;
    struct str key;
    unsigned char digest[DIGEST_BYTES]; /* ENTRY_ASK: of the question */
    enum ask_state state;               /* ENTRY_ASK */
    nod_status status;                  /* ENTRY_STEP */
    int64_t number;                     /* ENTRY_NOW, ENTRY_RANDOM; ENTRY_ASK: the ask's ttl_ms */
    struct str ask_id;                  /* ENTRY_ASK */
    struct str content;                 /* JSON, or empty */
    struct str by;                      /* ENTRY_ASK; ENTRY_INTENT of a call that stays: its node */
    struct str note;                    /* ENTRY_ASK: as in ask_record; or the grant it passed by */
    bool sensitive; /* ENTRY_ASK: the content is erased as soon as the call ends */
};

/*
 * The entries of a call in one block of memory. A journal is immutable: learning something new
 * makes a longer one.
 */
struct journal {
    struct entry *entries; /* one heap block with all their text */
    size_t count;
    size_t bytes; /* of keys and content, which the limit counts */
};

/* A journal of `first` and then `more`. Everything is copied. */
void journal_make(struct journal *out, const struct entry *first, size_t first_count,
                  const struct entry *more, size_t more_count);
void journal_finish(struct journal *journal);

const struct entry *journal_find(const struct entry *entries, size_t count, enum entry_class class,
                                 struct str key);
/* How many bytes an entry counts against the limit. */
size_t entry_bytes(const struct entry *entry);

/* Copies entries into memory at *at, which has room for entries_text_bytes of them; moves *at. */
size_t entries_text_bytes(const struct entry *entries, size_t count);
void entries_copy(struct entry *to, const struct entry *from, size_t count, char **at);
/* A copy in an arena. If there is no room, it has no entries. */
const struct entry *entries_kept(struct arena *arena, const struct entry *from, size_t *count);

enum call_state {
    CALL_STORED_RUNNING,
    CALL_STORED_WAITING,
    CALL_STORED_RUNNABLE,
    CALL_STORED_FINISHED,
    CALL_STORED_CANCELLED
};

#define CALL_VERSION_LEAST (INT64_C(1) << 62) /* of call_record.version; no time is as large */

enum target_kind { TARGET_TOOL, TARGET_RESOURCE, TARGET_PROMPT };

/*
 * How often the process died in which a call was run, since the run that committed something (an
 * entry, a question). Counted by the store, in the transition in which the call is taken from the
 * node that is gone.
 */
struct deaths {
    unsigned early; /* while the run was on probation */
    unsigned late;  /* at any other time */
    /* The newest run is that of a suspect (core/suspect.c): it has committed nothing, and was not
     * seen to run for long enough. */
    bool probation;
    /* When that run began, by the store's clock, rounded up to a second; 0: it is on no probation
     */
    int64_t tried_ms;
};

enum { DEATHS_COUNTED = 15 }; /* a count never goes past this */

struct call_record {
    struct str id;
    struct str principal;
    struct str scope;
    enum target_kind kind;
    struct str target;
    struct str args;   /* JSON object */
    struct str uri;    /* resources: the one that is read */
    struct str caller; /* JSON written by the caller: how it is reached again; may be empty */
    /* What the client calls itself: JSON {"name", "version"}, or empty. For people; it decides
     * nothing. */
    struct str client;
    /* What the request said beside its arguments (_meta): a JSON object without the members that
     * the protocol itself uses, or empty. */
    struct str meta;
    /* The version of its target when it began (target_version); 0: not known. */
    int64_t version;
    uint32_t notices; /* progress and log messages already sent */

    const struct entry *entries;
    size_t entry_count;

    /* Set by the store. */
    enum call_state state;
    uint64_t epoch;
    struct str result; /* finished: the outcome as JSON (core/outcome.h) */
    int64_t opened_ms;
    /* Something that could bring the call back lives until then, by the store's clock; 0: nothing.
     * It is raised with every park, append and finish, and never lowered. */
    int64_t keep_until_ms;
    /* its client holds something to come back with: the call may be run on without it */
    bool handed;
    struct str node; /* running: the node that runs it; else that, or another, or empty */
    struct deaths deaths;
    bool forgotten; /* the call has ended, and only this, its id, principal and times are left */
};

/* It was cancelled before it was stored (cancel.c), and has neither a target nor arguments. */
static inline bool call_record_is_ahead(const struct call_record *record)
{
    return !record->target.len && !record->forgotten;
}

/* The schema of the form that a person fills in, wherever; empty: there is none. */
struct str ask_record_form(const struct ask_record *ask);

/* Whole copies, with all text in the arena. If the arena is full, text is missing and
 * arena->exhausted says so. Only these functions copy records: a new member is added here. */
struct ask_record ask_record_copy(struct arena *arena, const struct ask_record *from);
struct call_record call_record_copy(struct arena *arena, const struct call_record *from);

#endif
