/*
 * core/grant: approvals that are remembered.
 *
 * A person who approves a call may say that the next ones need not ask: calls of the same tool, by
 * the same principal, for this session, for a time, or until it is revoked; with any arguments, or
 * with exactly these. That is a grant. What may be chosen is decided by the tool, or by the
 * operator instead, when the question is asked. It stands in the question's record.
 *
 * grant.c         the record of a grant: how it is kept, listed, revoked
 * grant_offer.c   what may be chosen for a question
 * grant_make.c    an answer becomes a grant before its call goes on
 * grant_pass.c    a question that a grant answers is not asked
 * note.c          what an answer says beside its content: the choice, and a reason
 *
 * Holds always:
 * - Only the answer of a person makes a grant: one that the core has checked as every answer, to an
 *   approval, given on the inbox (page, API, terminal). The word of the client that made the call
 *   never does, and neither does a model's: a client could otherwise free itself of all questions.
 * - A grant counts for the principal whose call was approved, and for nobody else.
 * - A grant counts for the tool as it was, and not while its name, input schema or author's version
 *   is another.
 * - What is not allowed does not count: the tool and the operator are asked anew each time.
 * - A grant is there before the call of its answer goes on, and it is made once. An answer that was
 *   given before a revoke never makes it again.
 */
#ifndef NOD_CORE_GRANT_H
#define NOD_CORE_GRANT_H

#include "core/store.h"

struct catalog;
struct engine;
struct target;

enum {
    GRANT_CHOICES_MAX = 6,       /* ways to remember one approval */
    GRANT_RULES_MAX = 256,       /* rules of an operator */
    GRANT_MS = 3600000,          /* how long a time is, if nobody says: an hour */
    GRANT_SESSION_MS = 86400000, /* no grant for a session lasts longer: a day */
    GRANT_KEY_LEN = 64,          /* characters of a grant's id */
    GRANT_PAGE_MAX = 200,        /* grants on one page of a list */
    GRANT_MESSAGE_MAX = 500,     /* bytes of a question that its grant repeats, to be told apart */
    GRANTS_PER_PRINCIPAL = 1000, /* that are kept, and were revoked lately; more are not made */
};

#define GRANT_MS_MAX INT64_C(315360000000) /* the longest time: ten years */

enum grant_scope { GRANT_SESSION, GRANT_PRINCIPAL };
enum grant_match { GRANT_ARGUMENTS, GRANT_TOOL };

/* "session", "principal"; "arguments", "tool". */
struct str grant_scope_name(enum grant_scope scope);
struct str grant_match_name(enum grant_match match);
bool grant_scope_named(struct str name, enum grant_scope *scope);
bool grant_match_named(struct str name, enum grant_match *match);

/* One way to remember an approval. Two are the same if all but their labels are. */
struct remember_choice {
    enum grant_scope scope;
    enum grant_match match;
    int64_t for_ms; /* 0: until the session ends, or until it is revoked */
    struct str label;
};

/*
 * What may be chosen when this question is approved, the narrowest first. The labels are in the
 * arena. 0: nothing, as for every question that is no approval.
 */
size_t grants_offered(const struct ask_record *ask, struct arena *arena,
                      struct remember_choice out[GRANT_CHOICES_MAX]);

/* The tool that the yes to this question is for, if that is another one than asks (nod_approve with
 * .tool_path); in the arena. Empty: it is the one that asks. */
struct str grant_path(const struct ask_record *ask, struct arena *arena);

/* --- what is allowed --- */

/*
 * What a tool allows, or the operator instead of it: NOD_REMEMBER_* bits. Without a scope nothing
 * is allowed. `named`: the operator has named this very tool.
 */
struct grant_rule {
    struct str tool; /* the operator's: empty for all tools without a rule of their own */
    unsigned allows;
    int64_t for_ms; /* with NOD_REMEMBER_TIME; 0: GRANT_MS */
};

/* The digest of arguments, hexadecimal; empty: they have none, and only the tool can be granted.
 * From any thread. */
struct str grant_digest(struct arena *arena, const struct json *args);

/* --- the grants that there are --- */

struct grant {
    struct str id;
    struct str tool;
    struct str asker;     /* the tool that asked for it, if that is another one; else empty */
    struct str principal; /* whose calls pass */
    struct str session;   /* GRANT_SESSION: the scope of that session; else empty */
    struct str by;        /* who has approved */
    struct str ask_id;    /* the question that was approved */
    struct str message;   /* what it said, or the beginning of that; empty in older records */
    enum grant_scope scope;
    enum grant_match match;
    struct str digest; /* GRANT_ARGUMENTS: of the arguments, hexadecimal */
    struct str version;
    int64_t for_ms;   /* as it was chosen */
    int64_t at_ms;    /* when it was approved, or revoked; by the store's clock */
    int64_t until_ms; /* 0: no end by time */
    int64_t uses;
    bool revoked; /* kept for a while, so that no older answer makes it again */
};

/* As a person reads it: "Allow for this session", ... */
struct str grant_label(struct arena *arena, enum grant_scope scope, enum grant_match match,
                       int64_t for_ms);

/* Why this grant does not count now, though it has not ended, for people. NULL: it counts. */
const char *grant_sleeps(const struct engine *engine, const struct grant *grant,
                         struct arena *arena);

typedef void grant_row_fn(void *data, const struct grant *grant);
/*
 * The grants of a principal (empty: of all), by page, in no order that means anything. `cursor` is
 * what done() was given for the page before. A page may be short, or empty, and not be the last.
 */
void grants_list(struct engine *engine, struct str principal, struct str cursor, size_t limit,
                 grant_row_fn *row, void (*done)(void *data, nod_status status, struct str cursor),
                 void *data);
/*
 * Revokes a grant of this principal (empty: of anyone). When done() is called with NOD_OK no call
 * passes by it any more. NOD_E_NOT_FOUND: there is none, or it is another principal's.
 */
void grants_revoke(struct engine *engine, struct str id, struct str principal,
                   void (*done)(void *data, nod_status status), void *data);
/* A session has ended: its grants go. */
void grants_end_session(struct engine *engine, struct str principal, struct str scope);

#endif
