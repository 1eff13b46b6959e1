/*
 * cli/terminal: `nod inbox`, the inbox of a running server on a terminal.
 *
 *     terminal_command   the command line, and which part does it
 *     terminal_request   requests to the server, and what is said if it refuses
 *     terminal_draw      a question, its arguments and its form, as text
 *     terminal_field     one field of a form: from what was typed to a value, checked
 *     terminal_prompt    the person is asked for each field
 *     terminal_answer    an answer is sent, and what became of it
 *     terminal_feed      what comes and goes, as it does
 *     terminal_live      the list that stays on the screen
 *     terminal_safe      text from outside, so that it moves nothing
 *
 * It uses the API of the inbox and nothing else, so whatever is checked is checked by the server.
 */
#ifndef NOD_CLI_TERMINAL_H
#define NOD_CLI_TERMINAL_H

#include <stdio.h>

#include "base/buf.h"
#include "cli/visit.h"
#include "json/value.h"

/* How `nod inbox` ends, beside COMMAND_FINE, COMMAND_FAILED and COMMAND_WRONG_USAGE. */
enum {
    TERMINAL_DECLINED = 3, /* the answer that was given is a no */
    TERMINAL_GONE = 4,     /* it has ended, or it is not there */
    TERMINAL_REFUSED = 5,  /* the server takes neither this credential nor this answer */
};

enum {
    TERMINAL_TREE_MAX = 256 << 20, /* bytes of a reply as a tree */
    TERMINAL_PATH_MAX = 2048,      /* bytes of the path of a request */
    TERMINAL_PAGE_MAX = 200,       /* items of a page that is asked for */
};

struct terminal {
    const struct visit *visit; /* the server */
    FILE *out;                 /* what a person reads; with --json it is standard error */
    bool json;                 /* for scripts */
    bool color;
    int64_t ahead_ms; /* the server's clock before ours */
};

/* --- terminal_request.c --- */

struct reply {
    int status; /* 0: there was none */
    struct buf text;
    struct arena arena;
    const struct json *json; /* NULL: it was none */
};

/* False, after a word about it: the server was not reached. Call reply_finish in any case. */
bool request_send(struct terminal *terminal, const char *method, const char *path, struct str body,
                  struct reply *reply);
/* GET without a word if the server was not reached. */
bool request_quietly(struct terminal *terminal, const char *path, struct reply *reply);
void reply_finish(struct reply *reply);
/* Everything that waits, one page after the other, up to TERMINAL_PAGE_MAX items. *more: there are
 * others. False: it ended before, after a word about it unless `quietly`. */
bool request_waiting(struct terminal *terminal, bool quietly,
                     void (*item)(void *data, const struct json *item), void *data, bool *more);
/* Says what the server says, and returns the exit code for it. */
int reply_refused(struct terminal *terminal, const struct reply *reply);
/* Adds to a path, which stays within TERMINAL_PATH_MAX; as it is, or escaped. */
void path_add(char path[TERMINAL_PATH_MAX], struct str text);
void path_escape(char path[TERMINAL_PATH_MAX], struct str text);
/* One item by its id. */
bool request_item(struct terminal *terminal, struct str id, struct reply *reply, int *code);

/* --- terminal_draw.c --- */

enum draw_ink { INK_PLAIN, INK_BOLD, INK_DIM, INK_RED };

void draw_ink(const struct terminal *terminal, enum draw_ink ink);
/* Everything of an item; `folded`: long values and long trees are cut, and it says so. */
void draw_item(const struct terminal *terminal, const struct json *item, bool folded);
/* Does whoever accepts this approve of something? Otherwise they only answer. */
bool draw_is_approval(const struct json *item);
/* What became of it, in the words of the page: approved, answered, declined, dismissed, ... */
struct str draw_state(const struct json *item);
/* How it ended, by whom, where and when; of an item, or of what a refusal says. */
void draw_winner(FILE *out, const struct json *item);
/* One line, with its id; with `columns`, one that fits into them, without the id. */
void draw_row(const struct terminal *terminal, const struct json *item, size_t columns);
/* What draw_row needs of an item, which may be large, in the arena. */
struct json *draw_row_of(struct arena *arena, const struct json *item);
void draw_account(const struct terminal *terminal, const struct json *account);
void draw_grant(const struct terminal *terminal, const struct json *grant);
void draw_secret(const struct terminal *terminal, const struct json *secret);
/* One line of JSON to standard output. */
void draw_json(const struct json *value);
/* The same without the end of the line. */
void draw_json_in(const struct json *value);
/* "4m 12s" until then; "over" if it is past. */
void draw_left(const struct terminal *terminal, struct str until, char text[24]);
/* RFC 3339 in UTC as milliseconds since 1970; 0: it is none. */
int64_t draw_time(struct str text);

