/*
 * json/schema_inside: what the files of the schema validator share with each other and nobody else.
 *
 * A schema document becomes a graph of nodes, one for each subschema. A node holds its keywords
 * grouped by the type of value they apply to, so that a number never walks past the keywords of
 * strings. Everything a node points to is in the arena of its schema, except compiled patterns,
 * which are linked from the schema.
 *
 * Holds always: after schema_compile nothing here is written again.
 */
#ifndef NOD_JSON_SCHEMA_INSIDE_H
#define NOD_JSON_SCHEMA_INSIDE_H

#include "base/map.h"
#include "json/schema.h"

/* One step of a JSON pointer; the root has no place (NULL). On a stack or in an arena. */
struct place {
    const struct place *up;
    struct str key; /* key.at is NULL for an index */
    size_t index;
};

/* The name may come from a built tree, where an empty name has no address. */
static inline struct place place_key(const struct place *up, struct str key)
{
    return (struct place){ .up = up, .key = key.at ? key : STR("") };
}

static inline struct place place_index(const struct place *up, size_t index)
{
    return (struct place){ .up = up, .index = index };
}

/* "/a~1b/0"; cut at SCHEMA_PATH_MOST bytes. */
struct str place_text(struct arena *arena, const struct place *place);

void problem_add(struct schema_problems *problems, struct arena *arena, const struct place *place,
                 struct str message);

/* --- numbers and hashes --- */

enum { MULTIPLE_DIGITS_MOST = 18 };

/* A divisor of at most MULTIPLE_DIGITS_MOST significant digits, above zero. */
struct multiple {
    uint64_t digits;
    int64_t exponent;
};

bool multiple_of_text(struct str number, struct multiple *out);
bool multiple_divides(const struct multiple *m, struct str number);

/* Equal values have equal hashes. *cost grows by the number of values and bytes looked at. */
uint64_t value_hash(const struct json *v, uint64_t *cost);

/* --- patterns --- */

struct pattern;
struct pattern_matcher; /* what one check needs to run patterns; not shared between threads */

/* NULL, with a message in *why (in the arena): it is not an ECMA-262 expression that we can run. */
struct pattern *pattern_compile(struct str text, struct arena *arena, struct str *why);
void pattern_destroy(struct pattern *pattern);
size_t pattern_bytes(const struct pattern *pattern);

enum pattern_result { PATTERN_NO, PATTERN_YES, PATTERN_LIMIT };

/* Lowers *work by what the match took. */
enum pattern_result pattern_match(const struct pattern *pattern, struct pattern_matcher **matcher,
                                  struct str subject, uint64_t *work);
void pattern_matcher_destroy(struct pattern_matcher *matcher);

/* --- formats --- */

struct format {
    struct str name;
    const char *should_be; /* "an email address" */
    bool (*fits)(struct str text);
};

/* NULL: not a format we know. */
const struct format *format_find(struct str name);

/* --- the compiled graph --- */

struct named_pattern {
    struct named_pattern *next; /* of all patterns of a schema, for destroying */
    struct str text;
    struct pattern *pattern;
};

enum node_sort { NODE_KEYWORDS, NODE_TRUE, NODE_FALSE };

struct nodes {
    size_t count;
    struct node **at;
};

struct number_rules {
    const struct json *minimum;
    const struct json *exclusive_minimum;
    const struct json *maximum;
    const struct json *exclusive_maximum;
    const struct json *multiple_text;
    struct multiple multiple;
};

struct string_rules {
    bool has_min;
    bool has_max;
    uint64_t min;
    uint64_t max;
    const struct named_pattern *pattern;
    struct str hint; /* what fits the pattern looks like, in an author's words; or empty */
    const struct format *format;
};

struct array_rules {
    bool has_min;
    bool has_max;
    bool unique;
    bool has_max_contains;
    uint64_t min;
    uint64_t max;
    uint64_t min_contains;
    uint64_t max_contains;
    struct nodes prefix;
    struct node *items;
    struct node *contains;
};

/* A property name that some keyword of the node mentions. */
struct name {
    struct str text;
    size_t place; /* in object_rules.names */
    bool required;
    struct node *schema;    /* properties */
    struct node *dependent; /* dependentSchemas */
    struct name **needs;    /* dependentRequired */
    size_t needs_count;
};

struct pattern_rule {
    const struct named_pattern *pattern;
    struct node *schema;
};

struct object_rules {
    bool has_min;
    bool has_max;
    uint64_t min;
    uint64_t max;
    struct name **names; /* sorted by text */
    size_t names_count;
    size_t properties_count;
    struct pattern_rule *patterns;
    size_t patterns_count;
    struct node *additional;
    struct node *property_names;
};

