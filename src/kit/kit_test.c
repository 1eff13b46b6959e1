/*
 * kit/kit_test: <nod/test.h> as a test sees it: the script, the call, and its result.
 *
 * Each test owns everything it is made of; two tests know nothing of each other.
 */
#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "kit/kit.h"

/* Any time will do, if it is the same for every test. */
#define KIT_WALL_MS INT64_C(1700000000000)

/* --- life --- */

static nod_test *test_new(void)
{
    nod_test *test = MEM_NEW(nod_test);

    /* What is expected is not worth a line: a test says itself what has failed. */
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_WARN, .fd = 2 });
    fake_clock_init(&test->clock, KIT_WALL_MS);
    arena_init(&test->script, KIT_ARENA_BYTES);
    arena_init(&test->said, KIT_ARENA_BYTES);
    arena_init(&test->step_text, KIT_ARENA_BYTES);
    pthread_mutex_init(&test->lock, NULL);
    list_init(&test->undelivered);
    atomic_init(&test->dead, false);
    test->surface.ops = &kit_surface_ops;
    test->as = str_dup(STR("tester"));
    test->looked = true; /* there is nothing to look at yet */
    return test;
}

nod_test *nod_test_create(const nod_tool *tools, size_t count, size_t tool_size)
{
    nod_test *test = test_new();

    test->tools = tools;
    test->tool_count = count;
    test->tool_size = tool_size;
    kit_server_open(test);
    return test;
}

nod_test *nod_test_create_with(nod_test_make *make, void *data)
{
    nod_test *test = test_new();

    test->make = make;
    test->make_data = data;
    kit_server_open(test);
    return test;
}

/* Answers are for one call: `tool`, which has ended, or NULL if none came. What it leaves would
 * only be given to a question it was not meant for. */
static void check_script(nod_test *test, const char *tool)
{
    for (size_t i = 0; i < test->answer_count; i++) {
        const struct kit_answer *answer = &test->answers[i];
        struct str key = answer->key;
        const char *open = key.len ? " (key '" : "", *close = key.len ? "')" : "";

        if (!answer->used && tool)
            kit_fail(test, NULL, 0,
                     "answer %zu%s" STR_FMT "%s for the call of %s was not used: it asked %zu "
                     "question%s, and the answer is not kept for the next call",
                     i + 1, open, STR_ARG(key), close, tool, test->question_count,
                     test->question_count == 1 ? "" : "s");
        else if (!answer->used)
            kit_fail(test, NULL, 0, "answer %zu%s" STR_FMT "%s was not used: no call came after it",
                     i + 1, open, STR_ARG(key), close);
    }
    test->answer_count = 0;
    arena_finish(&test->script);
    arena_init(&test->script, KIT_ARENA_BYTES);
}

/* A test that looks at nothing of a failed call would pass whatever the reason is. */
static void check_looked(nod_test *test)
{
    if (test->looked)
        return;
    const char *code = nod_test_code(test), *text = nod_test_text(test);
    if (*code)
        kit_fail(test, NULL, 0,
                 "the call of " STR_FMT " failed, and nobody looked: %s: \"%s\". If it is right, "
                 "say NOD_EXPECT_CODE(t, \"%s\")",
                 STR_ARG(test->tool), code, text, code);
    else if (nod_test_is_error(test))
        kit_fail(test, NULL, 0,
                 "the call of " STR_FMT " failed, and nobody looked: isError: \"%s\". If it is "
                 "right, say NOD_EXPECT_TEXT(t, ...)",
                 STR_ARG(test->tool), text);
}

int nod_test_end(nod_test *test)
{
    if (!test)
        return 1;
    check_looked(test);
    check_script(test, NULL);
    kit_server_crash(test);
    kit_store_close(test);
    size_t failures = test->failures;
    if (failures)
        fprintf(stderr, "%zu expectation%s failed\n", failures, failures == 1 ? "" : "s");
    kit_values_forget(test);
    mem_free(test->as);
    mem_free(test->by);
    arena_finish(&test->script);
    arena_finish(&test->said);
    arena_finish(&test->step_text);
    pthread_mutex_destroy(&test->lock);
    mem_free(test);
    return failures ? 1 : 0;
}

