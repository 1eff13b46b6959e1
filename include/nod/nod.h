/*
 * nod.h: write MCP tools that stop and ask a person.
 *
 * This header is the manual. It includes nothing of nod's insides, and everything a tool author
 * needs is here: make a server, give it tables of tools, resources and prompts, call nod_main.
 *
 *     static nod_status remove_file(nod_call *call)
 *     {
 *         const char *path = nod_arg_str(call, "path");
 *         bool yes;
 *
 *         NOD_TRY(nod_confirm(call, &yes, .message = nod_fmt(call, "Delete %s?", path)));
 *         if (!yes)
 *             return nod_reply_text(call, "Nothing was deleted.");
 *         NOD_TRY(nod_step(call, "unlink", unlink_file, (void *)path, NULL));
 *         return nod_reply_textf(call, "Deleted %s.", path);
 *     }
 *
 * HOW A HANDLER RUNS. A handler is a plain function. It runs from the top each time the call learns
 * something new. What it has learned is its journal. nod_confirm looks there first. If it finds the
 * answer, the handler goes on with it. If not, it records the question and returns NOD_PENDING, and
 * NOD_TRY returns that from the handler. The call then waits for the person, without holding a
 * thread or a stack. This leads to two rules:
 *
 *   1. A handler must ask the same questions on every run with the same journal. Read anything that
 *      may change (a balance, the time, a random number) inside nod_step, or with nod_now or
 *      nod_random. A different question under the same key is NOD_E_NOT_DETERMINISTIC.
 *   2. Side effects belong in nod_step. Anything outside a step is done again on each run.
 *
 * KEYS. The journal is looked up by key: the .key of a question, or its number, and the key of a
 * step. A key belongs to one question or one step of a run. In a loop, put the index into it:
 *
 *     for (int i = 0; i < count; i++)
 *         NOD_TRY(nod_step(call, nod_key(call, "charge-%d", i), charge, &cards[i], NULL));
 *
 * A second use of a key in the same run is a bug in the handler (HANDLER_BUG). A question and a
 * step may have the same key. To try a failed step again, use another key.
 *
 * LOOPS. Each question, each step and each nod_now or nod_random is an entry of the call's journal
 * (a step with .at_most_once is two). By default a journal has at most 64 entries and 256 KiB. If a
 * tool needs more, set .journal_entries and .journal_bytes of the tool or of the server (at most
 * 4096 entries and 4 MiB). A call that reaches a limit ends with NOD_E_LIMIT before the next
 * question or step, and the message says the number, the option, and what was done so far.
 *
 * To ask about many things, call nod_want for each and nod_await once. Together they are one round,
 * of at most 64 questions. nod_each does all of that: it asks about each of N things and does a
 * step for each that was accepted.
 *
 * MEMORY. Everything reached through a nod_call (strings, JSON values, answers) lives until the run
 * returns. nod_json_dup keeps a value longer. Use nod_defer to release a resource of your own when the
 * run returns; this also happens when it returns NOD_PENDING.
 *
 * THREADS. A nod_call belongs to one thread. Only nod_cancelled may be called from another one. A
 * nod_server belongs to the thread that runs it, with nod_main or with nod_start and nod_turn; the
 * functions that take one say which of them may be called from any thread. One process may have
 * several servers, each on a thread of its own or together on one.
 *
 * OPTIONS. `nod_confirm(call, &yes, .message = "...")` is a macro around nod_confirm_with, which
 * takes a pointer to a struct whose first member is its size. From the first release on new members
 * go to the end of a struct, and programs built against an older header keep working. Until then
 * header and library belong together: build a program again that was built against another header.
 * C++ has <nod/nod.hpp>; other languages call the _with functions.
 *
 * WORDS. The 2025 era is the MCP revisions 2025-03-26 to 2025-11-25, where a request stays open
 * while a person thinks. The 2026 era is 2026-07-28, where the client gets the question as a reply
 * and sends its request again with the answer. A principal is who calls or answers. A surface is a
 * place where people are asked. A node is one server of several that share a store.
 */
#ifndef NOD_NOD_H
#define NOD_NOD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header. nod_version and nod_version_number are those of the library that runs. */
#define NOD_VERSION        "0.1.0"
#define NOD_VERSION_MAJOR  0
#define NOD_VERSION_MINOR  1
#define NOD_VERSION_PATCH  0
#define NOD_VERSION_NUMBER (NOD_VERSION_MAJOR * 10000 + NOD_VERSION_MINOR * 100 + NOD_VERSION_PATCH)

#if defined(__GNUC__)
#define NOD_API              __attribute__((visibility("default")))
#define NOD_USE_RESULT       __attribute__((warn_unused_result))
#define NOD_PRINTF(fmt, arg) __attribute__((format(printf, fmt, arg)))
#else
#define NOD_API
#define NOD_USE_RESULT
#define NOD_PRINTF(fmt, arg)
#endif

/* ------------------------------------------------------------------------------------------
 * Status: 0 is success, everything else is negative.
 */
typedef enum nod_status {
    NOD_OK = 0,
    NOD_PENDING = -1,             /* not an error: the call waits; return it (NOD_TRY does) */
    NOD_E_INVALID = -2,           /* data that does not fit what was asked for */
    NOD_E_TIMEOUT = -3,           /* nobody answered in time */
    NOD_E_NOT_SUPPORTED = -4,     /* no surface can put this question to a person */
    NOD_E_BAD_SCHEMA = -5,        /* a schema that is not valid, or not a form */
    NOD_E_NOT_DETERMINISTIC = -6, /* a replay asked something else under the same key */
    NOD_E_OUTCOME_UNKNOWN = -7,   /* a step may or may not have happened */
    NOD_E_LIMIT = -8,             /* a named limit was reached */
    NOD_E_CANCELLED = -9,         /* the call was cancelled */
    NOD_E_STORE = -10,            /* the store cannot be reached, or refused */
    NOD_E_STALE = -11,            /* someone else was first */
    NOD_E_NOT_FOUND = -12,
    NOD_E_USAGE = -13,   /* the program calls nod in a way it does not allow */
    NOD_E_PARSE = -14,   /* bytes that are not what they should be */
    NOD_E_IO = -15,
    NOD_E_REFUSED = -16, /* not allowed: by a hook, without a confirmation, or for this principal */
    NOD_E_FAILED = -17,  /* the tool's own failure; nod_reply_error says which */
    NOD_E_CRASHED = -18, /* the server died whenever the call was run: it is not run again */
} nod_status;

/* "0.1.0", and 100 for it: to be compared with NOD_VERSION_NUMBER. From any thread. */
NOD_API const char *nod_version(void);
NOD_API int nod_version_number(void);

/* "timeout", "not supported", ...: a word for logs. */
NOD_API const char *nod_status_name(nod_status status);

/* Returns from the handler with anything that is not NOD_OK: pending, or an error. */
#define NOD_TRY(expression)                                                                        \
    do {                                                                                           \
        nod_status nod_try_status_ = (expression);                                                 \
        if (nod_try_status_ != NOD_OK)                                                             \
            return nod_try_status_;                                                                \
    } while (0)

/*
 * For macros whose options may all be left out. Before C23, `...` must stand for at least one
 * argument, so these macros take their last named argument there as well. NOD_FIRST_ gives that
 * argument; NOD_REST_ gives the options (up to seven), with a comma before them.
 */
#define NOD_FIRST_(first, ...) first
#define NOD_REST_(...)                                                                             \
    NOD_NINTH_(__VA_ARGS__, NOD_SOME_, NOD_SOME_, NOD_SOME_, NOD_SOME_, NOD_SOME_, NOD_SOME_,      \
               NOD_SOME_, NOD_NONE_, 0)                                                            \
    (__VA_ARGS__)
#define NOD_NINTH_(a, b, c, d, e, f, g, h, ninth, ...) ninth
#define NOD_SOME_(first, ...)                          , __VA_ARGS__
#define NOD_NONE_(first)

typedef struct nod_server nod_server;
typedef struct nod_call nod_call; /* one run of one call, as its handler sees it */
typedef struct nod_json nod_json; /* a JSON value; constant; see "JSON values" */

typedef nod_status nod_handler(nod_call *call);

/* ------------------------------------------------------------------------------------------
 * Forms: what a person is asked for, or what a tool takes.
 *
 *     NOD_FORM(NOD_TEXT("email", .title = "E-mail", .format = "email", .required = true),
 *              NOD_INT("age", NOD_MIN(18)),
 *              NOD_CHOICE("size", NOD_OPTIONS({ "s", "Small" }, { "l", "Large" })))
 *
 * Secrets never go through a form. A field that asks for a password, key or token is refused; nod
 * looks at its name, title and description, and at the message above it. Use nod_secret instead.
 * If a field only looks like a secret, an operator can allow it with --allow-field TOOL.FIELD.
 */
typedef enum nod_field_kind {
    NOD_FIELD_TEXT,
    NOD_FIELD_NUMBER,
    NOD_FIELD_INT,
    NOD_FIELD_BOOL,
    NOD_FIELD_CHOICE,  /* one of options */
    NOD_FIELD_CHOICES, /* any of options */
} nod_field_kind;

typedef struct nod_option {
    const char *value;
    const char *title; /* NULL: the value is shown */
} nod_option;

typedef struct nod_field {
    const char *name;
    nod_field_kind kind;
    const nod_option *options; /* ends with a NULL value; see NOD_OPTIONS */
    const char *title; /* what people read, also in "Ticket: is required"; NULL: the name */
    const char *description;
    bool required; /* it must be there; NOD_MIN(1) as well if it must not be empty */
    /* Say NOD_MIN(18) and NOD_MAX(99); they set these. A field without them has no bound, and
     * NOD_MIN(0) is a bound like any other. `.min = 18` does not compile. */
    bool has_min, has_max;
    double min_value, max_value;
    const char *format;  /* text: "email", "uri", "date", "date-time" */
    const char *pattern; /* text: a regular expression that nod checks; not sent with a question */
    const char *preset;  /* what the form starts with: "text", "12", "true", a choice's value;
                            for NOD_CHOICES a JSON array: "[\"a\",\"b\"]". It is not a default:
                            what a client leaves out is not there, unless it is .required */
    const char *hint;    /* with a pattern: an example of what fits. "T-123" is shown as "must look
                            like T-123", instead of the expression, after a wrong answer */
} nod_field;

