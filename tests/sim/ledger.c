/*
 * tests/sim/ledger: what has really happened, and the rules that it must obey.
 *
 * The ledger is written where things happen: in the store (from link.c), in handlers, and where a
 * client is told something. Each rule is checked at the moment it could be broken:
 *
 * - A call has one end. It is stored once; nothing is written, taken or opened after it. Everybody
 *   who is told an end is told that one, and not before it is stored.
 * - A call is run only in an epoch that the store gave to that node, with everything that was
 *   journalled when it was given.
 * - An ask leaves pending once. An answer that was acknowledged is in the journal, and every run
 *   reads that answer and no other.
 * - An answer to an old offer never ends a newer one. Wrong content ends a question only when every
 *   offer has had some. Two submissions of a round never mix.
 * - An effect under one key is always done with the same content; not again once its result is
 *   stored; with at_most_once not again at all; and for a call without a handle not by recovery.
 * - Once a cancel is accepted, no question of its call can be answered, nor of the calls that it
 *   waited for.
 * - A call whose handle a client holds comes to its end, and is known as long as the handle lives.
 * - A call that waits for a call is told its end once, and that which the store has. An inner call
 *   is opened once, and obeys all of this. It ends when nobody waits for its end any more.
 */
#include "sim.h"

#include "core/call_inside.h"
#include "core/catalog.h"

#include <stdlib.h>

struct sim_call *ledger_call(struct str id)
{
    for (size_t i = 0; i < sim.call_count; i++)
        if (str_eq(str_of(sim.calls[i].id), id))
            return &sim.calls[i];
    return NULL;
}

struct ledger_ask *ledger_ask(struct sim_call *call, struct str id)
{
    for (size_t i = 0; call && i < call->ask_count; i++)
        if (str_eq(str_of(call->asks[i].id), id))
            return &call->asks[i];
    return NULL;
}

struct sim_call *ledger_call_of_ask(struct str ask_id)
{
    for (size_t i = 0; i < sim.call_count; i++)
        if (ledger_ask(&sim.calls[i], ask_id))
            return &sim.calls[i];
    return NULL;
}

static bool same_family(const struct sim_call *one, const struct sim_call *other)
{
    while (one->outer)
        one = one->outer;
    while (other->outer)
        other = other->outer;
    return one == other;
}

bool ledger_is_held(const struct sim_call *call)
{
    for (size_t i = 0; i < sim.call_count; i++)
        if (same_family(call, &sim.calls[i]) &&
            (sim.calls[i].handle_out || sim.calls[i].seen_count))
            return true;
    return false;
}

static void name_copy(char *to, size_t room, struct str from)
{
    size_t len = from.len < room ? from.len : room - 1;

    if (len)
        memcpy(to, from.at, len);
    to[len] = '\0';
}

/* {"n":17} */
static int64_t number_in(struct str content)
{
    const char *colon = content.len ? memchr(content.at, ':', content.len) : NULL;

    return colon ? strtoll(colon + 1, NULL, 10) : -1;
}

/* What an accepted answer says, as a number. */
static int64_t number_of(const struct ledger_ask *ask, struct str content)
{
    uint64_t hash = 0;

    if (!ask || ask->kind != ASK_CALL)
        return number_in(content);
    for (size_t i = 0; i < content.len; i++)
        hash = hash * 31 + (unsigned char)content.at[i];
    return (int64_t)(hash >> 1);
}

/* --- the store's transitions --- */

bool ledger_is_new(struct sim_call *call, struct str token)
{
    if (!call)
        broken("the store has done something to a call that nobody made");
    if (str_eq(str_of(call->last_token), token))
        return false;
    name_copy(call->last_token, sizeof(call->last_token), token);
    return true;
}

static void epoch_begins(struct sim_call *call, uint64_t epoch, struct str owner)
{
    call->epoch = epoch;
    name_copy(call->epochs[epoch % SIM_EPOCHS].owner, sizeof(call->epochs[0].owner), owner);
    call->epochs[epoch % SIM_EPOCHS].journal = call->journal;
}

void ledger_opened(struct sim_call *call, struct str node)
{
    if (call->ended)
        broken("call %zu was opened again after its end", call->number);
    if (call->stored)
        broken("call %zu was opened twice", call->number);
    call->stored = true;
    epoch_begins(call, 1, node);
}

