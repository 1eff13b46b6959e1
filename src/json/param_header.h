/*
 * json/param_header: parameters of a tool that a client repeats outside of the body.
 *
 * A property of an input schema may carry the annotation `x-mcp-header`. Its value is then repeated
 * in a header of that name, so that proxies can route by it. An annotation is valid only on a
 * string, integer or boolean property that is reached from the root through `properties` only. Its
 * name must be a token, and must not be used twice (regardless of case).
 */
#ifndef NOD_JSON_PARAM_HEADER_H
#define NOD_JSON_PARAM_HEADER_H

#include "json/value.h"

enum {
    PARAM_HEADER_MAX = 64,      /* annotations of one schema */
    PARAM_HEADER_DEPTH_MAX = 8, /* properties on the path to one */
    PARAM_HEADER_NAME_MAX = 128,
};

enum param_header_type { PARAM_HEADER_STRING, PARAM_HEADER_INTEGER, PARAM_HEADER_BOOLEAN };

struct param_header {
    struct str name; /* as annotated: the header is Mcp-Param-<name> */
    enum param_header_type type;
    size_t depth;
    struct str path[PARAM_HEADER_DEPTH_MAX]; /* member names, from the root */
};

/*
 * Finds every annotation of a schema, in the arena. False: one is not valid, and *problem says why.
 * A schema without any gives true and a count of 0.
 */
bool param_headers_find(const struct json *schema, struct arena *arena,
                        const struct param_header **out, size_t *count, struct str *problem);

/* The value of the argument; NULL if there is none, or it is null. */
const struct json *param_header_value(const struct param_header *header, const struct json *args);

#endif
