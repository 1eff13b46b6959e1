/*
 * core/claim: an answer on its way to the store; for the files that see it there.
 *
 * claim.c          the way of one answer: whose it is, the claim, what follows
 * claim_content.c  what it brings: read, checked against the question, weighed
 * answer_set.c     answers that are given together
 */
#ifndef NOD_CORE_CLAIM_H
#define NOD_CORE_CLAIM_H

#include "core/inside.h"

enum { CLAIM_ARENA_MAX = 8 << 20 }; /* memory of one answer while it is checked */

enum {
    CLAIM_JOINED_MOST = 16, /* who have sent the same answer again, and wait for its end */
    CLAIM_OF_ASK_MOST = 16, /* different answers to one ask, on their way to the store */
};

struct claim_joined {
    answered_fn *done;
    void *data;
};

struct claim {
    struct engine *engine;
    struct list link; /* in engine->claims */
    struct arena arena;
    struct flow flow;
    struct op op;
    struct answer answer; /* its text is behind the struct, and so is the id */
    struct str ask_id;
    size_t size;     /* with that text */
    struct ask *ask; /* what claim_ask found, and when */
    uint64_t looked;
    bool by_engine;
    bool url_done;  /* the word of a page */
    bool too_large; /* the content is not even looked at */
    bool again;     /* it does not fit, and is asked for once more */
    bool weighed;   /* `learned` is known */
    bool checked;   /* the content stands, and is not written any more */
    size_t learned; /* bytes of the call's journal, of one that does not wait here */
    struct id call; /* in whose journal it takes up room, while it is on its way */
    size_t coming;  /* bytes of that; 0: none, or as many as another answer to the same ask */
    int offer;      /* that it answers, or that was up when it was looked at; 0: whichever */
    enum ask_state outcome; /* what is claimed: the action, or ASK_INVALID */
    bool at_door;           /* with the others of its set, on the way to the store */
    struct str content;     /* JSON */
    bool lent;              /* answer.content is the giver's, who is still here */
    struct buf text;        /* the content as it was given */
    struct ask_record *
        record; /* of an ask that does not wait on this node, or may go; its text is in the arena */
    struct answer_result result;
    answered_fn *done;
    void *data;
    struct claim *next_of_ask;   /* another answer to the same ask that is on its way */
    bool published;              /* it is on its way to the store, by itself */
    struct claim_joined *joined; /* CLAIM_JOINED_MOST of them, once there is one */
    size_t joined_count;
};

/* The ask, if it is pending here. */
struct ask *claim_ask(struct claim *claim);
/* The flow stops; the answerer is told the status. */
void claim_reject(struct claim *claim, nod_status status);
/* Where it was given, as the store keeps it. */
struct str claim_via(const struct claim *claim);
/* To the store, by itself. */
void claim_publish(struct claim *claim);

/* --- claim_same.c --- */

/* On its way to the store by itself, where those that say the same find it; and no longer. */
void claim_set_out(struct claim *claim);
void claim_arrive(struct claim *claim);
/* The same answer is on its way, or too many others are: this one waits for it, or comes later, and
 * is gone after this. */
bool claim_join(struct claim *claim);
/* Those that said the same are told how it ended: the first one's word counts. */
void claim_tell_joined(struct claim *claim);
/* The store has been away for long: nobody knows yet, and they need not wait. */
void claim_put_off_joined(struct claim *claim);

/* --- claim_content.c --- */

/* The stages parseInput and validateContent. */
void claim_parse_input(struct flow *flow, void *subject);
void claim_validate_content(struct flow *flow, void *subject);
/* The giver goes, or it is large: a tree of our own. None comes of what is too large as one. */
void claim_own_content(struct claim *claim);
/* For hooks: one writes the content, and one finishes later. */
nod_status claim_write_content(void *subject, size_t stage, enum hook_field field, struct str text,
                               struct arena *arena, struct str *why);
void claim_keep_content(void *subject);
/* Is this how it ended? */
bool claim_agrees(struct claim *claim, const struct ask_record *record);

/* --- what the store said, for one answer and for a set of them --- */

struct claim_item claim_as_item(struct claim *claim);
/* Nothing was claimed. The claim is gone after this. */
void claim_failed(struct claim *claim, nod_status status);
/* It is pending still: it was put once more, or another offer is up than the one that was
 * answered. */
void claim_still_up(struct claim *claim, nod_status status, const struct claimed *now);
/* It has ended, and the answerer is told; the claim is gone after this. */
void claim_settle(struct claim *claim, const struct claimed *now);
/* What follows for the call, if it is here: it may have gone, and come back, meanwhile. */
void claim_call_on(struct engine *engine, const struct store_reply *reply);

/* --- answer_set.c --- */

/* One more is to come, and one less: it has joined, or comes no more. */
void answer_set_more(struct answer_set *set);
void answer_set_less(struct answer_set *set);
/* One of them cannot count, and so no other does. */
void answer_set_spoil(struct answer_set *set, nod_status status);
/* Waits there for the others of its set. */
void answer_set_join(struct claim *claim);
void answer_sets_drop(struct engine *engine);

#endif