void ledger_ahead(struct sim_call *call, struct str node)
{
    call->ahead = true;
    if (!call->ended)
        ledger_opened(call, node);
}

void ledger_wrote(struct sim_call *call, const char *verb, uint64_t epoch, int64_t keep_for_ms)
{
    if (call->ended)
        broken("a %s of call %zu was taken after its end", verb, call->number);
    if (epoch != call->epoch)
        broken("a %s of call %zu was taken in epoch %llu, but the call is in %llu", verb,
               call->number, (unsigned long long)epoch, (unsigned long long)call->epoch);
    if (keep_for_ms > 0) /* giving a call back gives its client nothing */
        call->wrote_ms = store_now();
}

void ledger_handed(struct sim_call *call, bool handed)
{
    if (handed && !ledger_is_held(call))
        broken("the store was told that the client of call %zu holds a handle, and none was sent",
               call->number);
    if (!handed && call->handle_out && !call->handed)
        broken("a handle of call %zu was sent, and the store is not told", call->number);
    call->handed |= handed;
}

static struct ledger_step *step_of(struct sim_call *call, struct str key)
{
    for (size_t i = 0; i < call->step_count; i++)
        if (str_eq(str_of(call->steps[i].key), key))
            return &call->steps[i];
    if (call->step_count == SIM_STEPS)
        broken("call %zu has more steps than a handler has", call->number);
    struct ledger_step *step = &call->steps[call->step_count++];
    *step = (struct ledger_step){ 0 };
    name_copy(step->key, sizeof(step->key), key);
    return step;
}

/* It has committed something: what was counted against it is over. */
static void committed(struct sim_call *call)
{
    call->crashed = call->suspected = 0;
}

void ledger_entries(struct sim_call *call, const struct entry *entries, size_t count)
{
    call->journal += count;
    if (count)
        committed(call);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].class == ENTRY_INTENT && str_eq(entries[i].key, STR(START_KEY)))
            home_named(call, entries[i].by);
        if (entries[i].class != ENTRY_STEP)
            continue;
        struct ledger_step *step = step_of(call, entries[i].key);
        if (step->stored_epoch)
            broken("the step '%s' of call %zu was journalled twice", step->key, call->number);
        step->stored_epoch = call->epoch;
    }
}

/* It waits for a call, which somebody begins from now on. */
static void inner_expected(struct sim_call *outer, const struct ask_record *record)
{
    static const struct str start = STR_INIT("{\"tool\":\"");
    struct str tool = str_n(record->detail.at + start.len, record->detail.len - start.len);

    tool.len = (size_t)((const char *)memchr(tool.at, '"', tool.len) - tool.at);
    if (sim.call_count == SIM_CALLS_ALL)
        broken("call %zu waits for more calls than there can be", outer->number);
    struct sim_call *inner = &sim.calls[sim.call_count];
    *inner = (struct sim_call){ .number = ++sim.call_count,
                                .kind = outer->kind,
                                .shape = shape_named(tool),
                                .inner_shape = pick(SHAPES_PLAIN),
                                .outer = outer,
                                .ttl_ms = outer->ttl_ms };
    name_copy(inner->id, sizeof(inner->id), record->id);
    TRACE("call %zu waits for call %zu, shape " STR_FMT, outer->number, inner->number,
          STR_ARG(tool));
    figures.inner_calls++;
}

void ledger_asked(struct sim_call *call, const struct ask_record *record)
{
    if (call->ask_count == SIM_ASKS)
        broken("call %zu has asked more than a handler asks", call->number);
    committed(call);
    struct ledger_ask *ask = &call->asks[call->ask_count++];
    *ask = (struct ledger_ask){ .kind = record->kind, .attempt = record->attempt };
    name_copy(ask->id, sizeof(ask->id), record->id);
    name_copy(ask->key, sizeof(ask->key), record->key);
    ask->expires_ms = record->expires_ms ? record->expires_ms : store_now() + record->ttl_ms;
    ask->most = record->attempts ? record->attempts : call->kind == KIND_CARRY ? CARRY_ATTEMPTS : 1;
    if (ask->kind == ASK_CALL)
        inner_expected(call, record);
}

