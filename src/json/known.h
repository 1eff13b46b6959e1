/*
 * json/known: members that come again and again, byte for byte.
 *
 * Every message of a client says the same about that client, in a member of one name, and of a
 * handful of clients each has its own text. A parser that is handed a set of such texts (json_opts.
 * known) compares before it reads: where the member's value begins with one of them, it is that
 * one, for an object ends with its own brace, and its tree is there already.
 *
 * A text gets into the set when it was seen twice, so what is never the same (an id in it, say)
 * pushes nothing out. The set is small and its texts are short; being forgotten is nothing that
 * its user may notice but by the time it takes.
 *
 * Holds always: a tree of the set is what json_parse makes of its text, refusing duplicates. It
 * lives until the next json_known_saw. One thread.
 */
#ifndef NOD_JSON_KNOWN_H
#define NOD_JSON_KNOWN_H

#include "json/value.h"

enum {
    JSON_KNOWN_PLACES = 4,       /* texts of one set */
    JSON_KNOWN_BYTES_MAX = 1024, /* of one text */
    JSON_KNOWN_DEPTH_MAX = 8,    /* of its tree */
    JSON_KNOWN_SEEN = 16,        /* marks of texts that were seen once */
};

struct json_known_text {
    struct arena arena; /* of the tree, and the text it was parsed from */
    const struct json *value;
};

struct json_known {
    struct str key; /* of the member */
    struct json_known_text texts[JSON_KNOWN_PLACES];
    size_t next; /* the place that is taken next */
    uint64_t seen[JSON_KNOWN_SEEN];
};

/* `key` must live as long. */
void json_known_init(struct json_known *known, struct str key);
void json_known_finish(struct json_known *known);

/* The known value that the text begins with, or NULL. */
const struct json *json_known_find(const struct json_known *known, struct str text);

/* Which place the value came from, or -1: it was read. */
int json_known_place(const struct json_known *known, const struct json *value);

/* This value was read. Returns the place it has got now, whose earlier text is forgotten, or -1. */
int json_known_saw(struct json_known *known, const struct json *value);

#endif
