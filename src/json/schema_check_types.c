/*
 * json/schema_check_types: the keywords that apply to one type of value.
 *
 * Each function looks at a value of its type once, with all keywords of a node together. The
 * members of an object are walked once, and a set remembers which of the names in the schema are
 * there, so that `required` and similar keywords never search the object again.
 */
#include "json/schema_inside.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"

enum {
    KNOWN_NAMES_MAX = 20, /* names that a message lists, if there are no more */
    KNOWN_TEXT_MAX = 400, /* and their bytes */
};

/* Whether a message needs a plural "s". */
static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* --- numbers --- */

bool check_number(struct check *c, const struct number_rules *rules, const struct json *v,
                  const struct place *at)
{
    bool fits = true;

    if (!check_spend(c, at, 1 + v->text.len / 64))
        return false;
    if (rules->minimum && json_number_cmp(v, rules->minimum) < 0)
        fits = check_wrong(c, at, "must be at least " STR_FMT, STR_ARG(rules->minimum->text));
    if (rules->exclusive_minimum && json_number_cmp(v, rules->exclusive_minimum) <= 0)
        fits = check_wrong(c, at, "must be more than " STR_FMT,
                           STR_ARG(rules->exclusive_minimum->text));
    if (rules->maximum && json_number_cmp(v, rules->maximum) > 0)
        fits = check_wrong(c, at, "must be at most " STR_FMT, STR_ARG(rules->maximum->text));
    if (rules->exclusive_maximum && json_number_cmp(v, rules->exclusive_maximum) >= 0)
        fits = check_wrong(c, at, "must be less than " STR_FMT,
                           STR_ARG(rules->exclusive_maximum->text));
    if (rules->multiple_text && !multiple_divides(&rules->multiple, v->text))
        fits = check_wrong(c, at, "must be a multiple of " STR_FMT,
                           STR_ARG(rules->multiple_text->text));
    return fits;
}

/* --- strings --- */

/* Counts code points: bytes that do not continue one. */
static uint64_t length_of(struct str s)
{
    uint64_t length = 0;

    for (size_t i = 0; i < s.len; i++)
        length += ((unsigned char)s.at[i] & 0xc0) != 0x80;
    return length;
}

static bool check_pattern(struct check *c, const struct named_pattern *pattern, struct str text,
                          const struct place *at, bool *matches)
{
    enum pattern_result result;

    *matches = false;
    if (!check_spend(c, at, 1))
        return false;
    result = pattern_match(pattern->pattern, &c->matcher, text, &c->work);
    if (result == PATTERN_LIMIT)
        return check_hit(c, at, "takes more work to match its pattern than is allowed");
    *matches = result == PATTERN_YES;
    return true;
}

bool check_string(struct check *c, const struct string_rules *rules, const struct json *v,
                  const struct place *at)
{
    bool fits = true;
    bool matches = true;

    if (!check_spend(c, at, v->text.len / 64))
        return false;
    uint64_t length = rules->has_min || rules->has_max ? length_of(v->text) : 0;
    if (rules->has_min && length < rules->min)
        fits = check_wrong(c, at, "must be at least %llu character%s long",
                           (unsigned long long)rules->min, plural(rules->min));
    if (rules->has_max && length > rules->max)
        fits = check_wrong(c, at, "must be at most %llu character%s long",
                           (unsigned long long)rules->max, plural(rules->max));
    if (rules->format && !rules->format->fits(v->text))
        fits = check_wrong(c, at, "must be %s", rules->format->should_be);
    if (rules->pattern && (fits || !check_enough(c))) {
        if (!check_pattern(c, rules->pattern, v->text, at, &matches))
            return false;
        if (!matches && rules->hint.len)
            fits = check_wrong(c, at, "must look like " STR_FMT, STR_ARG(rules->hint));
        else if (!matches)
            fits = check_wrong(c, at, "must match the pattern " STR_FMT,
                               STR_ARG(rules->pattern->text));
    }
    return fits;
}

/* --- arrays --- */

struct hashed {
    uint64_t hash;
    size_t index;
    const struct json *item;
};

