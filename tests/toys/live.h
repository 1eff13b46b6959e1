/*
 * tests/toys/live: a live provider in one file (live.c), and what its tests see of it.
 *
 * It stands for any provider that holds a connection: each of its calls is begun once, has a
 * session here, and goes on while people think. What it does is said by its owner, step by
 * step.
 */
#ifndef NOD_TESTS_TOYS_LIVE_H
#define NOD_TESTS_TOYS_LIVE_H

#include "core/provider.h"
#include "core/run.h"

enum { LIVE_TOY_SESSIONS = 256, LIVE_TOY_HEARD_MAX = 2048 };

struct live_toy;

struct live_session { /* what the toy holds for one call */
    struct live_toy *toy;
    struct run *run; /* NULL: it has ended, or was dropped */
    char call[ID_LEN + 1];
    char tag[40];                   /* an argument of the call, by which its owner finds it */
    char heard[LIVE_TOY_HEARD_MAX]; /* what it was told, in order: "committed", "a=accepted", ... */
    int cancelled, ended;
    char code[40]; /* of its end */
};

struct live_toy {
    struct provider provider; /* first */
    struct target target;
    struct live_session sessions[LIVE_TOY_SESSIONS];
    size_t count;
    /* What its owner does when a session begins, is told of a commit or of an answer. May be NULL.
     */
    void (*begun)(struct live_session *session);
    void (*committed)(struct live_session *session);
    void (*answered)(struct live_session *session, const struct entry *answer);
};

void live_toy_init(struct live_toy *toy, const char *name);
/* Each returns what the run said. */
nod_status live_toy_ask(struct live_session *session, const char *key, const char *message);
nod_status live_toy_step(struct live_session *session, const char *key);
void live_toy_commit(struct live_session *session);
nod_status live_toy_take_back(struct live_session *session, const char *key, const char *why);
void live_toy_progress(struct live_session *session, double progress);
/* Ends it with the text as its content, or with an error. */
void live_toy_end(struct live_session *session, const char *text);
void live_toy_fail(struct live_session *session, const char *code, const char *message);
struct live_session *live_toy_session(struct live_toy *toy, struct str call);

#endif
