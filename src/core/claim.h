/*
 * core/claim: how an ask is claimed by an answer. The first answer that the store takes wins.
 */
#ifndef NOD_CORE_CLAIM_H
#define NOD_CORE_CLAIM_H

#include "core/call_inside.h"

enum { CLAIM_ARENA_MAX = 8 << 20 }; /* memory of one answer while it is checked */

enum {
    CLAIM_JOINED_MOST = 16, /* senders of an answer that is already on its way */
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
    struct answer answer; /* its text is behind the struct, as is the id */
    struct str ask_id;
    size_t size;     /* of the struct with that text */
    struct ask *ask; /* what claim_ask found, and at which engine->asks_moved */
    uint64_t looked;
    bool by_engine;
    uint64_t epoch;   /* of the call whose live run takes the ask back; 0: nobody does */
    bool inner;       /* the end of an inner call */
    bool url_done;    /* a page says that it is done */
    bool page;        /* it was given on a page of this server */
    bool too_large;   /* the content was too large to be looked at */
    bool again;       /* it cannot be used, and is asked for once more */
    bool weighed;     /* `learned` is known */
    int doubts;       /* looks at which nodes have the version of the call */
    struct due doubt; /* the next one */
    bool publishes;   /* they are made in the stage publishResult */
    int64_t since;    /* monotonic: what is known of other nodes must be as new as this */
    bool checked;     /* the content is final: hooks write it no more */
    size_t learned;   /* bytes of the journal of a call that does not wait here */
    struct id call;   /* the call whose journal keeps room for this answer */
    size_t coming;    /* bytes of that room; 0: none, or another answer to the ask keeps as many */
    int offer; /* the offer it answers, or that was up when it was checked; 0: whichever is up */
    enum ask_state outcome;          /* what is claimed: the action, or ASK_INVALID */
    bool at_door;                    /* it is ready, and waits for the others of its set */
    struct str content;              /* JSON */
    struct remember_choice remember; /* what answer.remember points to */
    struct str note;                 /* ask_record.note */
    struct str objection; /* of a hook, as problems; the answer counts as one that does not fit */
    bool lent;            /* answer.content belongs to the answerer, which is still on the stack */
    struct buf text;      /* the content as it was given */
    struct ask_record *record; /* if the ask does not wait here, or may leave; in the arena */
    struct str gone;           /* the name of what asked, if that is no longer here */
    struct id asker;           /* the call that asked, once it is known: result.call_id */
    struct answer_result result;
    answered_fn *done;
    void *data;
    bool in_hand;      /* the store knows, or may know, that this node has the ask in hand */
    bool crashed;      /* too many nodes have died with the ask in hand, and it has ended */
    int hand_looks;    /* at who has the ask in hand */
    int64_t hand_seen; /* monotonic: when it was first seen that nodes died with it; 0: none did */
    uint64_t hand_version;     /* of the record that says so; 0: not known */
    struct str hands;          /* what that record said, without this node and those told to stop */
    struct claim *next_of_ask; /* another answer to the same ask, also on its way */
    bool published;            /* it is on its way to the store by itself */
    struct claim_joined *joined; /* room for CLAIM_JOINED_MOST, once there is one */
    size_t joined_count;
};

/* The ask, if it is pending here. */
struct ask *claim_ask(struct claim *claim);
/* Whose the ask is; if that is not known here: who answers. */
struct str claim_whose(struct claim *claim);
/* Stops the flow. The answerer is told the status. */
void claim_reject(struct claim *claim, nod_status status);
/* Where the answer was given, as the store keeps it. */
struct str claim_via(const struct claim *claim);
/* The store has been away for long. The answerer is told that nothing is known yet. */
void claim_tired(struct op *op);
/* On its way to the store, by itself or with its set. */
void claim_publish_stage(struct claim *claim);
/* Sends it to the store by itself. */
void claim_publish(struct claim *claim);

/* --- claim_lookup.c --- */

/* The stage lookupPending. */
void claim_lookup(struct flow *flow, void *subject);
/* The target of the call that waits here was replaced by another version since the answer was
 * checked. True: the answer is not taken, and the call ends; or the claim goes on by itself,
 * because another node can go on with the call. */
bool claim_is_in_vain(struct claim *claim);

/* --- claim_same.c --- */

/* Marks a claim as on its way to the store by itself, so that equal answers find it; and unmarks
 * it. */
void claim_set_out(struct claim *claim);
void claim_arrive(struct claim *claim);
/* True: the same answer is on its way and this one waits for it, or too many answers are and this
 * one is told to come later. It is gone after this. */
bool claim_join(struct claim *claim);
/* Tells those who sent the same answer how it ended: the first one's result counts for all. */
void claim_tell_joined(struct claim *claim);
/* The store has been away for long: those who wait are told that nothing is known yet. */
void claim_put_off_joined(struct claim *claim);

/* --- claim_hand.c --- */

/* Enters the flow, which has its place. If hooks may be called, the store learns that first. */
void claim_enter(struct claim *claim);
/* The answer has ended, and this node is still there. */
void claim_let_go(struct claim *claim);
/* It waits for other answers, and no hook is called meanwhile. */
void claim_rest_hand(struct claim *claim);
/* No hook is called for this answer any more. */
bool claim_is_crashed(const void *subject);

/* --- claim_content.c --- */

/* The stages parseInput and validateContent. */
void claim_parse_input(struct flow *flow, void *subject);
void claim_validate_content(struct flow *flow, void *subject);
/* Copies the content into the claim, if the answerer leaves or it is large. Too large: there is
 * none. */
void claim_own_content(struct claim *claim);
/* For hooks: one that writes the content, and one that finishes later. */
nod_status claim_write_content(void *subject, size_t stage, enum hook_field field, struct str text,
                               struct arena *arena, struct str *why);
void claim_keep_content(void *subject);
/* Keeps a copy of the question as it was asked. False: there is no room for it. */
bool claim_keep_record(struct claim *claim, const struct ask_record *record);
/* Keeps what was asked for the hooks of the later stages, if there are any. */
void claim_keep_question(struct claim *claim);
/* Did the ask end with this very answer? */
bool claim_agrees(struct claim *claim, const struct ask_record *record);

/* --- claim_note.c --- */

/* Sets the note. Empty: it can be taken. Otherwise the problems as JSON, and nothing is taken. */
struct str claim_take_note(struct claim *claim, const struct ask_record *record);

/* --- what the store replied, for one answer and for a set --- */

struct claim_item claim_as_item(struct claim *claim);
/* Nothing was claimed. The claim is gone after this. */
void claim_failed(struct claim *claim, nod_status status);
/* The ask is still pending: it was put once more, or the answer was to another offer than the one
 * that is up. */
void claim_still_up(struct claim *claim, nod_status status, const struct claimed *now);
/* The ask has ended, and the answerer is told. The claim is gone after this. */
void claim_settle(struct claim *claim, const struct claimed *now);
/* What follows for the call, if it is live here. It may have left this node and come back. */
void claim_call_on(struct engine *engine, const struct store_reply *reply, int64_t asked_ms);

/* --- answer_set.c --- */

/* One more answer is to come; and one less, because it is ready or will not come. */
void answer_set_more(struct answer_set *set);
void answer_set_less(struct answer_set *set);
/* One answer of the set cannot count, so none does. */
void answer_set_spoil(struct answer_set *set, nod_status status);
/* The answer is ready, and waits for the others of its set. */
void answer_set_join(struct claim *claim);

#endif
