/*
 * host/settings: everything about a server that can be set, once.
 *
 * A setting is one row of the table (host/settings_table.c): its names, its type and bounds, its
 * default, its place, what is said of it. The program's own struct, the
 * environment and the command line are read through the rows; --help and docs/cli.md are written
 * from them.
 *
 * What overrides what, the weakest first: the default, the program's struct, the environment, the
 * command line. Where a setting may be given several times, the row says whether those of the
 * command line come after the program's or instead of them.
 *
 * Holds always: what is in struct settings is within the bounds of its row, or is not set.
 */
#ifndef NOD_HOST_SETTINGS_H
#define NOD_HOST_SETTINGS_H

#include <nod/nod.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/str.h"

enum {
    SETTINGS_ROWS_MAX = 96,          /* rows of the table */
    SETTINGS_NAMES_MAX = 64,         /* texts of a setting that may be given several times */
    SETTINGS_LISTEN_MAX = 16,        /* addresses of --http */
    SETTINGS_WRONG_MAX = 640,        /* bytes of what is wrong */
    SETTINGS_COUNT_MAX = 1000000000, /* the largest number */
};
#define SETTINGS_TIME_MAX_MS INT64_C(315360000000) /* 3650 days */

/* All that is set. Texts and lists are in the arena, or in the environment; lists end with NULL,
 * and NULL is an empty one. */
struct settings {
    struct nod_server_opts opts;
    /* What is not the program's to say: how the process logs, what is for tests, and what stays in
     * the environment because it is the machine's or a secret. */
    const char *log, *log_format;
    const char *ca_file;
    const char *webhook_secret; /* the secret itself, where there is no file */
    bool replay_check;

    bool given[SETTINGS_ROWS_MAX]; /* on the command line */
    struct arena *arena;
    char wrong[SETTINGS_WRONG_MAX]; /* what is wrong, if something is */
    bool by_program; /* what is wrong is what the program has set, not the command line */
};

enum setting_type {
    SETTING_FLAG,  /* bool */
    SETTING_TEXT,  /* const char * */
    SETTING_WORD,  /* const char *, one of the row's words */
    SETTING_LIST,  /* const char *const * */
    SETTING_TIME,  /* int64_t, in ms; on the command line 90s, 30m, 24h, 7d */
    SETTING_COUNT, /* size_t */
    SETTING_INT,   /* int */
};

enum setting_group {
    GROUP_SERVES,
    GROUP_ADMITS,
    GROUP_ASKS,
    GROUP_CONSENT,
    GROUP_KEEPS,
    GROUP_BOUNDS,
    GROUP_TELLS,
    GROUP_LOG,
    GROUP_PROGRAM, /* what only a program can set */
    GROUPS
};

/* What the texts of the command line are to each other, and to the program's. */
enum setting_repeat {
    REPEAT_LAST,     /* the last one counts */
    REPEAT_ADDS,     /* all count, after the program's */
    REPEAT_REPLACES, /* all count, instead of the program's */
};

/* Two rows may have one option: then the first that takes the value has it. */
struct setting {
    const char *option; /* "--keep"; NULL: it cannot be given on the command line */
    const char *member; /* of struct nod_server_opts: "keep_ms"; NULL: a program cannot set it */
    const char *env;    /* a variable that has the value; NULL: none */
    enum setting_type type;
    enum setting_group group;
    size_t at;   /* where in struct settings */
    size_t size; /* of the place; as its type has it */
    /* Numbers and times have bounds; of a list `most` is the number of its texts. */
    int64_t least, most;
    int64_t usual;            /* the default of a number or a time; 0: see usually */
    const char *usually;      /* the default in words; NULL: as `usual` says, or none */
    const char *const *words; /* of a SETTING_WORD, NULL at the end */
    bool (*fits)(struct str); /* NULL: every text that is not empty fits */
    enum setting_repeat repeat;
    bool reloads; /* SIGHUP reads it again; anything else needs a restart */
    /* Options of which one has to be there: "--http or --inbox". The program's struct is held to it
     * as well, but for its numbers: a limit may be there for the day when the server has HTTP. */
    const char *needs;
    const char *value; /* what stands for the value in the help: "TIME" */
    const char *takes; /* what it takes, for messages; of a number: of what */
    const char *help;  /* what it is for; backticks are for the documentation */
    const char *more;  /* and what only the documentation says, in Markdown */
};

extern const struct setting settings_table[];
extern const size_t settings_count;
extern const char *const settings_groups[GROUPS]; /* their headings */

/* What the program and the environment say. The arena holds all texts. False: `wrong` says why. */
bool settings_begin(struct settings *settings, const struct nod_server_opts *opts,
                    struct arena *arena);

enum settings_do { SETTINGS_RUN, SETTINGS_HELP, SETTINGS_VERSION, SETTINGS_WRONG };

/* What the command line says, and settings_agree. */
enum settings_do settings_argv(struct settings *settings, int argc, char **argv);
/* Does what is set go together? For a program without a command line: once, before it serves. */
bool settings_agree(struct settings *settings);
/* Was this option given on the command line? */
bool settings_given(const struct settings *settings, const char *option);
void settings_help(FILE *out);
/* The log is as these settings have it. */
void settings_log(const struct settings *settings);
/* What stands for the value of a row. */
void setting_value(const struct setting *row, bool markdown, struct buf *out);
/* The default of a row, its bounds and such, in words. `markdown`: for the documentation. */
void setting_facts(const struct setting *row, bool markdown, struct buf *out);
/* What a row takes: "a number of questions, from 1 to 1000000000". `option`: on the command line.
 */
void setting_takes(const struct setting *row, bool option, struct buf *out);

/* --- host/settings_value: what some of the texts say --- */

/* "90s", "30m", "24h", "7d". */
bool settings_duration(struct str text, int64_t *ms);
/* The shortest such text. */
void settings_time(int64_t ms, struct buf *out);
/* "HOST:PORT", ":PORT", "PORT", "[::1]:PORT", "unix:PATH"; without a host it is loopback. */
bool settings_address(struct str text, struct str *host, int *port);
/* "client:NAME=10m" or "tool:NAME=10m". */
bool settings_soft_deadline(struct str text, bool *tool, struct str *name, int64_t *ms);

#endif
