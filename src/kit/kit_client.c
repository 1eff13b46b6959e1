/*
 * kit/kit_client: the client of a test, which calls, answers from the script, and comes back.
 *
 * A call is opened in the store before it begins, as for any client that can come back. So a crash
 * loses nothing but the opening itself; then the client calls again. After any other crash it looks
 * at the record: if the call has ended, the result is read; if it waits or can be run, it is
 * adopted.
 *
 * Answers are given when nothing moves any more, so that a round is complete. A question that is
 * put again after a crash gets the answer it was to get before.
 */
#include "core/catalog.h"
#include "kit/kit.h"

/* --- questions --- */

static struct kit_question *question_of(nod_test *test, struct str id)
{
    for (size_t i = 0; i < test->question_count; i++)
        if (str_eq(id_str(&test->questions[i].id), id))
            return &test->questions[i];
    return NULL;
}

static struct kit_question *question_new(nod_test *test, const struct ask_record *record)
{
    if (test->question_count == KIT_QUESTIONS_MAX)
        return NULL;
    struct kit_question *question = &test->questions[test->question_count++];
    *question = (struct kit_question){ .key = arena_str(&test->said, record->key),
                                       .message = arena_str(&test->said, record->message) };
    question->id = id_of(record->id);
    return question;
}

static nod_test *test_of(struct surface *surface)
{
    return (nod_test *)(void *)((char *)surface - offsetof(nod_test, surface));
}

static bool can(struct surface *surface, const struct call *call, enum ask_kind kind)
{
    (void)call;
    return !(test_of(surface)->cannot & 1u << kind);
}

static void offer(struct surface *surface, struct ask *ask, int attempt, struct str problems)
{
    nod_test *test = test_of(surface);
    const struct ask_record *record = ask_record(ask);
    struct kit_question *question = question_of(test, record->id);

    (void)problems;
    if (!question && !(question = question_new(test, record))) {
        ask_offered(ask, surface, OFFER_REFUSED);
        return;
    }
    if (question->attempt != attempt) /* not the one that was lost in a crash */
        question->answer = NULL;
    question->attempt = attempt;
    question->up = true;
    ask_offered(ask, surface, OFFER_SHOWN);
}

static void withdraw(struct surface *surface, struct ask *ask, struct str why,
                     const struct winner *winner)
{
    struct kit_question *question = question_of(test_of(surface), ask_record(ask)->id);

    (void)why;
    (void)winner;
    if (question)
        question->up = false;
}

const struct surface_ops kit_surface_ops = { .name = "client",
                                             .can = can,
                                             .offer = offer,
                                             .withdraw = withdraw,
                                             .attempts = 1,
                                             .client = true };

/* --- the call --- */

static void outcome_keep(nod_test *test, const struct outcome *outcome)
{
    struct arena *arena = &test->said;
    const struct json *body;

    test->finished = true;
    test->outcome = (struct outcome){
        .status = outcome->status,
        .code = outcome->code ? arena_str(arena, str_of(outcome->code)).at : NULL,
        .message = arena_str(arena, outcome->message),
        .body = arena_str(arena, outcome->body),
        .details = arena_str(arena, outcome->details),
    };
    body = outcome->body.len ? json_parse(arena, test->outcome.body, NULL, NULL) : NULL;
    test->body = body ? json_copy(arena, body) : NULL; /* each text ends with a NUL */
}

static void finished(struct caller *caller, struct call *call, const struct outcome *outcome)
{
    nod_test *test = (nod_test *)(void *)((char *)caller - offsetof(nod_test, caller));

    (void)call;
    if (!atomic_load(&test->dead)) /* a server that is gone tells nobody */
        outcome_keep(test, outcome);
}

static const struct caller_ops caller_ops = { .finished = finished };

static struct target *target_of(const nod_test *test)
{
    return catalog_find(test->server->catalog, TARGET_TOOL, test->tool);
}

static struct call_spec spec_of(nod_test *test)
{
    return (struct call_spec){ .target = target_of(test),
                               .args = json_parse(&test->said, test->arguments, NULL, NULL),
                               .principal = str_of(test->as),
                               .scope = str_of(test->as),
                               .caller_record = STR("{}"),
                               .handed = true,
                               .id = id_str(&test->call_id),
                               .caller = &test->caller };
}

static void opened(void *data, nod_status status, const struct store_reply *reply)
{
    nod_test *test = data;
    struct call_spec spec;

    (void)reply;
    if (status != NOD_OK || atomic_load(&test->dead))
        return; /* the opening was lost: the next server tries again */
    test->opened = true;
    spec = spec_of(test);
    spec.opened = true;
    engine_call(test->server->engine, &spec);
}

