/*
 * host/settings: everything about a server that can be set, once.
 *
 * A setting is one row of the table (host/settings_table.c): its names, its type and bounds, its
 * default, its place, what is said of it. The program's own struct, the configuration file of
 * `nod serve` (host/config.h), the environment and the command line are read through the rows;
 * --help and docs/cli.md are written from them.
 *
 * What overrides what, the weakest first: the default, the program's struct, the file, the
 * environment, the command line. Where a setting may be given several times, the row says whether
 * those of the file and of the command line come after the weaker ones or instead of them. Each
 * value knows where it is from, and so does each text of a list: messages about it are in the words
 * of that place.
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
    SETTINGS_SERVER_MAX = 32,        /* characters of the name of a server of nod serve */
    SETTINGS_LISTEN_MAX = 16,        /* addresses of --http */
    SETTINGS_WRONG_MAX = 2048,       /* bytes of what is wrong */
    SETTINGS_COUNT_MAX = 1000000000, /* the largest number */
};
#define SETTINGS_TIME_MAX_MS INT64_C(315360000000) /* 3650 days */

/* Where a value is from, the weakest first. */
enum setting_from { FROM_DEFAULT, FROM_PROGRAM, FROM_FILE, FROM_ENVIRONMENT, FROM_ARGV };

struct setting_place {
    enum setting_from from;
    int line;         /* of the file */
    const char *file; /* FROM_FILE; lives as long as what was read of it (host/config.h) */
};

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
    /* What only `nod serve` has. */
    const char *config_file;
    const char *const *plugin_files, *const *plugin_dirs;

    bool serve; /* it is `nod serve`: it takes the rows that only that has */
    /* The secret that seals, where the environment has none: of this file, which is made if it is
     * not there. NULL: there is none. */
    const char *secret_file;
    const char *state; /* the folder of what outlives a process of nod serve */
    struct setting_place places[SETTINGS_ROWS_MAX]; /* where each row is from */
    /* Where each text of a list is from; NULL: all from where the row is. */
    const struct setting_place *texts[SETTINGS_ROWS_MAX];
    struct setting_place now; /* what is being read, and, if something is wrong, what is */
    struct arena *arena;
    char wrong[SETTINGS_WRONG_MAX]; /* what is wrong, if something is */
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
    GROUP_SERVE,   /* what only nod serve has */
    GROUP_PROGRAM, /* what only a program can set */
    GROUPS
};

/* What the texts of the command line are to each other, and to the program's. */
enum setting_repeat {
    REPEAT_LAST,     /* the last one counts */
    REPEAT_ADDS,     /* all count, after the program's */
    REPEAT_REPLACES, /* all count, instead of the program's */
};

/* What SIGHUP does about a setting. */
enum setting_reloads {
    RELOADS_NOT,   /* nothing: another value needs a restart */
    RELOADS_FILE,  /* the file that it names is read again */
    RELOADS_VALUE, /* the value is; of nod serve, whose configuration can be read again */
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
    enum setting_reloads reloads;
    /* Options of which one has to be there: "--http or --inbox". The program's struct is held to it
     * as well, but for its numbers: a limit may be there for the day when the server has HTTP. */
    const char *needs;
    bool serve;     /* only nod serve has it */
    bool argv_only; /* it stands on the command line, and not in the file */
    /* What stands before the name of a file in its text: "", "unix:". In a configuration file such
     * a name is relative to the folder of the file. NULL: it names none. */
    const char *path;
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

/* What the environment says, which settings_begin has read: again, because it counts more than the
 * file that was read since then. */
void settings_environment(struct settings *settings);
/* One key of [server]; of a list one more text. The names of the option and of the key are the same
 * but for the dashes in front. False: `wrong` says why, after "FILE:LINE: ". */
struct config_value;
bool settings_take(struct settings *settings, const struct config_value *value);

enum settings_do { SETTINGS_RUN, SETTINGS_HELP, SETTINGS_VERSION, SETTINGS_WRONG };

/* What the command line says, and settings_agree. */
enum settings_do settings_argv(struct settings *settings, int argc, char **argv);
/* What it says alone. */
enum settings_do settings_read_argv(struct settings *settings, int argc, char **argv);
/* Does what is set go together? For a program without a command line: once, before it serves. */
bool settings_agree(struct settings *settings);
/* Notes what is wrong with the whole. Always false. */
bool settings_refuse(struct settings *settings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What is not set by anybody, and depends on what is: a list whose last texts are the program's. */
void settings_preset_list(struct settings *settings, const char *option, const char *const *list);
/* A text as it is drawn on a terminal: what cannot be seen, or moves what can, is escaped. */
void settings_shown(struct str text, struct buf *out);
/* Was this option given by the operator: on the command line, or in the file? */
bool settings_given(const struct settings *settings, const char *option);
/* What the place that has set it calls this option: "--tls-key", ".tls_key of the program",
 * "nod.ini:4: tls-key". Of a list, that of one of its texts; else `text` is 0. */
struct str settings_named(const struct settings *settings, const char *option, size_t text,
                          struct arena *arena);
/* Where a setting is from; of a list, which of its texts. */
struct setting_place settings_place(const struct settings *settings, const struct setting *row,
                                    size_t text);
/* Is it there, whoever has set it? A number always is, but for messages: it has a default. */
bool settings_is_set(const struct settings *settings, const struct setting *row);
/* `serve`: of nod serve. */
void settings_help(FILE *out, bool serve);
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
