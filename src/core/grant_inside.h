/*
 * core/grant_inside: what the files about grants share with each other, and with calls.
 *
 * A call meets grants twice. Before it is run, answers that are to be remembered become grants
 * (grants_made, grant_make.c). After a run has asked, its questions are looked for among the grants
 * (grants_look, grant_pass.c). Both use struct granting, one after the other.
 *
 * Holds always: call->granting is there from the first record that one of the two looks at until it
 * is done, and NULL at all other times, so nothing of one is left for the other.
 */
#ifndef NOD_CORE_GRANT_INSIDE_H
#define NOD_CORE_GRANT_INSIDE_H

#include "core/grant.h"
#include "core/call_inside.h"

struct grant_offer { /* what a question says of what may be remembered */
    struct grant_rule rule;
    struct str tool, digest, version;
    bool own; /* the digest is of arguments that the question shows, not of the call's */
};

/* What is allowed now for this tool path in a call; nothing: .allows is 0. */
struct grant_rule grant_rule_of(const struct engine *engine, const struct call *call,
                                struct str path);
/* The tool that a path names; if there is none, the tool of the call. */
const struct target *grant_target(const struct engine *engine, const struct call *call,
                                  struct str path);
/* May the tool of this call ask for the approval of that one? Not if that one is destructive, and
 * the tool of the call is not and does not name it (nod_tool.approves). */
bool grant_path_fits(const struct engine *engine, const struct call *call, struct str path);
/* Does the rule allow what was chosen? */
bool grant_allowed(const struct grant *grant, const struct grant_rule *rule);
/* The choices of a rule, without labels. `digest`: the arguments have one. */
size_t grant_choices(const struct grant_rule *rule, bool session, bool digest,
                     struct remember_choice out[GRANT_CHOICES_MAX]);
/* The version that a grant is bound to. */
struct str grant_version(struct arena *arena, const struct target *target);
/* For ask_record.remember. `own` as in struct grant_offer. */
struct str grant_offer_write(struct arena *arena, const struct grant_rule *rule, struct str path,
                             struct str digest, bool own, struct str version);
bool grant_offer_read(const struct ask_record *ask, struct arena *arena, struct grant_offer *out);
void grant_rules_drop(struct engine *engine);

/* --- the record (grant.c) --- */

#define GRANT_KIND "grant" /* of small records */

enum {
    /* An answer makes its grant within that time, or not at all; so a revoke is remembered for as
     * long: a week. */
    GRANT_MAKE_MS = 604800000,
};

enum {
    GRANT_OWNER_LEN = 24, /* characters of an id that all grants of a principal begin with */
};

/* The id of a grant, from what it allows. */
struct str grant_key(const struct grant *grant, char out[GRANT_KEY_LEN]);
/* Texts are in the arena. False: it is no grant. */
bool grant_read(struct arena *arena, struct str id, struct str record, struct grant *out);
/* It was revoked, or its time is up. */
bool grant_is_over(const struct grant *grant, int64_t now_ms);
/* Stores it under its id, for as long as it counts. `version` as in store_ops.put. */
void grant_put(struct engine *engine, const struct grant *grant, uint64_t version, store_done *done,
               void *data);

/* --- calls --- */

/* What a call waits for while its grants are made, or looked for; with the call's own op. */
struct granting {
    struct arena arena;
    struct grant grant; /* the one that is made, or tried */
    char id[GRANT_KEY_LEN];
    uint64_t version; /* of its record */
    int tries;

    /* While one is made: the count of those that there are. */
    char cursor[JOB_CURSOR_MAX];
    size_t cursor_len, counted, of_page;

    /* While one is looked for. */
    struct run_item *item; /* the question; never NULL */
    struct remember_choice choices[GRANT_CHOICES_MAX];
    size_t choice_count, choice;
    struct grant_rule rule;
    struct str target_version;
};

struct granting *granting_of(struct call *call);
void granting_free(struct call *call);
/* Is everything made that answers of this call are to be remembered as? False: it is being made,
 * and the call's stage is entered again when that is done. */
bool grants_made(struct call *call);
/* What call->run asks is put to people, unless grants answer it. */
void grants_look(struct call *call);

#endif
