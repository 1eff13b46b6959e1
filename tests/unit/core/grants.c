/*
 * tests/unit/core/grants: approvals that are remembered.
 *
 * The tool requires a confirmation, which is asked on the second surface of the world, as an inbox
 * would. Each test approves a call, lets the approval be remembered, and looks at which calls pass
 * after that, and which ask again.
 */
#include "core/grant_inside.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "core/grant.h"
#include "core/note.h"
#include "../runner.h"

enum { HOUR_MS = 3600000, DAY_MS = 24 * HOUR_MS };

static struct world world;

static nod_status works(struct run *run, struct str *body)
{
    (void)run;
    *body = STR("{\"done\":true}");
    return NOD_OK;
}

static void begin(unsigned remember)
{
    world_init(&world, &(struct world_opts){ .handler = works, .requires_confirmation = true });
    world.can = 0; /* the client cannot ask */
    world.second_can = 1u << ASK_APPROVAL;
    world.target.remember = remember;
    memset(world.target.version, 7, sizeof(world.target.version));
}

static struct world_caller *call_with(const char *principal, const char *scope, const char *args)
{
    struct arena arena;

    world.caller_count = 0; /* those before have ended */
    world.second_count = 0;
    struct world_caller *caller = world_caller_new(&world);
    arena_init(&arena, 1 << 16);
    engine_call(world.engine,
                &(struct call_spec){ .target = &world.target,
                                     .principal = str_of(principal),
                                     .scope = str_of(scope),
                                     .args = json_parse(&arena, str_of(args), NULL, NULL),
                                     .caller = &caller->caller });
    arena_finish(&arena);
    world_settle(&world);
    return caller;
}

static void answer_as(const char *by, role_set roles, const struct remember_choice *choice)
{
    assert_int_equal(world.second_count, 1);
    world_answer_by(&world, world.second_shown[0].id,
                    &(struct answer){ .action = ASK_ACCEPTED,
                                      .by = str_of(by),
                                      .roles = roles,
                                      .surface = &world.second,
                                      .remember = choice });
}

/* Makes a call that asks, approves it, and has that remembered. */
static void grant(const struct remember_choice *choice)
{
    struct world_caller *caller = call_with("ann", "ann/s1", "{\"n\":1}");

    answer_as("ann", ROLE_ANSWER, choice);
    assert_int_equal(world.last.status, NOD_OK);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_OK);
}

/* Does this call pass without a question? If not, the question is declined. */
static bool passes(const char *principal, const char *scope, const char *args)
{
    struct world_caller *caller = call_with(principal, scope, args);

    if (world.second_count == 0) {
        assert_int_equal(caller->finished, 1);
        assert_int_equal(caller->status, NOD_OK);
        return true;
    }
    assert_int_equal(caller->finished, 0);
    world_answer_by(&world, world.second_shown[0].id,
                    &(struct answer){ .action = ASK_DECLINED,
                                      .by = str_of(principal),
                                      .roles = ROLE_ANSWER,
                                      .surface = &world.second });
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_REFUSED);
    return false;
}

static char listed[512];
static char first_id[GRANT_KEY_LEN + 1];
static size_t listed_count;

static void seen(void *data, const struct grant *grant)
{
    size_t len = strlen(listed);

    (void)data;
    if (listed_count++ == 0)
        memcpy(first_id, grant->id.at, GRANT_KEY_LEN);
    snprintf(listed + len, sizeof(listed) - len, STR_FMT "/" STR_FMT "/" STR_FMT "/%lld ",
             STR_ARG(grant->principal), STR_ARG(grant_scope_name(grant->scope)),
             STR_ARG(grant_match_name(grant->match)), (long long)grant->uses);
}

static void list_over(void *data, nod_status status, struct str cursor)
{
    (void)data;
    assert_int_equal(status, NOD_OK);
    assert_int_equal(cursor.len, 0);
}

static size_t list_of(const char *principal)
{
    listed[0] = '\0';
    listed_count = 0;
    grants_list(world.engine, str_of(principal), STR_NONE, 100, seen, list_over, NULL);
    world_settle(&world);
    return listed_count;
}

