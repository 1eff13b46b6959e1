/*
 * host/program: the server of `nod serve`, and what `nod check` says of it.
 *
 * It is a server like every other (nod_main). What it has beside that: a configuration
 * (host/config.h), presets that depend on who runs it and where (host/places.h), a name, a secret
 * of its own, and tools that come from plugins.
 */
#ifndef NOD_HOST_PROGRAM_H
#define NOD_HOST_PROGRAM_H

#include "host/config.h"

/* What it was told: all of this can be read again, while it runs. */
struct program {
    const char *command; /* "nod serve" */
    int argc;            /* its command line, of which the first word is not read */
    char **argv;
    const char *file; /* the configuration, if it is not for the command line to say */
    bool makes;       /* folders are made, and a server that is there already is looked for */
};

/*
 * `nod serve`, and `nod check`: the exit code. The first word of the command line is its own name.
 * `file`: the configuration, instead of that of the command line; NULL: none is named.
 */
int program_serve(int argc, char **argv);
int program_check(const char *file, int argc, char **argv);

/*
 * Reads the configuration, the environment and the command line into settings of their own, whose
 * texts are in the arena and in *config, which is made (NULL: there is none). No server that runs
 * is touched. SETTINGS_WRONG: settings->wrong says why.
 */
enum settings_do program_read(const struct program *program, struct arena *arena,
                              struct settings *settings, struct config **config);
/* Says what was wrong, on standard error. */
void program_say_wrong(const struct program *program, const struct settings *settings);

#endif