/* At least and at most: a number's value, how many characters of a text, how many choices. A text
 * that may have more than 200 characters, and has no format or pattern, is asked for with room for
 * several lines; every other text is one line. */
#define NOD_MIN(bound) .has_min = true, .min_value = (bound)
#define NOD_MAX(bound) .has_max = true, .max_value = (bound)

typedef struct nod_form {
    size_t field_size;
    const nod_field *fields;
    size_t count;
} nod_form;

/* NOD_FORM and NOD_OPTIONS live as long as the block they are in, or for ever outside of functions. So
 * `return NOD_FORM(...)` from a function gives what is no longer there, and few compilers say so:
 * return nod_form_keep(call, NOD_FORM(...)). A static table with forms stands outside of functions:
 * inside of one it does not compile. */
#define NOD_OPTIONS(...) ((const nod_option[]){ __VA_ARGS__, { NULL, NULL } })
#define NOD_FORM(...)                                                                              \
    (&(const nod_form){ sizeof(nod_field), (const nod_field[]){ __VA_ARGS__ },                     \
                        sizeof((const nod_field[]){ __VA_ARGS__ }) / sizeof(nod_field) })
/* NOD_TEXT("name", .title = "Name", ...): the name first, then the other members. */
#define NOD_TEXT(...)   { .name = __VA_ARGS__, .kind = NOD_FIELD_TEXT }
#define NOD_NUMBER(...) { .name = __VA_ARGS__, .kind = NOD_FIELD_NUMBER }
#define NOD_INT(...)    { .name = __VA_ARGS__, .kind = NOD_FIELD_INT }
#define NOD_BOOL(...)   { .name = __VA_ARGS__, .kind = NOD_FIELD_BOOL }
/* NOD_CHOICE("size", NOD_OPTIONS({ "s", "Small" }, { "l", "Large" }), ...): name and options first. */
#define NOD_CHOICE(field_name, ...)                                                                \
    { .name = (field_name), .options = __VA_ARGS__, .kind = NOD_FIELD_CHOICE }
#define NOD_CHOICES(field_name, ...)                                                               \
    { .name = (field_name), .options = __VA_ARGS__, .kind = NOD_FIELD_CHOICES }

/* ------------------------------------------------------------------------------------------
 * The server.
 *
 * What overrides what, the weakest first: the default, which is in the comment of a member; what the
 * program sets here; the environment; the command line (docs/cli.md). For one tool or one question,
 * what the tool or the question says comes before all of them. Of lists, those of the command line
 * come after the program's, but --http and --surfaces replace .http and .surfaces. Of two that do not
 * go together (.inbox with .http or with .no_inbox) the command line's counts. A number outside of its
 * bounds is refused, with the bounds, wherever it was set; 0 stands for the default. A list ends with
 * NULL, and NULL is an empty one. NULL is a text that is not set; an empty text is refused, as on the
 * command line: .token_file = getenv("TOKENS") never serves without tokens because the variable is
 * empty. Texts are copied.
 *
 * What does nothing without another member (.tls_key without .tls_cert, .token_file on standard input
 * and output) is refused as on the command line; only numbers may be there in any case. Not here, but
 * on the command line and in the environment: how it logs, which is the process's, and secrets
 * themselves.
 */
struct nod_server_opts {
    size_t size;

    /* --- what it is --- */
    const char *name;    /* required */
    const char *version; /* required */
    const char *title;
    const char *instructions; /* for the model: how to use this server */
    /* How clients are shown the names of tools: "paths", or NULL: as they are. "underscores": with _
     * for each character that is not one of A-Z a-z 0-9 _ -, because some model APIs take no others:
     * "github_issues_create" for "github.issues.create". Clients may call a tool by either; everywhere
     * else its name is its path. Two tools that would be one are refused. */
    const char *tool_names;

    /* --- where it serves --- */
    /* MCP over HTTP at /mcp, instead of standard input and output: "HOST:PORT"; "PORT" or ":PORT" on
     * loopback, 0 for a free one; "unix:PATH". */
    const char *const *http;
    const char *inbox;   /* such an address: the inbox of a server on standard input and output */
    bool no_inbox;       /* over HTTP, which has one at / */
    bool demo;           /* the empty inbox has a button that calls a tool of this server */
    const char *metrics; /* such an address: figures for Prometheus at /metrics, without a token */

    /* --- who may come in --- */
    const char *token_file; /* bearer tokens, a line each: token name role... */
    const char *public_url; /* where the world reaches this server: what links are made of */
    const char *const *trusted_proxies; /* whose X-Forwarded-For is believed: "10.0.0.0/8" */
    const char *tls_cert; /* a file: TLS on all TCP addresses, with this certificate and its chain */
    const char *tls_key;  /* a file: its key, if that is not in the file of the certificate */
    const char *const *allow_hosts;   /* further names for this host in the Host header */
    const char *const *allow_origins; /* web origins that may connect: "https://app.example" */

    /* --- where people are asked, and for how long --- */
    /* The names of surfaces. "client" is the client that made the call. If there are several, a
     * question is shown on all of them at once, and the first answer wins. With > between two names,
     * as in "client>inbox", they are asked in turn: the next one if the first refuses or cannot be
     * asked, or if nobody has answered there for next_surface_ms. NULL: the client, and where it
     * cannot be asked, or refuses, the next surface. A tool may have its own. */
    const char *const *surfaces;
    int64_t next_surface_ms; /* in turn: how long one surface has; 0: 30000 */
    int64_t ask_ttl_ms;      /* how long a person may take to answer; 0: 300000, five minutes. At
                                most ten years. A tool's .ask_ttl_ms and a question's .ttl_ms
                                override it */
    /* How long a call is held whose question is only elsewhere than at its client. After that it
     * returns a pending result, by which the client finds it again. 0: 50000. */
    int64_t soft_deadline_ms;
    const char *const *soft_deadlines; /* raise it for one of them: "client:NAME=10m", "tool:NAME=10m" */
    bool one_ask_per_scope; /* a new question cancels the older one of the same session; in the 2026
                               era, which has no sessions, of the same principal */
    /* A client without elicitation, where no other surface can put a question to its person: the
     * model is told to. It answers by the tool sendElicitationResult. true: it is not asked, and
     * nod_elicit gives NOD_E_NOT_SUPPORTED. */
    bool no_model;
    /* Clients (by the name they give) that show an empty form badly. They get one required boolean
     * instead. */
    const char *const *boolean_confirm_clients;

    /* --- whose yes counts --- */
    /* A yes is the answer to a confirmation, to an approval, to what is asked before a call starts,
     * and to whatever a tool asks that says .destructive. "roles", or NULL: the client that made the
     * call may give it if its token has the role `answer`; without tokens it may. "inbox": not the
     * client, because a program there could answer for the person. "any": any client may. Where the
     * client may not, the question is asked in all other places. */
    const char *consent;
    bool view_consent; /* without tokens, over HTTP: a yes counts that is given in a view */
    const char *const *no_view_consent; /* principals whose yes does not, if it is given in a view */
    /* What the model of .no_model says counts for confirmations, approvals and what destructive tools
     * ask, too. Otherwise it only fills in data. */
    bool model_may_consent;
    /* A person is asked before each call of a tool that says .destructive, as if it said
     * .requires_confirmation. */
    bool confirm_destructive;
    /* How approvals may be remembered, instead of what the tools say: "delete_account=session,tool",
     * as --remember has it. */
    const char *const *remember;
    const char *const *allow_fields; /* "TOOL.FIELD": asked for although it looks like a secret */

    /* --- what is kept --- */
    const char *store; /* where calls are: "memory:", "sqlite:PATH", "redis://HOST:PORT"; NULL: memory: */
    bool ephemeral;    /* this process may be stopped at any moment: refuses a store that would then
                          lose its data */
    /* A 2026 call can go on at any node that has the secret, even if the nodes share no store. Only
     * with "memory:" and a secret, and only for tools with .portable. */
    bool portable_states;
    int64_t keep_ms;     /* how long an ended call and its questions are kept; 0: the store's default,
                            which is 24 hours, or 10 minutes in memory */
    int64_t task_ttl_ms; /* a task lives this long from its start; 0: 1 hour */
    int64_t node_ttl_ms; /* with a shared store: a node that has been silent for this long counts as
                            gone, and another node takes over its calls; 0: 5000 */

    /* --- how much of it --- */
    size_t pending_asks;               /* questions that may wait, in all; 0: 1000000 */
    size_t pending_asks_per_principal; /* the same for one principal; 0: 10000 */
    /* MiB of what the store keeps for calls: arguments, questions, answers, results. Past them a new
     * call is refused with 429. */
    size_t kept_mib;               /* in all; 0: 4096 */
    size_t kept_mib_per_principal; /* 0: 64 if there are tokens, otherwise as many as in all */
    /* What one call may learn: see LOOPS. */
    size_t journal_entries; /* questions, steps, times; 0: 64; at most 4096 */
    size_t journal_bytes;   /* 0: 262144, or 4096 for each of .journal_entries if that is more; at
                               least 4096, at most 4194304. One answer is never larger than this */
    /* What one principal may have at the same time. Without tokens only the limit on tasks counts.
     * Past a limit that principal gets 429; nobody else notices. 0: the default, which is in the
     * comment. */
    size_t sessions_per_principal;      /* 2000 */
    size_t calls_per_principal;         /* requests in flight; 2000 */
    size_t listeners_per_principal;     /* streams of messages outside calls; 1000 */
    size_t subscriptions_per_principal; /* to resources; 10000 */
    size_t tasks_per_principal;         /* including ended ones that are still kept; 1000 */
    int64_t session_idle_ms; /* an HTTP session ends after this long without a request, but not before
                                what waits in it has ended; 0: 1 hour */
    int64_t heartbeat_ms;    /* between heartbeats while a call waits; 0: 15000 */
    size_t page_size;        /* items on one page of a list, of 256 KiB at most; 0: 100 */
    int workers;             /* threads for blocking handlers; 0: 4 */