void ledger_lapsed(struct sim_call *call, struct ledger_ask *ask, enum ask_state is)
{
    if (!ask || is != ASK_EXPIRED || store_now() < ask->expires_ms)
        return;
    if (ask->state == ASK_WITHDRAWN && ask->due_at_end) /* one as well as the other */
        ask->state = ASK_EXPIRED;
    if (ask->state != ASK_PENDING)
        return;
    ask->state = ASK_EXPIRED;
    call->journal++;
    TRACE("store: question %zu.%s has run out", call->number, ask->key);
}

void ledger_granted(struct sim_call *call, const struct node *node, uint64_t epoch,
                    const struct call_record *record)
{
    if (!call)
        broken("the store gave a call that nobody made to %s", node->name);
    if (epoch <= call->epoch) /* the reply to what happened before */
        return;
    if (call->ended)
        broken("call %zu was taken after its end", call->number);
    if (epoch != call->epoch + 1)
        broken("call %zu went from epoch %llu to %llu", call->number,
               (unsigned long long)call->epoch, (unsigned long long)epoch);
    for (size_t i = 0; i < record->entry_count; i++)
        if (record->entries[i].class == ENTRY_ASK)
            ledger_lapsed(call, ledger_ask(call, record->entries[i].ask_id),
                          record->entries[i].state);
    if (record->entry_count != call->journal)
        broken("call %zu was taken with %zu journal entries, and has %zu", call->number,
               record->entry_count, call->journal);
    epoch_begins(call, epoch, str_of(node->name));
}

/* It was not run again because of what was counted. */
static void ended_crashed(const struct sim_call *call, struct str result)
{
    enum { COUNTED = 4 }; /* the death that made it a suspect, and three on probation */
    static const struct str words = STR_INIT("The server died whenever");

    if (!memmem(result.at, result.len, words.at, words.len))
        return;
    figures.ended_crashed++;
    TRACE("call %zu has ended because its node died: it crashed %u times, and was suspected %u "
          "times",
          call->number, call->crashed, call->suspected);
    if (call->suspected < COUNTED)
        broken("call %zu ended as crashed, and was suspected %u times", call->number,
               call->suspected);
    /* A call that crashed beside it may have been counted as well, but not that alone. */
    if (world_is_quiet() && !call->crashed)
        broken("call %zu ended as crashed, and its handler has never crashed", call->number);
}

static void ended_at_home(const struct sim_call *call, struct str result)
{
    struct outcome outcome;
    struct arena arena;

    arena_init(&arena, 1 << 16);
    if (outcome_read(&arena, result, &outcome) == NOD_OK)
        home_end_is_right(call, &outcome);
    arena_finish(&arena);
}

void ledger_ended(struct sim_call *call, struct str result)
{
    ended_crashed(call, result);
    ended_at_home(call, result);
    if (call->ended)
        broken("call %zu has ended twice", call->number);
    call->ended = true;
    if (result.len >= sizeof(call->end))
        broken("the outcome of call %zu is too long for the ledger", call->number);
    memcpy(call->end, result.at, result.len);
    call->end_len = result.len;
    for (size_t i = 0; i < call->ask_count; i++) {
        struct ledger_ask *ask = &call->asks[i];
        if (ask->state != ASK_PENDING)
            continue;
        ask->state = ASK_WITHDRAWN;
        ask->due_at_end = store_now() >= ask->expires_ms;
    }
}

/* --- answers --- */

static void offer_goes_on(const struct sim_call *call, struct ledger_ask *ask,
                          const struct ask_record *is, bool won)
{
    if (is->attempt == ask->attempt)
        return;
    if (!won || is->attempt != ask->attempt + 1)
        broken("question %zu.%s went from offer %d to offer %d", call->number, ask->key,
               ask->attempt, is->attempt);
    if (ask->attempt >= ask->most)
        broken("question %zu.%s was put more than %d times", call->number, ask->key, ask->most);
    ask->attempt = is->attempt;
}

static void attempts_were_used(const struct sim_call *call, const struct ledger_ask *ask)
{
    for (int i = 1; i <= ask->most; i++)
        if (!(ask->wrong & 1u << i))
            broken("question %zu.%s ended as invalid, though nothing wrong was said to offer %d "
                   "of %d",
                   call->number, ask->key, i, ask->most);
}

static const struct shown *submitted(const struct submission *submission, const char *ask_id)
{
    for (size_t i = 0; i < submission->count; i++)
        if (strcmp(submission->asks[i].id, ask_id) == 0)
            return &submission->asks[i];
    return NULL;
}