static int by_hash(const void *a, const void *b)
{
    const struct hashed *x = a;
    const struct hashed *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Equal items have equal hashes, and so become neighbours. */
static bool check_unique(struct check *c, const struct json *v, const struct place *at)
{
    uint64_t cost = 0;
    size_t n = 0;
    bool fits = true;

    if (v->count < 2)
        return true;
    if (!check_spend(c, at, v->count))
        return false;
    struct hashed *all = mem_alloc(v->count * sizeof(*all));
    JSON_EACH (item, v) {
        all[n] = (struct hashed){ .hash = value_hash(item, &cost), .index = n, .item = item };
        n++;
    }
    fits = check_spend(c, at, cost);
    qsort(all, n, sizeof(*all), by_hash);
    for (size_t i = 1; i < n && fits; i++) {
        if (all[i].hash == all[i - 1].hash && json_equal(all[i].item, all[i - 1].item)) {
            struct place here = place_index(at, all[i].index);
            fits = check_wrong(c, &here, "is there twice, and all must differ");
        }
    }
    mem_free(all);
    return fits;
}

static bool check_contains(struct check *c, const struct array_rules *rules, const struct json *v,
                           const struct place *at, struct bits *seen)
{
    struct schema_problems *heard = c->problems;
    uint64_t found = 0;
    size_t i = 0;

    c->problems = NULL;
    JSON_EACH (item, v) {
        struct place here = place_index(at, i);
        if (check_node(c, rules->contains, item, &here, NULL)) {
            found++;
            if (seen)
                bits_set(seen, i);
        }
        i++;
        if (c->limit || (!seen && !rules->has_max_contains && found >= rules->min_contains))
            break;
    }
    c->problems = heard;
    if (c->limit)
        return false;
    if (found < rules->min_contains)
        return check_wrong(c, at, "must contain at least %llu item%s of a certain kind, has %llu",
                           (unsigned long long)rules->min_contains, plural(rules->min_contains),
                           (unsigned long long)found);
    if (rules->has_max_contains && found > rules->max_contains)
        return check_wrong(c, at, "must contain at most %llu item%s of a certain kind, has %llu",
                           (unsigned long long)rules->max_contains, plural(rules->max_contains),
                           (unsigned long long)found);
    return true;
}

static bool check_items(struct check *c, const struct array_rules *rules, const struct json *v,
                        const struct place *at, struct bits *seen)
{
    bool fits = true;
    size_t i = 0;

    JSON_EACH (item, v) {
        struct place here = place_index(at, i);
        const struct node *node = i < rules->prefix.count ? rules->prefix.at[i] : rules->items;
        if (!node)
            break;
        if (node == rules->items && node->sort == NODE_FALSE)
            fits = check_wrong(c, &here, "is one item too many");
        else
            fits = check_node(c, node, item, &here, NULL) && fits;
        if (seen)
            bits_set(seen, i);
        i++;
        if (!fits && check_enough(c))
            break;
    }
    return fits;
}

bool check_array(struct check *c, const struct array_rules *rules, const struct json *v,
                 const struct place *at, struct bits *seen)
{
    bool fits = true;

    if (rules->has_min && v->count < rules->min)
        fits = check_wrong(c, at, "must have at least %llu item%s", (unsigned long long)rules->min,
                           plural(rules->min));
    if (rules->has_max && v->count > rules->max)
        fits = check_wrong(c, at, "must have at most %llu item%s", (unsigned long long)rules->max,
                           plural(rules->max));
    if ((rules->unique || c->schema->distinct_items) && (fits || !check_enough(c)))
        fits = check_unique(c, v, at) && fits;
    if (rules->contains && (fits || !check_enough(c)))
        fits = check_contains(c, rules, v, at, seen) && fits;
    if ((rules->prefix.count || rules->items) && (fits || !check_enough(c)))
        fits = check_items(c, rules, v, at, seen) && fits;
    return fits;
}

/* --- objects --- */

static const struct name *name_find(const struct object_rules *rules, struct str text)
{
    size_t low = 0;
    size_t high = rules->names_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = str_cmp(text, rules->names[middle]->text);
        if (order == 0)
            return rules->names[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

static bool check_name(struct check *c, const struct object_rules *rules, struct str key,
                       const struct place *at)
{
    const struct json name = { .type = JSON_STRING, .text = key };
    bool before = c->in_name;

    c->in_name = true;
    bool fits = check_node(c, rules->property_names, &name, at, NULL);
    c->in_name = before;
    return fits;
}

/* The names that there are, as many as fit into a sentence. */
static struct str known_names(struct check *c, const struct object_rules *rules)
{
    struct buf out;

    buf_init(&out, KNOWN_TEXT_MAX);
    for (size_t i = 0; i < rules->names_count && i < KNOWN_NAMES_MAX; i++)
        if (rules->names[i]->schema)
            buf_fmt(&out, "%s" STR_FMT, out.len ? ", " : "", STR_ARG(rules->names[i]->text));
    struct str text = out.overflow || rules->names_count > KNOWN_NAMES_MAX
                          ? STR_NONE
                          : arena_str(c->arena, buf_str(&out));
    buf_finish(&out);
    return text;
}

/* patternProperties and additionalProperties for one member. `known`: properties has it. */
static bool check_rest(struct check *c, const struct object_rules *rules, const struct json *member,
                       const struct place *at, bool *known)
{
    bool fits = true;
    bool matches;

    for (size_t i = 0; i < rules->patterns_count; i++) {
        if (!check_pattern(c, rules->patterns[i].pattern, member->key, at, &matches))
            return false;
        if (!matches)
            continue;
        *known = true;
        fits = check_node(c, rules->patterns[i].schema, member, at, NULL) && fits;
        if (!fits && check_enough(c))
            return false;
    }
    if (*known || !rules->additional)
        return fits;
    *known = true;
    if (rules->additional->sort == NODE_FALSE) {
        bool listed = !check_enough(c) && !rules->patterns_count;
        struct str names = listed ? known_names(c, rules) : STR_NONE;

        if (names.len)
            return check_wrong(c, at, "is not one of the known properties, which are " STR_FMT,
                               STR_ARG(names));
        return check_wrong(c, at, "is not one of the known properties%s",
                           rules->names_count || rules->patterns_count ? "" : ": there are none");
    }
    return check_node(c, rules->additional, member, at, NULL) && fits;
}

static bool check_member(struct check *c, const struct object_rules *rules,
                         const struct json *member, const struct place *at, struct bits *there,
                         bool *known)
{
    const struct name *name = name_find(rules, member->key);
    bool fits = true;

    if (!check_spend(c, at, 1 + member->key.len / 64))
        return false;
    if (name)
        bits_set(there, name->place);
    if (rules->property_names)
        fits = check_name(c, rules, member->key, at);
    if (name && name->schema && (fits || !check_enough(c))) {
        *known = true;
        fits = check_node(c, name->schema, member, at, NULL) && fits;
    }
    if (fits || !check_enough(c))
        fits = check_rest(c, rules, member, at, known) && fits;
    return fits;
}

static bool check_needs(struct check *c, const struct name *name, const struct place *at,
                        const struct bits *there)
{
    bool fits = true;

    if (!check_spend(c, at, name->needs_count / 8))
        return false;
    for (size_t i = 0; i < name->needs_count; i++) {
        struct place here = place_key(at, name->needs[i]->text);
        if (!bits_has(there, name->needs[i]->place))
            fits =
                check_wrong(c, &here, "is required when " STR_FMT " is there", STR_ARG(name->text));
        if (!fits && check_enough(c))
            break;
    }
    return fits;
}

static bool check_names(struct check *c, const struct object_rules *rules, const struct json *v,
                        const struct place *at, const struct bits *there, struct bits *seen)
{
    bool fits = true;

    if (!check_spend(c, at, rules->names_count / 8))
        return false;
    for (size_t i = 0; i < rules->names_count; i++) {
        const struct name *name = rules->names[i];
        struct place here = place_key(at, name->text);
        if (!bits_has(there, i)) {
            if (name->required)
                fits = check_wrong(c, &here, "is required");
        } else {
            if (name->needs_count)
                fits = check_needs(c, name, at, there) && fits;
            if (name->dependent && (fits || !check_enough(c)))
                fits = check_node(c, name->dependent, v, at, seen) && fits;
        }
        if (!fits && check_enough(c))
            break;
    }
    return fits;
}

static bool check_members(struct check *c, const struct object_rules *rules, const struct json *v,
                          const struct place *at, struct bits *there, struct bits *seen)
{
    bool fits = true;
    size_t i = 0;

    JSON_EACH (member, v) {
        struct place here = place_key(at, member->key);
        bool known = false;
        fits = check_member(c, rules, member, &here, there, &known) && fits;
        if (known && seen)
            bits_set(seen, i);
        i++;
        if (!fits && check_enough(c))
            break;
    }
    return fits;
}

bool check_object(struct check *c, const struct object_rules *rules, const struct json *v,
                  const struct place *at, struct bits *seen)
{
    struct bits there;
    bool fits = true;

    if (rules->has_min && v->count < rules->min)
        fits = check_wrong(c, at, "must have at least %llu propert%s",
                           (unsigned long long)rules->min, rules->min == 1 ? "y" : "ies");
    if (rules->has_max && v->count > rules->max)
        fits = check_wrong(c, at, "must have at most %llu propert%s",
                           (unsigned long long)rules->max, rules->max == 1 ? "y" : "ies");
    if (!fits && check_enough(c))
        return false;
    bits_init(&there, rules->names_count);
    fits = check_members(c, rules, v, at, &there, seen) && fits;
    if (fits || !check_enough(c))
        fits = check_names(c, rules, v, at, &there, seen) && fits;
    bits_finish(&there);
    return fits;
}