static void begin(nod_test *test)
{
    struct call_spec spec;

    id_random(&test->call_id);
    spec = spec_of(test);
    engine_open(test->server->engine, &spec, opened, test);
}

/* --- coming back --- */

static void ask_seen(void *data, const struct store_row *row)
{
    nod_test *test = data;

    if (!row->ask || row->ask->state != ASK_PENDING || test->ask_count == RUN_ROUND_MAX)
        return;
    test->asks[test->ask_count++] = ask_record_copy(&test->back, row->ask);
}

static void asks_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    nod_test *test = data;

    (void)status;
    (void)reply;
    test->loading = false;
}

static void call_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    nod_test *test = data;

    test->found = status == NOD_OK;
    test->loading = test->found;
    if (!test->found)
        return;
    test->record = call_record_copy(&test->back, reply->call);
    test->store->ops->scan(test->store,
                           &(struct store_scan){ .index = STORE_ASKS_OF_CALL,
                                                 .key = id_str(&test->call_id),
                                                 .limit = RUN_ROUND_MAX },
                           ask_seen, asks_loaded, test);
}

static void come_back(nod_test *test)
{
    struct outcome outcome;
    struct target *target = target_of(test);

    arena_init(&test->back, KIT_ARENA_BYTES);
    test->asks = arena_alloc(&test->back, RUN_ROUND_MAX * sizeof(*test->asks));
    test->ask_count = 0;
    test->loading = true;
    test->store->ops->load_call(test->store, id_str(&test->call_id), call_loaded, test);
    while (test->loading)
        loop_turn(test->server->loop, 1);
    if (!test->found) {
        begin(test);
    } else if (!target) {
        kit_fail(test, NULL, 0, "after a crash there is no tool %s any more", test->tool.at);
        test->lost = true;
    } else if (test->record.state == CALL_STORED_FINISHED ||
               test->record.state == CALL_STORED_CANCELLED) {
        if (outcome_read(&test->back, test->record.result, &outcome) == NOD_OK)
            outcome_keep(test, &outcome);
    } else {
        engine_adopt(test->server->engine, &(struct adopt_spec){ .record = &test->record,
                                                                 .asks = test->asks,
                                                                 .ask_count = test->ask_count,
                                                                 .target = target,
                                                                 .caller = &test->caller,
                                                                 .handed = true });
    }
    arena_finish(&test->back);
}

/* --- answering --- */

static struct kit_answer *answer_for(nod_test *test, struct str key)
{
    struct kit_answer *any = NULL;

    for (size_t i = 0; i < test->answer_count; i++) {
        struct kit_answer *answer = &test->answers[i];
        if (answer->used)
            continue;
        if (answer->key.len && str_eq(answer->key, key))
            return answer;
        if (!answer->key.len && !any)
            any = answer;
    }
    return any;
}

static bool find_answer(nod_test *test, struct kit_question *question)
{
    if (question->answer)
        return true;
    question->answer = answer_for(test, question->key);
    if (question->answer) {
        question->answer->used = true;
        return true;
    }
    kit_fail(test, NULL, 0,
             "nobody answers the question \"" STR_FMT "\" (key '" STR_FMT "'): add an answer to "
             "the script%s" STR_FMT,
             STR_ARG(question->message), STR_ARG(question->key),
             test->why_refused.len ? "; the last answer did not fit: " : "",
             STR_ARG(test->why_refused));
    test->lost = true;
    return false;
}

bool kit_page_link(void *data, const struct ask_record *ask, int64_t expires_ms, struct buf *url)
{
    (void)data, (void)expires_ms;
    buf_fmt(url, "https://page.test/a/" STR_FMT, STR_ARG(ask->id));
    return !url->overflow;
}

/* The record of a question that is on a page, which the person fills in itself; otherwise NULL. */
static const struct ask_record *on_page(const nod_test *test, const struct kit_question *question)
{
    const struct ask *ask = engine_ask(test->server->engine, id_str(&question->id));

    return ask && ask_record(ask)->page ? ask_record(ask) : NULL;
}

static void answered(void *data, const struct answer_result *result)
{
    nod_test *test = data;

    if (result->status == NOD_E_NOT_FOUND || result->status == NOD_E_REFUSED) {
        kit_fail(test, NULL, 0,
                 "the answer of somebody else (nod_test_by) does not count: a page is for the "
                 "person who was asked%s" STR_FMT,
                 result->message.len ? "; " : "", STR_ARG(result->message));
        test->lost = true;
    }
    if (result->status != NOD_E_INVALID)
        return;
    test->refused++;
    test->why_refused = arena_str(&test->said, result->problems);
    for (size_t i = 0; i < test->question_count; i++) {
        struct kit_question *question = &test->questions[i];
        if (on_page(test, question) && !question->up) { /* it is still open there */
            question->up = true;
            question->answer = NULL;
        }
    }
}

