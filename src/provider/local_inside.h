/* provider/local_inside: what local.c, register_*.c and the handler files share. */
#ifndef NOD_PROVIDER_LOCAL_INSIDE_H
#define NOD_PROVIDER_LOCAL_INSIDE_H

#include <pthread.h>

#include "base/buf.h"
#include "crypto/seal.h"
#include "provider/handler.h"
#include "provider/local.h"

enum {
    LOCAL_TARGET_BYTES = 4 * 1024 * 1024,     /* bytes of everything that is kept of one target */
    LOCAL_DESCRIPTOR_BYTES = 2 * 1024 * 1024, /* bytes of its descriptor */
    LOCAL_TIMEOUT_MS = 60000,                 /* work of a call, if its tool has no .timeout_ms */
    LOCAL_TABLE_MAX = 10000,                  /* rows of one nod_add_* */
    LOCAL_PROMPT_ARGS_MAX = 100,              /* arguments of one prompt */
    LOCAL_TOOL_NAME_MAX = 128,                /* bytes of a tool's name */
    LOCAL_SOURCE_MAX = 256,                   /* bytes of the place where it was registered */
    LOCAL_NAME_MAX = 1024,                    /* bytes of a prompt's name, or of a URI */
};

struct local_argument { /* an argument of a prompt */
    struct str name;
    nod_handler *complete;
};

struct local_target {
    struct target base; /* first */
    struct list link;   /* in local.targets, or in set->staged */
    struct local *local;
    struct local_set *set; /* that it belongs to; NULL: it is the program's */
    struct arena arena;    /* for all its texts */
    nod_handler *handler;
    nod_handler *complete; /* completes a template's variables */
    struct local_argument *arguments;
    size_t argument_count;
    struct schema *input;
    struct schema *output;
    struct str description;
    struct str mime_type;
    bool blocking;
    int64_t held_ms; /* the longest that it held the loop, of what was logged */
    void *data;
};

struct hooks_alive;

struct local {
    struct provider provider; /* first */
    nod_server *server;
    struct catalog *catalog;
    struct loop *loop;
    struct workers *workers;
    struct list targets;
    struct list jobs;          /* runs on the pool */
    struct list sets;          /* all that are not released */
    struct local_set *staging; /* what is registered goes there; NULL: into effect at once */
    bool replay_check;
    pthread_mutex_t ring_lock;
    struct keyring *ring;                         /* of nod_page_token; NULL: not needed so far */
    void (*stepped)(void *data, const char *key); /* see local_watch_steps */
    void *stepped_data;
    local_title *title; /* of a service; or NULL: see local_use_titles */
    const void *title_data;
    char source[LOCAL_SOURCE_MAX];   /* "tools.c:120", of what is registered now; or empty */
    struct hooks_alive *hooks_alive; /* for posts on their way to hooks; see hook.c */
};

void local_call_init(nod_call *call, struct local *local, struct run *run);
void local_hooks_init(struct local *local);
void local_hooks_finish(struct local *local);

struct local_target *local_target_new(struct local *local, enum target_kind kind);
void local_target_free(struct local_target *target);

/* --- sets (local_set.c) --- */

/* The table of the batch could not be registered: its set is refused. */
void set_refuse(struct local_set *set, const char *kind, const char *name, nod_status status);
/* Adds what was built to the set, or nothing: the set has one of that name already. */
nod_status set_stage(struct local_set *set, struct local_target **built, size_t count,
                     struct catalog_refused *refused);
/* One that was staged, by its name; NULL: there is none. */
struct local_target *set_staged(const struct local_set *set, enum target_kind kind,
                                struct str name);
struct str set_from(const struct local_set *set); /* of NULL: empty */
/* A target or a hook belongs to it; and no longer, so that it may be released. NULL: to none. */
void set_hold(struct local_set *set);
void set_let_go(struct local_set *set);
/* One of a set that is not over. False: none has it. */
bool set_remove_hook(struct local *local, struct hooks *hooks, struct str name);
/* The targets and hooks of all sets are gone, and whoever has them is told. */
void sets_end(struct local *local);

/* --- what the registrations have in common (register.c) --- */

/* Logs what is wrong with a registration, and returns the status. */
nod_status register_refuse(const char *what, const char *name, nod_status status,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));
/* True, logged: a set is staged, and this is not of it. */
bool register_keeps(const struct local *local, const char *what, struct str name);
/* Row `index` of a table, whose rows may be smaller (an older program) or larger (a newer one) than
 * ours. */
void register_row(void *out, size_t room, const void *table, size_t index, size_t row_size);
/* Copies a C string that is valid UTF-8 and not longer than `max`. False: it is not, and that is
 * logged. */
bool register_text(struct local_target *t, const char *what, const char *name, const char *field,
                   const char *text, size_t max, struct str *out);
/* Ends the listing of a target, and keeps it. Finishes the buffer. False: it is too large, or not
 * UTF-8. */
bool register_listing(struct local_target *t, struct json_writer *w, struct buf *out);
/* Writes key and text, if there is a text. */
void register_key(struct json_writer *w, const char *key, struct str text);
/* Compiles a schema. NULL: it is not one, and that is logged. */
struct schema *register_schema(struct local_target *t, const char *what, const char *name,
                               const char *field, const struct json *schema,
                               const struct schema_opts *opts);

/* What binds a waiting call to its target: the input schema (or NULL) and the author's version (or
 * NULL). False: too large. */
bool register_version(struct local_target *t, const struct json *input, const char *version);

struct register_batch {
    struct local *local;
    const char *what;
    struct local_target *(*build)(struct local *local, const void *table, size_t index,
                                  size_t row_size, nod_status *status);
};
/* Builds every row, then adds them all, or none. */
nod_status register_all(const struct register_batch *batch, const void *table, size_t count,
                        size_t row_size, size_t least_size);

#endif