/* Keywords that look at the same value again. */
struct logic_rules {
    struct node *ref;
    struct node *dynamic_ref;
    struct nodes all_of;
    struct nodes any_of;
    struct nodes one_of;
    struct node *not_;
    struct node *if_;
    struct node *then_;
    struct node *else_;
};

struct node {
    enum node_sort sort;
    uint8_t types;    /* bits of TYPE_*; 0: any */
    uint8_t visiting; /* during the search for loops */
    const struct json *source;
    const struct place *place;   /* in the schema */
    struct str base;             /* the URI its references are relative to */
    const struct json *resource; /* the root of the document or of the innermost $id */
    const struct json *constant;
    const struct json *choices; /* enum */
    struct logic_rules *logic;
    struct number_rules *number;
    struct string_rules *string;
    struct array_rules *array;
    struct object_rules *object;
    struct node *unevaluated_items;
    struct node *unevaluated_properties;
};

enum { TYPE_INTEGER_BIT = 6 }; /* beside 1 << JSON_*: "integer" */

struct schema {
    struct arena arena;
    struct node *root;
    struct named_pattern *patterns;
    uint32_t max_depth;
    uint64_t max_work;
    bool getter_numbers;
    bool distinct_items;
};

/* --- checking --- */

enum { BITS_FEW = 4 };

/* A set of small numbers; up to BITS_FEW * 64 of them without the heap. */
struct bits {
    uint64_t *words;
    size_t count; /* of words */
    uint64_t few[BITS_FEW];
};

void bits_init(struct bits *bits, size_t count);
void bits_finish(struct bits *bits);

static inline void bits_set(struct bits *bits, size_t i)
{
    bits->words[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline bool bits_has(const struct bits *bits, size_t i)
{
    return bits->words[i / 64] >> (i % 64) & 1;
}

/* One run of schema_check. */
struct check {
    const struct schema *schema;
    struct arena *arena;
    struct schema_problems *problems; /* NULL: only yes or no is wanted, as soon as possible */
    const char *limit;                /* the bound that was hit; then every answer is no */
    struct str limit_path;
    uint64_t work; /* left */
    uint32_t depth;
    bool in_name; /* the value is the name of a property */
    struct pattern_matcher *matcher;
};

/* Does the value fit? Members or items that the node has looked at are added to `seen`. */
bool check_node(struct check *c, const struct node *node, const struct json *v,
                const struct place *at, struct bits *seen);

/* One for each type of value; `seen` may be NULL. */
bool check_number(struct check *c, const struct number_rules *rules, const struct json *v,
                  const struct place *at);
bool check_string(struct check *c, const struct string_rules *rules, const struct json *v,
                  const struct place *at);
bool check_array(struct check *c, const struct array_rules *rules, const struct json *v,
                 const struct place *at, struct bits *seen);
bool check_object(struct check *c, const struct object_rules *rules, const struct json *v,
                  const struct place *at, struct bits *seen);

/* Both return false, so that they can be returned. */
bool check_wrong(struct check *c, const struct place *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool check_hit(struct check *c, const struct place *at, const char *limit);
bool check_spend(struct check *c, const struct place *at, uint64_t work);

/* True: further problems are not wanted. */
static inline bool check_enough(const struct check *c)
{
    return c->limit || !c->problems || c->problems->count == SCHEMA_PROBLEMS_MAX;
}

/* --- compiling --- */

struct reference {
    struct reference *next;
    struct node *node;
    struct node **to;
    struct str text;
    const char *keyword;
};

struct compiler {
    struct schema *schema;
    struct arena *arena; /* of the schema */
    struct arena *problem_arena;
    struct schema_problems *problems;
    bool failed;
    bool assert_formats;
    uint32_t depth;
    uint32_t nodes;
    uint32_t max_nodes;
    size_t pattern_bytes;
    struct map patterns;  /* text -> named_pattern */
    struct map resources; /* absolute URI -> struct node */
    struct map anchors;   /* URI#name -> struct node */
    struct map by_source; /* address of a struct json -> struct node */
    struct reference *references;
};

/* Always returns false. The first problem fails the compilation. */
bool compile_problem(struct compiler *c, const struct place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct place *compile_place(struct compiler *c, const struct place *up, struct str key,
                            size_t index);

/* The node of a subschema, compiled now if it is new. NULL: there was a problem. */
struct node *compile_node(struct compiler *c, const struct json *source, const struct place *place,
                          struct str base, const struct json *resource);
struct node *compile_known(const struct compiler *c, const struct json *source);

/* Registers $id, $anchor and $dynamicAnchor of a node that was just made. */
bool ref_register(struct compiler *c, struct node *node);
/* Gives every reference its node, compiling what only references reach. */
bool ref_resolve_all(struct compiler *c);
/* Refuses schemas that come back to themselves without going deeper into the value. */
bool ref_refuse_loops(struct compiler *c, struct node *root);

#endif