static nod_status revoked;

static void revoke_over(void *data, nod_status status)
{
    (void)data;
    revoked = status;
}

static nod_status revoke(const char *id, const char *principal)
{
    revoked = NOD_PENDING;
    grants_revoke(world.engine, str_of(id), str_of(principal), revoke_over, NULL);
    world_settle(&world);
    return revoked;
}

#define ALL_SCOPES (NOD_REMEMBER_SESSION | NOD_REMEMBER_PRINCIPAL | NOD_REMEMBER_TIME)
#define BOTH       (NOD_REMEMBER_ARGUMENTS | NOD_REMEMBER_TOOL)

static const struct remember_choice choices[] = {
    { .scope = GRANT_SESSION, .match = GRANT_ARGUMENTS },
    { .scope = GRANT_PRINCIPAL, .match = GRANT_ARGUMENTS, .for_ms = HOUR_MS },
    { .scope = GRANT_PRINCIPAL, .match = GRANT_ARGUMENTS },
    { .scope = GRANT_SESSION, .match = GRANT_TOOL },
    { .scope = GRANT_PRINCIPAL, .match = GRANT_TOOL, .for_ms = HOUR_MS },
    { .scope = GRANT_PRINCIPAL, .match = GRANT_TOOL },
};
enum { CHOICES = sizeof(choices) / sizeof(choices[0]) };

static void each_choice_passes_what_it_says_and_nothing_else(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHOICES; i++) {
        const struct remember_choice *choice = &choices[i];
        begin(ALL_SCOPES | BOTH);
        assert_false(passes("ann", "ann/s1", "{\"n\":1}"));
        grant(choice);
        assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
        assert_true(passes("ann", "ann/s1", "{ \"n\" : 1 }"));
        assert_int_equal(passes("ann", "ann/s1", "{\"n\":2}"), choice->match == GRANT_TOOL);
        assert_int_equal(passes("ann", "ann/s2", "{\"n\":1}"), choice->scope == GRANT_PRINCIPAL);
        assert_false(passes("bob", "bob/s1", "{\"n\":1}"));
        assert_false(passes("bob", "ann/s1", "{\"n\":1}"));
        world_advance(&world, HOUR_MS - 60000);
        assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
        world_advance(&world, 60000);
        assert_int_equal(passes("ann", "ann/s1", "{\"n\":1}"), choice->for_ms == 0);
        world_advance(&world, DAY_MS);
        assert_int_equal(passes("ann", "ann/s1", "{\"n\":1}"),
                         choice->scope == GRANT_PRINCIPAL && choice->for_ms == 0);
        world_finish(&world);
    }
}

static void a_changed_tool_asks_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHOICES; i++) {
        begin(ALL_SCOPES | BOTH);
        grant(&choices[i]);
        assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
        world.target.version[3]++; /* the input schema, or the author's version */
        assert_false(passes("ann", "ann/s1", "{\"n\":1}"));
        assert_int_equal(list_of("ann"), 1);
        world.target.version[3]--; /* the tool that was approved */
        assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
        world.target.name = STR("other");
        assert_false(passes("ann", "ann/s1", "{\"n\":1}"));
        world.target.name = STR("tool");
        world.target.version[3]++;
        world_advance(&world, 1);
        grant(&choices[i]); /* in the place of the first */
        assert_int_equal(list_of("ann"), 1);
        assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
        world.target.version[3]--;
        assert_false(passes("ann", "ann/s1", "{\"n\":1}"));
        world_finish(&world);
    }
}

