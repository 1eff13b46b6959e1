/*
 * provider/handler_run: runs a handler, and judges the result.
 *
 * The handler returns how it ended, but some things count more: a mistake that was recorded, memory
 * that ran out, a question that differs from an earlier run, and a NOD_PENDING that the handler was
 * given and did not pass on. Otherwise NOD_OK needs a reply, and NOD_PENDING needs something to
 * wait for.
 *
 * With the replay check on, every run is done a second time with the same journal, without effects:
 * no step is done, nothing is sent. Both must ask the same, look up the same, and end with the same
 * reply, or the handler is not deterministic. That finds questions that change, and effects outside
 * of steps if they change what the next run does or says: a file that is gone by then, a counter in
 * the reply. A handler that asks nothing and has no step runs only once, and is not checked.
 */
#include "base/log.h"
#include "provider/local_inside.h"

void handler_defers(nod_call *call)
{
    while (call->defers) {
        struct defer *defer = call->defers;

        call->defers = defer->next;
        defer->fn(defer->data);
    }
}

static bool has_news(const struct run *run)
{
    return run->news.asks || run->step_done; /* a need, too, ends the run as a step does */
}

/* A message for a status that the handler itself returned. */
static nod_status say_why(nod_call *call, nod_status status)
{
    struct run *run = call->run;

    if (run->fault.status == status)
        return status;
    if (call->reply.error.at)
        return run_fail(run, status, NULL, call->reply.error);
    return run_fail(run, status, NULL,
                    arena_fmt(&run->arena,
                              "The %s " STR_FMT " failed without saying why (%s). A handler says "
                              "it with nod_reply_error",
                              call_what(call), STR_ARG(call_name(call)), nod_status_name(status)));
}

static nod_status out_of_memory(nod_call *call)
{
    struct run *run = call->run;

    run->fault = (struct fault){
        .status = NOD_E_LIMIT,
        .code = outcome_code(NOD_E_LIMIT),
        .message = STR("The handler has used up the memory that one run may have"),
    };
    LOG_WARN("a handler ran out of its run's memory", LOG_STR("target", call_name(call)),
             LOG_INT("bytes", run->arena.cap));
    return NOD_E_LIMIT;
}

static nod_status judge(nod_call *call, nod_status status, struct str *body)
{
    struct run *run = call->run;

    if (status > NOD_OK || status < NOD_E_FAILED) {
        run_bug(run, "The %s " STR_FMT " returned %d, which is not a nod_status", call_what(call),
                STR_ARG(call_name(call)), (int)status);
        return NOD_E_USAGE;
    }
    if (run->bug.at)
        return NOD_E_USAGE;
    if (call->broken != NOD_OK)
        return say_why(call, call->broken);
    if (run->arena.exhausted && !run->step_done) /* a step that was done must be recorded */
        return out_of_memory(call);
    if (call->stopped)
        return NOD_PENDING;
    if (status == NOD_PENDING) {
        if (run->wanted && !call->awaited) { /* the next run would end the same way */
            run_bug(run,
                    "The %s " STR_FMT " returned NOD_PENDING after nod_want, without nod_await: "
                    "end the round with NOD_TRY(nod_await(call))",
                    call_what(call), STR_ARG(call_name(call)));
            return NOD_E_USAGE;
        }
        if (has_news(run))
            return NOD_PENDING;
        run_bug(run, "The %s " STR_FMT " returned NOD_PENDING, but has asked nothing",
                call_what(call), STR_ARG(call_name(call)));
        return NOD_E_USAGE;
    }
    if (status == NOD_E_FAILED && call->reply.is_error && !run->fault.request_error)
        status = NOD_OK; /* nod_reply_error has given the failure */
    if (status != NOD_OK)
        return say_why(call, status);
    if (run->wanted && !call->awaited) {
        run_bug(run, "The %s " STR_FMT " calls nod_want, but returned without nod_await",
                call_what(call), STR_ARG(call_name(call)));
        return NOD_E_USAGE;
    }
    status = reply_close(call, body);
    return status == NOD_OK && run->arena.exhausted ? out_of_memory(call) : status;
}

static nod_status run_once(nod_call *call, struct str *body)
{
    nod_call *outer = handler_enter(call);
    nod_status status = call->target->handler(call);

    handler_defers(call);
    handler_enter(outer);
    return judge(call, status, body);
}

/* --- the replay check --- */

