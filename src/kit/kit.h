/*
 * kit/kit: what <nod/test.h> is made of.
 *
 * A test has a store that lives as long as the test, and a server that lives until it crashes. The
 * server is a real one. The kit replaces only the two ends that a test has to hold: the client,
 * which calls and answers, and the clock.
 */
#ifndef NOD_KIT_KIT_H
#define NOD_KIT_KIT_H

#include <nod/test.h>
#include <pthread.h>
#include <stdatomic.h>

#include "host/host.h"
#include "core/need.h"

enum {
    KIT_ANSWERS_MAX = 4096,      /* of one script */
    KIT_QUESTIONS_MAX = 4096,    /* of one call */
    KIT_STEPS_MAX = 4096,        /* different ones, of one call */
    KIT_CRASHES_MAX = 100000,    /* of one nod_test_every_crash */
    KIT_VALUES_MAX = 64,         /* secrets and accounts of one test */
    KIT_WAIT_MS = 10000,         /* real time that a call may need for one step */
    KIT_ARENA_BYTES = 256 << 20, /* memory of what a test and its last call have said */
};

/* What is noted with the operation of the store at which it goes wrong. */
enum kit_crash { KIT_NO_CRASH, KIT_CRASH_IN_STEP, KIT_CRASH_AFTER_STEP, KIT_CRASH_AT_POINT };

enum kit_action { KIT_ACCEPT, KIT_DECLINE, KIT_CANCEL, KIT_EXPIRE, KIT_PAGE_DONE };

struct kit_answer { /* of the script */
    enum kit_action action;
    struct str key;     /* empty: for whatever is asked next */
    struct str content; /* JSON, or empty */
    struct str by;      /* empty: whoever calls */
    bool used;
};

struct kit_question {
    struct id id;
    struct str key;
    struct str message;
    int attempt;               /* which offer is up */
    struct kit_answer *answer; /* what this offer is answered with; NULL: nothing in the script */
    bool up;
};

struct kit_value { /* a secret, or the token of an account */
    const char *source;
    char *principal; /* whose it is */
    char *name;
    char *value; /* NULL: it was deleted */
};

struct kit_step {
    struct str key;
    size_t runs;
};

struct nod_test {
    nod_test_make *make;
    void *make_data;
    const nod_tool *tools; /* of nod_test_new */
    size_t tool_count, tool_size;

    struct fake_clock clock;
    struct store_ops ops; /* of the memory store, which outlives its server */
    void (*store_destroy)(struct store *store);
    struct store *store;
    nod_server *server; /* NULL: it could not be made */
    struct surface surface;
    unsigned cannot; /* bits of enum ask_kind */

    char *as; /* who calls */
    char *by; /* who answers; NULL: whoever calls */

    /* The script. */
    struct arena script;
    struct kit_answer answers[KIT_ANSWERS_MAX];
    size_t answer_count;

    struct need_source secrets, credentials; /* give those that follow */
    struct kit_value values[KIT_VALUES_MAX];
    size_t value_count;

    /* Crashes. */
    enum kit_crash crash;
    size_t crash_at;
    size_t points; /* points that this scenario has passed */
    atomic_bool dead;
    size_t crashes;
    bool gone;               /* the server is cut off from the store */
    struct list undelivered; /* completions for a server that is gone */

    /* The last call. */
    struct arena said;
    struct caller caller;
    struct id call_id;
    struct str tool, arguments;
    bool opened, finished, lost;
    struct outcome outcome; /* its texts are in `said` */
    struct json *body;
    bool looked; /* at how it ended */
    struct kit_question questions[KIT_QUESTIONS_MAX];
    size_t question_count;
    size_t refused;
    struct str why_refused; /* what was wrong with the last refused answer; in `said` */

    /* Steps may be done on a worker's thread. */
    pthread_mutex_t lock;
    struct arena step_text;
    struct kit_step steps[KIT_STEPS_MAX];
    size_t step_count, step_runs;

    /* Coming back. */
    struct arena back;
    struct call_record record;
    struct ask_record *asks;
    size_t ask_count;
    bool loading, found;

    size_t failures;
};

/* --- the server and its crashes (kit_server.c) --- */

bool kit_server_open(nod_test *test);
/* Destroys the server as it is. Nothing more reaches the store. */
void kit_server_crash(nod_test *test);
/* An empty store. */
void kit_store_open(nod_test *test);
void kit_store_close(nod_test *test);

/* --- the client (kit_client.c) --- */

extern const struct surface_ops kit_surface_ops;
/* Calls, answers, and comes back after a crash, until the call has ended or cannot go on. */
void kit_client_call(nod_test *test);

/* --- secrets and accounts (kit_values.c) --- */

void kit_values_open(nod_test *test);
void kit_values_forget(nod_test *test);
/* The person gives what such a page asks for. False: there is nothing in the content. */
bool kit_values_given(nod_test *test, const struct ask_record *ask, const struct json *content);

/* --- what was wrong (kit_expect.c) --- */

void kit_fail(nod_test *test, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The address of a page of the server (nod_elicit_page), for questions that have one. */
bool kit_page_link(void *data, const struct ask_record *ask, int64_t expires_ms, struct buf *url);

#endif
