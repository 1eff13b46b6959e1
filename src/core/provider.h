/*
 * core/provider: where targets (tools, prompts, resources) come from.
 *
 * A new source is a new file that fills in struct provider_ops and adds its targets to the catalog;
 * nothing else moves.
 */
#ifndef NOD_CORE_PROVIDER_H
#define NOD_CORE_PROVIDER_H

#include "core/outcome.h"
#include "core/record.h"
#include "json/param_header.h"

struct call;
struct run;
struct provider;

/* A call that is detached is no longer waited for by the request that made it: its client was given
 * a handle, and comes back with it. How that is told is its caller's matter. */
enum target_detach { DETACH_NEVER, DETACH_MAY, DETACH_MUST };

/* Who is shown a list. */
struct audience {
    struct str principal;
    unsigned kinds; /* what its client can be asked, a bit (1 << enum ask_kind) each */
};

/* A tool, resource or prompt. Owned by its provider; listed in the catalog (core/catalog.h). */
struct target {
    enum target_kind kind;
    struct str name; /* tool or prompt name; resource uri or uri template */
    struct provider *provider;
    struct str descriptor; /* JSON object, as it is listed: Tool, Resource, ResourceTemplate or
                              Prompt of 2025-11-25 */
    /* What a call that waits depends on, beside the name: the digest of what it takes and of the
     * version its author gives. Wording is not among it. */
    unsigned char version[DIGEST_BYTES];
    bool portable; /* every step of it may happen again on another node */
    /* Is it listed to them? NULL: to everybody. Whoever is not shown it cannot call it either, and
     * is told that it is not there, unless callable_unlisted. */
    bool (*listed)(const struct target *target, const struct audience *audience);
    bool callable_unlisted;
    struct str title;                         /* for people; the name if there is none */
    const struct schema *input;               /* checked before a run; NULL: anything */
    bool is_template;                         /* TARGET_RESOURCE: name is a uri template */
    bool subscribable;                        /* TARGET_RESOURCE */
    bool completes;                           /* has completions for some argument */
    const struct param_header *param_headers; /* TARGET_TOOL: arguments that headers repeat */
    size_t param_header_count;
    bool requires_confirmation;
    struct str confirm_message;
    int64_t timeout_ms; /* of work */
    size_t journal_entries, journal_bytes; /* what a call of it may learn; 0: the engine's */
    unsigned in_use;    /* calls that point here: it is freed only at 0 */
    bool removed;
    enum target_detach detach; /* may, or must, a call of it go on apart from its request? */
    bool detach_after_asks;    /* what it asks before its first step is asked before that */
};

/* A completion of one argument: the provider fills in values (in the arena), at most max. */
struct completion {
    struct str argument;
    struct str typed;
    const struct json *context; /* other arguments already chosen: object or NULL */
    struct arena *arena;
    struct str values[100];
    size_t count; /* filled in */
    size_t total; /* of all there are; 0: count */
};

enum {
    /* Any node can run its calls on, by replay. Without it a call is begun once, on one node, in
     * one life of that node: elsewhere it ends in NOD_E_OUTCOME_UNKNOWN (core/home.c). */
    PROVIDER_MIGRATES = 1,
};

struct provider_ops {
    const char *name;
    unsigned flags;
    /* Works on the call; ends in run_done(run, ...) exactly once, now or later. */
    void (*start)(struct provider *provider, struct run *run);
    /* The call of this run was cancelled, or ran out of time; run_done may still come and is then
     * dropped. */
    void (*cancelled)(struct provider *provider, struct run *run);
    /* Suggests values, at once. NOD_E_NOT_FOUND: that argument has none. May be NULL. */
    nod_status (*complete)(struct provider *provider, struct target *target,
                           struct completion *completion);
    /*
     * A call of one of its targets has ended, also one that waited, or that was not live here and
     * was begun here: how, once. Ids it does not know are of calls that never began. May be NULL.
     */
    void (*ended)(struct provider *provider, struct str call_id, const struct outcome *outcome);
    /* The last call of a removed target has ended; may be NULL. */
    void (*released)(struct provider *provider, struct target *target);
};

struct provider {
    const struct provider_ops *ops;
};

#endif
