/*
 * provider/handler_need: values that a handler is given and no journal holds.
 *
 * Such a value is fetched between two runs (core/need.h). The handler only sees NOD_PENDING, as
 * when it asks a person, and is run again when the value is there.
 *
 * A secret that nobody has given yet is asked for on a page, which stores it. The answer in the
 * journal says that the page was used, and nothing else: whether there is a secret is decided by
 * the store, on every run. If it was deleted or has expired meanwhile, it is asked for again, under
 * the next key. A question that was declined, or ended in another way, stays so for its call, also
 * if somebody gives the secret meanwhile.
 */
#include "core/need.h"
#include "core/secret.h"
#include "provider/local_inside.h"

enum { SECRET_ROUNDS_MAX = 8 }; /* how often one call asks for the same secret */

nod_status call_need(nod_call *call, const struct need_spec *spec, struct str *value)
{
    nod_status status = run_need(call->run, spec, value);

    call->stopped |= status == NOD_PENDING;
    return status;
}

/* --- secrets --- */

/* The key of the n-th time that it is asked for. */
static struct str asked_key(nod_call *call, struct str name, int n)
{
    struct arena *arena = &call->run->arena;
    struct str first = arena_fmt(arena, RUN_RESERVED_PREFIX "secret." STR_FMT, STR_ARG(name));

    return n == 1 ? first : arena_fmt(arena, STR_FMT ".%d", STR_ARG(first), n);
}

static bool was_refused(nod_call *call, struct str name)
{
    for (int n = 1; n <= SECRET_ROUNDS_MAX; n++) {
        struct str key = asked_key(call, name, n);
        if (run_was_refused(call->run, key))
            return true;
        if (!run_knows(call->run, ENTRY_ASK, key))
            return false;
    }
    return false;
}

/* Nobody has given it: asks on the page. It is NOD_OK only to say "look again". */
static nod_status ask_for(nod_call *call, const struct nod_secret_opts *opts, struct str name)
{
    struct run *run = call->run;
    struct ask_spec spec = {
        .kind = ASK_URL,
        .page = PAGE_SECRET,
        .key = asked_key(call, name, 1),
        .message = call_text(call, opts->message),
        .detail = secret_asked_write(
            &run->arena, &(struct secret_asked){ .name = name, .keep_ms = opts->keep_ms }),
        .ttl_ms = opts->ttl_ms,
        .again = true,
    };

    for (int i = 2; i <= SECRET_ROUNDS_MAX + 1; i++) {
        const struct entry *entry;
        nod_status status = run_ask(run, &spec, &entry);
        call->stopped |= status == NOD_PENDING;
        if (status != NOD_OK)
            return status;
        if (entry->state != ASK_ACCEPTED) {
            bool declined = entry->state == ASK_DECLINED;

            return run_fail(call->run, NOD_E_REFUSED,
                            declined ? "SECRET_DECLINED" : "SECRET_CANCELLED",
                            arena_fmt(&call->run->arena,
                                      "The secret '" STR_FMT "' was not given: %s", STR_ARG(name),
                                      declined ? "whoever was asked declined"
                                               : "the question was dismissed without an answer"));
        }
        spec.key = asked_key(call, name, i);
    }
    return run_fail(run, NOD_E_LIMIT, NULL,
                    arena_fmt(&run->arena,
                              "The secret '" STR_FMT "' was given %d times, and is never there",
                              STR_ARG(name), SECRET_ROUNDS_MAX));
}

nod_status nod_secret_with(nod_call *call, nod_bytes *secret, const struct nod_secret_opts *given)
{
    struct nod_secret_opts opts;
    struct str value;
    nod_status status;

    OPTS_READ(opts, given);
    NOD_TRY(call_place(call, "nod_secret", secret));
    *secret = (nod_bytes){ "", 0 };
    NOD_TRY(call_may_ask(call, "nod_secret"));
    NOD_TRY(call_message(call, "nod_secret", opts.message));
    if (!secret_name_ok(str_of(opts.name))) {
        run_bug(call->run,
                "The %s " STR_FMT
                " calls nod_secret with a .name that is none: 1 to %d letters and "
                "digits, with . _ or - between them",
                call_what(call), STR_ARG(call_name(call)), SECRET_NAME_MAX);
        return NOD_E_USAGE;
    }
    if (opts.keep_ms < 0 || opts.keep_ms > SECRET_MS_MAX) {
        run_bug(call->run,
                "The %s " STR_FMT
                " calls nod_secret with a .keep_ms of %lld: it is 0, or a time of "
                "at most ten years",
                call_what(call), STR_ARG(call_name(call)), (long long)opts.keep_ms);
        return NOD_E_USAGE;
    }
    struct str name = arena_str(&call->run->arena, str_of(opts.name));
    if (was_refused(call, name))
        return ask_for(call, &opts, name);
    status =
        call_need(call, &(struct need_spec){ .source = STR(SECRET_KIND), .name = name }, &value);
    if (status == NOD_E_NOT_FOUND)
        return ask_for(call, &opts, name);
    if (status == NOD_OK)
        *secret = (nod_bytes){ value.at, value.len };
    return status;
}
