/*
 * tests/sim/client: clients, what they hold, and what they do with it.
 *
 * A client remembers what it was told: a handle, and every question it was ever shown, with the
 * number of its offer. It comes back with the handle to any node. It answers any of the questions,
 * old ones too, at any node, in any order, well or badly, and sends the same answer again. It
 * learns only what arrives.
 */
#include "sim.h"

#include <limits.h>

#include "base/mem.h"

#include <stdio.h>

struct waiting { /* an answerer, until it hears */
    struct list link;
    struct node *node;
    size_t submission;
    size_t at; /* which of its asks */
};

/* --- what arrives --- */

void client_given_handle(struct sim_call *call)
{
    int64_t until = call->wrote_ms + sim.keep_ms;

    for (size_t i = 0; i < call->ask_count; i++)
        if (call->asks[i].state == ASK_PENDING && call->asks[i].expires_ms + sim.keep_ms > until)
            until = call->asks[i].expires_ms + sim.keep_ms;
    if (!call->has_handle)
        TRACE("client: holds a handle of call %zu", call->number);
    call->has_handle = true;
    if (until > call->handle_until)
        call->handle_until = until;
}

/* False: it was known. */
static bool remember(struct shown *list, size_t *count, const struct ask_record *ask, int attempt)
{
    for (size_t i = 0; i < *count; i++)
        if (str_eq(str_of(list[i].id), ask->id) && list[i].attempt == attempt)
            return false;
    if (*count == SIM_SHOWN) /* the oldest is forgotten */
        memmove(&list[0], &list[1], --*count * sizeof(list[0]));
    struct shown *shown = &list[(*count)++];
    snprintf(shown->id, sizeof(shown->id), STR_FMT, STR_ARG(ask->id));
    snprintf(shown->key, sizeof(shown->key), STR_FMT, STR_ARG(ask->key));
    shown->attempt = attempt;
    return true;
}

void client_shown(struct sim_call *call, const struct ask_record *ask, int attempt)
{
    if (call->handle_out) /* it comes with every question */
        client_given_handle(call);
    if (remember(call->shown, &call->shown_count, ask, attempt))
        TRACE("client: is shown %zu." STR_FMT ", offer %d", call->number, STR_ARG(ask->key),
              attempt);
}

void people_shown(struct sim_call *call, const struct ask_record *ask)
{
    if (remember(call->seen, &call->seen_count, ask, 0))
        TRACE("people: are shown %zu." STR_FMT, call->number, STR_ARG(ask->key));
}

/* --- answering --- */

static void waiting_free(struct waiting *waiting)
{
    list_remove(&waiting->link);
    mem_free(waiting);
}

static void heard(void *data, const struct answer_result *result)
{
    struct waiting *waiting = data;
    struct submission *submission = &sim.submissions[waiting->submission];

    const struct shown *shown = &submission->asks[waiting->at];
    bool won = !result->pending && (result->status == NOD_OK || result->status == NOD_E_INVALID);

    if (submission->elsewhere && won)
        inbox_done(waiting->node, str_of(shown->id));
    ledger_answered(submission, shown, result);
    waiting_free(waiting);
}

void client_lost_node(struct node *node)
{
    LIST_EACH (at, &node->answerers)
        waiting_free(LIST_OF(at, struct waiting, link));
}

static struct json *content_of(struct arena *arena, size_t number)
{
    const struct submission *submission = &sim.submissions[number];
    struct str text = submission->wrong ? number % 2 ? STR("{\"n\":\"many\"}") : STR("[]")
                                        : arena_fmt(arena, "{\"n\":%zu}", number);

    return json_parse(arena, text, NULL, NULL);
}

static void note_wrong(const struct submission *submission)
{
    for (size_t i = 0; submission->wrong && i < submission->count; i++) {
        const struct shown *shown = &submission->asks[i];
        struct str id = str_of(shown->id);
        struct ledger_ask *ask = ledger_ask(ledger_call_of_ask(id), id);
        ask->wrong |= shown->attempt ? 1u << shown->attempt : ~0u;
    }
}

static struct answer answer_of(struct node *node, size_t number, size_t at, struct arena *arena)
{
    const struct submission *submission = &sim.submissions[number];
    bool carried = submission->call->kind == KIND_CARRY;

    return (struct answer){ .action = submission->action,
                            .content = content_of(arena, number),
                            .by = STR("ann"),
                            .surface = submission->elsewhere ? &node->inbox
                                       : carried             ? &node->carried
                                                             : &node->surface,
                            .roles = submission->elsewhere ? ROLE_ANSWER : ROLES_NONE,
                            .attempt = submission->asks[at].attempt };
}