/* The journal for the second run: with the times and random numbers that the first one drew. */
static bool journal_for_replay(const struct run *first, struct run *again)
{
    size_t room = first->journal_count + first->news.entries;
    struct entry *entries = arena_alloc(&again->arena, (room + 1) * sizeof(*entries));
    size_t count = first->journal_count;

    if (!entries)
        return false;
    if (count)
        memcpy(entries, first->journal, count * sizeof(*entries));
    for (const struct run_item *item = first->news.first; item; item = item->next)
        if (!item->is_ask && (item->entry.class == ENTRY_NOW || item->entry.class == ENTRY_RANDOM))
            entries[count++] = item->entry;
    again->journal = entries;
    again->journal_count = count;
    return true;
}

static const struct run_item *next_ask(const struct run_item *item)
{
    while (item && !item->is_ask)
        item = item->next;
    return item;
}

/* A text for a message: not too long, and beginning shortly before the place where it differs. */
static struct str excerpt(struct arena *arena, struct str text, struct str other)
{
    enum { BEFORE = 40, SHOWN = 100 };
    size_t at = 0;

    while (at < text.len && at < other.len && text.at[at] == other.at[at])
        at++;
    at = at > BEFORE ? at - BEFORE : 0;
    text = str_skip(text, at);
    bool cut = text.len > SHOWN;
    if (cut)
        text.len = SHOWN;
    return arena_fmt(arena, "%s" STR_FMT "%s", at ? "..." : "", STR_ARG(text_clean(arena, text)),
                     cut ? "..." : "");
}

static struct str two_texts(struct arena *arena, const char *what, struct str a, struct str b)
{
    struct str x = excerpt(arena, a, b), y = excerpt(arena, b, a);

    return arena_fmt(arena, "%s was \"" STR_FMT "\", then \"" STR_FMT "\"", what, STR_ARG(x),
                     STR_ARG(y));
}

/* A new question that only one of the two asked, or that they asked differently. */
static struct str asked_otherwise(struct arena *arena, const struct run *a, const struct run *b)
{
    const struct run_item *x = next_ask(a->news.first), *y = next_ask(b->news.first);

    for (; x && y; x = next_ask(x->next), y = next_ask(y->next))
        if (!str_eq(x->entry.key, y->entry.key) ||
            memcmp(x->entry.digest, y->entry.digest, DIGEST_BYTES) != 0)
            break;
    if (!x && !y)
        return STR_NONE;
    if (x && y && str_eq(x->entry.key, y->entry.key))
        return two_texts(
            arena,
            arena_fmt(arena, "the question under the key '" STR_FMT "'", STR_ARG(x->entry.key)).at,
            x->spec.message, y->spec.message);
    return arena_fmt(arena, "it asked under the key '" STR_FMT "' in one of two runs only",
                     STR_ARG((x ? x : y)->entry.key));
}

/* An answer or a result that only one of the two has looked up. */
static struct str looked_otherwise(struct arena *arena, const struct run *a, const struct run *b)
{
    for (size_t i = 0; i < a->journal_count; i++) {
        bool x = a->entries_used && a->entries_used[i], y = b->entries_used && b->entries_used[i];
        if (x != y)
            return arena_fmt(arena, "it came by the key '" STR_FMT "' in one of two runs only",
                             STR_ARG(a->journal[i].key));
    }
    return STR_NONE;
}

/* The first text of a reply that is not the same in the other; or else the replies as they are. */
static struct str reply_otherwise(struct arena *arena, struct str a, struct str b)
{
    const struct json *x = json_get(json_parse(arena, a, NULL, NULL), STR("content"));
    const struct json *y = json_get(json_parse(arena, b, NULL, NULL), STR("content"));

    x = json_first(x), y = json_first(y);
    for (; x && y; x = x->next, y = y->next) {
        struct str one = json_get_str(x, STR("text")), other = json_get_str(y, STR("text"));
        if (!str_eq(one, other))
            return two_texts(arena, "its reply", one, other);
    }
    return two_texts(arena, "its reply", a, b);
}

struct ended { /* how a run ended */
    nod_status status;
    struct str body;
};

/* What the two runs did differently, in words; empty: nothing. */
static struct str difference(struct arena *arena, const nod_call *a, const nod_call *b,
                             struct ended x, struct ended y)
{
    struct str found = asked_otherwise(arena, a->run, b->run);