/* Two rounds, each accepted in part, are answers that nobody gave together. */
static void rounds_unmixed(const struct sim_call *call, const struct ledger_ask *ask)
{
    for (size_t i = 0; i < call->ask_count; i++) {
        const struct ledger_ask *other = &call->asks[i];
        if (other == ask || other->kind == ASK_CALL || other->state != ASK_ACCEPTED ||
            other->number == ask->number)
            continue;
        const struct submission *one = &sim.submissions[ask->number];
        const struct submission *two = &sim.submissions[other->number];
        if (submitted(one, other->id) && submitted(two, ask->id)) /* each had a word for both */
            broken("the round of call %zu was answered by a mixture of submissions %lld and %lld",
                   call->number, (long long)other->number, (long long)ask->number);
    }
}

static void accepted(const struct sim_call *call, struct ledger_ask *ask)
{
    const struct submission *by = ask->number > 0 && (size_t)ask->number < sim.submission_count
                                      ? &sim.submissions[ask->number]
                                      : NULL;
    const struct shown *shown = by ? submitted(by, ask->id) : NULL;

    if (!shown || by->wrong || by->action != ASK_ACCEPTED)
        broken("question %zu.%s was accepted with what nobody answered (%lld)", call->number,
               ask->key, (long long)ask->number);
    if (shown->attempt && shown->attempt != ask->attempt)
        broken("question %zu.%s: an answer to offer %d has ended offer %d", call->number, ask->key,
               shown->attempt, ask->attempt);
    rounds_unmixed(call, ask);
}

static bool same_end(struct str text, const struct outcome *outcome);

/* The end of an inner call has reached the outer one. */
static void end_went_up(const struct sim_call *outer, struct str ask_id, struct str content)
{
    const struct sim_call *inner = ledger_call(ask_id);
    struct outcome outcome;
    struct arena arena;

    arena_init(&arena, 1 << 16);
    if (outcome_read(&arena, content, &outcome) != NOD_OK)
        broken("call %zu was told an end that cannot be read", outer->number);
    if (inner->stored && !inner->ended)
        broken("call %zu was told the end of call %zu, which has none: " STR_FMT, outer->number,
               inner->number, STR_ARG(content));
    if (!inner->stored && outcome.status == NOD_OK)
        broken("call %zu was told that call %zu ended well, which was never begun", outer->number,
               inner->number);
    if (inner->ended && !same_end(str_n(inner->end, inner->end_len), &outcome)) {
        struct message *is = link_peek(ask_id);
        if (is && !is->reply.call->forgotten)
            broken("call %zu was told " STR_FMT " of call %zu, and the store has %.*s",
                   outer->number, STR_ARG(content), inner->number, (int)inner->end_len, inner->end);
        message_free(is);
    }
    figures.inner_ends++;
    arena_finish(&arena);
}

void ledger_claimed(struct sim_call *call, const struct claimed *claimed)
{
    const struct ask_record *is = claimed->ask;
    struct ledger_ask *ask = is ? ledger_ask(call, is->id) : NULL;
    int64_t number = is && is->state == ASK_ACCEPTED ? number_of(ask, is->content) : 0;

    if (!is)
        return;
    if (!ask)
        broken("a question was claimed that nobody asked");
    if (!claimed->won)
        ledger_lapsed(call, ask, is->state);
    if (is->state == ASK_PENDING && ask->state == ASK_PENDING) {
        offer_goes_on(call, ask, is, claimed->won);
        return;
    }
    if (ask->state != ASK_PENDING) {
        if (ask->state != is->state || ask->number != number)
            broken("question %zu.%s ended twice: " STR_FMT " (%lld), then " STR_FMT " (%lld)",
                   call->number, ask->key, STR_ARG(ask_state_name(ask->state)),
                   (long long)ask->number, STR_ARG(ask_state_name(is->state)), (long long)number);
        return;
    }
    if (!claimed->won)
        broken("question %zu.%s was ended by nobody", call->number, ask->key);
    if ((store_now() >= ask->expires_ms) != (is->state == ASK_EXPIRED) &&
        is->state != ASK_UNSUPPORTED && is->state != ASK_WITHDRAWN)
        broken("question %zu.%s is " STR_FMT ", %lld ms before its time is up", call->number,
               ask->key, STR_ARG(ask_state_name(is->state)),
               (long long)(ask->expires_ms - store_now()));
    ask->state = is->state;
    ask->number = number;
    call->journal++;
    if (is->state == ASK_ACCEPTED && ask->kind == ASK_CALL)
        end_went_up(call, is->id, is->content);
    else if (is->state == ASK_ACCEPTED)
        accepted(call, ask);
    if (is->state == ASK_INVALID)
        attempts_were_used(call, ask);
    TRACE("store: question %zu.%s is " STR_FMT " (%lld)", call->number, ask->key,
          STR_ARG(ask_state_name(is->state)), (long long)number);
}