    /* --- other programs --- */
    const char *const *webhooks;      /* URLs that are sent a signed POST when a question comes up or ends */
    const char *webhook_secret_file;  /* what they are signed with; NULL: NOD_WEBHOOK_SECRET of the
                                         environment */
    const char *const *webhook_allow; /* "ADDRESS:PORT": not public ones where they may be sent */
    bool webhook_content;             /* they hold the message and the arguments as well */
    const char *oauth_file;           /* services where people connect accounts, a section each; see
                                         nod_oauth */
};

/* NULL, with the reason in the log, if an option is not valid. */
NOD_API nod_server *nod_server_create(const struct nod_server_opts *opts);
/* After nod_start: call nod_stop before, and turn until nod_turn says false; without that, clients are
 * cut off, and running calls go on at the next start, as after a crash. A blocking handler that runs
 * has two seconds to return, the store one. NULL is fine. */
NOD_API void nod_server_destroy(nod_server *server);
#define nod_server_new(...)                                                                        \
    nod_server_create(                                                                             \
        &(const struct nod_server_opts){ .size = sizeof(struct nod_server_opts), __VA_ARGS__ })

/* --- tools --- */
/*
 * May a call of this tool become a task, which the client can leave and come back to? Only clients
 * that declare the tasks extension (2026-07-28) get one. OPTIONAL: the others wait for the result.
 * REQUIRED: a 2026 client that does not declare the extension is refused. A 2025 client, which cannot
 * have tasks, waits for the result.
 */
typedef enum nod_task_mode { NOD_TASK_NEVER, NOD_TASK_OPTIONAL, NOD_TASK_REQUIRED } nod_task_mode;

/*
 * How an approval may be remembered, so that the next calls do not ask: for how long, and for which
 * arguments. The person chooses among what is allowed, in the inbox, when approving. A remembered
 * approval counts for the principal that called, and for nobody else, and only while the tool's name,
 * input schema and .version are those that were approved. It ends when it is revoked.
 */
enum nod_remember {
    NOD_REMEMBER_SESSION = 1,    /* until the session ends, at most a day. In the 2026 era, which has no
                                    sessions: for .remember_ms */
    NOD_REMEMBER_PRINCIPAL = 2,  /* until it is revoked */
    NOD_REMEMBER_TIME = 4,       /* for .remember_ms */
    NOD_REMEMBER_ARGUMENTS = 8,  /* for calls with exactly these arguments; so it is if neither this nor
                                    the next is set */
    NOD_REMEMBER_TOOL = 16,      /* for calls with any arguments. If the tool is destructive, only
                                    where the operator has named it: --remember TOOL=... */
};

typedef struct nod_tool {
    const char *name; /* 1 to 128 of A-Z a-z 0-9 _ - . /, often a path: "github.issues.create". Some
                         model APIs take no . and no /: see .tool_names of the server */
    nod_handler *handler;
    const char *title;
    const char *description;
    void *data;       /* yours; nod_data(call) */
    const char *meta; /* JSON object text for _meta of the listing, or NULL */
    /* Yours, or NULL. A call goes on only with the version it began with (and the same input schema),
     * whether it waits or was answered: otherwise it ends in TOOL_CHANGED. Change the version when a
     * new handler cannot go on where the old one stopped. Texts and annotations may change at any
     * time. */
    const char *version;

    /* --- what it takes and gives --- */
    const nod_form *input;    /* the arguments, as a form; or */
    const char *input_schema; /* as JSON Schema text. Neither: no arguments */
    bool strict; /* with .input, or without arguments: an argument that is not in the form is refused,
                    and the model is told which there are. Otherwise it is ignored. The listing says
                    "additionalProperties": false, so it is another input schema: see .version */
    const char *output_schema; /* JSON Schema of the structured reply, or NULL. Clients of the 2025
                                  era are shown it only if it has "type": "object" */

    /* --- what it does: annotations, which are hints for the client --- */
    bool read_only;
    bool destructive; /* it may change or delete what is there. If neither this nor .additive is set,
                         clients assume that it may */
    bool additive;    /* it adds, and never changes or deletes what is there */
    bool idempotent;
    bool closed_world; /* it touches nothing outside this server */

    /* --- how it runs --- */
    bool blocking;      /* may block: runs on a worker thread */
    int64_t timeout_ms; /* for the work, without the time of people; 0: 60000 */
    nod_task_mode task;
    bool task_asks_first; /* questions before the first step are asked at once, and the task begins
                             with that step; a call that ends without a step returns its result at
                             once. Otherwise the task begins with the call and asks as a task */
    bool portable; /* it has no steps, or all of them are .idempotent. With portable states
                      (nod_server_opts) only such tools are served to 2026 clients */
    /* What one call of this tool may learn, instead of the server's. See LOOPS. */
    size_t journal_entries;
    size_t journal_bytes;

    /* --- where people are asked, and for how long --- */
    bool asks; /* it may ask a person. Clients that show views (MCP Apps) and have no forms are given
                  one in which its questions are asked. Tools that are destructive, or that require
                  confirmation, have it without saying so */
    const char *const *surfaces; /* as nod_server_opts.surfaces, for this tool; NULL: the server's */
    int64_t ask_ttl_ms; /* how long a person may take for each question of this tool; 0: the server's */
    int64_t soft_deadline_ms; /* as nod_server_opts.soft_deadline_ms, for this tool, if that is longer */
    /* The uri ("ui://...") of a resource of yours, or NULL: the view that such clients show with this
     * tool, instead of nod's. It asks with the tools nodQuestions and nodAnswer; if it does not, its
     * questions are asked elsewhere. See docs/views.md. */
    const char *view;

    /* --- confirmation and approval --- */
    bool requires_confirmation;  /* a person is asked before the handler starts */
    const char *confirm_message; /* what they are asked; NULL: made of the title. Arguments follow */
    const char *consent;         /* as nod_server_opts.consent, for this tool: the stricter of both
                                    counts; NULL: the server's */
    /* How an approval may be remembered: NOD_REMEMBER_... | NOD_REMEMBER_...; 0: not at all. It counts
     * for .requires_confirmation, and for nod_approve with this tool as .tool_path. --remember
     * overrides it. */
    unsigned remember;
    int64_t remember_ms; /* how long a time is, in whole seconds; 0: an hour; at most ten years */
    /* The names of destructive tools whose approval this tool may ask for, with .tool_path of
     * nod_approve, though it is not destructive itself; NULL-terminated, or NULL. Without it such a
     * call fails: people who approve a harmless tool would free a dangerous one. */
    const char *const *approves;
} nod_tool;

/* --- resources and templates --- */
typedef struct nod_resource {
    const char *uri;  /* "file:///x", or for a template "note://{id}" (RFC 6570 level 1) */
    const char *name;
    nod_handler *read; /* reads nod_uri(call); a template's variables are the call's arguments,
                          decoded; they never contain a slash */
    const char *title;
    const char *description;
    const char *mime_type;
    bool subscribable;    /* nod_resource_updated tells the subscribers */
    nod_handler *complete; /* templates: see "Completions" */
    bool blocking;
    void *data;
    const char *version; /* as nod_tool.version */
} nod_resource;

/* --- prompts --- */
typedef struct nod_prompt_arg {
    const char *name;
    const char *title;
    const char *description;
    bool required;
    nod_handler *complete;
} nod_prompt_arg;

typedef struct nod_prompt {
    const char *name;
    nod_handler *get; /* nod_reply_* adds messages; nod_reply_as says whose they are */
    const char *title;
    const char *description;
    const nod_prompt_arg *args; /* ends with a NULL name */
    bool blocking;
    void *data;
    const char *version; /* as nod_tool.version */
} nod_prompt;

/*
 * Registration checks names, titles, schemas, formats, presets and missing handlers; the log says what
 * is wrong. An argument that looks like a secret is a warning. The tables are copied.
 *
 * You may also register while the server runs, on the server's own thread; the clients are then told
 * that a list has changed. But calls in a durable store may be waiting for a tool: register such
 * tools before the server runs. If the tool is missing when the client or the answer comes back,
 * the call ends (NOD_E_NOT_FOUND, TOOL_GONE), unless nodes share the store.
 */
NOD_API nod_status nod_add_tools(nod_server *server, const nod_tool *tools, size_t count,
                                 size_t tool_size) NOD_USE_RESULT;
NOD_API nod_status nod_add_resources(nod_server *server, const nod_resource *resources,
                                     size_t count, size_t resource_size) NOD_USE_RESULT;
NOD_API nod_status nod_add_prompts(nod_server *server, const nod_prompt *prompts, size_t count,
                                   size_t prompt_size) NOD_USE_RESULT;
/* True if there was a tool with that name, a resource with that uri or template, or a prompt. Also
 * while the server runs, on its own thread. A call that runs ends as it would have. In a plugin's
 * .load only what it has registered itself can be removed; so for hooks. */
NOD_API bool nod_remove_tool(nod_server *server, const char *name);
NOD_API bool nod_remove_resource(nod_server *server, const char *uri);
NOD_API bool nod_remove_prompt(nod_server *server, const char *name);

/* Where the next rows are registered. The log names it when one of their handlers has a bug. */
NOD_API void nod_source(nod_server *server, const char *file, int line);

/* The same for whole arrays, with the file they are in: nod_tools(server, tools). */
#define NOD_COUNT_(array) (sizeof(array) / sizeof((array)[0]))
#define NOD_ADD_(add, server, array)                                                               \
    (nod_source((server), __FILE__, __LINE__),                                                     \
     add((server), (array), NOD_COUNT_(array), sizeof((array)[0])))