    if (!found.len)
        found = looked_otherwise(arena, a->run, b->run);
    if (!found.len && !str_eq(a->step_key, b->step_key))
        found = two_texts(arena, "the last step that it came to", a->step_key, b->step_key);
    if (!found.len && !str_eq(a->run->need.name, b->run->need.name))
        found = two_texts(arena, "the value that it needed", a->run->need.name, b->run->need.name);
    if (!found.len && x.status != y.status)
        found = arena_fmt(arena, "it ended in \"%s\", then in \"%s\"", nod_status_name(x.status),
                          nod_status_name(y.status));
    if (!found.len && x.status == NOD_OK && !str_eq(x.body, y.body))
        found = reply_otherwise(arena, x.body, y.body);
    return found;
}

static void emit_nothing(struct run *run, const struct notice *notice)
{
    (void)run;
    (void)notice;
}

/* A copy of a run that has not begun. Atomics cannot be copied with the rest. */
static void run_again_init(struct run *again, const struct run *run)
{
    memset(again, 0, sizeof(*again));
    again->target = run->target;
    again->call_id = run->call_id;
    again->principal = run->principal;
    again->uri = run->uri;
    again->args = run->args;
    again->args_changed = run->args_changed;
    again->journal_bytes = run->journal_bytes;
    again->fresh_intent = run->fresh_intent;
    again->portable = run->portable;
    again->carried = run->carried;
    again->hold_steps = run->hold_steps;
    again->store_away = run->store_away;
    again->needed = run->needed; /* which the first run holds */
    again->pages = run->pages;
    again->pages_shut = run->pages_shut;
    again->supports = run->supports;
    again->client = run->client;
    again->meta = run->meta;
    again->supports_consent = run->supports_consent;
    again->lacks_role = run->lacks_role;
    again->roles = run->roles;
    again->model = run->model;
    again->notices_sent = UINT32_MAX;
    again->ask_ttl_ms = run->ask_ttl_ms;
    again->entries_max = run->entries_max;
    again->bytes_max = run->bytes_max;
    again->allowed_fields = run->allowed_fields;
    again->clock = run->clock;
    again->store_ahead_ms = run->store_ahead_ms;
    again->dry = true;
    again->emit = emit_nothing;
    arena_init(&again->arena, run->arena.cap + run->journal_bytes); /* it copies the journal */
}

static nod_status check_replay(nod_call *call, struct ended first)
{
    struct run again;
    struct nod_call second = { .run = &again, .local = call->local, .target = call->target };
    struct ended other = { .body = STR_NONE };
    struct arena *arena = &call->run->arena;
    nod_status status = first.status;

    run_again_init(&again, call->run);
    reply_init(&second.reply);
    if (journal_for_replay(call->run, &again)) {
        other.status = run_once(&second, &other.body);
        struct str found = difference(arena, call, &second, first, other);
        if (found.len)
            status =
                run_fail(call->run, NOD_E_NOT_DETERMINISTIC, NULL,
                         arena_fmt(arena,
                                   "The %s " STR_FMT " does not do the same on every run: " STR_FMT
                                   ". Read what may change inside of nod_step, nod_now or "
                                   "nod_random, and change things inside of nod_step only",
                                   call_what(call), STR_ARG(call_name(call)), STR_ARG(found)));
    }
    handler_finish(&second);
    arena_finish(&again.arena);
    return status;
}

/* --- one run --- */

nod_status handler_run(nod_call *call, struct str *body)
{
    *body = STR_NONE;
    if (json_has_nul(call->run->args))
        return run_fail(call->run, NOD_E_INVALID, NULL,
                        STR("The arguments have a NUL character in them, which no text may have"));
    nod_status status = run_once(call, body);
    if (call->local->replay_check && !call->run->bug.at &&
        /* Otherwise it ended without a question, a step or a time, or at a limit, which only a run
         * meets that learns something: it is never run again. */
        !((status != NOD_PENDING && call->run->journal_count == 0 && !call->run->news.first) ||
          status == NOD_E_LIMIT))
        status = check_replay(call, (struct ended){ status, *body });
    if (status != NOD_OK)
        *body = STR_NONE;
    else if (call->reply.is_error)
        LOG_INFO("call failed", LOG_STR("why", call->reply.error),
                 LOG_CSTR("code", outcome_code(NOD_E_FAILED)),
                 LOG_STR(call_what(call), call_name(call)),
                 LOG_STR("principal", call->run->principal), LOG_STR("call", call->run->call_id));
    return status;
}

void handler_finish(nod_call *call)
{
    buf_finish(&call->reply.out);
}