/* --- who there is --- */

void nod_test_as(nod_test *test, const char *principal)
{
    if (!principal || !principal[0]) {
        kit_fail(test, NULL, 0, "nod_test_as takes the name of a principal");
        return;
    }
    mem_free(test->as);
    test->as = str_dup(str_of(principal));
}

void nod_test_by(nod_test *test, const char *principal)
{
    mem_free(test->by);
    test->by = principal && principal[0] ? str_dup(str_of(principal)) : NULL;
}

/* --- the script --- */

static void add(nod_test *test, enum kit_action action, const char *key, const char *content)
{
    struct arena *arena = &test->script;
    struct str text = arena_str(arena, str_of(content));

    if (test->answer_count == KIT_ANSWERS_MAX) {
        kit_fail(test, NULL, 0, "a script has at most %d answers", KIT_ANSWERS_MAX);
        return;
    }
    if (text.len && !json_parse(arena, text, NULL, NULL)) {
        kit_fail(test, NULL, 0, "the content of an answer is not JSON: %.*s", (int)text.len,
                 text.at);
        return;
    }
    struct str by = test->by ? arena_str(arena, str_of(test->by)) : STR_NONE;
    test->answers[test->answer_count++] = (struct kit_answer){
        .action = action, .key = arena_str(arena, str_of(key)), .content = text, .by = by
    };
}

void nod_test_accept(nod_test *test, const char *key, const char *content)
{
    add(test, KIT_ACCEPT, key, content);
}

void nod_test_decline(nod_test *test, const char *key)
{
    add(test, KIT_DECLINE, key, NULL);
}

void nod_test_cancel(nod_test *test, const char *key)
{
    add(test, KIT_CANCEL, key, NULL);
}

void nod_test_expire(nod_test *test, const char *key)
{
    add(test, KIT_EXPIRE, key, NULL);
}

void nod_test_page_done(nod_test *test, const char *key)
{
    add(test, KIT_PAGE_DONE, key, NULL);
}

void nod_test_cannot(nod_test *test, nod_mode mode)
{
    static const unsigned kinds[] = { [NOD_MODE_FORM] = 1u << ASK_FORM | 1u << ASK_APPROVAL,
                                      [NOD_MODE_URL] = 1u << ASK_URL,
                                      [NOD_MODE_SAMPLING] = 1u << ASK_SAMPLE,
                                      [NOD_MODE_ROOTS] = 1u << ASK_ROOTS };

    if ((size_t)mode < sizeof(kinds) / sizeof(kinds[0]))
        test->cannot |= kinds[mode];
}

/* --- the call --- */

static void forget_call(nod_test *test)
{
    arena_finish(&test->said);
    arena_init(&test->said, KIT_ARENA_BYTES);
    arena_finish(&test->step_text);
    arena_init(&test->step_text, KIT_ARENA_BYTES);
    test->question_count = test->step_count = test->step_runs = test->refused = 0;
    test->why_refused = STR_NONE;
    test->opened = test->finished = test->lost = false;
    test->outcome = (struct outcome){ .status = NOD_E_FAILED };
    test->body = NULL;
}

nod_status nod_test_call(nod_test *test, const char *tool, const char *arguments)
{
    struct str text = arguments && *arguments ? str_of(arguments) : STR("{}");

    check_looked(test);
    forget_call(test);
    if (!test->server)
        return NOD_E_FAILED; /* which was said */
    test->tool = arena_str(&test->said, str_of(tool));
    test->arguments = arena_str(&test->said, text);
    if (!catalog_find(test->server->catalog, TARGET_TOOL, test->tool))
        kit_fail(test, NULL, 0, "there is no tool %s", tool);
    else if (!json_is(json_parse(&test->said, test->arguments, NULL, NULL), JSON_OBJECT))
        kit_fail(test, NULL, 0, "the arguments of %s are not a JSON object: %s", tool, arguments);
    else
        kit_client_call(test);
    if (test->crash == KIT_CRASH_IN_STEP || test->crash == KIT_CRASH_AFTER_STEP) {
        kit_fail(test, NULL, 0, "%s did not come to step %zu, at which it was to crash", tool,
                 test->crash_at);
        test->crash = KIT_NO_CRASH;
    }
    test->looked = !test->finished; /* if it did not end, that was said */
    check_script(test, tool);
    return test->outcome.status;
}