#define nod_tools(server, array)     NOD_ADD_(nod_add_tools, server, array)
#define nod_resources(server, array) NOD_ADD_(nod_add_resources, server, array)
#define nod_prompts(server, array)   NOD_ADD_(nod_add_prompts, server, array)

/* --- running it --- */
/*
 * Runs the server until it is told to stop, destroys it, and returns the exit code of the process.
 * Every server gets the same command line: stdio by default, --http HOST:PORT, --store ADDRESS,
 * --token-file FILE and more; --help lists all options.
 */
NOD_API int nod_main(nod_server *server, int argc, char **argv);
/*
 * From any thread: stops the server. Under nod_main you need no signal handler of your own: SIGINT
 * and SIGTERM do the same. With SQLite or Redis no call ends: calls go on at the next start, or on
 * another node. With the memory store they are cancelled.
 */
NOD_API void nod_stop(nod_server *server);

/* --- in a program of your own --- */
/*
 * Instead of nod_main, where the program has a loop of its own: a GUI, a game, a daemon.
 *
 *     nod_start(server)
 *     until nod_turn(server) says false: wait until nod_fd(server) is readable or nod_timeout(server)
 *         is over, along with all else that the program waits for; then nod_turn(server)
 *     nod_server_destroy(server)
 *
 * These functions leave the process alone: they set no signal handler, take no standard stream that
 * was not given to them, never end the process (but for abort, when there is no memory), and raise no
 * limit. A write to a client that is gone raises no SIGPIPE. nod_stop stops the server; a handler of
 * SIGINT is yours. What SIGHUP does under nod_main is not there: restart the server.
 *
 * A server is used on one thread, from nod_start on: functions of its nod_server * are called there,
 * but for those that say "from any thread". A process may have several servers, on one thread or on
 * several; each with .store of its own, unless that is shared. docs/embedding.md has more.
 */
/*
 * Reads nod's command line, as nod_main does: before nod_start, once. NOD_OK: the options are set.
 * NOD_E_CANCELLED: it was --help or --version, whose text is on standard output; end the program as
 * after a success. NOD_E_USAGE: it is wrong, and stderr says why, or the log if nod_log_to was called.
 */
NOD_API nod_status nod_settings_argv(nod_server *server, int argc, char **argv) NOD_USE_RESULT;
/*
 * The client whose messages come from `in` and are written to `out` (which may be the same socket):
 * one message a line. Before nod_start, once; not used if the server has addresses for HTTP. nod
 * closes both, nod_server_destroy at the latest, and they no longer block. With 0 and 1, which MCP
 * clients start a program with, they stay open, and nod_start does what nod_main does: descriptor 0
 * is empty from then on, and 1 is standard error, so that a printf breaks no message. When the input
 * ends, the server stops. NOD_E_USAGE: one of them is not open.
 */
NOD_API nod_status nod_stdio(nod_server *server, int in, int out) NOD_USE_RESULT;
/*
 * Opens the store and listens; returns when clients can come. It may wait for the store: for a Redis
 * that is away, two seconds. NOD_E_USAGE: what is set does not go together, or there is neither an
 * address for HTTP nor nod_stdio; NOD_E_STORE: the store cannot be used; NOD_E_IO: anything else, such
 * as an address that is taken. The log has the sentence. After an error only nod_server_destroy is left.
 */
NOD_API nod_status nod_start(nod_server *server) NOD_USE_RESULT;
/* A descriptor, readable when nod_turn has something to do. The same until nod_server_destroy; poll(2)
 * it for reading, and do nothing else with it. -1 before nod_start. */
NOD_API int nod_fd(const nod_server *server);
/* How many milliseconds from now nod_turn is due even if the descriptor is not readable: 0: now; -1:
 * then it is not. Ask right before each wait: handlers, and functions called between two turns, change
 * it. */
NOD_API int nod_timeout(nod_server *server);
/* Does what is due, in a slice (some 10 ms if there is much; handlers that are not .blocking take as
 * long as they take), and never waits. Also when nothing is due. False: the server has ended, because
 * of nod_stop or the end of its input; destroy it. */
NOD_API bool nod_turn(nod_server *server);
/* The port of the first address for HTTP, such as the one that the system chose for port 0. 0: it
 * listens on none. */
NOD_API int nod_port(const nod_server *server);

/* --- the log --- */
typedef enum nod_log_level {
    NOD_LOG_DEBUG,
    NOD_LOG_INFO,
    NOD_LOG_NOTICE,
    NOD_LOG_WARNING,
    NOD_LOG_ERROR,
    NOD_LOG_CRITICAL,
    NOD_LOG_ALERT,
    NOD_LOG_EMERGENCY,
} nod_log_level;

/*
 * Lines of the log go to fn instead of stderr: one line each, without its newline. From then on nod
 * writes nothing to standard error, but before an abort. There is one log in a process, for all its
 * servers; call this before anything else. fn is called on the thread that has something to say, which
 * may be one of nod's own, one line at a time; it calls nothing of nod but nod_stop. When nod_log_to
 * returns, the function of before is not called any more. NULL: to stderr again. From any thread.
 */
typedef void nod_log_fn(nod_log_level level, const char *line, void *data);
NOD_API void nod_log_to(nod_log_fn *fn, void *data);

/* --- plugins --- */
/*
 * A plugin is a shared object with tools for the program `nod serve`. It is compiled and linked as a
 * server is, but with -shared -fPIC, and has this instead of a main:
 *
 *     static nod_status load(nod_server *server)
 *     {
 *         repository = nod_setting(server, "repository");
 *         return nod_tools(server, tools);
 *     }
 *
 *     NOD_PLUGIN(.name = "github", .version = "1.0.0", .load = load,
 *                .settings = NOD_FORM(NOD_TEXT("repository", .required = true)));
 *
 * .load registers tools, resources, prompts, hooks and services, by the functions that every program
 * uses. All of it is registered when .load has returned NOD_OK, or nothing. nod runs in the program's
 * version: a plugin links no libnod.a. docs/plugins.md has the rest: reload, and where a crash is told.
 */
struct nod_plugin {
    size_t size;
    int nod_version;     /* NOD_VERSION_NUMBER, which it was built with: NOD_PLUGIN sets both */
    const char *name;    /* required: a-z, 0-9, - and _; [plugin NAME] of the configuration has its settings */
    const char *version; /* required */
    nod_status (*load)(nod_server *server); /* required; on the server's thread */
    /* Or NULL. Nothing of it is registered any more, none of its code runs, and its object goes: threads
     * that it has made have to end here. Not called if .load has failed. */
    void (*unload)(nod_server *server);
    /* What an operator can set: texts, numbers, NOD_BOOL and NOD_CHOICE. A .preset is the value of a
     * setting that is left out. Secrets do not belong there: take the name of a file. */
    const nod_form *settings;
};
/* What NOD_PLUGIN makes, and nod serve looks for. */
NOD_API extern const struct nod_plugin nod_this_plugin;
#define NOD_PLUGIN(...)                                                                            \
    const struct nod_plugin nod_this_plugin = { .size = sizeof(struct nod_plugin),                 \
                                                .nod_version = NOD_VERSION_NUMBER, __VA_ARGS__ }
/*
 * In .load: a setting of this plugin, checked. "", 0 or false if it is not set and has no .preset. A
 * text lives until .unload has returned. A number is a text, too, as it was written. A setting that
 * .settings does not have, or of another kind, is a bug, and the plugin is not loaded.
 */
NOD_API const char *nod_setting(nod_server *server, const char *name);
NOD_API int64_t nod_setting_int(nod_server *server, const char *name);
NOD_API double nod_setting_double(nod_server *server, const char *name);
NOD_API bool nod_setting_bool(nod_server *server, const char *name);

/* --- services --- */
/*
 * A service where people have accounts that tools use (nod_credential), as a section of --oauth FILE
 * describes it. This server must be registered there as a client, with the redirect URI /a/return of
 * the address under which people reach it. Give the issuer alone, or both endpoints.
 */
struct nod_oauth_opts {
    size_t size;
    const char *name;   /* required: what tools call it; a-z, 0-9, - and _ */
    const char *title;  /* what people read; NULL: the name */
    const char *issuer; /* says where its endpoints are (RFC 8414, OpenID Connect); with endpoints given
                           as well, only what comes back is checked against it (RFC 9207) */
    const char *authorization_endpoint;
    const char *token_endpoint;
    const char *revocation_endpoint; /* RFC 7009; NULL: what the issuer says, or none */
    const char *client_id;           /* required */
    const char *client_secret_env;   /* the variable of the environment that has the client's secret; or */
    const char *client_secret_file;  /* the file that has it. Neither: a public client */
    const char *client_auth; /* how the secret is sent: "basic" or "post"; NULL: as the service says */
    const char *scopes;      /* that are always asked for, with spaces between them */
    const char *resource;    /* what the tokens are for (RFC 8707); several with spaces between them */
    const char *parameters;  /* further ones of the authorization request: "access_type=offline" */
    const char *allow;       /* "ADDRESS:PORT ...": not public ones where the service may be */
    bool revokes_all;        /* when one token is revoked it ends everything that the person has granted:
                                tokens that were replaced are then left to run out */
};
/* Before nod_main or nod_start, or in a plugin's .load. NOD_E_USAGE, NOD_E_LIMIT: the log says what
 * is wrong. A section of --oauth FILE with the same name counts instead. */
NOD_API nod_status nod_oauth_with(nod_server *server, const struct nod_oauth_opts *opts) NOD_USE_RESULT;
#define nod_oauth(server, ...)                                                                     \
    nod_oauth_with((server), &(const struct nod_oauth_opts){ .size = sizeof(struct nod_oauth_opts), \
                                                             __VA_ARGS__ })

