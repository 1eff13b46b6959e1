/*
 * provider/handler_json: JSON values as a handler reads and builds them.
 *
 * A nod_json is the tree of json/, seen from outside. Every tree that a handler is given was copied
 * into its run, so each string, and the text of each number, ends with a NUL. A value that is put
 * into another is copied, because the author may use it twice or change it later.
 */
#include "base/mem.h"
#include "provider/local_inside.h"

const nod_json *nod_get(const nod_json *object, const char *key)
{
    return json_out(json_get(json_in(object), str_of(key)));
}

bool nod_has(const nod_json *object, const char *key)
{
    const struct json *v = json_get(json_in(object), str_of(key));

    return v && v->type != JSON_NULL;
}

const char *nod_as_str(const nod_json *value)
{
    struct str text = json_str(json_in(value));

    return text.at ? text.at : "";
}

int64_t nod_as_int(const nod_json *value)
{
    int64_t n;

    return json_i64(json_in(value), &n) ? n : 0;
}

double nod_as_double(const nod_json *value)
{
    double d;

    return json_double(json_in(value), &d) ? d : 0;
}

bool nod_as_bool(const nod_json *value)
{
    return json_true(json_in(value));
}

const char *nod_as_number_text(const nod_json *value)
{
    const struct json *v = json_in(value);

    return json_is(v, JSON_NUMBER) && v->text.at ? v->text.at : "";
}

const char *nod_get_number_text(const nod_json *object, const char *key)
{
    return nod_as_number_text(nod_get(object, key));
}

const char *nod_get_str(const nod_json *object, const char *key)
{
    return nod_as_str(nod_get(object, key));
}

int64_t nod_get_int(const nod_json *object, const char *key)
{
    return nod_as_int(nod_get(object, key));
}

double nod_get_double(const nod_json *object, const char *key)
{
    return nod_as_double(nod_get(object, key));
}

bool nod_get_bool(const nod_json *object, const char *key)
{
    return nod_as_bool(nod_get(object, key));
}

size_t nod_count(const nod_json *value)
{
    const struct json *v = json_in(value);

    return v && v->type >= JSON_ARRAY ? v->count : 0;
}

const nod_json *nod_at(const nod_json *array, size_t index)
{
    return json_out(json_at(json_in(array), index));
}

/* --- building --- */

static nod_json *made(struct json *v)
{
    return (nod_json *)(void *)v;
}

static struct json *own(nod_json *v)
{
    return (struct json *)(void *)v;
}

nod_json *nod_object(nod_call *call)
{
    return made(json_new_object(&call->run->arena));
}

nod_json *nod_array(nod_call *call)
{
    return made(json_new_array(&call->run->arena));
}

nod_json *nod_json_str(nod_call *call, const char *text)
{
    return made(json_new_str(&call->run->arena, call_text(call, text)));
}

nod_json *nod_json_int(nod_call *call, int64_t value)
{
    return made(json_new_i64(&call->run->arena, value));
}

static void set_child(nod_call *call, nod_json *object, const char *key, struct json *child)
{
    if (!object || !child) /* the run is out of memory, which ends the call by itself */
        return;
    if (own(object)->type != JSON_OBJECT || !key) {
        run_bug(call->run,
                "The %s " STR_FMT
                " sets a member of something that is not an object, or without a key",
                call_what(call), STR_ARG(call_name(call)));
        return;
    }
    json_set(&call->run->arena, own(object), call_text(call, key), child);
}

void nod_set_str(nod_call *call, nod_json *object, const char *key, const char *value)
{
    set_child(call, object, key, json_new_str(&call->run->arena, call_text(call, value)));
}

void nod_set_int(nod_call *call, nod_json *object, const char *key, int64_t value)
{
    set_child(call, object, key, json_new_i64(&call->run->arena, value));
}

void nod_set_double(nod_call *call, nod_json *object, const char *key, double value)
{
    struct json *number = json_new_double(&call->run->arena, value);

    if (!number && !call->run->arena.exhausted)
        run_bug(call->run,
                "The %s " STR_FMT
                " sets \"%s\" to a number that JSON does not have (infinite or NaN)",
                call_what(call), STR_ARG(call_name(call)), key ? key : "");
    set_child(call, object, key, number);
}

void nod_set_bool(nod_call *call, nod_json *object, const char *key, bool value)
{
    set_child(call, object, key, json_new_bool(&call->run->arena, value));
}

static struct json *copy_in(nod_call *call, const nod_json *value)
{
    struct arena *arena = &call->run->arena;
    struct json *copy = value ? json_copy(arena, json_in(value)) : json_new_null(arena);

    if (!copy && !arena->exhausted)
        run_bug(call->run, "The %s " STR_FMT " builds JSON that is nested deeper than %d levels",
                call_what(call), STR_ARG(call_name(call)), JSON_DEPTH_MAX);
    return copy;
}

void nod_set(nod_call *call, nod_json *object, const char *key, const nod_json *value)
{
    set_child(call, object, key, copy_in(call, value));
}

void nod_push(nod_call *call, nod_json *array, const nod_json *value)
{
    struct json *child = copy_in(call, value);

    if (!array || !child)
        return;
    if (own(array)->type != JSON_ARRAY) {
        run_bug(call->run, "The %s " STR_FMT " pushes onto something that is not an array",
                call_what(call), STR_ARG(call_name(call)));
        return;
    }
    json_push(own(array), child);
}

const nod_json *nod_parse(nod_call *call, const char *json)
{
    return json_out(json ? call_parse(call, str_of(json)) : NULL);
}

const char *nod_json_text(nod_call *call, const nod_json *value)
{
    struct str text = call_json(call, json_in(value));

    return text.at ? text.at : "";
}

/* --- copies that outlive a run --- */

struct kept {
    struct json root; /* first: what the author holds */
    struct arena arena;
};

nod_json *nod_json_dup(const nod_json *value)
{
    struct kept *kept;
    struct json *copy;

    if (!value)
        return NULL;
    kept = MEM_NEW(struct kept);
    arena_init(&kept->arena, SIZE_MAX);
    copy = json_copy(&kept->arena, json_in(value));
    if (!copy) { /* nested too deep */
        arena_finish(&kept->arena);
        mem_free(kept);
        return NULL;
    }
    kept->root = *copy;
    kept->root.next = NULL;
    return made(&kept->root);
}

void nod_json_free(nod_json *value)
{
    struct kept *kept = (struct kept *)(void *)value;

    if (!kept)
        return;
    arena_finish(&kept->arena);
    mem_free(kept);
}