/* --- terminal_field.c --- */

struct field {
    struct str name;
    struct str title;          /* its name, if it has none */
    const struct json *schema; /* of this field alone */
    bool required;
    const struct json *value; /* what will be sent; NULL: nothing */
};

struct field_choice {
    struct str value;
    struct str title;
};

/* The fields of a form; *count of them, in the arena. */
struct field *fields_of(struct arena *arena, const struct json *schema, size_t *count);
/* The choices of a field; 0: it has none. `out` may be NULL. */
size_t field_choices(const struct field *field, struct field_choice *out, size_t room);
bool field_is_many(const struct field *field);
/* A required yes or no: what it says may be what the question is about. */
bool field_is_box(const struct field *field);
/* Choices are offered by number, unless a choice is itself a number. */
bool field_is_numbered(const struct field *field);
/* What a person would have to know: "a whole number, 0 to 40". `listed`: the choices follow. */
void field_hint(FILE *out, const struct field *field, bool listed);
/* What the form starts with; NULL: nothing. */
const struct json *field_preset(const struct field *field);
void field_show(FILE *out, const struct json *value);
/* "-" leaves an optional field out that would otherwise have its preset. */
bool field_is_left_out(const struct field *field, struct str typed);
/* A value from what was typed. False: it does not fit, and `why` says so. */
bool field_take(struct arena *arena, struct field *field, struct str typed, struct buf *why);

/* --- terminal_prompt.c --- */

/* Reads a line. False: there is none any more, or the person wants to leave. */
bool prompt_line(struct buf *line);
/* Asks for a field until it fits. */
bool prompt_field(const struct terminal *terminal, struct arena *arena, struct field *field);
/* accept, decline, cancel; show: what is folded; empty: leave it; *ended: there is no more to read.
 * `yes` is what accepting is called; NULL: it is not offered. */
struct str prompt_action(const struct terminal *terminal, const char *yes, bool *ended);
/* What is destructive takes a second word, and so does a box that says no. NULL: there is none. */
bool prompt_again(const struct terminal *terminal, const struct field *box);
bool prompt_reason(const struct terminal *terminal, struct buf *reason);
/* Which choice, from 1; 0: only this time. */
bool prompt_remember(const struct terminal *terminal, const struct json *offered, size_t *chosen);

/* --- terminal_answer.c --- */

struct answer_words {   /* what the command line says about the answer */
    struct str action;  /* empty: the person is asked */
    const char *reason; /* NULL: none */
    size_t remember;    /* from 1; 0: not */
    char **values;      /* NAME=VALUE */
    size_t value_count;
};

int answer_item(struct terminal *terminal, struct str id, const struct answer_words *words);

/* --- terminal_feed.c --- */

enum feed_state { FEED_CONNECTING, FEED_LIVE, FEED_LOST, FEED_REFUSED };

struct feed {
    struct terminal *terminal;
    /* The data of the event `changes`. */
    void (*changed)(void *data, const struct json *changes);
    void *data;
    struct remote_stream *stream;
    enum feed_state state;
    bool reset;       /* the list has to be looked at again; the reader takes it down */
    bool was_live;    /* at any time */
    int status;       /* what the server said when it refused */
    int64_t again_ms; /* when a lost server is tried again; 0: it is being tried */
    char why[REMOTE_WHY_MAX];
};

/* The caller has set terminal, changed and data. */
void feed_open(struct feed *feed);
void feed_close(struct feed *feed);
/* Waits for events, `file` (-1: none), a signal or the time. True: the file can be read. */
bool feed_wait(struct feed *feed, int file, int ms);
/* Says that the server refused, and returns the exit code. */
int feed_refused(const struct feed *feed);
int watch_inbox(struct terminal *terminal);

/* --- terminal_live.c --- */

int live_inbox(struct terminal *terminal);

#endif
