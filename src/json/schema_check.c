/*
 * json/schema_check: does a value fit?
 *
 * The walk goes over nodes and values together. It runs in one of two modes: with a list of
 * problems it goes on after a failure, to report everything at once; without one it stops at the
 * first. Alternatives (anyOf, oneOf, not, if) are tried in the second mode, and only the closest
 * one is asked for its reasons.
 *
 * unevaluatedItems and unevaluatedProperties need to know which items and members some subschema
 * that fits has looked at. That is a set of bits, carried along only where one of these keywords
 * can read it.
 *
 * Holds always: once a bound is hit, `limit` is set and every answer is no, up to the top. So a
 * `not` never turns an exhausted budget into a yes.
 */
#include <float.h>
#include <inttypes.h>

#include "json/schema_inside.h"

#include "base/buf.h"
#include "base/mem.h"
#include "json/number.h"
#include "json/write.h"

enum {
    VALUE_TEXT_MOST = 64,    /* bytes of one value quoted in a message */
    CHOICES_TEXT_MOST = 400, /* bytes of all of them */
    ALTERNATIVES_ASKED = 8,  /* alternatives that are asked for their reasons */
};

/* --- bits --- */

void bits_init(struct bits *bits, size_t count)
{
    bits->count = (count + 63) / 64;
    memset(bits->few, 0, sizeof(bits->few));
    bits->words = bits->few;
    if (bits->count > BITS_FEW)
        bits->words = mem_zalloc(bits->count * sizeof(uint64_t));
}

void bits_finish(struct bits *bits)
{
    if (bits->words != bits->few)
        mem_free(bits->words);
}

/* --- problems and bounds --- */

bool check_wrong(struct check *c, const struct place *at, const char *format, ...)
{
    va_list args;

    if (check_enough(c))
        return false;
    va_start(args, format);
    struct str message = arena_vfmt(c->arena, format, args);
    va_end(args);
    if (c->in_name && message.at)
        message = arena_fmt(c->arena, "has a name that is not allowed: " STR_FMT, STR_ARG(message));
    problem_add(c->problems, c->arena, at, message);
    return false;
}

/* The path is made at once, because the places are on the stack, which is about to unwind. */
bool check_hit(struct check *c, const struct place *at, const char *limit)
{
    if (!c->limit) {
        c->limit = limit;
        c->limit_path = place_text(c->arena, at);
    }
    return false;
}

bool check_spend(struct check *c, const struct place *at, uint64_t work)
{
    if (c->limit)
        return false;
    if (work > c->work) {
        c->work = 0;
        return check_hit(c, at, "takes more work to check than is allowed");
    }
    c->work -= work;
    return true;
}

/* --- values in messages --- */

static void add_value(struct buf *out, const struct json *v)
{
    struct buf one;

    buf_init(&one, VALUE_TEXT_MOST);
    bool whole = json_write(&one, v);
    buf_add(out, whole ? buf_str(&one) : STR("..."));
    buf_finish(&one);
}

static bool add_choice(struct buf *out, const struct json *v)
{
    if (out->len)
        buf_add(out, STR(", "));
    add_value(out, v);
    return out->len + VALUE_TEXT_MOST < CHOICES_TEXT_MOST;
}

static void wrong_choice(struct check *c, const struct place *at, struct buf *choices, bool all)
{
    check_wrong(c, at, "must be one of " STR_FMT "%s", STR_ARG(buf_str(choices)),
                all ? "" : ", ...");
}

/* --- type, const, enum --- */

static bool type_fits(uint8_t types, const struct json *v)
{
    if (types & 1 << v->type)
        return true;
    if (v->type != JSON_NUMBER || !(types & 1 << TYPE_INTEGER_BIT))
        return false;
    return number_parts(v->text).exponent >= 0;
}

