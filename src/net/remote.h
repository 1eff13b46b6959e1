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
    REMOTE_REPLY_MAX = 32 << 20, /* bytes of a reply; a nod server sends 24 MiB at most */
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

/* What is wrong with an address, as the rest of a sentence that begins with it; NULL: nothing. */
const char *remote_address_wrong(struct str address);
/* NULL, and `why`: it cannot be opened. The address has to be one without a mistake. */
struct remote *remote_open(const struct remote_opts *opts, char why[REMOTE_WHY_MAX]);
void remote_close(struct remote *remote);

/*
 * One request below the server's address ("/api/me"); `body` is JSON, or empty. The status of the
 * response, whose body is added to `reply`; or 0, and `why`: there was none.
 */
int remote_send(struct remote *remote, const char *method, const char *path, struct str body,
                struct buf *reply, char why[REMOTE_WHY_MAX]);

/* --- a stream of server-sent events --- */

enum remote_heard {
    REMOTE_READABLE = 1, /* the file can be read */
    REMOTE_OVER = 2,     /* the stream has ended */
};

struct remote_stream;
/* One event; it may be told several from within remote_hear. */
typedef void remote_told_fn(void *data, struct str event, struct str text);

/* Begins GET `path`. If `last` is not empty it goes on after the event with this id. */
struct remote_stream *remote_listen(struct remote *remote, const char *path, struct str last,
                                    remote_told_fn *told, void *data);
/* Waits until something was told, `file` (-1: none) can be read, a signal came or the time is over.
 * Returns what of enum remote_heard is the case. */
unsigned remote_hear(struct remote_stream *stream, int file, int ms);
/* The status of the response, 0 if there is none yet; and why a stream is over. */
int remote_status(const struct remote_stream *stream, char why[REMOTE_WHY_MAX]);
/* The id of the last event. */
struct str remote_last(const struct remote_stream *stream);
void remote_hang_up(struct remote_stream *stream);

/* The token of a file, or of standard input ("-"): its first word. Empty, and `why`: there is none.
 * It is in `text`. */
struct str remote_token(const char *file, struct buf *text, char why[REMOTE_WHY_MAX]);

#endif