static void a_revoked_grant_is_gone(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHOICES; i++) {
        begin(ALL_SCOPES | BOTH);
        grant(&choices[i]);
        assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
        assert_int_equal(list_of("ann"), 1);
        assert_non_null(strstr(listed, "/1 ")); /* it was used once */
        assert_int_equal(list_of("bob"), 0);
        assert_int_equal(list_of(""), 1);
        assert_int_equal(revoke(first_id, "bob"), NOD_E_NOT_FOUND);
        assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
        assert_int_equal(revoke(first_id, i % 2 ? "ann" : ""), NOD_OK);
        assert_int_equal(list_of(""), 0);
        assert_false(passes("ann", "ann/s1", "{\"n\":1}"));
        assert_int_equal(revoke(first_id, "ann"), NOD_E_NOT_FOUND);
        world_advance(&world, 1);
        grant(&choices[i]); /* a later word counts again */
        assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
        world_finish(&world);
    }
    begin(ALL_SCOPES);
    assert_int_equal(revoke("", ""), NOD_E_NOT_FOUND);
    assert_int_equal(revoke("no such grant", ""), NOD_E_NOT_FOUND);
    world_finish(&world);
}

static void what_is_no_longer_allowed_does_not_count(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHOICES; i++) {
        begin(ALL_SCOPES | BOTH);
        grant(&choices[i]);
        engine_remember(world.engine, &(struct grant_rule){ .tool = STR("tool") }, 1);
        assert_false(passes("ann", "ann/s1", "{\"n\":1}"));
        engine_remember(world.engine, &(struct grant_rule){ .tool = STR("other") }, 1);
        assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
        engine_remember(world.engine,
                         &(struct grant_rule){ .tool = STR("tool"),
                                               .allows = NOD_REMEMBER_TIME | BOTH,
                                               .for_ms = HOUR_MS / 2 },
                         1);
        assert_false(passes("ann", "ann/s1", "{\"n\":1}")); /* no hour, no session, not for ever */
        world_finish(&world);
    }
}

static void a_session_ends_and_its_grants_go(void **state)
{
    (void)state;
    begin(ALL_SCOPES | BOTH);
    grant(&choices[0]);
    world_advance(&world, 1);
    struct world_caller *caller = call_with("ann", "ann/s2", "{\"n\":1}");
    answer_as("ann", ROLE_ANSWER, &choices[0]);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(list_of("ann"), 2);
    grants_end_session(world.engine, STR("ann"), STR("ann/s1"));
    world_settle(&world);
    assert_int_equal(list_of("ann"), 1);
    assert_false(passes("ann", "ann/s1", "{\"n\":1}"));
    assert_true(passes("ann", "ann/s2", "{\"n\":1}"));
    world_finish(&world);
}

static void put_over(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)reply;
    assert_int_equal(status, NOD_OK);
}

static void a_principal_has_only_so_many(void **state)
{
    char key[GRANT_KEY_LEN + 1];
    (void)state;

    begin(NOD_REMEMBER_PRINCIPAL);
    grant(&choices[2]);
    assert_int_equal(list_of("ann"), 1);
    for (int i = 1; i < GRANTS_PER_PRINCIPAL; i++) { /* more, of the same owner */
        snprintf(key, sizeof(key), "%.24s%040d", first_id, i);
        world.store->ops->put(world.store, STR("grant"), str_of(key), STR("{}"), STR_NONE, 0, 0,
                              put_over, NULL);
        world_settle(&world);
    }
    struct world_caller *caller = call_with("ann", "ann/s1", "{\"n\":2}");
    answer_as("ann", ROLE_ANSWER, &choices[2]);
    assert_int_equal(caller->status, NOD_OK); /* the call goes on */
    assert_false(passes("ann", "ann/s1", "{\"n\":2}"));
    assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
    world_advance(&world, 1);
    caller = call_with("bob", "bob/s1", "{\"n\":2}"); /* nobody else notices */
    answer_as("bob", ROLE_ANSWER, &choices[2]);
    assert_int_equal(caller->status, NOD_OK);
    assert_true(passes("bob", "bob/s1", "{\"n\":2}"));
    world_finish(&world);
}

/* --- what is offered --- */