void ledger_answered(const struct submission *submission, const struct shown *shown,
                     const struct answer_result *result)
{
    struct sim_call *call = ledger_call_of_ask(str_of(shown->id));
    struct ledger_ask *ask = ledger_ask(call, str_of(shown->id));
    bool counts = (result->status == NOD_OK && !result->pending) ||
                  (result->status == NOD_E_STALE && result->same);
    int64_t number = submission->action == ASK_ACCEPTED ? submission - sim.submissions : 0;

    TRACE("client: told of answer %lld to %zu.%s: %s%s%s",
          (long long)(submission - sim.submissions), call->number, shown->key,
          nod_status_name(result->status), result->same ? ", the same" : "",
          result->pending ? ", still pending" : "");
    ledger_lapsed(call, ask, result->state);
    if (counts && (submission->wrong || ask->state != submission->action || ask->number != number))
        broken("answer %lld to %zu.%s was acknowledged, and the store has " STR_FMT " (%lld)",
               (long long)(submission - sim.submissions), call->number, ask->key,
               STR_ARG(ask_state_name(ask->state)), (long long)ask->number);
    if (result->status == NOD_E_STALE && !result->pending && result->state != ASK_PENDING &&
        result->state != ask->state)
        broken("an answerer of %zu.%s was told that it is " STR_FMT ", and it is " STR_FMT,
               call->number, ask->key, STR_ARG(ask_state_name(result->state)),
               STR_ARG(ask_state_name(ask->state)));
    figures.answers += counts;
    figures.answers_elsewhere += counts && submission->elsewhere;
}

void ledger_withdrawn(struct str ask_id, const struct winner *winner)
{
    struct sim_call *call = ledger_call_of_ask(ask_id);
    struct ledger_ask *ask = ledger_ask(call, ask_id);

    ledger_lapsed(call, ask, winner->state);
    if (winner->state == ASK_PENDING || winner->state == ASK_WITHDRAWN)
        return; /* it goes on elsewhere, or its call has ended: nobody has won it here */
    if (winner->state != ask->state)
        broken("people were told that %zu.%s is " STR_FMT ", and it is " STR_FMT, call->number,
               ask->key, STR_ARG(ask_state_name(winner->state)),
               STR_ARG(ask_state_name(ask->state)));
}

/* --- runs and effects --- */

uint64_t ledger_epoch(const struct run *run)
{
    return run->call && run->call->epoch ? run->call->epoch : 1;
}

static void journal_is_right(struct sim_call *call, const struct run *run)
{
    for (size_t i = 0; i < run->journal_count; i++) {
        const struct entry *entry = &run->journal[i];
        for (size_t j = 0; j < i; j++)
            if (entry->class == run->journal[j].class && str_eq(entry->key, run->journal[j].key))
                broken("call %zu has two entries for '" STR_FMT "'", call->number,
                       STR_ARG(entry->key));
        if (entry->class != ENTRY_ASK)
            continue;
        const struct ledger_ask *ask = ledger_ask(call, entry->ask_id);
        int64_t number = entry->state == ASK_ACCEPTED ? number_of(ask, entry->content) : 0;
        if (!ask || ask->state != entry->state || ask->number != number)
            broken("call %zu runs with an answer to '" STR_FMT "' that was not the first (%lld)",
                   call->number, STR_ARG(entry->key), (long long)number);
    }
}

static void version_is_its_own(const struct sim_call *call, const struct run *run)
{
    struct message *is = link_peek(str_of(call->id));
    int64_t version = is ? is->reply.call->version : 0;

    message_free(is);
    if (target_has_changed(run->target, version))
        broken("call %zu is run in another version than it has begun with", call->number);
}