static bool wrong_type(struct check *c, uint8_t types, const struct json *v, const struct place *at)
{
    static const char *const names[] = { "null",     "a boolean", "a number",  "a string",
                                         "an array", "an object", "an integer" };
    static const size_t names_count = sizeof(names) / sizeof(names[0]);
    bool integer = types & 1 << TYPE_INTEGER_BIT;
    char text[128];
    size_t len = 0;

    if (check_enough(c))
        return false;
    for (size_t i = 0; i < names_count; i++) {
        if (!(types & 1 << i))
            continue;
        types &= (uint8_t) ~(1 << i);
        struct str sep = len == 0 ? STR("") : types ? STR(", ") : STR(" or ");
        memcpy(text + len, sep.at, sep.len);
        len += sep.len;
        memcpy(text + len, names[i], strlen(names[i]));
        len += strlen(names[i]);
    }
    const char *got = json_type_name(v);
    if (v->type == JSON_NUMBER && integer)
        got = "a number that is not an integer";
    return check_wrong(c, at, "expected %.*s, got %s", (int)len, text, got);
}

/* Is the number in the range that a handler can read? */
static bool check_range(struct check *c, uint8_t types, const struct json *v,
                        const struct place *at)
{
    bool any = types & 1 << JSON_NUMBER;
    int64_t whole;
    double real;

    if (any ? json_double(v, &real) : json_i64(v, &whole))
        return true;
    return any ? check_wrong(c, at, "must be a number from %.17g to %.17g", -DBL_MAX, DBL_MAX)
               : check_wrong(c, at, "must be a whole number from %" PRId64 " to %" PRId64,
                             INT64_MIN, INT64_MAX);
}

static bool equals(struct check *c, const struct json *a, const struct json *b,
                   const struct place *at)
{
    uint64_t cost = 1;

    if (a->type != b->type)
        return false;
    if (a->type >= JSON_ARRAY) {
        if (a->count != b->count)
            return false;
        value_hash(a, &cost); /* only to count what comparing may cost */
    }
    return check_spend(c, at, cost) && json_equal(a, b);
}

static bool check_choices(struct check *c, const struct json *choices, const struct json *v,
                          const struct place *at)
{
    struct buf text;

    JSON_EACH (choice, choices)
        if (equals(c, choice, v, at))
            return true;
    if (!check_spend(c, at, choices->count) || check_enough(c))
        return false;
    if (choices->count == 0)
        return check_wrong(c, at, "is not allowed: its enum is empty");
    buf_init(&text, CHOICES_TEXT_MOST);
    const struct json *choice = choices->first;
    while (choice && add_choice(&text, choice))
        choice = choice->next;
    wrong_choice(c, at, &text, !choice || !choice->next);
    buf_finish(&text);
    return false;
}

static bool check_constant(struct check *c, const struct json *constant, const struct json *v,
                           const struct place *at)
{
    struct buf text;

    if (equals(c, constant, v, at))
        return true;
    if (check_enough(c))
        return false;
    buf_init(&text, CHOICES_TEXT_MOST);
    add_value(&text, constant);
    check_wrong(c, at, "must be " STR_FMT, STR_ARG(buf_str(&text)));
    buf_finish(&text);
    return false;
}

/* --- alternatives --- */

static bool check_quietly(struct check *c, const struct node *node, const struct json *v,
                          const struct place *at, struct bits *seen)
{
    struct schema_problems *heard = c->problems;

    c->problems = NULL;
    bool fits = check_node(c, node, v, at, seen);
    c->problems = heard;
    return fits;
}

/* If all alternatives are constants, a list of them says more than any reason. */
static bool say_constants(struct check *c, const struct nodes *nodes, const struct place *at)
{
    struct buf text;
    size_t i = 0;

    for (size_t n = 0; n < nodes->count; n++)
        if (!nodes->at[n]->constant)
            return false;
    buf_init(&text, CHOICES_TEXT_MOST);
    while (i < nodes->count && add_choice(&text, nodes->at[i]->constant))
        i++;
    wrong_choice(c, at, &text, i + 1 >= nodes->count);
    buf_finish(&text);
    return true;
}

/* The further into the value it fits, the closer. A wrong type is the furthest off. */
static size_t closeness(const struct schema_problem *problem)
{
    size_t steps = 0;

    for (size_t i = 0; i < problem->path.len; i++)
        steps += problem->path.at[i] == '/';
    return steps * 2 + !str_starts(problem->message, STR("expected "));
}