/* From any thread: tells the subscribers that a resource has changed. */
NOD_API void nod_resource_updated(nod_server *server, const char *uri);
/* What is in the token of a page of your own (nod_page_token). */
typedef struct nod_page {
    const char *name;    /* as it was given */
    int64_t expires_ms;  /* wall time */
} nod_page;
/*
 * NOD_OK. NOD_E_USAGE: there is no server. NOD_E_REFUSED: it is not a token of this server, or not
 * for this principal. In both `page` is NULL. NOD_E_TIMEOUT: it has expired. NOD_E_STALE: it was
 * used before. NOD_E_STORE: ask again.
 */
typedef void nod_page_fn(void *data, nod_status status, const nod_page *page);
/*
 * From any thread: is this a token of nod_page_token for this principal, who has signed in to your
 * page (a link is no sign-in)? With `use` it is used up: of all who say so, on all nodes, one gets
 * NOD_OK. `done` is called once, later, on the server's thread, and must not block.
 */
NOD_API void nod_page_check(nod_server *server, const char *token, const char *principal, bool use,
                            nod_page_fn *done, void *data);
/* From any thread: the page of nod_elicit_url or nod_require_url with this id is done. */
NOD_API void nod_url_done(nod_server *server, const char *elicitation_id);

/* --- hooks --- */
/*
 * A hook is called at a stage of one of three pipelines:
 *
 *   NOD_FLOW_CALL    accept authorise gate start finish
 *   NOD_FLOW_ASK     parseInput validateRequest generateElicitId storePendingRecord
 *                    buildRequestParams finalize
 *   NOD_FLOW_ANSWER  parseInput lookupPending validateContent buildResult publishResult finalize
 *
 *     static nod_status only_at_work(nod_hook_run *hook, void *data)
 *     {
 *         return is_working_hours() ? NOD_OK
 *                                   : nod_hook_fail(hook, NOD_E_REFUSED, "CLOSED", "Come back at 9.");
 *     }
 *     nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "authorise", .fn = only_at_work,
 *              .target = "delete_*");
 *
 * If it returns NOD_OK, the flow goes on. If it returns an error, the flow ends and the caller sees
 * the error; in the answer flow the answerer sees it, and the question stays open. (A client of the
 * 2025 era is asked again, with that sentence: as often as .attempts says, or 8 times in all. After
 * that the question moves to the next place, or ends as one whose content does not fit.) If it
 * returns NOD_PENDING, it finishes later (nod_hook_done), has gone into the stage (nod_hook_next),
 * or has asked a person (at gate). What is already stored stays: an error after finish or after
 * publishResult changes nothing.
 *
 * Hooks run on the server's thread and must not block. A call that goes on after a restart, or on
 * another node, goes on at gate: the hooks of gate and start are called again for it.
 */
typedef enum nod_flow { NOD_FLOW_CALL, NOD_FLOW_ASK, NOD_FLOW_ANSWER } nod_flow;

typedef enum nod_hook_kind {
    NOD_WILL,   /* before the stage */
    NOD_DID,    /* after it */
    NOD_INSTEAD,  /* instead of it; if there are several, the one with the lowest priority. Not allowed
                   for stages that cannot be skipped (NOD_E_NOT_SUPPORTED): accept, finish;
                   validateRequest, generateElicitId, storePendingRecord; parseInput, lookupPending,
                   validateContent and publishResult of an answer */
    NOD_AROUND, /* around it, the lowest priority outermost: see nod_hook_next. If it returns NOD_OK
                   without going in, the stage is skipped, unless it cannot be skipped */
} nod_hook_kind;

typedef enum nod_ask_kind {
    NOD_ASK_ANY, /* in a filter: all of them */
    NOD_ASK_FORM,
    NOD_ASK_URL,
    NOD_ASK_APPROVAL,
    NOD_ASK_SAMPLE,
    NOD_ASK_ROOTS,
} nod_ask_kind;

typedef struct nod_hook_run nod_hook_run; /* one call of one hook */
typedef nod_status nod_hook_fn(nod_hook_run *hook, void *data);

struct nod_hook_opts {
    size_t size;
    nod_flow flow;
    const char *stage; /* required */
    nod_hook_kind kind;
    nod_hook_fn *fn; /* required */
    void *data;
    int priority;     /* lower runs first; with equal priority, the one added first */
    const char *name; /* for messages, and part of the keys of its questions: a hook that asks needs a
                         unique name that never changes */
    /* Filters; NULL and NOD_ASK_ANY let everything through. In the answer flow, target and ask are
     * known from the start if the question waits on this node, otherwise from lookupPending on,
     * until the end. A hook that filters by them is not called before that. */
    const char *target;    /* the tool's name, with * and ?: "delete_*" */
    const char *principal; /* who calls; in the answer flow, who answers */
    nod_ask_kind ask;
    int64_t timeout_ms; /* a hook that finishes later must do so within this time, or the flow ends
                           (HOOK_TIMEOUT); 0: 60000 */
};
/* NOD_E_NOT_FOUND: the flow has no such stage. NOD_E_NOT_SUPPORTED: see NOD_INSTEAD. NOD_E_USAGE,
 * NOD_E_LIMIT. The log says what was wrong. */
NOD_API nod_status nod_hook_with(nod_server *server, const struct nod_hook_opts *opts) NOD_USE_RESULT;
#define nod_hook(server, ...)                                                                      \
    nod_hook_with((server), &(const struct nod_hook_opts){ .size = sizeof(struct nod_hook_opts),   \
                                                           __VA_ARGS__ })

/*
 * Removes the hook of that .name, also while the server runs, on its own thread; true if there was
 * one. It is not called any more, not even for calls that are under way. If it runs just now, that
 * run ends as it would have, so its data has to stay until then. If it has asked at gate and
 * is gone when the answer comes, a yes decides nothing any more, but a no ends the call.
 */
NOD_API bool nod_remove_hook(nod_server *server, const char *name);

/*
 * The priority of nod's own confirmation for tools with .requires_confirmation, which is a hook
 * instead of gate. A hook around gate that does not go in replaces it (a remembered approval). A hook
 * before gate is called before anyone is asked.
 */
#define NOD_PRIORITY_CONFIRMATION (1 << 20)

/* What the hook is about; "" or NULL if that does not apply or is not known yet. */
NOD_API nod_flow nod_hook_flow(const nod_hook_run *hook);
NOD_API const char *nod_hook_stage(const nod_hook_run *hook);
NOD_API const char *nod_hook_call_id(nod_hook_run *hook);
NOD_API const char *nod_hook_target(nod_hook_run *hook); /* the tool's name, or the resource's uri */
NOD_API const char *nod_hook_principal(nod_hook_run *hook);
NOD_API const nod_json *nod_hook_args(nod_hook_run *hook); /* call flow */
NOD_API const char *nod_hook_ask_id(nod_hook_run *hook);   /* ask and answer flow; so are the next three */
NOD_API const char *nod_hook_ask_key(nod_hook_run *hook);
NOD_API nod_ask_kind nod_hook_ask_kind(nod_hook_run *hook);
NOD_API const char *nod_hook_message(nod_hook_run *hook);
/* The answer: "accepted", "declined", "cancelled"; or, if no person gave it, "expired" and others. */
NOD_API const char *nod_hook_action(nod_hook_run *hook);
NOD_API const nod_json *nod_hook_content(nod_hook_run *hook);
/* How the call has ended: NOD_PENDING until after start, when there is an outcome. */
NOD_API nod_status nod_hook_status(nod_hook_run *hook);
NOD_API const nod_json *nod_hook_result(nod_hook_run *hook); /* with NOD_OK: {"content": [...], ...} */
NOD_API const char *nod_hook_error(nod_hook_run *hook);      /* with an error: its sentence */

/*
 * What a hook may write, and where. Anywhere else it is NOD_E_USAGE. The new value is checked at once;
 * if it is refused (NOD_E_INVALID, NOD_E_LIMIT, NOD_E_BAD_SCHEMA), nothing has changed.
 */
/* At gate, and at start before the tool has run. Only the handler sees the new arguments; the call is
 * still the one that its client made. */
NOD_API nod_status nod_hook_set_args(nod_hook_run *hook, const nod_json *args) NOD_USE_RESULT;
/* The message of a question, before storePendingRecord. */
NOD_API nod_status nod_hook_set_message(nod_hook_run *hook, const char *message) NOD_USE_RESULT;
/* The content of an answer that accepts, before validateContent. Best at parseInput, so that the same
 * answer is recognised when it is sent twice. */
NOD_API nod_status nod_hook_set_content(nod_hook_run *hook, const nod_json *content) NOD_USE_RESULT;
/* The result of a call, at start and before finish. NULL: what was replied to nod_hook_call(hook). */
NOD_API nod_status nod_hook_set_result(nod_hook_run *hook, const nod_json *result) NOD_USE_RESULT;

/*
 * The call as a handler sees it. Use it to build values (nod_object, nod_fmt, nod_parse) and replies.
 * At gate you can also ask with it: nod_confirm, nod_elicit, nod_approve, nod_want, nod_step, nod_now.
 * A hook at gate follows the rules of handlers: all hooks of gate are called again with each answer,
 * also after a restart, and get the answers that were already given. A hook's keys are its own: they
 * are made of its .name, which must not contain a dot.
 */
NOD_API nod_call *nod_hook_call(nod_hook_run *hook);

/* `return nod_hook_fail(...)` ends the flow, with a code for programs (NULL: chosen by the status)
 * and a sentence for people. */
NOD_API nod_status nod_hook_fail(nod_hook_run *hook, nod_status status, const char *code,
                                 const char *format, ...) NOD_PRINTF(4, 5);

/*
 * A hook around a stage goes in with `return nod_hook_next(hook, then, data);`. It may also return
 * NOD_PENDING and call this later, from any thread. `then` (may be NULL) is called when the stage is
 * done, however long that takes. Its status is NOD_OK, or what the call or the flow ends with. What
 * `then` returns counts like the return value of a hook; NOD_OK leaves things as they are. If the call
 * ends or moves to another node in the meantime, `then` is not called.
 */