static size_t offered(const char *principal, const char *scope, char *labels, size_t room)
{
    struct remember_choice out[GRANT_CHOICES_MAX];
    struct arena arena;
    size_t count, len = 0;

    call_with(principal, scope, "{}");
    assert_int_equal(world.second_count, 1);
    struct ask *ask = engine_ask(world.engine, str_of(world.second_shown[0].id));
    arena_init(&arena, 1 << 16);
    count = grants_offered(ask_record(ask), &arena, out);
    labels[0] = '\0';
    for (size_t i = 0; i < count; i++)
        len += (size_t)snprintf(labels + len, room - len, STR_FMT "|", STR_ARG(out[i].label));
    arena_finish(&arena);
    world_answer_by(&world, world.second_shown[0].id,
                    &(struct answer){ .action = ASK_DECLINED,
                                      .by = str_of(principal),
                                      .roles = ROLE_ANSWER,
                                      .surface = &world.second });
    return count;
}

static void what_is_offered_is_what_the_tool_or_the_operator_allows(void **state)
{
    char labels[512];
    (void)state;

    begin(0);
    assert_int_equal(offered("ann", "ann/s1", labels, sizeof(labels)), 0);
    world.target.remember = NOD_REMEMBER_SESSION;
    offered("ann", "ann/s1", labels, sizeof(labels));
    assert_string_equal(labels, "Allow for this session, with these arguments|");
    offered("ann", "ann", labels, sizeof(labels)); /* there is no session */
    assert_string_equal(labels, "Allow for 1 hour, with these arguments|");
    world.target.remember = ALL_SCOPES | NOD_REMEMBER_TOOL;
    world.target.remember_ms = 90 * 60000;
    offered("ann", "ann/s1", labels, sizeof(labels));
    assert_string_equal(labels, "Allow for this session|Allow for 90 minutes|Always allow|");

    world.target.destructive = true; /* not for the whole tool, unless the operator says so */
    world.target.remember = NOD_REMEMBER_PRINCIPAL | NOD_REMEMBER_TOOL;
    offered("ann", "ann/s1", labels, sizeof(labels));
    assert_string_equal(labels, "Always allow, with these arguments|");
    struct grant_rule rule = { .allows = NOD_REMEMBER_TIME | NOD_REMEMBER_TOOL,
                               .for_ms = 2 * DAY_MS };
    engine_remember(world.engine, &rule, 1); /* a rule for all tools is no leave */
    offered("ann", "ann/s1", labels, sizeof(labels));
    assert_string_equal(labels, "Allow for 2 days, with these arguments|");
    struct grant_rule rules[] = { rule, rule };
    rules[0].tool = STR("tool");
    rules[0].for_ms = 30000;
    engine_remember(world.engine, rules, 2);
    offered("ann", "ann/s1", labels, sizeof(labels));
    assert_string_equal(labels, "Allow for 30 seconds|");
    world_finish(&world);
}

static void what_was_not_offered_is_refused_and_the_question_stays(void **state)
{
    (void)state;
    begin(NOD_REMEMBER_SESSION);
    struct world_caller *caller = call_with("ann", "ann/s1", "{}");
    for (size_t i = 1; i < CHOICES; i++) {
        answer_as("ann", ROLE_ANSWER, &choices[i]);
        assert_int_equal(world.last.status, NOD_E_INVALID);
        assert_true(world.last.pending);
        assert_non_null(strstr(world.said_problems, "/remember"));
    }
    assert_int_equal(caller->finished, 0);
    answer_as("ann", ROLE_ANSWER, &choices[0]);
    assert_int_equal(world.last.status, NOD_OK);
    world_finish(&world);
}

static void the_clients_own_word_and_a_models_are_not_remembered(void **state)
{
    (void)state;
    for (int model = 0; model < 2; model++) {
        begin(ALL_SCOPES | BOTH);
        world.can = 1u << ASK_APPROVAL;
        world.second_can = 0;
        struct world_caller *caller = call_with("ann", "ann/s1", "{}");
        struct answer answer = { .action = ASK_ACCEPTED,
                                 .by = STR("ann"),
                                 .roles = ROLE_ANSWER,
                                 .surface = model ? NULL : &world.surface,
                                 .remember = &choices[0] };
        world_answer_by(&world, world_up(&world)->id, &answer);
        assert_int_equal(world.last.status, NOD_E_INVALID);
        assert_int_equal(caller->finished, 0);
        answer.remember = NULL; /* without that it counts */
        answer.surface = &world.surface;
        world_answer_by(&world, world_up(&world)->id, &answer);
        assert_int_equal(world.last.status, NOD_OK);
        assert_int_equal(list_of(""), 0);
        world_finish(&world);
    }
}

