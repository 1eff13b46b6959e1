/*
 * cli/visit: the server that a command of `nod` goes to: its address, and with which credential.
 *
 * `nod inbox` and `nod login` find it alike. The address is a word of the command line, or
 * NOD_SERVER. Without one it is the server that this user runs (host/places.h); of several --name
 * says which. The token is the first word of a file, or NOD_TOKEN. It never comes by the command
 * line, where every user of the machine could read it. Over a Unix socket none is needed.
 */
#ifndef NOD_CLI_VISIT_H
#define NOD_CLI_VISIT_H

#include "net/remote.h"

struct visit {
    const char *command; /* "nod inbox" */
    const char *address; /* NULL: NOD_SERVER names it, or it is a server of this user */
    const char *name;    /* of that */
    char *found;         /* its address */
    const char *token_file;
    const char *ca_file;
    struct buf text; /* of the token file */
    const char *token;
    struct remote *remote;
};

/* What the command line of each of them takes (struct command_option). */
#define VISIT_OPTIONS(visit)                                                                       \
    { "--name", .value = &(visit).name }, { "--token-file", .value = &(visit).token_file },        \
    {                                                                                              \
        "--ca-file", .value = &(visit).ca_file                                                     \
    }

/* False, after a word about it: the command line is wrong. */
bool visit_check(struct visit *visit);
/* Finds it, if it is not named. False, after a word about it: it cannot be gone to. Call visit_end
 * in any case. `header` as in remote_opts. */
bool visit_begin(struct visit *visit, const char *header);
void visit_end(struct visit *visit);

/* "nod inbox: ", then the text, made safe, and the rest. */
void visit_say(const struct visit *visit, struct str text, const char *rest);
/* The server says 401: `detail` is what it says, and this adds what it was sent. */
void visit_say_unknown(const struct visit *visit, struct str detail);

#endif