typedef nod_status nod_hook_then(nod_hook_run *hook, nod_status status, void *data);
NOD_API nod_status nod_hook_next(nod_hook_run *hook, nod_hook_then *then, void *data);

/*
 * Ends a hook that has returned NOD_PENDING to finish later. Call it once, from any thread, before the
 * server is destroyed. Until you call it you may keep the hook run. The thread that calls
 * this may also call nod_hook_fail on it. Everything else is for the server's thread alone.
 */
NOD_API void nod_hook_done(nod_hook_run *hook, nod_status status);

/* ------------------------------------------------------------------------------------------
 * Inside a handler: the arguments and the call.
 *
 * Input is checked against the schema before the handler runs. Reading an argument that was not
 * given, without a default, is a bug in the handler: the call ends with an error that names the
 * tool and the argument.
 *
 * Numbers: if a schema or a form says "integer" or "number", a value that does not fit int64_t or
 * double is refused before the handler runs. A schema without a type lets every number through: read
 * it with nod_arg_number_text.
 */
NOD_API const char *nod_arg_str(nod_call *call, const char *name);
NOD_API int64_t nod_arg_int(nod_call *call, const char *name);
NOD_API double nod_arg_double(nod_call *call, const char *name);
NOD_API bool nod_arg_bool(nod_call *call, const char *name);
NOD_API const char *nod_arg_str_or(nod_call *call, const char *name, const char *fallback);
NOD_API int64_t nod_arg_int_or(nod_call *call, const char *name, int64_t fallback);
NOD_API double nod_arg_double_or(nod_call *call, const char *name, double fallback);
NOD_API bool nod_arg_bool_or(nod_call *call, const char *name, bool fallback);
/* The number exactly as it was written: "0.10", "1e3", "9007199254740993". */
NOD_API const char *nod_arg_number_text(nod_call *call, const char *name);
NOD_API const char *nod_arg_number_text_or(nod_call *call, const char *name, const char *fallback);
NOD_API bool nod_has_arg(nod_call *call, const char *name);
NOD_API const nod_json *nod_args(nod_call *call);

/*
 * What the request says beside its arguments, for whoever does the work: its `_meta`, an object
 * without the members that MCP itself uses (progressToken, and keys with a prefix that MCP has
 * reserved, such as io.modelcontextprotocol/). Empty if there is nothing. A trace context
 * (traceparent, tracestate, baggage) is in it.
 *
 * It is the same on every run, also after a restart and on another node: that of the first request,
 * whatever the `_meta` of a retry says. It is the client's word, which nobody has verified, and at
 * most 16 KiB: a request with more is refused. A member with a NUL character in it is left out.
 */
NOD_API const nod_json *nod_meta(nod_call *call);

NOD_API const char *nod_uri(nod_call *call);       /* resources: the URI being read */
NOD_API const char *nod_call_id(nod_call *call);   /* the same on every run of the call */
NOD_API const char *nod_principal(nod_call *call); /* who calls, as verified by nod */
NOD_API void *nod_data(nod_call *call);            /* .data of the tool, resource or prompt */
NOD_API nod_server *nod_server_of(nod_call *call);

/* True once the call has been cancelled. From any thread, while the handler runs. */
NOD_API bool nod_cancelled(const nod_call *call);

/* ------------------------------------------------------------------------------------------
 * Asking.
 */
typedef enum nod_action {
    NOD_WAITING = 0, /* not answered yet (after nod_want, before nod_await) */
    NOD_ACCEPT,
    NOD_DECLINE,   /* a person said no */
    NOD_CANCEL,    /* a person dismissed the question */
    NOD_EXPIRED,   /* nobody answered in time */
    NOD_WITHDRAWN, /* the question was taken back */
    NOD_UNFIT,     /* no answer fitted the form, however often the person was asked */
    NOD_UNASKED,   /* nobody could be asked */
} nod_action;

typedef struct nod_answer {
    nod_action action;
    const nod_json *content; /* with NOD_ACCEPT: checked against the form; otherwise NULL */
    const char *by;          /* the principal who answered */
    const char *ask_id;
} nod_answer;

struct nod_elicit_opts {
    size_t size;
    const char *message;  /* required */
    const nod_form *form; /* what to ask for; or */
    const char *schema;   /* the same as JSON Schema text. Neither: {response: string} */
    const char *key;      /* a name for this question in the call; NULL: its number. See KEYS */
    int64_t ttl_ms;       /* how long it waits; 0: the tool's, or the server's; negative is refused */
    int attempts;         /* times to ask, in all, while the content does not fit; 0: 8 in the 2026
                             era, 1 in the 2025 era */
    bool sensitive;       /* the answer is erased as soon as the call ends; after that nod cannot tell
                             a different answer from the same one sent again */
};
NOD_API nod_status nod_elicit_with(nod_call *call, nod_answer *answer,
                                   const struct nod_elicit_opts *opts) NOD_USE_RESULT;
/* Asks for data. NOD_E_TIMEOUT, NOD_E_NOT_SUPPORTED, NOD_E_BAD_SCHEMA, NOD_E_LIMIT are possible. */
#define nod_elicit(call, answer, ...)                                                              \
    nod_elicit_with((call), (answer), &(const struct nod_elicit_opts){                             \
                                          .size = sizeof(struct nod_elicit_opts), __VA_ARGS__ })

struct nod_elicit_page_opts {
    size_t size;
    const char *message;  /* required */
    const nod_form *form; /* what to ask for; or */
    const char *schema;   /* the same as JSON Schema text. Neither: {response: string} */
    const char *key;
    int64_t ttl_ms;
    bool sensitive; /* as in nod_elicit */
    bool consent;   /* what is asked is a person's yes: it takes a sign-in, never the link alone */
};
NOD_API nod_status nod_elicit_page_with(nod_call *call, nod_answer *answer,
                                        const struct nod_elicit_page_opts *opts) NOD_USE_RESULT;
/*
 * Asks for a form on a page of this server. The client is given a link (mode "url"), the person fills
 * it in there, and nothing of it passes through the client. The page opens for the principal of the
 * call, who signs in as for the inbox. Otherwise like nod_elicit. NOD_E_NOT_SUPPORTED also if the
 * server has no pages, because it has no inbox.
 */
#define nod_elicit_page(call, answer, ...)                                                         \
    nod_elicit_page_with((call), (answer), &(const struct nod_elicit_page_opts){                          \
                                               .size = sizeof(struct nod_elicit_page_opts), __VA_ARGS__ })

struct nod_page_token_opts {
    size_t size;
    const char *name; /* required; what the page is about, at most 512 bytes. Once in a call */
    int64_t ttl_ms;   /* how long it is valid; 0: as long as a question waits */
};
NOD_API nod_status nod_page_token_with(nod_call *call, const char **token,
                                       const struct nod_page_token_opts *opts) NOD_USE_RESULT;
/*
 * A token for the address of a page of your own, such as one for nod_elicit_url: sealed, for the
 * principal of the call, until it expires or is used (nod_page_check). It is made in a step, so it is
 * the same on every run: NOD_PENDING comes first.
 */
#define nod_page_token(call, token, ...)                                                           \
    nod_page_token_with((call), (token),                                                           \
                        &(const struct nod_page_token_opts){                                       \
                            .size = sizeof(struct nod_page_token_opts), __VA_ARGS__ })

struct nod_url_opts {
    size_t size;
    const char *message; /* required */
    const char *url;     /* required; https, or http on loopback. {id} in it becomes the elicitation id */
    const char *key;
    int64_t ttl_ms;
    bool wait_done; /* go on when nod_url_done is called, not when the person agrees to open it */
    /*
     * nod_elicit_url: the page sends the person back to this server, to /a/return, with a query. Its
     * members, without state, are answer.content, all of them strings. The client is given a link of
     * this server, which checks who opens it and then leads to .url. {state} in .url becomes what
     * the page has to send back as `state` (appended as a parameter if it is not there), and {return}
     * the address of /a/return.
     */
    bool returns;
};
NOD_API nod_status nod_elicit_url_with(nod_call *call, nod_answer *answer,
                                       const struct nod_url_opts *opts) NOD_USE_RESULT;
#define nod_elicit_url(call, answer, ...)                                                          \
    nod_elicit_url_with((call), (answer), &(const struct nod_url_opts){                            \
                                              .size = sizeof(struct nod_url_opts), __VA_ARGS__ })
/*
 * Ends the call with "open this URL first, then call again" (-32042 in 2025-11-25). Return what it
 * returns. In the 2026 era the client is asked to open the page, and the call waits (with
 * .wait_done or without); if the client cannot open URLs, the inbox shows the page, in both eras.
 * Your page calls nod_url_done when it is done, and then the handler runs again. If the client comes
 * back before that, it gets the same question with the same URL. NOD_E_NOT_SUPPORTED if there is no
 * inbox either.
 */
NOD_API nod_status nod_require_url_with(nod_call *call, const struct nod_url_opts *opts) NOD_USE_RESULT;
#define nod_require_url(call, ...)                                                                 \
    nod_require_url_with((call),                                                                   \
                         &(const struct nod_url_opts){ .size = sizeof(struct nod_url_opts), __VA_ARGS__ })

/* Bytes that nobody else sees. text ends with a NUL that len does not count; it is never NULL. */
typedef struct nod_bytes {
    const char *text;
    size_t len;
} nod_bytes;

struct nod_secret_opts {
    size_t size;
    const char *name;    /* required: letters and digits, with . _ - between them; at most 64 */
    const char *message; /* required: what it is for, and where to get it */
    int64_t keep_ms;     /* how long it is kept, if it has to be asked for; 0: until it is deleted */
    int64_t ttl_ms;      /* how long the question waits, as in nod_elicit */
};
NOD_API nod_status nod_secret_with(nod_call *call, nod_bytes *secret,
                                   const struct nod_secret_opts *opts) NOD_USE_RESULT;
