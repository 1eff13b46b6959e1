/*
 * json/value: reads and builds trees.
 *
 * Children are a linked list in document order; a lookup walks it. Functions that compare whole
 * trees use json/members, so that no input costs more than n log n.
 *
 * Holds always: `count` is the length of the child list, and `last` its end. Recursion goes no
 * deeper than JSON_DEPTH_MAX.
 */
#include "json/value.h"

#include "base/mem.h"
#include "json/members.h"
#include "json/number.h"

/* --- reading --- */

const struct json *json_get(const struct json *object, struct str key)
{
    const struct json *found = NULL;

    if (!json_is(object, JSON_OBJECT))
        return NULL;
    JSON_EACH (member, object)
        if (member->key.len == key.len && str_same(member->key, key))
            found = member;
    return found;
}

void json_pick(const struct json *object, const struct str *keys, size_t count,
               const struct json **found)
{
    for (size_t i = 0; i < count; i++)
        found[i] = NULL;
    if (!json_is(object, JSON_OBJECT))
        return;
    for (const struct json *member = object->first; member; member = member->next)
        for (size_t i = 0; i < count; i++)
            if (member->key.len == keys[i].len && str_same(member->key, keys[i])) {
                found[i] = member;
                break; /* the keys are different ones */
            }
}

const struct json *json_at(const struct json *array, size_t index)
{
    if (!json_is(array, JSON_ARRAY) || index >= array->count)
        return NULL;
    const struct json *item = array->first;
    while (index--)
        item = item->next;
    return item;
}

/* Does the token of a pointer, with its ~0 and ~1, stand for this key? */
static bool token_is(struct str token, struct str key)
{
    size_t k = 0;

    for (size_t t = 0; t < token.len; t++, k++) {
        char c = token.at[t];
        if (c == '~') {
            t++;
            if (t == token.len || (token.at[t] != '0' && token.at[t] != '1'))
                return false;
            c = token.at[t] == '0' ? '~' : '/';
        }
        if (k >= key.len || key.at[k] != c)
            return false;
    }
    return k == key.len;
}

static const struct json *token_member(const struct json *object, struct str token)
{
    const struct json *found = NULL;

    JSON_EACH (member, object)
        if (token_is(token, member->key))
            found = member;
    return found;
}

/* An index is digits without leading zeros. */
static const struct json *token_item(const struct json *array, struct str token)
{
    uint64_t index;

    if (token.len == 0 || (token.len > 1 && token.at[0] == '0'))
        return NULL;
    for (size_t i = 0; i < token.len; i++)
        if (token.at[i] < '0' || token.at[i] > '9')
            return NULL;
    return str_to_u64(token, &index) ? json_at(array, (size_t)index) : NULL;
}

const struct json *json_pointer(const struct json *v, struct str pointer)
{
    while (v && pointer.len) {
        struct str token;
        if (pointer.at[0] != '/')
            return NULL;
        size_t len = 1;
        while (len < pointer.len && pointer.at[len] != '/')
            len++;
        token = str_n(pointer.at + 1, len - 1);
        pointer = str_skip(pointer, len);
        v = v->type == JSON_ARRAY ? token_item(v, token) : token_member(v, token);
    }
    return v;
}

struct str json_str(const struct json *v)
{
    return json_is(v, JSON_STRING) ? v->text : STR_NONE;
}

struct str json_get_str(const struct json *object, struct str key)
{
    return json_str(json_get(object, key));
}

bool json_has_str(const struct json *array, struct str text)
{
    JSON_EACH (item, array)
        if (json_is(item, JSON_STRING) && str_eq(item->text, text))
            return true;
    return false;
}

bool json_true(const struct json *v)
{
    return json_is(v, JSON_BOOL) && v->truth;
}

bool json_i64(const struct json *v, int64_t *out)
{
    return json_is(v, JSON_NUMBER) && number_i64(v->text, out);
}

bool json_double(const struct json *v, double *out)
{
    return json_is(v, JSON_NUMBER) && number_double(v->text, out);
}

const char *json_type_name(const struct json *v)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",       [JSON_BOOL] = "a boolean", [JSON_NUMBER] = "a number",
        [JSON_STRING] = "a string", [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object",
    };

    return v ? names[v->type] : "nothing";
}

/* --- comparing --- */

static bool equal(const struct json *a, const struct json *b, unsigned depth);

static bool arrays_equal(const struct json *a, const struct json *b, unsigned depth)
{
    const struct json *x = a->first;
    const struct json *y = b->first;

    for (; x && y; x = x->next, y = y->next)
        if (!equal(x, y, depth))
            return false;
    return true;
}

static bool same_order(const struct json *a, const struct json *b)
{
    const struct json *x = a->first;
    const struct json *y = b->first;

    for (; x && y; x = x->next, y = y->next)
        if (!str_eq(x->key, y->key))
            return false;
    return true;
}

/* Names are compared before values, so each value is looked at once, with its counterpart. */
static bool objects_equal(const struct json *a, const struct json *b, unsigned depth)
{
    if (same_order(a, b))
        return arrays_equal(a, b, depth);

    const struct json **x = members_sorted(a);
    const struct json **y = members_sorted(b);
    bool same = true;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = str_eq(x[i]->key, y[i]->key);
    for (uint32_t i = 0; same && i < a->count; i++)
        same = equal(x[i], y[i], depth);
    mem_free(x);
    mem_free(y);
    return same;
}