static bool fits_none(struct check *c, const struct nodes *nodes, const struct json *v,
                      const struct place *at)
{
    if (!check_enough(c) && !say_constants(c, nodes, at)) {
        struct schema_problems *heard = c->problems;
        struct schema_problems reasons;
        struct schema_problem closest = { 0 };
        size_t best = 0;

        for (size_t i = 0; i < nodes->count && i < ALTERNATIVES_ASKED && !c->limit; i++) {
            reasons.count = 0;
            c->problems = &reasons;
            check_node(c, nodes->at[i], v, at, NULL);
            c->problems = heard;
            size_t near = reasons.count ? closeness(&reasons.at[0]) + 1 : 0;
            if (near > best) {
                best = near;
                closest = reasons.at[0];
            }
        }
        if (!best)
            check_wrong(c, at, "fits none of the %zu alternatives", nodes->count);
        else if (nodes->count == 1)
            check_wrong(c, at, STR_FMT, STR_ARG(closest.message));
        else
            check_wrong(c, at,
                        "fits none of the %zu alternatives; the closest one says%s" STR_FMT
                        ": " STR_FMT,
                        nodes->count, closest.path.len ? " at " : "", STR_ARG(closest.path),
                        STR_ARG(closest.message));
    }
    return false;
}

/* With `seen` every alternative has to be tried, since each that fits may have looked at something.
 */
static bool check_any_of(struct check *c, const struct nodes *nodes, const struct json *v,
                         const struct place *at, struct bits *seen)
{
    bool any = false;

    for (size_t i = 0; i < nodes->count && (!any || seen); i++) {
        any = check_quietly(c, nodes->at[i], v, at, seen) || any;
        if (c->limit)
            return false;
    }
    return any || fits_none(c, nodes, v, at);
}

static bool check_one_of(struct check *c, const struct nodes *nodes, const struct json *v,
                         const struct place *at, struct bits *seen)
{
    size_t fitting = 0;

    for (size_t i = 0; i < nodes->count && fitting < 2; i++) {
        fitting += check_quietly(c, nodes->at[i], v, at, seen) ? 1 : 0;
        if (c->limit)
            return false;
    }
    if (fitting == 0)
        return fits_none(c, nodes, v, at);
    return fitting == 1 || check_wrong(c, at,
                                       "fits more than one of the alternatives, where "
                                       "exactly one must fit");
}

static bool check_if(struct check *c, const struct logic_rules *rules, const struct json *v,
                     const struct place *at, struct bits *seen)
{
    bool fits = check_quietly(c, rules->if_, v, at, seen);
    const struct node *next = fits ? rules->then_ : rules->else_;

    return !c->limit && (!next || check_node(c, next, v, at, seen));
}

static bool check_logic(struct check *c, const struct logic_rules *rules, const struct json *v,
                        const struct place *at, struct bits *seen)
{
    bool fits = true;

    if (rules->ref)
        fits = check_node(c, rules->ref, v, at, seen);
    if (rules->dynamic_ref && (fits || !check_enough(c)))
        fits = check_node(c, rules->dynamic_ref, v, at, seen) && fits;
    for (size_t i = 0; i < rules->all_of.count && (fits || !check_enough(c)); i++)
        fits = check_node(c, rules->all_of.at[i], v, at, seen) && fits;
    if (rules->any_of.count && (fits || !check_enough(c)))
        fits = check_any_of(c, &rules->any_of, v, at, seen) && fits;
    if (rules->one_of.count && (fits || !check_enough(c)))
        fits = check_one_of(c, &rules->one_of, v, at, seen) && fits;
    if (rules->not_ && (fits || !check_enough(c)))
        fits = check_quietly(c, rules->not_, v, at, NULL)
                   ? check_wrong(c, at, "is of a kind that is not allowed")
                   : !c->limit && fits;
    if (rules->if_ && (fits || !check_enough(c)))
        fits = check_if(c, rules, v, at, seen) && fits;
    return fits;
}

/* --- a node --- */

static bool check_unevaluated(struct check *c, const struct node *rest, const struct json *v,
                              const struct place *at, struct bits *seen)
{
    bool fits = true;
    size_t i = 0;

    JSON_EACH (child, v) {
        if (!bits_has(seen, i)) {
            struct place here =
                v->type == JSON_OBJECT ? place_key(at, child->key) : place_index(at, i);
            if (rest->sort == NODE_FALSE)
                fits = check_wrong(c, &here,
                                   v->type == JSON_OBJECT ? "is not one of the known properties"
                                                          : "is one item too many");
            else
                fits = check_node(c, rest, child, &here, NULL) && fits;
            bits_set(seen, i);
        }
        i++;
        if (!fits && check_enough(c))
            break;
    }
    return fits;
}