/*
 * Gives a secret of the call's principal: a password, a key, a token. The first time the person is
 * asked for it, on a page of this server, and it is stored, sealed, under the principal and the name.
 * After that every tool that names it is given it without a question, until it is deleted (page, API,
 * `nod inbox delete`) or expires.
 *
 * The bytes are for this run only: they are wiped when the handler returns, however it returns. They
 * are in no journal, log or result, unless you put them there: give them to whoever needs them inside
 * of a step, and keep no pointer to them. Each run is given them anew, and if somebody
 * deleted the secret meanwhile, the next run asks. A value that is there stays: to change it is to
 * delete it and to give it anew.
 *
 * NOD_E_REFUSED: the person declined (code SECRET_DECLINED) or dismissed the question
 * (SECRET_CANCELLED). NOD_E_TIMEOUT, NOD_E_NOT_SUPPORTED (there is no page, or nobody to send there),
 * NOD_E_STORE are possible.
 */
#define nod_secret(call, secret, ...)                                                              \
    nod_secret_with((call), (secret), &(const struct nod_secret_opts){                             \
                                          .size = sizeof(struct nod_secret_opts), __VA_ARGS__ })

struct nod_confirm_opts {
    size_t size;
    const char *message; /* required */
    const char *key;
    int64_t ttl_ms;
};
/*
 * *yes is true only if a person explicitly accepts. A decline, a cancel, a client error, no answer in
 * time and no way to ask all count as no. Returns NOD_OK or NOD_PENDING (or a usage error).
 */
NOD_API nod_status nod_confirm_with(nod_call *call, bool *yes,
                                    const struct nod_confirm_opts *opts) NOD_USE_RESULT;
#define nod_confirm(call, yes, ...)                                                                \
    nod_confirm_with((call), (yes), &(const struct nod_confirm_opts){                              \
                                        .size = sizeof(struct nod_confirm_opts), __VA_ARGS__ })

/* May be left out: with .form or .schema it is NOD_APPROVAL_FORM. */
typedef enum nod_approval_type { NOD_APPROVAL_PLAIN, NOD_APPROVAL_FORM } nod_approval_type;

struct nod_approve_opts {
    size_t size;
    const char *message;       /* required */
    const nod_json *arguments; /* shown to the person; NULL: the call's own arguments */
    nod_approval_type type;
    const nod_form *form; /* what to fill in while approving; or */
    const char *schema;   /* the same as JSON Schema text. Neither: nothing */
    const char *key;
    int64_t ttl_ms;
    int attempts; /* times to ask, in all, while the content does not fit; 0: 8 */
    /* What is approved: the name of a tool, mostly this one. If an approval of that tool for this
     * principal is remembered, nobody is asked; and this one may be remembered, as that tool's
     * .remember allows. If that tool is destructive and this one is not, this one has to name it in
     * .approves. If no tool has that name, this tool's .remember counts. With a form nothing
     * is remembered: somebody has to fill it in. NULL: a person is asked in every call */
    const char *tool_path;
};
typedef struct nod_approval {
    bool approved;
    const char *execution_id; /* the ask's id, for your records; of a remembered approval, that of the
                                 question it was given to */
    const nod_json *data;     /* if approved, and there is a form: what was filled in */
    nod_action action;        /* NOD_ACCEPT, or why it is not approved: NOD_DECLINE (a no), NOD_CANCEL,
                                 NOD_EXPIRED, NOD_WITHDRAWN, NOD_UNFIT, NOD_UNASKED */
    const char *by;
} nod_approval;
/* Like nod_confirm, but shows the arguments, can have a form, and records who approved. */
NOD_API nod_status nod_approve_with(nod_call *call, nod_approval *approval,
                                    const struct nod_approve_opts *opts) NOD_USE_RESULT;
#define nod_approve(call, approval, ...)                                                           \
    nod_approve_with((call), (approval), &(const struct nod_approve_opts){                         \
                                             .size = sizeof(struct nod_approve_opts), __VA_ARGS__ })

struct nod_sample_opts {
    size_t size;
    const char *prompt;   /* one user message; or */
    const char *messages; /* JSON array text of SamplingMessage */
    const char *system_prompt;
    int max_tokens; /* 0: 1000 */
    const char *params; /* JSON object text of further parameters (temperature, tools, ...) */
    const char *key;
    int64_t ttl_ms;
};
/* Asks the client's model. answer.content is the CreateMessageResult. */
NOD_API nod_status nod_sample_with(nod_call *call, nod_answer *answer,
                                   const struct nod_sample_opts *opts) NOD_USE_RESULT;
#define nod_sample(call, answer, ...)                                                              \
    nod_sample_with((call), (answer), &(const struct nod_sample_opts){                             \
                                          .size = sizeof(struct nod_sample_opts), __VA_ARGS__ })
/* Asks the client for its roots. answer.content is {"roots": [...]}. */
NOD_API nod_status nod_roots(nod_call *call, nod_answer *answer) NOD_USE_RESULT;

/*
 * An account that the person has connected elsewhere: at GitHub, in a calendar. *token is the access
 * token of the service `name`, which the operator has set up (--oauth FILE, or nod_oauth):
 *
 *     const char *token;
 *     NOD_TRY(nod_credential(call, &token, "github", .scopes = "repo"));
 *
 * If no account is connected, or if it was connected with fewer scopes, or if the service refuses it,
 * the person is sent to a page of this server, from there to the service, and the handler runs again
 * when they are back. A token that is about to run out is refreshed first, once, on whatever node it
 * is wanted.
 *
 * The token is in no journal, log or result, and is wiped when the run returns: do not keep it. After
 * a restart, and after every question, it is fetched anew. NOD_E_REFUSED: the person did not connect
 * an account, or the service did not grant the scopes. NOD_E_IO: the service cannot be reached.
 * NOD_E_NOT_SUPPORTED: there is no such service (the code SERVICE_UNKNOWN), or nobody can be asked.
 * NOD_E_TIMEOUT, NOD_E_LIMIT, NOD_E_STORE.
 */
struct nod_credential_opts {
    size_t size;
    const char *scopes;  /* that are needed, with spaces between them; NULL: those of the service */
    const char *message; /* why, if the person has to be asked; NULL: made of titles */
    int64_t ttl_ms;      /* how long that question waits */
};
NOD_API nod_status nod_credential_with(nod_call *call, const char **token, const char *name,
                                       const struct nod_credential_opts *opts) NOD_USE_RESULT;
#define nod_credential(call, token, ...) /* name, then options */                                  \
    nod_credential_with((call), (token), NOD_FIRST_(__VA_ARGS__, 0),                               \
                        &(const struct nod_credential_opts){                                       \
                            .size = sizeof(struct nod_credential_opts) NOD_REST_(__VA_ARGS__) })

/*
 * Several questions in one round: call nod_want for each, then NOD_TRY(nod_await(call)). Everything
 * passed to nod_want is copied. An answer that has already come is filled in at once;
 * after nod_await all of them are.
 */
NOD_API nod_status nod_want_with(nod_call *call, nod_answer *answer,
                                 const struct nod_elicit_opts *opts) NOD_USE_RESULT;
#define nod_want(call, answer, ...)                                                                \
    nod_want_with((call), (answer), &(const struct nod_elicit_opts){                               \
                                        .size = sizeof(struct nod_elicit_opts), __VA_ARGS__ })
/* The same for the client's model and its roots. */
NOD_API nod_status nod_want_sample_with(nod_call *call, nod_answer *answer,
                                        const struct nod_sample_opts *opts) NOD_USE_RESULT;
#define nod_want_sample(call, answer, ...)                                                         \
    nod_want_sample_with((call), (answer), &(const struct nod_sample_opts){                        \
                                               .size = sizeof(struct nod_sample_opts), __VA_ARGS__ })
struct nod_roots_opts {
    size_t size;
    const char *key;
    int64_t ttl_ms;
};
NOD_API nod_status nod_want_roots_with(nod_call *call, nod_answer *answer,
                                       const struct nod_roots_opts *opts) NOD_USE_RESULT;
#define nod_want_roots(call, ...) /* answer, then options */                                       \
    nod_want_roots_with((call), NOD_FIRST_(__VA_ARGS__, 0),                                        \
                        &(const struct nod_roots_opts){                                            \
                            .size = sizeof(struct nod_roots_opts) NOD_REST_(__VA_ARGS__) })
/* NOD_PENDING until every wanted answer is there; NOD_E_TIMEOUT if one of them expired. */
NOD_API nod_status nod_await(nod_call *call) NOD_USE_RESULT;

typedef enum nod_mode {
    NOD_MODE_FORM,
    NOD_MODE_URL,
    NOD_MODE_SAMPLING,
    NOD_MODE_ROOTS,
} nod_mode;
/* True if some surface can ask this for this call. */
NOD_API bool nod_supports(nod_call *call, nod_mode mode);
/*
 * What the person wrote beside this answer, mostly with a no; "" if nothing. Only answers from the
 * inbox have a reason. Nobody has checked it: show it, and decide nothing by it.
 */
NOD_API const char *nod_answer_reason(nod_call *call, const nod_answer *answer);

/* ------------------------------------------------------------------------------------------
 * Steps: side effects, done once.
 */
typedef struct nod_step_run nod_step_run;
typedef nod_status nod_step_fn(nod_step_run *step, void *arg);

struct nod_step_opts {
    size_t size;
    bool at_most_once; /* after a crash: NOD_E_OUTCOME_UNKNOWN instead of a second try */
    bool idempotent;   /* doing it again with the same key does no harm */
};
/*
 * Runs fn once and journals its result; later runs get that result back. After a crash fn may run
 * again, always with the same idempotency key, unless .at_most_once. A failure (fn has called
 * nod_reply_error, or returns an error) is a result too, and later runs get the same one. *result
 * may be NULL if there is none.
 */
