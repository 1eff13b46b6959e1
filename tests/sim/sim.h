/*
 * tests/sim: a small world in which the core's rules are checked.
 *
 * Two nodes (real engines) share one store (the memory store, made to look shared and durable).
 * Between a node and the store is a link that delays, reorders, fails and cuts. Each node has its
 * own clock. Nodes crash, fall asleep and come back. Clients lose replies, repeat themselves,
 * answer late, wrongly and twice, and come back to any node with the handle they hold. One seed
 * decides everything, so every history can be repeated.
 *
 *   world.c     the dice, the clocks, what happens next, and how it ends
 *   link.c      the way from a node to the store and back
 *   snapshot.c  a reply as it was when the store gave it
 *   node.c      a node: its engine, its seats, its starts and crashes
 *   client.c    clients: what they hold, and what they do with it
 *   handlers.c  the tools: kinds of handlers, and their effects
 *   editions.c  tools are replaced
 *   live.c      a tool whose runs stay open while their calls wait, and the rules of its home
 *   ledger.c    what has really happened, and the rules that it must obey
 *   sim.c       seeds, counts and processes
 */
#ifndef NOD_TESTS_SIM_H
#define NOD_TESTS_SIM_H

#include "base/clock.h"
#include "base/list.h"
#include "core/comeback.h"
#include "core/engine.h"
#include "core/run.h"
#include "store/memory.h"

enum {
    SIM_NODES = 2,
    SIM_CALLS = 3,         /* of one world, that clients make */
    SIM_CALLS_ALL = 9,     /* with those that wait inside of each: at most two */
    SIM_ASKS = 8,          /* of one call */
    SIM_STEPS = 4,         /* of one call */
    SIM_SHOWN = 24,        /* questions that a client remembers of a call */
    SIM_UP = 64,           /* questions that are up elsewhere than at a client, on one node */
    SIM_SUBMISSIONS = 160, /* answers given in one world */
    SIM_NAMES = 64,        /* of nodes: a new one with every start */
    SIM_DEFERRED = 1024,   /* functions that wait for their turn, on one node */
    SIM_HELD = 8,          /* slow handlers at work on one node */
    SIM_EPOCHS = 64,       /* of one call, that are remembered */
    SIM_END = 1024,        /* bytes of an outcome */
    CARRY_ATTEMPTS = 8,    /* offers of a question that its client carries */
    SHAPES_PLAIN = 7,      /* of handlers that only ask and do things */
    SHAPES_CALLING = 2,    /* and that call others */
    SHAPE_LIVE = 9,        /* and that has live runs */
    SHAPE_STAYS = 10,      /* and whose provider keeps something between runs */
    SHAPES = 11,
    LIVE_ASKS = 4, /* questions of a live run */
};

/* --- dice and trace (world.c) --- */

uint64_t dice(void);
bool one_in(unsigned n); /* true once in n throws */
size_t pick(size_t n);   /* 0 .. n-1 */
int64_t between(int64_t a, int64_t b);
extern bool tracing;
void trace_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define TRACE(...)                                                                                 \
    do {                                                                                           \
        if (tracing)                                                                               \
            trace_line(__VA_ARGS__);                                                               \
    } while (0)
