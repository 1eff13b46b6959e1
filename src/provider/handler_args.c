/*
 * provider/handler_args: the arguments of a call, and what else its request said.
 *
 * The arguments were checked against the schema before the run. If one is missing here, or has
 * another type than the handler reads, that is a mistake of the handler or of its schema. The call
 * then fails and names the argument, instead of going on with an empty string.
 */
#include "provider/local_inside.h"

static const struct json *args_of(nod_call *call)
{
    if (!call->args && call->run->args)
        call->args = json_copy(&call->run->arena, call->run->args);
    if (!call->args)
        call->args = json_new_object(&call->run->arena);
    return call->args;
}

const nod_json *nod_args(nod_call *call)
{
    return json_out(args_of(call));
}

/* The argument, or NULL; null counts as missing. */
static const struct json *arg_find(nod_call *call, const char *name)
{
    const struct json *v = json_get(args_of(call), str_of(name));

    return json_is(v, JSON_NULL) ? NULL : v;
}

static void arg_missing(nod_call *call, const char *name, const char *getter)
{
    run_bug(call->run,
            "The %s " STR_FMT
            " reads the argument \"%s\", which was not given: make it required in the "
            "schema, or read it with %s_or",
            call_what(call), STR_ARG(call_name(call)), name ? name : "", getter);
}

static void arg_wrong(nod_call *call, const char *name, const struct json *v, const char *wanted)
{
    run_bug(call->run,
            "The %s " STR_FMT
            " reads the argument \"%s\" as %s, but it is %s: let the schema say its type",
            call_what(call), STR_ARG(call_name(call)), name, wanted, json_type_name(v));
}

static bool read_str(nod_call *call, const char *name, const struct json *v, const char **out)
{
    if (!json_is(v, JSON_STRING)) {
        arg_wrong(call, name, v, "a string");
        return false;
    }
    *out = v->text.at ? v->text.at : "";
    return true;
}

static bool read_int(nod_call *call, const char *name, const struct json *v, int64_t *out)
{
    if (json_i64(v, out))
        return true;
    arg_wrong(call, name, v, "a whole number of 64 bits");
    return false;
}

static bool read_double(nod_call *call, const char *name, const struct json *v, double *out)
{
    if (json_double(v, out))
        return true;
    arg_wrong(call, name, v, "a number");
    return false;
}

static bool read_bool(nod_call *call, const char *name, const struct json *v, bool *out)
{
    if (!json_is(v, JSON_BOOL)) {
        arg_wrong(call, name, v, "true or false");
        return false;
    }
    *out = v->truth;
    return true;
}

static bool read_number_text(nod_call *call, const char *name, const struct json *v,
                             const char **out)
{
    if (!json_is(v, JSON_NUMBER)) {
        arg_wrong(call, name, v, "a number");
        return false;
    }
    *out = v->text.at ? v->text.at : "";
    return true;
}

/* A pair of getters for each type: one with a fallback, one for which a missing argument is a
 * mistake. */
#define ARG_GETTERS(suffix, type, nothing)                                                         \
    type nod_arg_##suffix##_or(nod_call *call, const char *name, type fallback)                    \
    {                                                                                              \
        const struct json *v = arg_find(call, name);                                               \
        type out = fallback;                                                                       \
                                                                                                   \
        return v && read_##suffix(call, name, v, &out) ? out : fallback;                           \
    }                                                                                              \
    type nod_arg_##suffix(nod_call *call, const char *name)                                        \
    {                                                                                              \
        if (!arg_find(call, name))                                                                 \
            arg_missing(call, name, "nod_arg_" #suffix);                                           \
        return nod_arg_##suffix##_or(call, name, nothing);                                         \
    }

typedef const char *cstring;
ARG_GETTERS(str, cstring, "")
ARG_GETTERS(int, int64_t, 0)
ARG_GETTERS(double, double, 0)
ARG_GETTERS(bool, bool, false)
ARG_GETTERS(number_text, cstring, "")

bool nod_has_arg(nod_call *call, const char *name)
{
    return arg_find(call, name) != NULL;
}

const nod_json *nod_meta(nod_call *call)
{
    struct arena *arena = &call->run->arena;

    if (!call->meta) {
        const struct json *all =
            call->run->meta.len ? json_parse(arena, call->run->meta, NULL, NULL) : NULL;
        struct json *meta = json_new_object(arena);
        JSON_EACH (member, all) { /* what C can read of it */
            bool whole = !json_has_nul(member) && !memchr(member->key.at, '\0', member->key.len);
            if (whole && meta)
                json_set(arena, meta, member->key, json_copy(arena, member));
        }
        call->meta = meta;
    }
    return json_out(call->meta);
}

const char *nod_uri(nod_call *call)
{
    return call_cstr(call, call->run->uri);
}

const char *nod_call_id(nod_call *call)
{
    return call_cstr(call, call->run->call_id);
}

const char *nod_principal(nod_call *call)
{
    return call_cstr(call, call->run->principal);
}

void *nod_data(nod_call *call)
{
    return call->target->data;
}

nod_server *nod_server_of(nod_call *call)
{
    return call->local->server;
}

bool nod_cancelled(const nod_call *call)
{
    return atomic_load(&call->run->cancelled);
}

/* --- completions --- */

const char *nod_completing(nod_call *call)
{
    return call->completion ? call_cstr(call, call->completion->argument) : "";
}

const char *nod_completing_text(nod_call *call)
{
    return call->completion ? call_cstr(call, call->completion->typed) : "";
}

void nod_suggest(nod_call *call, const char *value)
{
    struct completion *c = call->completion;

    if (!c) {
        run_bug(call->run, "The %s " STR_FMT " calls nod_suggest outside of a completion",
                call_what(call), STR_ARG(call_name(call)));
        return;
    }
    c->total++;
    if (c->count < sizeof(c->values) / sizeof(c->values[0])) {
        struct str copy = arena_str(c->arena, call_text(call, value));
        if (copy.at)
            c->values[c->count++] = copy;
    }
}
