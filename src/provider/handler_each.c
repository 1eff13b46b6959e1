/*
 * provider/handler_each: a question about each of several things, and a step for each yes.
 *
 * It is a loop that an author could write: nod_want for the questions of a round, nod_await, then
 * nod_step for what was accepted, with an index in every key. It adds what such a loop forgets: it
 * checks that the journal has room for everything before anybody is asked, it needs a person's
 * answer, and a step that fails does not stop the others.
 *
 * Holds always: no step of a round is done before all of its questions have ended, and each is a
 * separate step. So after a crash only the step that was under way is done again.
 */
#include "provider/local_inside.h"

struct each {
    nod_call *call;
    struct nod_each_opts opts;
    struct str key;
    char *items;
    size_t count, item_size;
    nod_each_result *results;
    struct str detail; /* the form's schema; empty: yes or no */
};

static struct str key_at(const struct each *each, size_t i)
{
    return arena_fmt(&each->call->run->arena, STR_FMT "-%zu", STR_ARG(each->key), i);
}

static void *item_at(const struct each *each, size_t i)
{
    return each->items + i * each->item_size;
}

/* Checked before the first question or step: room for all of them, and for what at_most_once
 * adds. */
static nod_status room_for_all(const struct each *each)
{
    struct run *run = each->call->run;
    size_t steps = !each->opts.step ? 0 : each->opts.at_most_once ? 2 : 1;
    size_t asks = each->opts.ask ? 1 : 0;
    struct str first = key_at(each, 0);

    if (run_knows(run, ENTRY_ASK, first) || run_knows(run, ENTRY_STEP, first) ||
        run_knows(run, ENTRY_INTENT, first))
        return NOD_OK; /* there was */
    /* Each has a result in memory, which is larger than 3 bytes: the product is not too large. */
    return run_room(run, each->count * (asks + steps));
}

/* Asks about one of them. *waits: there is no answer yet. */
static nod_status ask_one(const struct each *each, size_t i, bool *waits)
{
    nod_call *call = each->call;
    nod_each_result *result = &each->results[i];
    const struct entry *entry;
    const char *message = each->opts.ask(call, item_at(each, i));
    struct ask_spec spec = {
        .kind = ASK_FORM,
        .key = key_at(each, i),
        .message = call_text(call, message),
        .detail = each->detail,
        .ttl_ms = each->opts.ttl_ms,
        .consent = true,
    };

    if (!message || str_blank(spec.message)) {
        run_bug(call->run, "The %s " STR_FMT " calls nod_each, and its .ask gave no message",
                call_what(call), STR_ARG(call_name(call)));
        return NOD_E_USAGE;
    }
    nod_status status = call_ask(call, &spec, &entry);
    answer_fill(call, &result->answer, entry);
    if (status == NOD_PENDING) {
        *waits = true;
        return NOD_OK;
    }
    if (is_a_no(status)) {
        if (!entry) /* nobody could be asked */
            result->answer.action = NOD_UNASKED;
        return NOD_OK;
    }
    result->yes = status == NOD_OK && result->answer.action == NOD_ACCEPT;
    return status == NOD_OK ? call->broken : status;
}

static nod_status step_one(const struct each *each, size_t i)
{
    nod_call *call = each->call;
    nod_each_result *result = &each->results[i];
    bool ended = false;
    nod_status status = call_step(call,
                                  &(struct step_spec){ .key = key_at(each, i),
                                                       .fn = each->opts.step,
                                                       .arg = item_at(each, i),
                                                       .answer = &result->answer,
                                                       .at_most_once = each->opts.at_most_once,
                                                       .idempotent = each->opts.idempotent },
                                  &result->result, &ended);

    if (!ended)
        return status;
    result->status = status;
    result->done = status == NOD_OK;
    if (status != NOD_OK)
        result->error = call_cstr(call, call->run->fault.message);
    return NOD_OK;
}

static nod_status each_round(const struct each *each, size_t from, size_t to)
{
    bool waits = false;

    for (size_t i = from; each->opts.ask && i < to; i++)
        NOD_TRY(ask_one(each, i, &waits));
    each->call->stopped |= waits;
    if (waits)
        return NOD_PENDING;
    for (size_t i = from; i < to; i++) {
        if (!each->opts.ask)
            each->results[i].yes = true;
        if (each->opts.step && each->results[i].yes)
            NOD_TRY(step_one(each, i));
    }
    return NOD_OK;
}

static nod_status each_check(struct each *each)
{
    nod_call *call = each->call;
    const struct nod_each_opts *opts = &each->opts;
    const char *wrong = NULL;

    if (!opts->key || !*opts->key)
        wrong = "without .key";
    else if (!opts->ask && !opts->step)
        wrong = "without .ask and without .step";
    else if (!opts->ask && (opts->form || opts->schema))
        wrong = "with a form, but without .ask";
    else if (each->count && (!each->items || !each->item_size || !each->results))
        wrong = "without the things, or a place for their results";
    if (wrong) {
        run_bug(call->run, "The %s " STR_FMT " calls nod_each %s", call_what(call),
                STR_ARG(call_name(call)), wrong);
        return NOD_E_USAGE;
    }
    if (opts->form || opts->schema)
        return call_form(call, opts->form, opts->schema, &each->detail);
    return NOD_OK;
}

struct each_key { /* in the run's memory */
    struct each_key *next;
    struct str key;
    bool asks, steps;
};

/* Its items have keys made from its own. Questions and steps may have the same. */
static nod_status key_once(const struct each *each)
{
    nod_call *call = each->call;
    struct each_key *made = ARENA_NEW(&call->run->arena, struct each_key);
    bool asks = each->opts.ask, steps = each->opts.step;

    for (const struct each_key *at = call->each_keys; at; at = at->next) {
        if (!str_eq(at->key, each->key) || !((asks && at->asks) || (steps && at->steps)))
            continue;
        run_bug(call->run,
                "The %s " STR_FMT " calls nod_each with the key '" STR_FMT
                "' twice in one run: give each its own .key",
                call_what(call), STR_ARG(call_name(call)), STR_ARG(each->key));
        return NOD_E_USAGE;
    }
    if (made) {
        *made = (struct each_key){ call->each_keys, each->key, asks, steps };
        call->each_keys = made;
    }
    return NOD_OK;
}

nod_status nod_each_with(nod_call *call, const void *items, size_t count, size_t item_size,
                         nod_each_result *results, const struct nod_each_opts *given)
{
    struct each each = { .call = call,
                         .items = (char *)items, /* it belongs to the author, and is restored */
                         .count = count,
                         .item_size = item_size,
                         .results = results };

    OPTS_READ(each.opts, given);
    for (size_t i = 0; results && i < count; i++) {
        results[i] = (nod_each_result){ .error = "" };
        answer_fill(call, &results[i].answer, NULL);
    }
    NOD_TRY(call_may_ask(call, "nod_each"));
    NOD_TRY(each_check(&each));
    if (!count)
        return NOD_OK;
    each.key = call_text(call, each.opts.key);
    NOD_TRY(key_once(&each));
    NOD_TRY(room_for_all(&each));
    size_t most =
        each.opts.at_once && each.opts.at_once < RUN_ROUND_MAX ? each.opts.at_once : RUN_ROUND_MAX;
    for (size_t from = 0; from < count; from += most)
        NOD_TRY(each_round(&each, from, count - from < most ? count : from + most));
    return NOD_OK;
}