/* A rule was broken: says so with the seed, and ends the process. */
void broken(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* --- what has really happened (ledger.c) --- */

enum kind {             /* of callers, by when their clients hold something to come back with */
            KIND_HELD,  /* opened, the handle goes out, and only then it begins */
            KIND_LATE,  /* held, and the handle goes out with the first question */
            KIND_CARRY, /* the same, and the call is let go of while the client thinks */
            KIND_COUNT
};

struct ledger_ask {
    char id[ID_LEN + 1];
    char key[8];
    enum ask_kind kind;
    int64_t expires_ms; /* the store's clock */
    int most;           /* times that it may be put */
    int attempt;        /* the offer that is up */
    unsigned wrong;     /* bits: offers that wrong content was given to */
    enum ask_state state;
    int64_t number;  /* of an accepted one: the submission that ended it; of a call, its end */
    bool due_at_end; /* its time was up when its call ended */
    int told;        /* times that a live run was told of its end */
};

struct ledger_step {
    char key[8];
    bool at_most_once;
    int effects;
    int64_t with;          /* what its effect was done with */
    uint64_t stored_epoch; /* in which its result was stored; 0: not yet */
};

struct shown { /* a question, as a client remembers it */
    char id[ID_LEN + 1];
    char key[8];
    int attempt;
};

struct sim_call {
    size_t number;
    char id[ID_LEN + 1];
    enum kind kind;
    size_t shape;
    size_t inner_shape;     /* of the call that it waits for, if it calls another */
    struct sim_call *outer; /* the call that waits for this one; NULL: a client does */
    int64_t ttl_ms;

    /* What the store has. */
    bool stored, handed, ended;
    bool ahead; /* somebody has opened it to cancel it */
    uint64_t epoch;
    size_t journal; /* entries */
    struct {
        char owner[16];
        size_t journal; /* entries, when it was given */
    } epochs[SIM_EPOCHS];
    char last_token[ID_LEN + 1];
    struct ledger_ask asks[SIM_ASKS];
    size_t ask_count;
    char end[SIM_END];
    size_t end_len;
    struct ledger_step steps[SIM_STEPS];
    size_t step_count;

    /* Of one that stays: the node that begins it, and what its provider was told. */
    const char *home;
    int64_t home_since;
    int begun, ended_told;

    /* What its handler does to its node. */
    unsigned crash_from; /* its runs with at least so many entries crash ... */
    unsigned crashes;    /* ... so many times more */
    unsigned crashed;    /* times that its handler has crashed, since it last committed anything */
    unsigned suspected;  /* times that it was taken as a suspect, since then */

    /* What its client has. */
    bool handle_out;      /* something to come back with was sent */
    bool has_handle;      /* and has arrived */
    int64_t wrote_ms;     /* the store's clock at the last write of a node */
    int64_t handle_until; /* the store's clock */
    bool told;            /* an end */
    bool left;            /* cancelled by its client, or given up without a handle */
    char told_end[SIM_END];
    size_t told_len;
    struct shown shown[SIM_SHOWN];
    size_t shown_count;

    /* What people have seen of it who are not its client. */
    struct shown seen[SIM_SHOWN];
    size_t seen_count;
};

/* One answer, or one round of them: its number is its content. */
struct submission {
    struct sim_call *call;
    struct shown asks[2];
    size_t count;
    enum ask_state action;
    bool wrong;     /* content that does not fit */
    bool elsewhere; /* not through the client */
};

struct node;

struct sim_call *ledger_call(struct str id);
struct sim_call *ledger_call_of_ask(struct str ask_id);
struct ledger_ask *ledger_ask(struct sim_call *call, struct str id);
/* Somebody could come back for it, or for a call that it belongs to. */
bool ledger_is_held(const struct sim_call *call);
/* False: this very operation has happened before. */
bool ledger_is_new(struct sim_call *call, struct str token);
void ledger_opened(struct sim_call *call, struct str node);
/* It is opened by who cancels it. It may have ended and been forgotten before. */
void ledger_ahead(struct sim_call *call, struct str node);
void ledger_wrote(struct sim_call *call, const char *verb, uint64_t epoch, int64_t keep_for_ms);
void ledger_handed(struct sim_call *call, bool handed);
void ledger_entries(struct sim_call *call, const struct entry *entries, size_t count);
void ledger_asked(struct sim_call *call, const struct ask_record *ask);
void ledger_claimed(struct sim_call *call, const struct claimed *claimed);
void ledger_granted(struct sim_call *call, const struct node *node, uint64_t epoch,
                    const struct call_record *record);
void ledger_ended(struct sim_call *call, struct str result);
/* The store may end a question by itself, once its time is up. */
void ledger_lapsed(struct sim_call *call, struct ledger_ask *ask, enum ask_state is);

uint64_t ledger_epoch(const struct run *run);
void ledger_run(const struct node *node, const struct run *run);
/* Does the handler of this run crash? */
bool ledger_crashes(const struct run *run);
void ledger_effect(const struct run *run, uint64_t epoch, const char *key, int64_t with,
                   bool at_most_once);
void ledger_orphan(const struct call_record *record);

void ledger_told(struct sim_call *call, const struct outcome *outcome);
void ledger_told_stored(struct sim_call *call, struct str result);
void ledger_answered(const struct submission *submission, const struct shown *shown,
                     const struct answer_result *result);
/* It is no longer up where people could have answered it, and they are told how it ended. */
void ledger_withdrawn(struct str ask_id, const struct winner *winner);
/* A client is told that its cancel is accepted; data is the call. */
void ledger_cancelled(void *data, nod_status status);
void ledger_not_found(const struct sim_call *call);
void ledger_at_the_end(void);
/* An inner call goes on, and nobody waits for its end any more; or NULL. */
const struct sim_call *ledger_inner_left(void);

/* --- replies as they were (snapshot.c) --- */

struct message { /* something on its way from the store to a node */
    struct list link;
    struct node *node;
    store_done *done;
    store_row_fn *row;
    void *data;
    nod_status status;
    struct store_reply reply;
    struct store_row *rows;
    size_t row_count, row_room;
    struct arena arena;
    bool hint;
    struct str hinted;
    int64_t from; /* the world's clock: not before this */
    int refs;     /* the link, and whoever keeps it */
};

struct message *message_new(struct node *node, store_done *done, void *data);
void message_free(struct message *message);
/* The message that brought this reply: it lives until it is freed once more. */
struct message *message_keep(const struct store_reply *reply);
store_done message_fill; /* data is the message */
store_row_fn message_row;

/* --- the link (link.c) --- */

struct link {
    struct store store; /* first */
    struct node *node;
    void (*wake)(void *data, struct str call_id);
    void *wake_data;
    int64_t ahead_ms; /* the store's clock before the node's, as it was learned last */
};

void store_make(void);
void store_unmake(void);
void link_init(struct link *link, struct node *node);
bool link_deliver(struct node *node); /* one message, if there is one that can be */
void link_drop(struct node *node);    /* all that is on its way */
void link_cut(struct node *node);
void link_mend(struct node *node);
/* The record as the store has it now, or NULL. Free it with message_free. */
struct message *link_peek(struct str call_id);
struct str link_owner(struct str call_id); /* the node that runs it, or ran it last */
bool link_alive(const char *name);         /* a node of that name counts as alive */

/* --- nodes (node.c) --- */

struct seat {             /* a request at a node: a caller of the core */
    struct caller caller; /* first */
    struct list link;
    struct node *node;
    struct sim_call *call;
    bool connected; /* its client listens */
    bool absent;    /* nobody's: recovery has made it */
    bool over;
    struct target *target; /* while its call is opened */
    int looking;           /* completions on their way to it */
    struct message *record, *asks;
    struct comer comer;
    size_t brings; /* a submission that its client brings; 0: none */
    bool counted;  /* of which something was taken */
};

struct node {
    size_t number;
    char name[16];
    bool up, asleep, cut;
    int64_t skew; /* its wall clock before the world's */
    struct fake_clock clock;
    int64_t started;
    struct link link;
    struct engine *engine;
    struct surface surface;         /* of held calls */
    struct surface carried;         /* of those whose clients carry the questions */
    struct surface inbox;           /* a place beside the client */
    char asked[SIM_UP][ID_LEN + 1]; /* the asks that are up there */
    size_t asked_count;
    struct provider provider;
    struct provider live, staying;
    struct live_run {
        struct run *run; /* NULL: this place is free */
        struct sim_call *call;
        size_t asked, told;
        int64_t known;
        bool also;
    } lives[SIM_CALLS_ALL];
    bool falls; /* a handler has crashed */
    struct run *crashed;
    struct target targets[SHAPES];
    struct target *editions[SHAPES]; /* instead of these, where they are replaced; NULL: gone */
    int alive;                       /* editions that somebody still has */
    struct catalog *catalog; /* of these, where calls wait for calls, or targets are replaced */
    struct list messages;
    struct {
        void (*fn)(void *data);
        void *data;
    } deferred[SIM_DEFERRED];
    size_t deferred_first, deferred_count;
    struct list seats;
    struct list answerers; /* clients that wait for a word about their answers */
    struct {
        struct run *run;
        uint64_t epoch;
    } held[SIM_HELD];
    size_t held_count;
};

void node_start(struct node *node);
void node_crash(struct node *node);
void node_set_clock(struct node *node);
bool node_run_deferred(struct node *node); /* one */
void node_tick(struct node *node);
/* A slow handler returns. */
bool node_return_one(struct node *node);
void node_sweep(struct node *node); /* seats that are over */
/* Something of this node happens next, if nothing hinders it. */
bool node_awake(const struct node *node);

/* An answer that came from there has ended it. */
void inbox_done(struct node *node, struct str ask_id);
void seat_begin(struct node *node, struct sim_call *call);
/* `brings`: with a submission, which goes in with it; 0: with none. */
void seat_come_back(struct node *node, struct sim_call *call, size_t brings);
void seat_disconnect(struct node *node, struct sim_call *call);

/* --- clients (client.c) --- */

void client_acts(void);
/* What a client that wants to get somewhere does: comes back, and answers what it was shown. */
void client_presses_on(struct sim_call *call);
void client_given_handle(struct sim_call *call);
void client_shown(struct sim_call *call, const struct ask_record *ask, int attempt);
void people_shown(struct sim_call *call, const struct ask_record *ask);
void client_lost_node(struct node *node); /* with all who waited for a word from it */
/* The answer that a submission has to this ask. False: it has none. */
bool submission_answer(struct node *node, size_t number, struct str ask_id, struct arena *arena,
                       struct answer *out);
/* Its client has heard what became of it. */
void submission_heard(size_t number, struct str ask_id, const struct answer_result *result);

/* --- tools (handlers.c) --- */

/* NULL: it is gone from this node. */
struct target *shape_target(struct node *node, size_t shape);
struct str shape_name(size_t shape);
/* A node begins with an edition of each; some are replaced, or go, or come back. */
void editions_begin(struct node *node);
void editions_change(struct node *node);
void editions_released(struct node *node, struct target *target);
void editions_end(struct node *node); /* its engine is gone */
size_t shape_named(struct str name);
/* What a handler does in one run, in the epoch it was begun in. */
nod_status shape_work(struct run *run, uint64_t epoch, struct str *body);
bool shape_has_round(size_t shape); /* it asks two at once */
/* A handler begins, and may crash its node, or take its time. */
void node_runs(struct node *node, struct run *run);

/* --- live runs and homes (live.c) --- */

void lives_begin(struct node *node);
/* One of its live runs does something. */
bool lives_act(struct node *node);
/* A node has told the store that it is a home, and lives for so long. */
void home_beats(struct str name, int64_t ttl_ms);
void home_named(struct sim_call *call, struct str name);
void home_alone_may(const struct sim_call *call, const struct node *node, const char *what);
void home_end_is_right(const struct sim_call *call, const struct outcome *outcome);

/* --- the whole (world.c) --- */

struct sim {
    uint64_t seed;
    uint64_t dice;
    int64_t now;        /* the world's clock */
    int64_t store_skew; /* the store's wall clock before the world's */
    struct fake_clock store_clock;
    struct store *store;
    bool shared;
    struct node nodes[SIM_NODES];
    size_t node_count;
    struct sim_call calls[SIM_CALLS_ALL];
    size_t call_count;
    size_t calls_made, calls_wanted; /* by clients */
    struct submission submissions[SIM_SUBMISSIONS];
    size_t submission_count;
    char names[SIM_NAMES][16];
    int64_t alive_until[SIM_NAMES]; /* the store's clock */
    struct sim_home {
        int64_t until, silent_until; /* the store's clock: its record lives, and was gone */
    } homes[SIM_NAMES];
    size_t name_count;
    bool calm;             /* faults have stopped */
    unsigned faults;       /* in a thousand operations */
    unsigned lost;         /* in a thousand replies to a client, and hints */
    int64_t delay_ms;      /* of a message, at most */
    bool in_order;         /* messages keep their order */
    bool crashing;         /* some handlers crash */
    bool node_faults;      /* nodes crash, sleep and are cut off */
    bool slow;             /* some handlers take their time */
    bool nested;           /* some handlers call others */
    bool lively;           /* some runs are live */
    bool replacing;        /* targets are replaced while calls of them wait and run */
    bool together;         /* questions are up at the client and elsewhere at the same time */
    int64_t keep_ms;       /* a handle lives that long after it was given */
    int64_t store_keep_ms; /* an end is kept that long, whatever the handles */
};

extern struct sim sim;

/* Nothing makes a node look dead but its own end. */
bool world_is_quiet(void);

struct sim_figures {
    uint64_t worlds, calls, ended_ok, ended_otherwise, cancelled, ended_elsewhere;
    uint64_t effects, repeated_effects, answers, rounds, crashes, takeovers, recovered, forgotten;
    uint64_t answers_elsewhere, rested, brought, handlers_crashed, ended_crashed;
    uint64_t replaced, ended_changed;
    uint64_t inner_calls, inner_ends, live_runs, live_told, staying_runs, unknown, cancels_told;
};
extern struct sim_figures figures;

void world_play(uint64_t seed);
int64_t store_now(void);

#endif
