/*
 * provider/handler_run: running a handler, and judging what it did.
 *
 * The handler says how it ended, but some things decide over its word: a mistake that was noted,
 * memory that ran out, a question that another run would not have asked, and a NOD_PENDING that it
 * had and did not pass on. After that a NOD_OK needs a reply, and NOD_PENDING needs something to
 * wait for.
 *
 * With the replay check on, every run is done a second time against the same journal, dry: no step
 * is done, nothing is sent. Both must have asked the same and ended the same, or the handler is not
 * deterministic.
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

static bool is_status(nod_status status)
{
    return status <= NOD_OK && status >= NOD_E_FAILED;
}

static bool has_news(const struct run *run)
{
    return run->news.asks || run->step_done;
}

/* The sentence of a status that the handler made itself. */
static nod_status say_why(nod_call *call, nod_status status)
{
    struct run *run = call->run;

    if (run->fault.status == status)
        return status;
    if (call->reply.error.at)
        return run_fail(run, status, NULL, call->reply.error);
    return run_fail(run, status, NULL,
                    arena_fmt(&run->arena, "The %s " STR_FMT " failed: %s", call_what(call),
                              STR_ARG(call_name(call)), nod_status_name(status)));
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

static nod_status judge_ok(nod_call *call, struct str *body)
{
    struct run *run = call->run;

    if (run->wanted && !call->awaited) {
        run_bug(run, "The %s " STR_FMT " calls nod_want, but returned without nod_await",
                call_what(call), STR_ARG(call_name(call)));
        return NOD_E_USAGE;
    }
    return reply_close(call, body);
}

static nod_status judge(nod_call *call, nod_status status, struct str *body)
{
    struct run *run = call->run;

    if (!is_status(status)) {
        run_bug(run, "The %s " STR_FMT " returned %d, which is not a nod_status", call_what(call),
                STR_ARG(call_name(call)), (int)status);
        return NOD_E_USAGE;
    }
    if (run->bug.at)
        return NOD_E_USAGE;
    if (call->broken != NOD_OK)
        return say_why(call, call->broken);
    if (run->arena.exhausted && !run->step_done) /* a step that was done has to be recorded first */
        return out_of_memory(call);
    if (call->stopped)
        return NOD_PENDING;
    if (status == NOD_PENDING) {
        if (run->wanted && !call->awaited) { /* the next run would end the same way, in vain */
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
        status = NOD_OK; /* nod_reply_error said which */
    if (status != NOD_OK)
        return say_why(call, status);
    status = judge_ok(call, body);
    return status == NOD_OK && run->arena.exhausted ? out_of_memory(call) : status;
}

/* --- the replay check --- */

/* The journal as the second run sees it: with the times and numbers the first one drew. */
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

/* The key of the first question that only one of the two asked, or asked otherwise; or of the step.
 */
static bool asked_otherwise(const nod_call *a, const nod_call *b, struct str *key)
{
    const struct run_item *x = next_ask(a->run->news.first), *y = next_ask(b->run->news.first);

    for (; x && y; x = next_ask(x->next), y = next_ask(y->next))
        if (!str_eq(x->entry.key, y->entry.key) ||
            memcmp(x->entry.digest, y->entry.digest, DIGEST_BYTES) != 0)
            break;
    if (x || y) {
        *key = (x ? x : y)->entry.key;
        return true;
    }
    *key = a->step_key;
    return !str_eq(a->step_key, b->step_key);
}

static void emit_nothing(struct run *run, const struct notice *notice)
{
    (void)run;
    (void)notice;
}

/* The copy of a run that has not begun. Atomics cannot be copied with the rest. */
static void run_again_init(struct run *again, const struct run *run)
{
    memset(again, 0, sizeof(*again));
    again->target = run->target;
    again->call_id = run->call_id;
    again->principal = run->principal;
    again->uri = run->uri;
    again->args = run->args;
    again->journal_bytes = run->journal_bytes;
    again->fresh_intent = run->fresh_intent;
    again->portable = run->portable;
    again->supports = run->supports;
    again->supports_consent = run->supports_consent;
    again->notices_sent = UINT32_MAX;
    again->ask_ttl_ms = run->ask_ttl_ms;
    again->entries_max = run->entries_max;
    again->bytes_max = run->bytes_max;
    again->clock = run->clock;
    again->dry = true;
    again->emit = emit_nothing;
    arena_init(&again->arena, run->arena.cap + run->journal_bytes); /* it copies the journal */
}

static nod_status check_replay(nod_call *call, nod_status status)
{
    struct run again;
    struct nod_call second = { .run = &again, .local = call->local, .target = call->target };
    struct str body, key = STR_NONE;

    run_again_init(&again, call->run);
    reply_init(&second.reply);
    if (journal_for_replay(call->run, &again)) {
        nod_status other = call->target->handler(&second);
        handler_defers(&second);
        other = judge(&second, other, &body);
        if (asked_otherwise(call, &second, &key) || other != status)
            status = run_fail(call->run, NOD_E_NOT_DETERMINISTIC, NULL,
                              arena_fmt(&call->run->arena,
                                        "The %s " STR_FMT
                                        " does not do the same on every run (key '" STR_FMT
                                        "'; it ended in \"%s\", then in \"%s\"). Read what may "
                                        "change inside of nod_step, "
                                        "nod_now or nod_random",
                                        call_what(call), STR_ARG(call_name(call)), STR_ARG(key),
                                        nod_status_name(status), nod_status_name(other)));
    }
    handler_finish(&second);
    arena_finish(&again.arena);
    return status;
}

/* --- one run --- */

nod_status handler_run(nod_call *call, struct str *body)
{
    *body = STR_NONE;
    if (text_has_nul(call->run->args))
        return run_fail(call->run, NOD_E_INVALID, NULL,
                        STR("The arguments have a NUL character in them, which no text may have"));
    nod_status status = call->target->handler(call);
    handler_defers(call);
    status = judge(call, status, body);
    if (call->local->replay_check && !call->run->bug.at)
        status = check_replay(call, status);
    if (status != NOD_OK)
        *body = STR_NONE;
    return status;
}

void handler_finish(nod_call *call)
{
    buf_finish(&call->reply.out);
}
