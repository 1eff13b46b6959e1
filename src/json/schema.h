/*
 * json/schema: JSON Schema 2020-12, compiled once, then checked many times.
 *
 * References are local only ("#...", "$anchor", "$id" inside the document). One that cannot be
 * resolved is an error at compile time, never a pass, and nothing is ever fetched. `pattern` runs
 * on PCRE2 with match limits. Depth, subschemas and work are bounded; if a bound is hit, the value
 * is invalid, with an error that says so. A compiled schema is constant and may be used by several
 * threads.
 */
#ifndef NOD_JSON_SCHEMA_H
#define NOD_JSON_SCHEMA_H

#include "json/value.h"

struct schema;

struct schema_problem {
    struct str path; /* JSON pointer into the instance (or, when compiling, into the schema); "" is
                        the root */
    struct str message; /* "expected a number, got a string" */
};

/* nod's own keyword beside `pattern`: what fits looks like this ("T-123"). A problem says that
 * instead of the expression. */
#define SCHEMA_HINT "patternHint"

enum { SCHEMA_PROBLEMS_MAX = 16 }; /* problems that are reported for one input */

enum {
    SCHEMA_SUBSCHEMAS_DEFAULT = 10000,
    SCHEMA_DEPTH_DEFAULT = 256, /* nested subschemas while checking */
    SCHEMA_DEPTH_MOST = 1024,   /* max_depth cannot be higher: the stack is finite */
    SCHEMA_WORK_DEFAULT = 10 * 1000 * 1000,
    SCHEMA_NEST_MOST = 100,               /* nested subschemas in the schema's text */
    SCHEMA_BYTES_MOST = 16 * 1024 * 1024, /* bytes of a compiled schema, without its patterns */
    SCHEMA_PATTERN_BYTES_MOST = 4 * 1024 * 1024, /* bytes of all compiled patterns of a schema */
    SCHEMA_PATH_MOST = 1024, /* bytes of a path in a problem; a longer one is cut */
};

struct schema_problems {
    size_t count;
    struct schema_problem at[SCHEMA_PROBLEMS_MAX]; /* with texts in the given arena */
};

struct schema_opts {
    /* check "format"; otherwise it is an annotation, as is the default in 2020-12 */
    bool assert_formats;
    /* "integer" must fit into 64 bits, "number" into a double: a handler never reads another
     * number than was sent */
    bool getter_numbers;
    bool distinct_items;     /* no array has the same item twice, as if each said uniqueItems */
    uint32_t max_subschemas; /* 0: default */
    uint32_t max_depth;      /* of validation; 0: default */
    uint64_t max_work;       /* units of validation work; 0: default */
};

/* NULL and problems (in `arena`) if the schema is not valid. The schema copies what it needs. */
struct schema *schema_compile(const struct json *schema, const struct schema_opts *opts,
                              struct arena *arena, struct schema_problems *problems);
void schema_destroy(struct schema *schema);

/* NOD_OK or NOD_E_INVALID with problems, or NOD_E_LIMIT. */
nod_status schema_check(const struct schema *schema, const struct json *value, struct arena *arena,
                        struct schema_problems *problems);

/* A copy in the arena, without what only people and models read; see schema_shape.c. What is not a
 * schema is copied as it is. arena->exhausted: there was no room. */
struct json *schema_shape(struct arena *arena, const struct json *schema);

#endif