void ledger_run(const struct node *node, const struct run *run)
{
    struct sim_call *call = ledger_call(run->call_id);
    uint64_t epoch = ledger_epoch(run);

    TRACE("node %s: call %zu runs in epoch %llu with %zu entries", node->name, call->number,
          (unsigned long long)epoch, run->journal_count);
    if (!call->stored) /* it has not got that far */
        return;
    if (epoch > call->epoch || strcmp(call->epochs[epoch % SIM_EPOCHS].owner, node->name) != 0)
        broken("%s runs call %zu in epoch %llu, which is not its own", node->name, call->number,
               (unsigned long long)epoch);
    size_t least = epoch == call->epoch && !call->ended ? call->journal
                                                        : call->epochs[epoch % SIM_EPOCHS].journal;
    if (run->journal_count < least)
        broken("%s runs call %zu with %zu entries, and %zu were journalled", node->name,
               call->number, run->journal_count, least);
    journal_is_right(call, run);
    version_is_its_own(call, run);
}

bool ledger_crashes(const struct run *run)
{
    struct sim_call *call = ledger_call(run->call_id);

    if (!call->crashes || !call->stored || run->journal_count < call->crash_from)
        return false;
    TRACE("call %zu crashes its node", call->number);
    call->crashes--;
    call->crashed++;
    figures.handlers_crashed++;
    return true;
}

void ledger_effect(const struct run *run, uint64_t epoch, const char *key, int64_t with,
                   bool at_most_once)
{
    struct sim_call *call = ledger_call(run->call_id);
    struct ledger_step *step = step_of(call, str_of(key));

    TRACE("effect: %zu.%s with %lld in epoch %llu%s", call->number, key, (long long)with,
          (unsigned long long)epoch, step->effects ? ", again" : "");
    if (step->effects && step->with != with)
        broken("the step '%s' of call %zu was done with %lld, and then with %lld", key,
               call->number, (long long)step->with, (long long)with);
    if (step->effects && at_most_once)
        broken("the step '%s' of call %zu is at_most_once, and was done twice", key, call->number);
    if (step->stored_epoch && epoch >= step->stored_epoch)
        broken("the step '%s' of call %zu was done again, though its result was stored", key,
               call->number);
    if (step->effects && !ledger_is_held(call))
        broken("the step '%s' of call %zu was done again, and nobody holds a handle of it", key,
               call->number);
    figures.effects++;
    figures.repeated_effects += step->effects > 0;
    step->effects++;
    step->with = with;
    step->at_most_once = at_most_once;
}

void ledger_orphan(const struct call_record *record)
{
    const struct sim_call *call = ledger_call(record->id);

    if (!call || !ledger_is_held(call))
        broken("recovery was shown call %zu, which nobody holds a handle of",
               call ? call->number : 0);
    figures.recovered++;
}

/* --- what clients are told --- */

static bool same_end(struct str text, const struct outcome *outcome)
{
    struct outcome stored;
    struct arena arena;

    arena_init(&arena, 1 << 16);
    bool same = outcome_read(&arena, text, &stored) == NOD_OK && stored.status == outcome->status &&
                str_eq(stored.body, outcome->body) && str_eq(stored.message, outcome->message);
    arena_finish(&arena);
    return same;
}

static void is_the_only_one(struct sim_call *call, struct str text)
{
    if (call->told && !str_eq(str_n(call->told_end, call->told_len), text))
        broken("the client of call %zu was told two ends: %.*s and " STR_FMT, call->number,
               (int)call->told_len, call->told_end, STR_ARG(text));
    if (text.len >= sizeof(call->told_end))
        broken("the outcome of call %zu is too long for the ledger", call->number);
    memcpy(call->told_end, text.at, text.len);
    call->told_len = text.len;
    call->told = true;
}

/* It has ended, every handle of it is over, and the store has let go of it. */
static bool is_forgotten(const struct sim_call *call)
{
    struct message *is =
        call->ended && store_now() >= call->handle_until ? link_peek(str_of(call->id)) : NULL;
    bool forgotten = call->ended && store_now() >= call->handle_until && !is;

    message_free(is);
    return forgotten;
}