static const struct node *rest_of(const struct node *node, const struct json *v)
{
    if (v->type == JSON_ARRAY)
        return node->unevaluated_items;
    return v->type == JSON_OBJECT ? node->unevaluated_properties : NULL;
}

static bool check_by_type(struct check *c, const struct node *node, const struct json *v,
                          const struct place *at, struct bits *seen)
{
    switch ((enum json_type)v->type) {
    case JSON_NUMBER:
        return !node->number || check_number(c, node->number, v, at);
    case JSON_STRING:
        return !node->string || check_string(c, node->string, v, at);
    case JSON_ARRAY:
        return !node->array || check_array(c, node->array, v, at, seen);
    case JSON_OBJECT:
        return !node->object || check_object(c, node->object, v, at, seen);
    case JSON_NULL:
    case JSON_BOOL:
        break;
    }
    return true;
}

static bool check_keywords(struct check *c, const struct node *node, const struct json *v,
                           const struct place *at, struct bits *seen)
{
    const struct node *rest = rest_of(node, v);
    bool fits = true;

    if (node->types && !type_fits(node->types, v))
        return wrong_type(c, node->types, v, at);
    if (node->types && v->type == JSON_NUMBER && c->schema->getter_numbers)
        fits = check_range(c, node->types, v, at);
    if (node->constant && (fits || !check_enough(c)))
        fits = check_constant(c, node->constant, v, at) && fits;
    if (node->choices && (fits || !check_enough(c)))
        fits = check_choices(c, node->choices, v, at) && fits;
    if (fits || !check_enough(c))
        fits = check_by_type(c, node, v, at, seen) && fits;
    if (node->logic && (fits || !check_enough(c)))
        fits = check_logic(c, node->logic, v, at, seen) && fits;
    if (rest && (fits || !check_enough(c)))
        fits = check_unevaluated(c, rest, v, at, seen) && fits;
    return fits;
}

/* A node has a set of its own: it does not see what its siblings looked at. */
static bool check_tracking(struct check *c, const struct node *node, const struct json *v,
                           const struct place *at, struct bits *seen)
{
    struct bits own;

    if (!check_spend(c, at, v->count / 64))
        return false;
    bits_init(&own, v->count);
    bool fits = check_keywords(c, node, v, at, &own);
    for (size_t i = 0; fits && seen && i < own.count; i++)
        seen->words[i] |= own.words[i];
    bits_finish(&own);
    return fits;
}

bool check_node(struct check *c, const struct node *node, const struct json *v,
                const struct place *at, struct bits *seen)
{
    if (!check_spend(c, at, 1))
        return false;
    if (node->sort != NODE_KEYWORDS)
        return node->sort == NODE_TRUE || check_wrong(c, at, "is not allowed here");
    if (c->depth == c->schema->max_depth)
        return check_hit(c, at, "is nested deeper than is allowed");
    c->depth++;
    bool track = v->type >= JSON_ARRAY && (seen || rest_of(node, v));
    bool fits = track ? check_tracking(c, node, v, at, seen) : check_keywords(c, node, v, at, NULL);
    c->depth--;
    return fits && !c->limit;
}

nod_status schema_check(const struct schema *schema, const struct json *value, struct arena *arena,
                        struct schema_problems *problems)
{
    struct check c = {
        .schema = schema, .arena = arena, .problems = problems, .work = schema->max_work
    };

    problems->count = 0;
    if (!value) {
        check_wrong(&c, NULL, "is missing");
        return NOD_E_INVALID;
    }
    bool fits = check_node(&c, schema->root, value, NULL, NULL);
    pattern_matcher_destroy(c.matcher);
    if (!c.limit)
        return fits ? NOD_OK : NOD_E_INVALID;
    /* The reason that matters must not be lost among others. */
    if (problems->count == SCHEMA_PROBLEMS_MAX)
        problems->count--;
    problems->at[problems->count++] =
        (struct schema_problem){ .path = c.limit_path, .message = str_of(c.limit) };
    return NOD_E_LIMIT;
}
