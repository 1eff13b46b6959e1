/*
 * core/provider: where targets (tools, prompts, resources) come from.
 *
 * A new source is a new file that fills in struct provider_ops and adds its targets to the catalog.
 * Nothing else changes.
 */
#ifndef NOD_CORE_PROVIDER_H
#define NOD_CORE_PROVIDER_H

#include "core/consent.h"
#include "core/outcome.h"
#include "core/plan.h"
#include "core/record.h"
#include "json/param_header.h"

struct call;
struct run;
struct provider;

/* The request that made a detached call does not wait for it. Its client was given a handle to come
 * back with. The caller decides how that is told. */
enum target_detach { DETACH_NEVER, DETACH_MAY, DETACH_MUST };

/* Whom a list is shown to. */
struct audience {
    struct str principal;
    unsigned kinds; /* what the client can be asked: one bit (1 << enum ask_kind) each */
    bool views;     /* it is asked in views: it shows them, and has no forms */
    role_set roles; /* of its token */
};

/* A tool, resource or prompt. Owned by its provider, listed in the catalog (core/catalog.h). */
struct target {
    enum target_kind kind;
    struct str name; /* tool or prompt name; resource uri or uri template */
    struct provider *provider;
    /* The principal that it is for, and who alone can see and call it; empty: everybody. */
    struct str owner;
    struct str descriptor; /* JSON object, as it is listed: Tool, Resource, ResourceTemplate or
                              Prompt of 2025-11-25 */
    /* What a waiting call depends on besides the name: the digest of the input schema and of the
     * author's version. Titles and descriptions are not part of it. */
    unsigned char version[DIGEST_BYTES];
    bool portable; /* each of its steps may safely happen again on another node */
    /* Its provider keeps something for each of its calls: they are begun once, and go on only at
     * the node that began them (core/home.c). False: any node runs them on, by replay. */
    bool stays;
    bool live; /* its runs stay open while their calls wait: core/live.c. Then its calls stay as
                  well */
    /* Is it listed to them? NULL: to everybody it is for. Others cannot call it either, and are
     * told that it does not exist, unless callable_unlisted. */
    bool (*listed)(const struct target *target, const struct audience *audience);
    bool callable_unlisted;
    bool inside;                              /* a tool of nod's own, which no hook sees */
    struct str title;                         /* for people; the name if there is none */
    const struct schema *input;               /* checked before a run; NULL: anything */
    bool is_template;                         /* TARGET_RESOURCE: name is a uri template */
    bool subscribable;                        /* TARGET_RESOURCE */
    bool completes;                           /* has completions for some argument */
    const struct param_header *param_headers; /* TARGET_TOOL: arguments that headers repeat */
    size_t param_header_count;
    bool requires_confirmation;
    struct str confirm_message;
    bool destructive;
    bool asks;       /* its author says that it may ask a person */
    struct str view; /* the uri of its own view, in which clients that show views ask; or empty */
    unsigned
        remember; /* what an approval may be remembered for: NOD_REMEMBER_*, see core/grant.h */
    int64_t remember_ms;
    /* Destructive tools whose approval it may ask for, NULL-terminated; NULL: none. */
    const char *const *approves;
    int64_t timeout_ms;                    /* of work, not of waiting */
    size_t journal_entries, journal_bytes; /* what a call of it may learn; 0: the engine's */
    int64_t ask_ttl_ms;                    /* how long its questions wait; 0: as the engine says */
    /* Where people are asked what it asks, NULL-terminated; NULL: as the engine says. */
    const char *const *surfaces;
    struct plan plan;          /* made from them when it is first needed */
    int64_t soft_deadline_ms;  /* how long a call of it is held that waits elsewhere; 0: as usual */
    enum consent_from consent; /* see core/consent.h; CONSENT_ANY: as the engine says */
    struct str source;         /* where it was registered, "tools.c:120"; empty: not known */
    struct str from;           /* the plugin that it is from, shown to people; empty: the program */
    unsigned in_use;           /* what points here: it is freed at 0, or with its provider */
    bool removed;              /* the catalog's own */
    uint64_t place;            /* the same: in its list */
    enum target_detach detach; /* may, or must, a call of it be detached from its request? */
    bool detach_after_asks; /* what it asks before its first step is asked before it is detached */
};

/* A completion of one argument: the provider fills in values (in the arena). */
struct completion {
    struct str argument;
    struct str typed;
    const struct json *context; /* other arguments already chosen: object or NULL */
    struct arena *arena;
    struct str values[100];
    size_t count;  /* filled in */
    size_t total;  /* how many there are in all; 0: count */
    bool given_up; /* nobody waits for it any more: cancelled, too late, or the client is gone */
};
/* NOD_OK; NOD_E_NOT_FOUND: that argument has none; anything else: it failed. */
typedef void completion_done(struct completion *completion, nod_status status);

struct provider_ops {
    const char *name;
    /* Texts reach its targets as C strings: arguments with a NUL in a text are refused. Others are
     * given what came, as far as it fits the schema. */
    bool c_strings;
    /* Works on the call, and ends the run with run_done(run, ...) exactly once, now or later. */
    void (*start)(struct provider *provider, struct run *run);
    /* The call of this run was cancelled, ran out of time, or is no longer this node's; or the
     * engine ends. run_done may still be called, and changes nothing then. A live run: run_done has
     * to be called, now or later, and frees it. */
    void (*cancelled)(struct provider *provider, struct run *run);
    /* Of a live run: what was recorded before the last run_commit is stored. May be NULL. */
    void (*committed)(struct provider *provider, struct run *run);
    /* Of a live run: a question has ended, once for each that was committed. answer->key says which
     * one, answer->state how: by a person's word, ASK_EXPIRED, ASK_UNSUPPORTED, ASK_INVALID, or
     * ASK_WITHDRAWN, if it was taken back. `answer` is lent. May be NULL. */
    void (*answered)(struct provider *provider, struct run *run, const struct entry *answer);
    /*
     * Suggests values, and calls done(completion, ...) exactly once, on the loop, now or later:
     * also if nobody waits any more (completion->given_up), and before the provider is gone. Until
     * then the completion is valid, and the target held. May be NULL.
     */
    void (*complete)(struct provider *provider, struct target *target,
                     struct completion *completion, completion_done *done);
    /*
     * A call of one of its targets has ended, and how; once for each call. Also of calls that
     * waited, and of calls that were begun here and ended elsewhere. Ids it does not know belong to
     * calls that never began. May be NULL.
     */
    void (*ended)(struct provider *provider, struct str call_id, const struct outcome *outcome);
    /*
     * Somebody on this node subscribes to this URI of a resource, or nobody does any more: yes and
     * no in turn, for each target and URI. Not told for a target that is removed. Called between
     * other work; the URI is lent. May be NULL.
     */
    void (*listened)(struct provider *provider, struct target *target, struct str uri, bool yes);
    /* The last call of a removed target has ended; may be NULL. */
    void (*released)(struct provider *provider, struct target *target);
};

struct provider {
    const struct provider_ops *ops;
};

#endif