void ledger_told(struct sim_call *call, const struct outcome *outcome)
{
    struct buf text;

    TRACE("client: call %zu has ended: %s " STR_FMT STR_FMT, call->number,
          nod_status_name(outcome->status), STR_ARG(outcome->body), STR_ARG(outcome->message));
    if (outcome->status != NOD_OK && is_forgotten(call)) {
        call->left = true; /* its node has slept for longer than its handle lives: an error it is */
        return;
    }
    if (call->handle_out && !call->ended)
        broken("the client of call %zu was told an end that is not stored: %s " STR_FMT,
               call->number, nod_status_name(outcome->status), STR_ARG(outcome->message));
    if (call->handle_out) { /* nobody else can compare */
        if (!same_end(str_n(call->end, call->end_len), outcome))
            broken("the client of call %zu was told %s " STR_FMT STR_FMT ", and the store has %.*s",
                   call->number, nod_status_name(outcome->status), STR_ARG(outcome->body),
                   STR_ARG(outcome->message), (int)call->end_len, call->end);
        is_the_only_one(call, str_n(call->end, call->end_len));
        return;
    }
    buf_init(&text, SIM_END);
    outcome_write(&text, outcome);
    is_the_only_one(call, buf_str(&text));
    buf_finish(&text);
}

void ledger_told_stored(struct sim_call *call, struct str result)
{
    TRACE("client: call %zu has ended, as the store says: " STR_FMT, call->number, STR_ARG(result));
    if (!call->ended || !str_eq(str_n(call->end, call->end_len), result))
        broken("the store shows an end of call %zu that it did not have: " STR_FMT, call->number,
               STR_ARG(result));
    is_the_only_one(call, result);
}

static bool is_inside(const struct sim_call *call, const struct sim_call *of)
{
    while (call && call != of)
        call = call->outer;
    return call;
}

void ledger_cancelled(void *data, nod_status status)
{
    const struct sim_call *cancelled = data;

    struct message *is = link_peek(str_of(cancelled->id));
    bool known = is && !is->reply.call->forgotten; /* else nobody can say what it waited for */

    message_free(is);
    if (!known || (status != NOD_OK && status != NOD_E_STALE))
        return;
    TRACE("client: is told that call %zu is cancelled", cancelled->number);
    for (size_t i = 0; i < sim.call_count; i++) {
        const struct sim_call *call = &sim.calls[i];
        for (size_t a = 0; is_inside(call, cancelled) && a < call->ask_count; a++)
            if (call->asks[a].state == ASK_PENDING)
                broken("the cancel of call %zu was accepted, and question %zu.%s can be answered",
                       cancelled->number, call->number, call->asks[a].key);
    }
    figures.cancels_told++;
}

void ledger_not_found(const struct sim_call *call)
{
    if (call->stored && !call->ended)
        broken("call %zu is forgotten, and has not ended", call->number);
    if (call->stored && store_now() < call->handle_until)
        broken("call %zu is forgotten %lld ms before the handle of its client is over",
               call->number, (long long)(call->handle_until - store_now()));
}

static void count_end(const struct sim_call *call)
{
    struct outcome outcome;
    struct arena arena;

    arena_init(&arena, 1 << 16);
    if (!call->ended || outcome_read(&arena, str_n(call->end, call->end_len), &outcome) != NOD_OK)
        figures.ended_elsewhere++;
    else if (outcome.status == NOD_OK)
        figures.ended_ok++;
    else if (outcome.status == NOD_E_CANCELLED)
        figures.cancelled++;
    else if (outcome.code && strncmp(outcome.code, "TOOL_", 5) == 0)
        figures.ended_changed++;
    else
        figures.ended_otherwise++;
    arena_finish(&arena);
}

const struct sim_call *ledger_inner_left(void)
{
    for (size_t i = 0; i < sim.call_count; i++) {
        const struct sim_call *inner = &sim.calls[i];
        bool begun = inner->stored && !inner->ahead; /* else nobody is asked, and nothing done */
        if (inner->outer && begun && !inner->ended && inner->outer->ended)
            return inner;
    }
    return NULL;
}

void ledger_at_the_end(void)
{
    for (size_t i = 0; i < sim.call_count; i++) {
        const struct sim_call *call = &sim.calls[i];
        figures.calls++;
        count_end(call);
        if (call->has_handle && !call->told && !call->left)
            broken("call %zu is stranded: its client holds a handle, and gets no end of it",
                   call->number);
        if (call->handed && !call->ended)
            broken("call %zu is stranded: its client was given a handle, and it has no end",
                   call->number);
    }
}
