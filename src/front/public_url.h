/*
 * front/public_url: the address under which clients reach this server.
 *
 * Links, redirects, the Origin of our own pages and `Secure` are made from it, never from Host or
 * X-Forwarded-*, which anybody can send.
 */
#ifndef NOD_FRONT_PUBLIC_URL_H
#define NOD_FRONT_PUBLIC_URL_H

#include "base/arena.h"

enum { PUBLIC_URL_MAX = 1024 }; /* bytes of a public URL */

struct public_url {
    struct str origin; /* "https://nod.example.org": lower case, without the scheme's own port */
    struct str host;   /* "nod.example.org", or with a port that is not the scheme's own */
    struct str path;   /* before every path: "" or "/nod" */
    int port;          /* of the address, also if it is the scheme's own */
    bool https;
};

/* False, and a message: it is not "http(s)://host[:port][/path]". The texts are in the arena. */
bool public_url_read(struct str text, struct arena *arena, struct public_url *url,
                     const char **why);

#endif
