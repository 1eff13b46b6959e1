/*
 * core/need: a value that a run needs and that the journal must not hold, such as a password or an
 * access token.
 *
 * A journal is stored, shown and sent around; such a value must not be. So a run asks for it anew
 * each time: run_need gives it if it is there. If it is not, the run ends as it does when it asks a
 * person, the engine fetches the value from its source, and the target runs again, with the same
 * journal, and finds it. After a restart, or on another node, it is fetched there.
 *
 * A source has the values: the store (core/secret.h), or another server. It is registered with the
 * engine by its name.
 *
 * Holds always:
 * - The value is in no journal, record or log. It lives in hidden memory (base/hidden.h), which is
 *   wiped when the last run that was given it is over.
 * - While a value is fetched, its call holds no thread, and the time does not count as its work.
 *   If the call ends meanwhile, the source is told.
 */
#ifndef NOD_CORE_NEED_H
#define NOD_CORE_NEED_H

#include "base/hidden.h"
#include "core/run.h"

enum {
    NEEDS_OF_RUN_MAX = 16,   /* values that one run may be given */
    NEED_SOURCES_MAX = 8,    /* sources of one engine */
    NEED_NAME_MAX = 128,     /* bytes of the name of a value */
    NEED_DETAIL_MAX = 4096,  /* bytes of what else its source has to know */
    NEED_MESSAGE_MAX = 1024, /* bytes of a sentence that says why there is no value */
};

/* A value that is being fetched for a call. It belongs to the engine. */
struct need {
    struct engine *engine;
    struct call *call;
    struct need_source *source;
    struct need_spec spec;
    struct str principal, call_id, tool;
    void *data; /* for the source */
    size_t size;
};

struct need_source {
    const char *name;
    /* Fetches the value, and says need_done(need, ...) exactly once, now or later, on the loop. It
     * says so within bounded time. */
    void (*fetch)(struct need_source *source, struct need *need);
    /* Nobody waits for it any more, and `need` goes: need_done must not be called. May be NULL if
     * fetch always says need_done before it returns. */
    void (*dropped)(struct need_source *source, struct need *need);
};

/* False: there are too many sources, or one of that name. Before the first call. It is not freed.
 */
bool engine_add_need_source(struct engine *engine, struct need_source *source);

/*
 * How it went. NOD_OK: `value` (at most HIDDEN_MAX bytes, copied; the source wipes its own).
 * NOD_E_NOT_FOUND: there is none, and the person may be asked for it; `message` may say more, for
 * whoever asks. Anything else is a failure
 * that the handler is told, and `message` (copied, cut at NEED_MESSAGE_MAX) says why, without the
 * value.
 */
void need_done(struct need *need, nod_status status, struct str value, struct str message);

/*
 * For providers, on the run's thread. NOD_OK: *value is in hidden memory, ends with a NUL that its
 * length does not count, and lives as long as the run. NOD_PENDING: it is being fetched, and the
 * run must return NOD_PENDING now; nothing that it has recorded counts. NOD_E_NOT_FOUND: the source
 * has none, so ask for it (run_ask); *value is what else it says of that, or empty. Anything else:
 * run->fault says why.
 */
nod_status run_need(struct run *run, const struct need_spec *spec, struct str *value);

#endif