static bool equal(const struct json *a, const struct json *b, unsigned depth)
{
    if (a == b)
        return true;
    if (!a || !b || a->type != b->type)
        return false;

    switch ((enum json_type)a->type) {
    case JSON_NULL:
        return true;
    case JSON_BOOL:
        return a->truth == b->truth;
    case JSON_NUMBER:
        return str_eq(a->text, b->text) || number_cmp(a->text, b->text) == 0;
    case JSON_STRING:
        return str_eq(a->text, b->text);
    case JSON_ARRAY:
        return a->count == b->count && depth < JSON_DEPTH_MAX && arrays_equal(a, b, depth + 1);
    case JSON_OBJECT:
        return a->count == b->count && depth < JSON_DEPTH_MAX && objects_equal(a, b, depth + 1);
    }
    return false;
}

bool json_equal(const struct json *a, const struct json *b)
{
    return equal(a, b, 0);
}

static bool str_has_nul(struct str s)
{
    return s.len && memchr(s.at, '\0', s.len);
}

bool json_has_nul(const struct json *v)
{
    if (json_is(v, JSON_STRING))
        return str_has_nul(v->text);
    JSON_EACH (child, v) {
        if (str_has_nul(child->key) || json_has_nul(child))
            return true;
    }
    return false;
}

/* --- building --- */

static struct json *json_new(struct arena *arena, enum json_type type)
{
    struct json *v = ARENA_NEW(arena, struct json);

    if (v)
        v->type = (uint8_t)type;
    return v;
}

static struct json *json_new_text(struct arena *arena, enum json_type type, struct str text)
{
    struct json *v = json_new(arena, type);

    if (!v)
        return NULL;
    v->text = arena_str(arena, text);
    return v->text.at ? v : NULL;
}

struct json *json_new_object(struct arena *arena)
{
    return json_new(arena, JSON_OBJECT);
}

struct json *json_new_array(struct arena *arena)
{
    return json_new(arena, JSON_ARRAY);
}

struct json *json_new_str(struct arena *arena, struct str s)
{
    return json_new_text(arena, JSON_STRING, s);
}

struct json *json_new_i64(struct arena *arena, int64_t n)
{
    struct number_text text;

    number_from_i64(n, &text);
    return json_new_text(arena, JSON_NUMBER, number_str(&text));
}

struct json *json_new_double(struct arena *arena, double d)
{
    struct number_text text;

    if (!__builtin_isfinite(d))
        return NULL;
    number_shortest(d, &text);
    return json_new_text(arena, JSON_NUMBER, number_str(&text));
}

struct json *json_new_bool(struct arena *arena, bool truth)
{
    struct json *v = json_new(arena, JSON_BOOL);

    if (v)
        v->truth = truth;
    return v;
}

struct json *json_new_null(struct arena *arena)
{
    return json_new(arena, JSON_NULL);
}

static void append(struct json *parent, struct json *child)
{
    child->next = NULL;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
    parent->raw = STR_NONE; /* no longer what was parsed */
}

void json_push(struct json *array, struct json *child)
{
    if (json_is(array, JSON_ARRAY) && child)
        append(array, child);
}

/* The copy of a key is never {NULL, 0}, so that an empty key can be told from a failed copy. */
static bool key_copy(struct arena *arena, struct json *child, struct str key)
{
    child->key = arena_str(arena, key);
    child->plain = false;
    return child->key.at != NULL;
}

void json_set_new(struct arena *arena, struct json *object, struct str key, struct json *child)
{
    if (json_is(object, JSON_OBJECT) && child && key_copy(arena, child, key))
        append(object, child);
}

void json_set(struct arena *arena, struct json *object, struct str key, struct json *child)
{
    struct json *old = NULL;
    struct json *before = NULL;
    struct json *left = NULL;

    if (!json_is(object, JSON_OBJECT) || !child)
        return;
    for (struct json *member = object->first; member; left = member, member = member->next)
        if (str_eq(member->key, key)) {
            old = member;
            before = left;
        }
    if (!key_copy(arena, child, key))
        return;
    if (old) {
        child->next = old->next;
        if (before)
            before->next = child;
        else
            object->first = child;
        if (object->last == old)
            object->last = child;
        old->next = NULL;
        object->raw = STR_NONE;
    } else {
        append(object, child);
    }
}

static struct json *copy(struct arena *arena, const struct json *v, unsigned depth);

static bool copy_children(struct arena *arena, const struct json *from, struct json *to,
                          unsigned depth)
{
    struct json **slot = &to->first;

    if (depth >= JSON_DEPTH_MAX)
        return false;
    for (const struct json *child = from->first; child; child = child->next) {
        struct json *twin = copy(arena, child, depth + 1);
        if (!twin || (from->type == JSON_OBJECT && !key_copy(arena, twin, child->key)))
            return false;
        twin->plain = child->plain;
        *slot = to->last = twin;
        slot = &twin->next;
    }
    return true;
}

static struct json *copy(struct arena *arena, const struct json *v, unsigned depth)
{
    struct json *twin = arena_alloc(arena, sizeof(*twin));

    if (!twin)
        return NULL;
    *twin = (struct json){ .type = v->type, .truth = v->truth, .count = v->count };
    if (v->type >= JSON_ARRAY)
        return copy_children(arena, v, twin, depth) ? twin : NULL;
    if (v->type >= JSON_NUMBER) {
        twin->text = arena_str(arena, v->text);
        if (!twin->text.at)
            return NULL;
    }
    return twin;
}

struct json *json_copy(struct arena *arena, const struct json *v)
{
    return v ? copy(arena, v, 0) : NULL;
}