static void an_approvers_word_counts_for_whom_it_was_given(void **state)
{
    (void)state;
    begin(ALL_SCOPES | BOTH);
    call_with("ann", "ann/s1", "{\"n\":1}");
    answer_as("eve", ROLE_ANSWER, &choices[2]); /* not hers to answer */
    assert_int_equal(world.last.status, NOD_E_NOT_FOUND);
    answer_as("eve", ROLE_APPROVE, &choices[2]);
    assert_int_equal(world.last.status, NOD_OK);
    assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
    assert_false(passes("eve", "eve/s1", "{\"n\":1}"));
    world_finish(&world);
}

static void arguments_are_the_same_only_to_the_last_digit(void **state)
{
    (void)state;
    begin(NOD_REMEMBER_PRINCIPAL);
    call_with("ann", "ann/s1", "{\"n\":9007199254740993,\"x\":0.1}");
    answer_as("ann", ROLE_ANSWER, &choices[2]);
    assert_true(passes("ann", "ann/s1", "{\"n\":9007199254740993,\"x\":0.1}"));
    assert_true(passes("ann", "ann/s1", "{\"x\":0.1,\"n\":9007199254740993}"));
    assert_false(passes("ann", "ann/s1", "{\"n\":9007199254740992,\"x\":0.1}"));
    assert_false(passes("ann", "ann/s1", "{\"n\":9007199254740993,\"x\":0.10000000000000000001}"));
    assert_false(passes("ann", "ann/s1", "{\"n\":9007199254740993,\"x\":0.1,\"y\":null}"));
    static const char *const others[][2] = {
        { "{\"pay\":100000000000000000.9,\"n\":100000000000000000}",
          "{\"pay\":100000000000000000,\"n\":100000000000000000.9}" },
        { "{\"n\":0}", "{\"n\":-0}" },
        { "{\"n\":[1.0,1]}", "{\"n\":[1,1.0]}" },
        { "{\"n\":1e2}", "{\"n\":100}" },
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        call_with("ann", "ann/s1", others[i][0]);
        answer_as("ann", ROLE_ANSWER, &choices[2]);
        assert_true(passes("ann", "ann/s1", others[i][0]));
        assert_false(passes("ann", "ann/s1", others[i][1]));
    }
    world_finish(&world);
}

/* --- nobody to ask, and nobody asked --- */

static void a_grant_counts_where_nobody_can_be_asked(void **state)
{
    (void)state;
    begin(NOD_REMEMBER_PRINCIPAL);
    grant(&choices[2]);
    world.second_can = 0;
    assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
    struct world_caller *caller = call_with("ann", "ann/s1", "{\"n\":2}");
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_E_REFUSED);
    assert_string_equal(caller->code, "CONFIRMATION_REQUIRED");
    assert_int_equal(world.runs, 2); /* the first call, and the one that passed */
    world_finish(&world);
}

static void destructive_tools_that_asked_nobody_are_counted(void **state)
{
    (void)state;
    begin(NOD_REMEMBER_PRINCIPAL);
    world.target.destructive = true;
    grant(&choices[2]);
    assert_true(passes("ann", "ann/s1", "{\"n\":1}")); /* somebody was asked, once */
    assert_int_equal(engine_counts(world.engine)->destructive_unasked, 0);
    assert_int_equal(engine_counts(world.engine)->grants_used, 1);
    world.target.requires_confirmation = false;
    assert_true(passes("ann", "ann/s1", "{\"n\":2}"));
    assert_int_equal(engine_counts(world.engine)->destructive_unasked, 1);
    world.target.destructive = false;
    assert_true(passes("ann", "ann/s1", "{\"n\":2}"));
    assert_int_equal(engine_counts(world.engine)->destructive_unasked, 1);
    world.target.destructive = true;
    world.engine->opts.confirm_destructive = true;
    assert_false(passes("ann", "ann/s1", "{\"n\":2}"));
    assert_true(passes("ann", "ann/s1", "{\"n\":1}")); /* it is still remembered */
    assert_int_equal(engine_counts(world.engine)->destructive_unasked, 1);
    world_finish(&world);
}

