/*
 * tests/unit/accounts/nodes: nodes that share a store in memory, and a service on loopback.
 *
 * The store is the real one, with a clock that is moved by hand. Each node sees it through a view
 * that says what the node takes for the time: two clocks are never quite the same. The service
 * gives each refresh token one use, and counts.
 */
#ifndef NOD_TESTS_ACCOUNTS_NODES_H
#define NOD_TESTS_ACCOUNTS_NODES_H

#include "../oauth/far_end.h"

#include "accounts/accounts.h"
#include "base/clock.h"

#define ADA        STR("ada")
#define BOB        STR("bob")
#define RETURN_URL STR("https://nod.example/a/return")

enum { NODES = 2, NODES_LASTS_S = 3600 };

struct node_view {
    struct store store; /* first */
    int64_t ahead_ms;   /* of the store's clock */
    int gets, puts, dels;
    char put[8192]; /* the last value, as the store sees it */
};

struct nodes {
    struct loop *loop;
    struct fake_clock clock;
    struct store *store;
    struct keyring *ring;
    struct node_view views[NODES];
    struct accounts *at[NODES];
    struct far_end far;
    /* The service. */
    int exchanges, refreshes, revokes;
    int generation;      /* of the tokens that it has given last: access-N, refresh-N */
    int lasts_s;         /* so long its access tokens last */
    const char *grants;  /* the scopes that it says it grants; NULL: it says nothing */
    bool keeps_refresh;  /* it gives no new refresh token */
    int fails;           /* so many requests are answered with 503 */
    const char *error;   /* and then with that; NULL: it does not refuse */
    char revoked[4][64]; /* the tokens that it was told of, in order */
    /* The store: so many puts fail, before anything has happened. */
    int failing_puts;
};

extern struct nodes nodes;

int nodes_setup(void **state);
int nodes_teardown(void **state);
/* The node dies: nobody that waits at it is told. */
void nodes_kill(int node);

/* --- one operation, and what it came to --- */

struct token_got {
    int told;
    nod_status status;
    char access[64], message[512];
};
struct account_wait *nodes_want(int node, struct str principal, const char *scopes,
                                const char *ask_id, struct token_got *got);
/* The same, awaited. */
struct token_got nodes_token(int node, struct str principal, const char *scopes);

struct flow_got {
    int told;
    enum account_flow_end end;
    char url[4096], message[512];
};
/* A flow of the question, with what came back. */
struct account_flow nodes_flow(const char *ask_id, struct str principal, const char *scopes);
struct flow_got nodes_begin(int node, const struct account_flow *flow);
struct flow_got nodes_return(int node, const struct account_flow *flow, const char *code);
nod_status nodes_keep(int node, const struct account_flow *flow);
/* All of it: the account is connected by this question, which was accepted. */
void nodes_connect(int node, const char *ask_id, struct str principal, const char *scopes);
nod_status nodes_revoke(int node, struct str principal, struct str called);
/* How many accounts the principal (empty: anyone) has; *refused: how many of them are. */
int nodes_count(int node, struct str principal, int *refused);

#define nodes_await(condition) far_end_await(&nodes.far, condition)

#endif