static void give(nod_test *test, const struct kit_question *question)
{
    static const enum ask_state states[] = {
        [KIT_ACCEPT] = ASK_ACCEPTED, [KIT_DECLINE] = ASK_DECLINED, [KIT_CANCEL] = ASK_CANCELLED
    };
    const struct kit_answer *given = question->answer;
    struct engine *engine = test->server->engine;

    if (given->action == KIT_PAGE_DONE) {
        ask_url_done(engine, id_str(&question->id), NULL, NULL);
        return;
    }
    const struct ask_record *page = on_page(test, question);
    bool elsewhere = page || given->by.len; /* than at the client */
    struct answer answer = {
        .action = states[given->action],
        .content = given->content.len ? json_parse(&test->said, given->content, NULL, NULL) : NULL,
        .by = given->by.len ? given->by : str_of(test->as),
        .via = given->by.len && !page ? STR("inbox") : STR_NONE,
        .roles = ROLES_ALL,
        .surface = elsewhere ? NULL : &test->surface,
        .attempt = elsewhere ? 0 : question->attempt,
    };
    if (page && ask_page_brings(page->page) == PAGE_BRINGS_NOTHING) {
        if (given->action == KIT_ACCEPT && !kit_values_given(test, page, answer.content)) {
            test->lost = true;
            return;
        }
        answer.content = NULL;
    }
    (page ? ask_page_answer : ask_answer)(engine, id_str(&question->id), &answer, answered, test);
}

static void answer_all(nod_test *test)
{
    const struct kit_question *expires = NULL;
    bool gave = false;

    for (size_t i = 0; i < test->question_count && !test->lost; i++) {
        struct kit_question *question = &test->questions[i];
        if (!question->up || !find_answer(test, question))
            continue;
        if (question->answer->action == KIT_EXPIRE) {
            expires = question;
            continue;
        }
        question->up = false;
        gave = true;
        give(test, question);
    }
    if (!gave && expires) {
        /* Questions that nobody answers are waited for, until their time is over. */
        struct ask *ask = engine_ask(test->server->engine, id_str(&expires->id));
        int64_t left = 0;

        if (ask)
            left = ask_record(ask)->expires_ms
                       ? ask_record(ask)->expires_ms - clock_wall(&test->clock.clock)
                       : ask_record(ask)->ttl_ms;
        fake_clock_advance(&test->clock, left > 0 ? left + 1 : 1);
        engine_tick(test->server->engine);
    }
}

/* --- the whole --- */

static size_t questions_up(const nod_test *test)
{
    size_t up = 0;

    for (size_t i = 0; i < test->question_count; i++)
        up += test->questions[i].up;
    return up;
}

void kit_client_call(nod_test *test)
{
    int64_t until = clock_mono(clock_system()) + KIT_WAIT_MS;
    size_t points = test->points;

    test->caller = (struct caller){ .ops = &caller_ops, .roles = ROLES_ALL };
    begin(test);
    while (!test->finished && !test->lost) {
        size_t up;

        if (atomic_load(&test->dead)) {
            /* The server is gone. Then there is the next one, or the test has failed. */
            kit_server_crash(test);
            test->crashes++;
            test->crash = KIT_NO_CRASH;
            atomic_store(&test->dead, false);
            if (!kit_server_open(test))
                test->lost = true;
            else
                come_back(test);
            continue;
        }
        struct engine *engine = test->server->engine;
        loop_turn(test->server->loop, 1);
        if (engine_deadline(engine) <= clock_mono(&test->clock.clock))
            engine_tick(engine);
        up = questions_up(test);
        if (test->finished || atomic_load(&test->dead))
            continue;
        if (test->points != points) { /* it has stored something: it goes on */
            points = test->points;
            until = clock_mono(clock_system()) + KIT_WAIT_MS;
        }
        if (up && up == engine_pending(test->server->engine)) {
            answer_all(test);
        } else if (clock_mono(clock_system()) > until) {
            kit_fail(test, NULL, 0, "%s has done nothing for %d ms, and has not ended",
                     test->tool.at, KIT_WAIT_MS);
            test->lost = true;
        }
    }
    if (test->lost) { /* nothing of it may come later */
        kit_server_crash(test);
        atomic_store(&test->dead, false);
        kit_server_open(test);
    } else if (atomic_load(&test->dead)) { /* with the last thing that it stored */
        test->crashes++;
        kit_server_crash(test);
        test->crash = KIT_NO_CRASH;
        atomic_store(&test->dead, false);
        kit_server_open(test);
    }
}