/* --- approvals inside of a handler --- */

static const char *path;

static nod_status approves(struct run *run, struct str *body)
{
    const struct entry *answer;
    nod_status status =
        run_ask(run,
                &(struct ask_spec){ .kind = ASK_APPROVAL,
                                    .key = STR("ok"),
                                    .message = STR("May I?"),
                                    .consent = true,
                                    .path = str_of(path),
                                    .path_digest = grant_digest(&run->arena, run->args) },
                &answer);
    if (status == NOD_PENDING)
        return status;
    if (status != NOD_OK || answer->state != ASK_ACCEPTED)
        return run_fail(run, NOD_E_REFUSED, NULL, STR("no"));
    *body = STR("{}");
    return NOD_OK;
}

static void an_approval_in_a_handler_honours_the_grants_of_its_path(void **state)
{
    (void)state;
    begin(NOD_REMEMBER_PRINCIPAL);
    path = "tool";
    grant(&choices[2]); /* at the gate */
    world.target.requires_confirmation = false;
    world.handler = approves;
    assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
    assert_false(passes("ann", "ann/s1", "{\"n\":2}"));
    assert_false(passes("bob", "bob/s1", "{\"n\":1}"));
    path = "another";
    assert_false(passes("ann", "ann/s1", "{\"n\":1}"));
    world_advance(&world, 1);
    grant(&choices[2]); /* in the handler, for that path */
    assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
    path = "";
    assert_false(passes("ann", "ann/s1", "{\"n\":1}"));
    world_finish(&world);
}

/* --- failures --- */

/* The memory store fails none of its small records, so its operations are stood in for here: so
 * many of one kind fail, before they have happened or after it. */
static struct store_ops failing_ops;
static const struct store_ops *inner_ops;
static const char *failing;
static int failures;
static bool after;

struct lost {
    store_done *done;
    void *data;
};

static void reply_lost(void *data, nod_status status, const struct store_reply *reply)
{
    struct lost lost = *(struct lost *)data;

    (void)status;
    free(data);
    lost.done(lost.data, NOD_E_STORE, reply);
}

static bool fails(const char *verb)
{
    return strcmp(verb, failing) == 0 && failures > 0 && failures-- > 0;
}

static struct lost *lose(store_done *done, void *data)
{
    struct lost *lost = malloc(sizeof(*lost));

    assert_non_null(lost);
    *lost = (struct lost){ done, data };
    return lost;
}

static void failing_put(struct store *store, struct str kind, struct str key, struct str value,
                        struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                        void *data)
{
    if (!fails("put"))
        inner_ops->put(store, kind, key, value, whose, version, ttl_ms, done, data);
    else if (after)
        inner_ops->put(store, kind, key, value, whose, version, ttl_ms, reply_lost,
                       lose(done, data));
    else
        inner_ops->get(store, kind, STR("-"), reply_lost, lose(done, data));
}

static void failing_get(struct store *store, struct str kind, struct str key, store_done *done,
                        void *data)
{
    if (fails("get"))
        inner_ops->get(store, kind, key, reply_lost, lose(done, data));
    else
        inner_ops->get(store, kind, key, done, data);
}

static void let_fail(const char *verb, bool afterwards)
{
    failing = verb;
    failures = 3;
    after = afterwards;
    inner_ops = world.store->ops;
    failing_ops = *inner_ops;
    failing_ops.put = failing_put;
    failing_ops.get = failing_get;
    world.store->ops = &failing_ops;
}

static void until_finished(struct world_caller *caller)
{
    for (int i = 0; i < 20 && !caller->finished; i++)
        world_advance(&world, 1000);
    assert_int_equal(caller->finished, 1);
    assert_int_equal(caller->status, NOD_OK);
    assert_int_equal(failures, 0);
}

