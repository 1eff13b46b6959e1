/*
 * net/remote: a server that is running, as a command of `nod` talks to it.
 *
 * It is reached over http, https or its Unix socket. Over the socket the server knows its own user;
 * otherwise it is sent a token. A request blocks until it is answered, or until REMOTE_MS have
 * passed. No redirect is followed, and no proxy of the environment is used: the token goes to the
 * server that was named, and to nobody else.
 */
#ifndef NOD_NET_REMOTE_H
#define NOD_NET_REMOTE_H

#include "base/buf.h"

enum {
    REMOTE_MS = 10000,           /* time for a request */
    REMOTE_REPLY_MAX = 16 << 20, /* bytes of a reply */
    REMOTE_URL_MAX = 4096,       /* bytes of an address */
    REMOTE_WHY_MAX = 512,        /* bytes of a message */
};

struct remote_opts {
    const char *address; /* "http://HOST:PORT", "https://...", "HOST:PORT", "unix:PATH" */
    const char *token;   /* NULL: none */
    const char *ca_file; /* authorities; NULL: the system's */
    const char *header;  /* one more line for every request, "Name: value"; NULL: none */
};

struct remote;

/* NULL, and `why`: the address cannot be used. */
struct remote *remote_open(const struct remote_opts *opts, char why[REMOTE_WHY_MAX]);
void remote_close(struct remote *remote);

/*
 * One request below the server's address ("/api/me"); `body` is JSON, or empty. The status of the
 * response, whose body is added to `reply`; or 0, and `why`: there was none.
 */
int remote_send(struct remote *remote, const char *method, const char *path, struct str body,
                struct buf *reply, char why[REMOTE_WHY_MAX]);

/* The token of a file, or of standard input ("-"): its first word. Empty, and `why`: there is none.
 * It is in `text`. */
struct str remote_token(const char *file, struct buf *text, char why[REMOTE_WHY_MAX]);

#endif