static void send_one(struct node *node, size_t number, size_t at, struct answer_set *set)
{
    const struct shown *shown = &sim.submissions[number].asks[at];
    struct waiting *waiting = MEM_NEW(struct waiting);
    struct arena arena;

    waiting->node = node;
    waiting->submission = number;
    waiting->at = at;
    list_init(&waiting->link);
    list_append(&node->answerers, &waiting->link);
    arena_init(&arena, 1 << 14);
    struct answer answer = answer_of(node, number, at, &arena);
    answer.set = set;
    ask_answer(node->engine, str_of(shown->id), &answer, heard, waiting);
    arena_finish(&arena);
}

static const struct shown *shown_in(const struct submission *submission, struct str ask_id)
{
    for (size_t i = 0; i < submission->count; i++)
        if (str_eq(str_of(submission->asks[i].id), ask_id))
            return &submission->asks[i];
    return NULL;
}

bool submission_answer(struct node *node, size_t number, struct str ask_id, struct arena *arena,
                       struct answer *out)
{
    const struct submission *submission = &sim.submissions[number];
    const struct shown *shown = shown_in(submission, ask_id);

    if (shown)
        *out = answer_of(node, number, (size_t)(shown - submission->asks), arena);
    return shown != NULL;
}

void submission_heard(size_t number, struct str ask_id, const struct answer_result *result)
{
    const struct submission *submission = &sim.submissions[number];

    ledger_answered(submission, shown_in(submission, ask_id), result);
}

static void send_round(struct node *node, size_t number)
{
    struct answer_set *set = answers_begin(node->engine);

    send_one(node, number, 0, set);
    send_one(node, number, 1, set);
    answers_end(set);
}

static void submit(struct node *node, size_t number)
{
    const struct submission *submission = &sim.submissions[number];

    TRACE("%s: gives answer %zu (" STR_FMT "%s) to %zu.%s%s%s, offer %d, at %s",
          submission->elsewhere ? "people" : "client", number,
          STR_ARG(ask_state_name(submission->action)), submission->wrong ? ", wrong" : "",
          submission->call->number, submission->asks[0].key, submission->count == 2 ? " and " : "",
          submission->count == 2 ? submission->asks[1].key : "", submission->asks[0].attempt,
          node->name);
    note_wrong(submission);
    if (submission->count == 2)
        send_round(node, number);
    else
        send_one(node, number, 0, NULL);
}

static struct submission *submission_new(struct sim_call *call)
{
    if (sim.submission_count == SIM_SUBMISSIONS)
        return NULL;
    struct submission *submission = &sim.submissions[sim.submission_count++];
    *submission = (struct submission){ .call = call, .action = ASK_ACCEPTED };
    return submission;
}

/* "a" and "b" are one round, unless the tool asks one after the other. */
static bool asks_both(const struct shown *shown)
{
    return shape_has_round(ledger_call_of_ask(str_of(shown->id))->shape);
}

/* The two questions of a round, as they were shown last. */
static bool round_of(const struct sim_call *call, struct shown *one, struct shown *other)
{
    for (size_t i = call->shown_count; i-- > 1;)
        for (size_t j = i; j-- > 0;) {
            const struct shown *a = &call->shown[j], *b = &call->shown[i];
            bool pair = (a->key[0] == 'a' && b->key[0] == 'b' && asks_both(b)) ||
                        (a->key[0] == 'b' && b->key[0] == 'c');
            if (!pair || ledger_call_of_ask(str_of(a->id)) != ledger_call_of_ask(str_of(b->id)))
                continue;
            *one = *a;
            *other = *b;
            return true;
        }
    return false;
}

/* 0: there is none. */
static size_t some_answer(struct sim_call *call)
{
    static const enum ask_state actions[] = { ASK_ACCEPTED, ASK_ACCEPTED, ASK_ACCEPTED,
                                              ASK_ACCEPTED, ASK_DECLINED, ASK_CANCELLED };

    bool elsewhere = call->seen_count && one_in(2);

    if (call->shown_count == 0 && !elsewhere)
        return 0;
    struct submission *submission = submission_new(call);
    if (!submission)
        return 0;
    submission->count = 1;
    submission->elsewhere = elsewhere;
    submission->asks[0] =
        elsewhere ? call->seen[pick(call->seen_count)] : call->shown[pick(call->shown_count)];
    if (one_in(10)) /* whichever offer is up */
        submission->asks[0].attempt = 0;
    submission->action = actions[pick(sizeof(actions) / sizeof(actions[0]))];
    submission->wrong = submission->action == ASK_ACCEPTED && one_in(4);
    return (size_t)(submission - sim.submissions);
}

static void answer_something(struct node *node, struct sim_call *call)
{
    size_t number = some_answer(call);

    if (number)
        submit(node, number);
}

/* Likewise; to both questions of a round, if there is one. */
static size_t some_round(struct sim_call *call)
{
    struct shown one, other;

    if (call->kind != KIND_CARRY || !round_of(call, &one, &other))
        return some_answer(call);
    struct submission *submission = submission_new(call);
    if (!submission)
        return 0;
    submission->count = 2;
    submission->asks[0] = one;
    submission->asks[1] = other;
    figures.rounds++;
    return (size_t)(submission - sim.submissions);
}