static void a_store_that_fails_for_a_while_loses_no_grant(void **state)
{
    static const char *const verbs[] = { "get", "put", "put" };
    (void)state;

    for (size_t i = 0; i < 3; i++) {
        begin(NOD_REMEMBER_PRINCIPAL);
        struct world_caller *caller = call_with("ann", "ann/s1", "{\"n\":1}");
        let_fail(verbs[i], i == 2);
        answer_as("ann", ROLE_ANSWER, &choices[2]);
        until_finished(caller);
        assert_int_equal(list_of("ann"), 1);
        failures = 3;
        until_finished(call_with("ann", "ann/s1", "{\"n\":1}"));
        assert_int_equal(world.second_count, 0); /* it has passed */
        world_finish(&world);
    }
}

/* --- a revoke and uses at the same time --- */

static char used[1024]; /* the record as its last use has left it */
static bool hold;       /* the next use reaches the store when it is let go */
static struct {
    char key[GRANT_KEY_LEN], value[1024];
    size_t len;
    uint64_t version;
    int64_t ttl_ms;
    store_done *done;
    void *data;
} held;

static void nothing(void *data, nod_status status, const struct store_reply *reply)
{
    (void)data, (void)status, (void)reply;
}

/* Whenever a revoke writes, somebody else's use has been a moment faster. */
static void busy_put(struct store *store, struct str kind, struct str key, struct str value,
                     struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                     void *data)
{
    if (str_eq(kind, STR("grant"))) {
        assert_true(value.len < sizeof(used));
        if (str_find(value, STR("\"revoked\":true")) >= 0) {
            inner_ops->put(store, kind, key, str_of(used), whose, 0, 0, nothing, NULL);
        } else if (hold) {
            hold = false;
            memcpy(held.key, key.at, GRANT_KEY_LEN);
            memcpy(held.value, value.at, value.len);
            held.len = value.len;
            held.version = version;
            held.ttl_ms = ttl_ms;
            held.done = done;
            held.data = data;
            return;
        } else {
            memcpy(used, value.at, value.len);
            used[value.len] = '\0';
        }
    }
    inner_ops->put(store, kind, key, value, whose, version, ttl_ms, done, data);
}

static void a_revoke_wins_whatever_uses_the_grant(void **state)
{
    (void)state;
    for (size_t i = 0; i < CHOICES; i++) {
        begin(ALL_SCOPES | BOTH);
        inner_ops = world.store->ops;
        failing_ops = *inner_ops;
        failing_ops.put = busy_put;
        world.store->ops = &failing_ops;
        grant(&choices[i]);
        assert_true(passes("ann", "ann/s1", "{\"n\":1}"));
        assert_int_equal(list_of("ann"), 1);
        hold = true;
        struct world_caller *caller = call_with("ann", "ann/s1", "{\"n\":1}");
        assert_false(hold);
        assert_int_equal(revoke(first_id, "ann"), NOD_OK);
        assert_int_equal(list_of("ann"), 0);
        inner_ops->put(world.store, STR("grant"), str_n(held.key, GRANT_KEY_LEN),
                       str_n(held.value, held.len), STR_NONE, held.version, held.ttl_ms, held.done,
                       held.data);
        world_settle(&world);
        assert_int_equal(caller->finished, 0); /* the use came too late: it asks */
        assert_int_equal(world.second_count, 1);
        answer_as("ann", ROLE_ANSWER, NULL);
        assert_int_equal(list_of("ann"), 0);
        assert_false(passes("ann", "ann/s1", "{\"n\":1}"));
        world_finish(&world);
    }
}

static void a_revoke_whose_reply_was_lost_has_still_revoked(void **state)
{
    (void)state;
    begin(NOD_REMEMBER_PRINCIPAL);
    grant(&choices[2]);
    assert_int_equal(list_of("ann"), 1);
    let_fail("put", true);
    failures = 1;
    revoke(first_id, "ann");
    for (int i = 0; i < 20 && revoked == NOD_PENDING; i++)
        world_advance(&world, 1000);
    assert_int_equal(revoked, NOD_OK);
    assert_int_equal(list_of("ann"), 0);
    world_finish(&world);
}