nod_status nod_test_status(nod_test *test)
{
    test->looked = true;
    return test->outcome.status;
}

const char *nod_test_code(nod_test *test)
{
    test->looked = true;
    return test->outcome.status != NOD_OK && test->outcome.code ? test->outcome.code : "";
}

bool nod_test_is_error(nod_test *test)
{
    const struct json *said = json_get(test->body, STR("isError"));

    test->looked = true;
    return test->outcome.status != NOD_OK || (json_is(said, JSON_BOOL) && said->truth);
}

const char *nod_test_text(nod_test *test)
{
    struct str text = STR("");
    size_t blocks = 0;

    test->looked = true;
    if (test->outcome.status != NOD_OK)
        return test->outcome.message.len ? test->outcome.message.at : "";
    JSON_EACH (block, json_get(test->body, STR("content"))) {
        if (!str_eq(json_get_str(block, STR("type")), STR("text")))
            continue;
        struct str more = json_get_str(block, STR("text"));
        text = arena_fmt(&test->said, STR_FMT "%s" STR_FMT, STR_ARG(text), blocks++ ? "\n" : "",
                         STR_ARG(more));
    }
    return text.at ? text.at : "";
}

const nod_json *nod_test_structured(nod_test *test)
{
    return (const nod_json *)(const void *)json_get(test->body, STR("structuredContent"));
}

size_t nod_test_steps(nod_test *test)
{
    return test->step_count;
}

size_t nod_test_step_runs(nod_test *test, const char *key)
{
    for (size_t i = 0; i < test->step_count; i++)
        if (str_eq(test->steps[i].key, str_of(key)))
            return test->steps[i].runs;
    return 0;
}

size_t nod_test_questions(nod_test *test)
{
    return test->question_count;
}

const char *nod_test_question(nod_test *test, size_t index)
{
    return index < test->question_count && test->questions[index].message.len
               ? test->questions[index].message.at
               : "";
}

const char *nod_test_question_key(nod_test *test, size_t index)
{
    return index < test->question_count ? test->questions[index].key.at : "";
}

size_t nod_test_refused(nod_test *test)
{
    return test->refused;
}

/* --- crashes --- */

void nod_test_crash_in_step(nod_test *test, size_t n)
{
    test->crash = KIT_CRASH_IN_STEP;
    test->crash_at = n;
}

void nod_test_crash_after_step(nod_test *test, size_t n)
{
    test->crash = KIT_CRASH_AFTER_STEP;
    test->crash_at = n;
}

/* Runs the scenario once, on an empty store. True: it reached the crash. */
static bool scenario_run(nod_test *test, size_t crash_at, nod_test_scenario *scenario, void *data)
{
    size_t before = test->crashes, failures = test->failures;

    kit_server_crash(test);
    kit_store_close(test);
    atomic_store(&test->dead, false);
    kit_values_forget(test);
    if (!kit_server_open(test))
        return false;
    test->points = 0;
    test->crash = crash_at ? KIT_CRASH_AT_POINT : KIT_NO_CRASH;
    test->crash_at = crash_at;
    scenario(test, data);
    test->crash = KIT_NO_CRASH;
    check_looked(test);
    check_script(test, NULL);
    if (test->failures > failures && crash_at)
        fprintf(stderr, "  ... with a crash %s operation %zu of the store\n",
                crash_at % 2 ? "before" : "after", (crash_at + 1) / 2);
    return test->crashes > before;
}

size_t nod_test_every_crash(nod_test *test, nod_test_scenario *scenario, void *data)
{
    size_t crashes = 0;

    scenario_run(test, 0, scenario, data);
    while (crashes < KIT_CRASHES_MAX && scenario_run(test, crashes + 1, scenario, data))
        crashes++;
    return crashes;
}