static void answer_round(struct node *node, struct sim_call *call)
{
    size_t number = some_round(call);

    if (number)
        submit(node, number);
}

/* The same answer once more, somewhere. */
static void repeat_something(struct node *node)
{
    if (sim.submission_count > 1)
        submit(node, 1 + pick(sim.submission_count - 1));
}

/* --- what clients do --- */

static void call_id_new(struct sim_call *call)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

    for (size_t i = 0; i < ID_LEN; i++)
        call->id[i] = letters[pick(i == ID_LEN - 1 ? 4 : 64) * (i == ID_LEN - 1 ? 16 : 1)];
}

static void call_something(struct node *node)
{
    struct sim_call *call = &sim.calls[sim.call_count];

    *call = (struct sim_call){ .number = ++sim.call_count };
    call_id_new(call);
    call->kind = (enum kind)pick(KIND_COUNT);
    sim.calls_made++;
    call->shape =
        sim.nested && one_in(2) ? SHAPES_PLAIN + pick(SHAPES_CALLING) : pick(SHAPES_PLAIN);
    /* calls_beside may call calls, which calls another */
    call->inner_shape = pick(call->shape > SHAPES_PLAIN ? SHAPES_PLAIN + 1 : SHAPES_PLAIN);
    if (sim.lively && one_in(2))
        call->shape = one_in(3) ? SHAPE_STAYS : SHAPE_LIVE;
    if (sim.crashing && call->shape != SHAPE_LIVE && one_in(2)) {
        call->crash_from = (unsigned)pick(3);
        call->crashes = one_in(2) ? UINT_MAX : (unsigned)(1 + pick(4));
    }
    call->ttl_ms = one_in(3) ? between(3600000, 86400000) : between(1000, 20000);
    TRACE("client: call %zu, kind %d, shape " STR_FMT ", questions wait %lld ms, at %s",
          call->number, (int)call->kind, STR_ARG(shape_name(call->shape)), (long long)call->ttl_ms,
          node->name);
    seat_begin(node, call);
}

static struct node *some_node(void)
{
    size_t first = pick(sim.node_count);

    for (size_t i = 0; i < sim.node_count; i++) {
        struct node *node = &sim.nodes[(first + i) % sim.node_count];
        if (node_awake(node))
            return node;
    }
    return NULL;
}

/* What it brings: something new, something it has said before, or nothing. */
static size_t some_brought(struct sim_call *call)
{
    size_t number = 0;

    if (call->kind != KIND_CARRY || one_in(2))
        return 0;
    if (one_in(3) && sim.submission_count > 1)
        number = 1 + pick(sim.submission_count - 1);
    else if (call->shown_count)
        number = one_in(2) ? some_round(call) : some_answer(call);
    if (!number || sim.submissions[number].call != call || sim.submissions[number].elsewhere)
        return 0;
    note_wrong(&sim.submissions[number]);
    figures.brought++;
    return number;
}

static void come_back(struct node *node, struct sim_call *call)
{
    size_t brings = some_brought(call);

    TRACE("client: comes back for call %zu at %s, with answer %zu", call->number, node->name,
          brings);
    seat_come_back(node, call, brings);
}

void client_acts(void)
{
    struct node *node = some_node();

    if (!node)
        return;
    node_set_clock(node);
    if (sim.calls_made < sim.calls_wanted && (sim.calls_made == 0 || one_in(4))) {
        call_something(node);
        return;
    }
    struct sim_call *call = &sim.calls[pick(sim.call_count)];
    switch (pick(10)) {
    case 0:
    case 1:
    case 2:
        if (call->has_handle)
            come_back(node, call);
        break;
    case 3:
    case 4:
    case 5:
        answer_something(node, call);
        break;
    case 6:
        answer_round(node, call);
        if (one_in(2) && (node = some_node()))
            answer_round(node, call);
        break;
    case 7:
        repeat_something(node);
        break;
    case 8:
        seat_disconnect(node, call);
        break;
    case 9:
        if (call->has_handle && one_in(4)) {
            TRACE("client: cancels call %zu at %s", call->number, node->name);
            engine_cancel(node->engine, str_of(call->id), STR("enough"), ledger_cancelled, call);
        }
        break;
    }
}

void client_presses_on(struct sim_call *call)
{
    struct node *node = some_node();

    if (!call->has_handle || call->told || call->left)
        return;
    node_set_clock(node);
    for (size_t i = 0; i < call->shown_count; i++) {
        struct str id = str_of(call->shown[i].id);
        const struct ledger_ask *ask = ledger_ask(ledger_call_of_ask(id), id);
        struct submission *submission;
        if (ask->state != ASK_PENDING || one_in(3) || !(submission = submission_new(call)))
            continue;
        submission->count = 1;
        submission->asks[0] = call->shown[i];
        submit(node, (size_t)(submission - sim.submissions));
    }
    if (one_in(2))
        come_back(node, call);
}