NOD_API nod_status nod_step_with(nod_call *call, const char *key, nod_step_fn *fn, void *arg,
                                 const nod_json **result, const struct nod_step_opts *opts) NOD_USE_RESULT;
#define nod_step(call, key, fn, arg, ...) /* result, then options */                               \
    nod_step_with((call), (key), (fn), (arg), NOD_FIRST_(__VA_ARGS__, 0),                          \
                  &(const struct nod_step_opts){                                                   \
                      .size = sizeof(struct nod_step_opts) NOD_REST_(__VA_ARGS__) })
NOD_API const char *nod_step_key(const nod_step_run *step); /* call id + step key: pass it on */
NOD_API nod_call *nod_step_call(nod_step_run *step);        /* to build the result with */
NOD_API void nod_step_result(nod_step_run *step, const nod_json *result);

/* In a step of nod_each: what was answered about its item. Otherwise NULL. */
NOD_API const nod_answer *nod_step_answer(const nod_step_run *step);

/*
 * A question about each of several things, and a step for each that was accepted:
 *
 *     static const char *about(nod_call *call, void *item)
 *     {
 *         return nod_fmt(call, "Delete %s?", ((struct file *)item)->name);
 *     }
 *     static nod_status delete_file(nod_step_run *step, void *item) ...
 *
 *     nod_each_result results[FILES_MAX];
 *     NOD_TRY(nod_each(call, files, count, results, .key = "file", .ask = about, .step = delete_file));
 *
 * The things are an array, and must be the same on every run: if they may change, read them in a
 * step. They are asked about in rounds of .at_once. When all questions of a round have ended, its
 * steps are done in order; then comes the next round. Only a person's accept is a yes, as with
 * nod_confirm. A step that fails says so in its result, and the others are done all the same.
 *
 * Whether the journal has entries for everything (LOOPS) is checked before anyone is asked:
 * NOD_E_LIMIT. Its bytes are not: how large the results of steps will be is not known then.
 */
typedef struct nod_each_result {
    bool yes;               /* a person accepted it; without .ask always true */
    bool done;              /* its step was done, and did not fail */
    nod_status status;      /* of its step; NOD_OK if it had none */
    const char *error;      /* why it failed; "" if it did not */
    const nod_json *result; /* of its step, or NULL */
    nod_answer answer;
} nod_each_result;

struct nod_each_opts {
    size_t size;
    const char *key; /* required: "file" gives the keys file-0, file-1, ... */
    const char *(*ask)(nod_call *call, void *item); /* the question; NULL: every step is done */
    nod_step_fn *step;    /* its argument is the item; NULL: only questions */
    const nod_form *form; /* what else to ask for with each question; see nod_step_answer */
    const char *schema;
    int64_t ttl_ms;    /* how long a question waits; 0: the tool's, or the server's */
    size_t at_once;    /* questions of one round; 0: 64, which is the most. 1: one after the other,
                          each with its step */
    bool at_most_once; /* as in nod_step_opts */
    bool idempotent;
};
NOD_API nod_status nod_each_with(nod_call *call, const void *items, size_t count, size_t item_size,
                                 nod_each_result *results,
                                 const struct nod_each_opts *opts) NOD_USE_RESULT;
#define nod_each(call, items, count, results, ...)                                                 \
    nod_each_with((call), (items), (count), sizeof((items)[0]), (results),                         \
                  &(const struct nod_each_opts){ .size = sizeof(struct nod_each_opts), __VA_ARGS__ })

/* Journalled, so every run sees the same value. Wall clock in ms since 1970; 64 random bits. */
NOD_API nod_status nod_now(nod_call *call, int64_t *ms) NOD_USE_RESULT;
NOD_API nod_status nod_random(nod_call *call, uint64_t *bits) NOD_USE_RESULT;

/* ------------------------------------------------------------------------------------------
 * Telling the client something while the call runs. A replay does not repeat it.
 */

/* Only sent if the client asked for progress. total <= 0: unknown. message may be NULL. */
NOD_API void nod_progress(nod_call *call, double progress, double total, const char *message);
NOD_API void nod_log(nod_call *call, nod_log_level level, const char *logger, const char *format, ...)
    NOD_PRINTF(4, 5);
/* Any other notification on the call's stream; params is JSON object text or NULL. */
NOD_API void nod_notify(nod_call *call, const char *method, const char *params);

/* ------------------------------------------------------------------------------------------
 * Replying. Each call adds one content block (for a prompt: one message; for a resource: one
 * content). All return NOD_OK, so a handler may end with one; errors are reported when it returns.
 */
NOD_API nod_status nod_reply_text(nod_call *call, const char *text);
NOD_API nod_status nod_reply_textf(nod_call *call, const char *format, ...) NOD_PRINTF(2, 3);
NOD_API nod_status nod_reply_image(nod_call *call, const void *bytes, size_t len, const char *mime_type);
NOD_API nod_status nod_reply_audio(nod_call *call, const void *bytes, size_t len, const char *mime_type);
/* An embedded resource; in a resource handler, the content itself (uri NULL: the one being read). */
NOD_API nod_status nod_reply_resource_text(nod_call *call, const char *uri, const char *mime_type,
                                           const char *text);
NOD_API nod_status nod_reply_resource_blob(nod_call *call, const char *uri, const char *mime_type,
                                           const void *bytes, size_t len);
NOD_API nod_status nod_reply_link(nod_call *call, const char *uri, const char *name,
                                  const char *description, const char *mime_type);
/*
 * The structured result: any JSON value, checked against .output_schema. A text block with the same
 * JSON is added. Only clients of the 2026 era get a value that is not an object; others get the text.
 */
NOD_API nod_status nod_reply_structured(nod_call *call, const nod_json *value);
/* A failure the model should see: isError with this text. Returns NOD_OK as well. In a step, with
 * nod_step_call(): the step has failed. */
NOD_API nod_status nod_reply_error(nod_call *call, const char *format, ...) NOD_PRINTF(2, 3);
/* Adds a member to `_meta` of the result. */
NOD_API void nod_reply_meta(nod_call *call, const char *key, const nod_json *value);

/* Prompts: who speaks in the next messages. NOD_USER at first. */
typedef enum nod_speaker { NOD_USER, NOD_ASSISTANT } nod_speaker;
NOD_API void nod_reply_as(nod_call *call, nod_speaker speaker);

/* --- Completions: a .complete handler looks at these and suggests. */
NOD_API const char *nod_completing(nod_call *call);     /* the argument's name */
NOD_API const char *nod_completing_text(nod_call *call); /* what has been typed */
NOD_API void nod_suggest(nod_call *call, const char *value); /* at most 100 are sent */

/* ------------------------------------------------------------------------------------------
 * Memory and text of a run.
 */
NOD_API const char *nod_fmt(nod_call *call, const char *format, ...) NOD_PRINTF(2, 3);
/* A key made like a printf text: nod_key(call, "item-%d", i). See KEYS, above. */
NOD_API const char *nod_key(nod_call *call, const char *format, ...) NOD_PRINTF(2, 3);
NOD_API void *nod_alloc(nod_call *call, size_t size); /* zeroed; NULL past the run's limit */
NOD_API void nod_defer(nod_call *call, void (*fn)(void *data), void *data);
/* A copy of a form, with all its texts and options, that lives until the run returns: for a function
 * that makes a form for its caller. */
NOD_API const nod_form *nod_form_keep(nod_call *call, const nod_form *form);

/* ------------------------------------------------------------------------------------------
 * JSON values. Getters accept NULL and values of another type, and treat them as absent.
 */
NOD_API bool nod_has(const nod_json *object, const char *key); /* there and not null */
NOD_API const nod_json *nod_get(const nod_json *object, const char *key);
NOD_API const char *nod_get_str(const nod_json *object, const char *key); /* "" if not there */
NOD_API int64_t nod_get_int(const nod_json *object, const char *key);     /* 0 */
NOD_API double nod_get_double(const nod_json *object, const char *key);   /* 0 */
NOD_API bool nod_get_bool(const nod_json *object, const char *key);       /* false */
/* A number exactly as it was written; "" if it is not there or not a number. */
NOD_API const char *nod_get_number_text(const nod_json *object, const char *key);
NOD_API size_t nod_count(const nod_json *value); /* items of an array, members of an object */
NOD_API const nod_json *nod_at(const nod_json *array, size_t index);
NOD_API const char *nod_as_str(const nod_json *value); /* "" if it is not a string */
NOD_API int64_t nod_as_int(const nod_json *value);
NOD_API double nod_as_double(const nod_json *value);
NOD_API bool nod_as_bool(const nod_json *value);
NOD_API const char *nod_as_number_text(const nod_json *value);

/* Building; the values live until the run returns. Numbers keep their text through nod. */
NOD_API nod_json *nod_object(nod_call *call);
NOD_API nod_json *nod_array(nod_call *call);
NOD_API void nod_set_str(nod_call *call, nod_json *object, const char *key, const char *value);
NOD_API void nod_set_int(nod_call *call, nod_json *object, const char *key, int64_t value);
NOD_API void nod_set_double(nod_call *call, nod_json *object, const char *key, double value);
NOD_API void nod_set_bool(nod_call *call, nod_json *object, const char *key, bool value);
NOD_API void nod_set(nod_call *call, nod_json *object, const char *key, const nod_json *value);
NOD_API void nod_push(nod_call *call, nod_json *array, const nod_json *value);
NOD_API nod_json *nod_json_str(nod_call *call, const char *text);
NOD_API nod_json *nod_json_int(nod_call *call, int64_t value);
NOD_API const nod_json *nod_parse(nod_call *call, const char *json); /* NULL if it is not JSON */
NOD_API const char *nod_json_text(nod_call *call, const nod_json *value); /* compact JSON */

/* A copy that outlives the run; free it with nod_json_free. */
NOD_API nod_json *nod_json_dup(const nod_json *value);
NOD_API void nod_json_free(nod_json *value);

#ifdef __cplusplus
}
#endif

#endif
