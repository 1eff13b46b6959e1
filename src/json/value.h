/*
 * json/value: a JSON document as a tree in an arena.
 *
 * Numbers are kept as text, so nothing is rounded on the way through. Strings are unescaped UTF-8.
 * Every parsed value also knows the raw bytes it was parsed from, so that it can be forwarded
 * unchanged; a built value has no raw bytes.
 *
 * A tree is constant once built. It lives as long as its arena and, for parsed trees, the text it
 * was parsed from. Every getter accepts NULL and values of another type, and then returns that
 * there is nothing.
 */
#ifndef NOD_JSON_VALUE_H
#define NOD_JSON_VALUE_H

#include <nod/nod.h>

#include "base/arena.h"
#include "base/str.h"

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
    uint8_t type; /* enum json_type */
    bool truth;   /* JSON_BOOL */
    bool lines;   /* raw spans several lines, so the value is written member by member */
    bool plain;   /* the key needs no escaping: it had no escapes when it was parsed */
    uint32_t count;
    struct str key; /* the member's name, in an object */
    union {
        struct str text; /* JSON_STRING unescaped; JSON_NUMBER as written */
        struct {
            struct json *first;
            struct json *last;
        };
    };
    struct json *next; /* sibling */
    struct str raw;    /* the bytes it was parsed from, or empty */
};

/* Every child in order: JSON_EACH(item, array). Nothing for NULL and scalars. */
#define JSON_EACH(child, parent)                                                                   \
    for (const struct json *child = json_first(parent); child; child = child->next)

static inline bool json_is(const struct json *v, enum json_type type)
{
    return v && v->type == type;
}

static inline const struct json *json_first(const struct json *v)
{
    return v && v->type >= JSON_ARRAY ? v->first : NULL;
}

/* --- reading --- */

/* If a name occurs more than once (see refuse_duplicates) the last counts, as in JSON.parse. */
const struct json *json_get(const struct json *object, struct str key);
/* Several members in one walk: found[i] is what json_get returns for keys[i]. */
void json_pick(const struct json *object, const struct str *keys, size_t count,
               const struct json **found);
const struct json *json_at(const struct json *array, size_t index);
/* RFC 6901, e.g. "/a/0/b". */
const struct json *json_pointer(const struct json *v, struct str pointer);

/* The text of a string, otherwise {NULL, 0}. */
struct str json_str(const struct json *v);
struct str json_get_str(const struct json *object, struct str key);
/* Has the array this string? */
bool json_has_str(const struct json *array, struct str text);
/* True only for the value true. */
bool json_true(const struct json *v);
/* Exact. False unless the number is an integer that fits ("1", "1.0", "1e2" are; "1.5" is not). */
bool json_i64(const struct json *v, int64_t *out);
/* The nearest double. False: it is not a number, or out of range. */
bool json_double(const struct json *v, double *out);

/*
 * Equal as JSON Schema defines it: 1 equals 1.0, and member order does not matter. Takes n log n
 * time. NULL equals only NULL. Trees deeper than JSON_DEPTH_MAX, which only a builder can make, are
 * equal to nothing.
 */
bool json_equal(const struct json *a, const struct json *b);
/* A string or key contains a NUL: as a C string it would be another text. */
bool json_has_nul(const struct json *v);
/* Compares two JSON_NUMBERs exactly, of any size: <0, 0, >0. If one is not a number: 0. */
int json_number_cmp(const struct json *a, const struct json *b);

/* --- parsing --- */

struct json_error {
    nod_status status; /* NOD_E_PARSE or NOD_E_LIMIT */
    size_t offset;     /* byte where it went wrong */
    const char *what;  /* a sentence part: "expected a comma or a closing bracket" */
};

struct json_opts {
    uint32_t max_depth;     /* 0: JSON_DEPTH_DEFAULT; at most JSON_DEPTH_MAX */
    uint32_t max_values;    /* of the whole document; 0: as many as the arena has room for */
    bool refuse_duplicates; /* true wherever a protocol message is read */
};

/* What was parsed can be written: JSON_DEPTH_MAX is also the writer's depth. */
enum { JSON_DEPTH_DEFAULT = 64, JSON_DEPTH_MAX = 128 };

/*
 * Strict RFC 8259, UTF-8 only, no BOM. NULL and *error on failure. `text` must outlive the tree.
 * `opts` may be NULL (defaults), and so may `error`. The tree is in the arena; if the arena is
 * full, or there are more values than may be, the error is NOD_E_LIMIT.
 */
struct json *json_parse(struct arena *arena, struct str text, const struct json_opts *opts,
                        struct json_error *error);

/* --- building --- */

/* NULL if the arena is full. Every json_add_* accepts NULL and then does nothing. */
struct json *json_new_object(struct arena *arena);
struct json *json_new_array(struct arena *arena);
struct json *json_new_str(struct arena *arena, struct str s); /* copies */
struct json *json_new_i64(struct arena *arena, int64_t n);
struct json *json_new_double(struct arena *arena, double d); /* shortest text; NULL if not finite */
struct json *json_new_bool(struct arena *arena, bool truth);
struct json *json_new_null(struct arena *arena);
/*
 * A deep copy into another arena, without the raw bytes of the source: the way to change a parsed
 * tree. NULL if the arena is full, or past JSON_DEPTH_MAX.
 */
struct json *json_copy(struct arena *arena, const struct json *v);

/* The child must not be in a tree already. json_set copies the key, and replaces a member of that
 * name. */
void json_set(struct arena *arena, struct json *object, struct str key, struct json *child);
/* The same for a key that is known to be new: there is no search, so n members take n steps. */
void json_set_new(struct arena *arena, struct json *object, struct str key, struct json *child);
void json_push(struct json *array, struct json *child);

/* Names of types as a person reads them: "an object", "a string", ... */
const char *json_type_name(const struct json *v);

#endif