static void a_call_is_cancelled_while_grants_are_looked_for(void **state)
{
    (void)state;
    for (int turns = 0; turns < 6; turns++) {
        begin(ALL_SCOPES | BOTH);
        struct world_caller *caller = world_caller_new(&world);
        engine_call(world.engine, &(struct call_spec){ .target = &world.target,
                                                       .principal = STR("ann"),
                                                       .scope = STR("ann/s1"),
                                                       .caller = &caller->caller });
        for (int i = 0; i < turns; i++)
            world_turn(&world);
        if (caller->caller.call)
            call_cancel(caller->caller.call, STR("enough"));
        world_settle(&world);
        assert_int_equal(caller->finished, 1);
        assert_int_equal(caller->status, NOD_E_CANCELLED);
        world_finish(&world);
    }
}

static void a_reason_is_kept_and_one_that_is_too_long_is_refused(void **state)
{
    static char reason[NOTE_REASON_MAX + 2];
    struct arena arena;
    (void)state;

    begin(0);
    memset(reason, 'x', NOTE_REASON_MAX + 1);
    call_with("ann", "ann/s1", "{}");
    struct answer answer = { .action = ASK_DECLINED,
                             .by = STR("ann"),
                             .roles = ROLE_ANSWER,
                             .surface = &world.second,
                             .reason = str_of(reason) };
    world_answer_by(&world, world.second_shown[0].id, &answer);
    assert_int_equal(world.last.status, NOD_E_INVALID);
    assert_true(world.last.pending);
    answer.reason = STR("\xff");
    world_answer_by(&world, world.second_shown[0].id, &answer);
    assert_int_equal(world.last.status, NOD_E_INVALID);
    answer.reason = STR("not \"today\"");
    world_answer_by(&world, world.second_shown[0].id, &answer);
    assert_int_equal(world.last.status, NOD_OK);
    arena_init(&arena, 1 << 16);
    struct str note = note_write(&arena, STR("not \"today\""), NULL);
    assert_true(str_eq(note_reason(note, &arena), STR("not \"today\"")));
    assert_int_equal(note_reason(STR_NONE, &arena).len, 0);
    arena_finish(&arena);
    world_finish(&world);
}

SUBJECT(grants)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_choice_passes_what_it_says_and_nothing_else),
        cmocka_unit_test(a_changed_tool_asks_again),
        cmocka_unit_test(a_revoked_grant_is_gone),
        cmocka_unit_test(what_is_no_longer_allowed_does_not_count),
        cmocka_unit_test(a_session_ends_and_its_grants_go),
        cmocka_unit_test(a_principal_has_only_so_many),
        cmocka_unit_test(what_is_offered_is_what_the_tool_or_the_operator_allows),
        cmocka_unit_test(what_was_not_offered_is_refused_and_the_question_stays),
        cmocka_unit_test(the_clients_own_word_and_a_models_are_not_remembered),
        cmocka_unit_test(an_approvers_word_counts_for_whom_it_was_given),
        cmocka_unit_test(arguments_are_the_same_only_to_the_last_digit),
        cmocka_unit_test(a_grant_counts_where_nobody_can_be_asked),
        cmocka_unit_test(destructive_tools_that_asked_nobody_are_counted),
        cmocka_unit_test(an_approval_in_a_handler_honours_the_grants_of_its_path),
        cmocka_unit_test(a_store_that_fails_for_a_while_loses_no_grant),
        cmocka_unit_test(a_revoke_wins_whatever_uses_the_grant),
        cmocka_unit_test(a_revoke_whose_reply_was_lost_has_still_revoked),
        cmocka_unit_test(a_call_is_cancelled_while_grants_are_looked_for),
        cmocka_unit_test(a_reason_is_kept_and_one_that_is_too_long_is_refused),
    };

    log_setup(&(struct log_opts){ .level = LOG_LEVEL_ERROR, .fd = 2 });
    return cmocka_run_group_tests(tests, NULL, NULL);
}
