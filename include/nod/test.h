/*
 * nod/test.h: run handlers in a unit test, with a person who answers from a script.
 *
 * A test needs no network, no client and no other process. It calls a tool of a real server on the
 * memory store. Questions to a person are answered from a script. The server can be made to crash
 * at any point; a new one is then made, and the call goes on.
 *
 *     #include <nod/test.h>
 *
 *     int main(void)
 *     {
 *         nod_test *t = nod_test_new(tools);
 *
 *         nod_test_accept(t, NULL, "{\"confirmed\":true}");
 *         nod_test_call(t, "delete_account", "{\"userId\":\"ada\"}");
 *         NOD_EXPECT_TEXT(t, "Deleted ada.");
 *         NOD_EXPECT_STEPS(t, 1);
 *         return nod_test_end(t);
 *     }
 *
 * Every run of a handler that asks or has a step is done twice, to see that it does the same both
 * times (NOD_REPLAY_CHECK). Time stands still while a test runs, except in nod_test_expire.
 *
 * An expectation that fails is printed to stderr with its file and line; the test goes on, and
 * nod_test_end returns 1. Use a test from one thread. Texts and values that it returns live until
 * its next call.
 */
#ifndef NOD_TEST_H
#define NOD_TEST_H

#include <nod/nod.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nod_test nod_test;

/* --- a test --- */

/* A test with a server of these tools: nod_test_new(tools) for a whole array. */
NOD_API nod_test *nod_test_create(const nod_tool *tools, size_t count, size_t tool_size);
#define nod_test_new(array) nod_test_create((array), NOD_COUNT_(array), sizeof((array)[0]))
/*
 * A test with a server of yours: its options, tools and hooks. `make` is called at the beginning,
 * and again after each crash, as a process would be started again. Its .store is not used.
 */
typedef nod_server *nod_test_make(void *data);
NOD_API nod_test *nod_test_create_with(nod_test_make *make, void *data);
/* Ends the test, and says on stderr what has failed, including answers without a question. Returns
 * 0, or 1 if something failed: return that from main. */
NOD_API int nod_test_end(nod_test *test);

/* --- who there is --- */

/*
 * Who calls from now on: nod_principal. Until somebody is named it is "tester". What a person has
 * given (nod_test_secret, nod_test_credential) is theirs alone, and so are approvals that are
 * remembered.
 */
NOD_API void nod_test_as(nod_test *test, const char *principal);
/*
 * Who gives the answers that follow in the script: the .by of an answer. NULL: whoever calls, with
 * their client, as it is at first. Somebody else answers in the inbox, and may answer everything
 * there except pages, which are for the person who was asked.
 */
NOD_API void nod_test_by(nod_test *test, const char *principal);

/* --- the script: what a person does when asked --- */

/*
 * With a key, the answer is for the question with that key ("#1", "#2", ... if it has no .key).
 * Without one, it is for the next question that has no answer of its own, in the order of the
 * script. An answer is used once, by the next call; what that call leaves over fails the test.
 * `content` is JSON, or NULL. Content that does not fit is refused, as it is for a client; if the
 * question is asked again, it gets the next answer.
 */
NOD_API void nod_test_accept(nod_test *test, const char *key, const char *content);
NOD_API void nod_test_decline(nod_test *test, const char *key);
NOD_API void nod_test_cancel(nod_test *test, const char *key);
/* Nobody answers, and the time of the question passes. */
NOD_API void nod_test_expire(nod_test *test, const char *key);
/* The page of a nod_elicit_url with .wait_done was opened, and is done. */
NOD_API void nod_test_page_done(nod_test *test, const char *key);
/*
 * The person has given this secret before, or has connected an account at this service before:
 * nod_secret has it, or nod_credential its token, whatever the scopes. NULL: it was deleted, or
 * disconnected. What is not there is asked for, and answered from the script:
 *
 *     nod_test_accept(t, NULL, "{\"secret\":\"sk_1\"}");    the person gives the secret
 *     nod_test_accept(t, NULL, "{\"token\":\"gho_1\"}");    connects an account that has this token
 *
 * Both last for later calls of the test. There is no network, and no service has to be set up.
 */
NOD_API void nod_test_secret(nod_test *test, const char *name, const char *value);
NOD_API void nod_test_credential(nod_test *test, const char *service, const char *token);
/* From now on the client cannot be asked in this way: nod_supports says no. */
NOD_API void nod_test_cannot(nod_test *test, nod_mode mode);

/* --- crashes --- */

/* Crashes in the next call, after the n-th step (from 1) was done and before its result is stored.
 * So the step is done a second time, or ends in NOD_E_OUTCOME_UNKNOWN if it is .at_most_once. */
NOD_API void nod_test_crash_in_step(nod_test *test, size_t n);
/* Crashes in the next call, after the result of the n-th step is stored and before the handler gets
 * it. */
NOD_API void nod_test_crash_after_step(nod_test *test, size_t n);
/*
 * Runs a scenario (a script, calls, what is expected of them) without a crash, and then again for
 * each point at which a crash is possible: before and after each thing that is stored. Each time
 * the store is empty; the scenario sets up everything else. Returns the number of crashes.
 */
typedef void nod_test_scenario(nod_test *test, void *data);
NOD_API size_t nod_test_every_crash(nod_test *test, nod_test_scenario *scenario, void *data);

/* --- the call --- */

/*
 * Calls a tool (arguments: JSON, or NULL) and answers its questions until the call has ended.
 * Returns NOD_OK, also for a result with isError, or how the call failed. A call that has failed is
 * to be looked at, with an expectation or a function below that says how it ended: the test fails
 * if nobody does. (The value that is returned here does not count: nod cannot see who reads it.)
 *
 * The client is one of 2025: it asks once, unless .attempts of the question says more.
 */
NOD_API nod_status nod_test_call(nod_test *test, const char *tool, const char *arguments);

/* How the last call ended. */
NOD_API nod_status nod_test_status(nod_test *test);
NOD_API const char *nod_test_code(nod_test *test); /* of a failure: "HANDLER_BUG", ...; else "" */
/* The text blocks of the result, a line each; of a failure its sentence. */
NOD_API const char *nod_test_text(nod_test *test);
NOD_API bool nod_test_is_error(nod_test *test);              /* isError, or a failure */
NOD_API const nod_json *nod_test_structured(nod_test *test); /* or NULL */
/* How many different steps were done in the last call, and how often the one with this key was. */
NOD_API size_t nod_test_steps(nod_test *test);
NOD_API size_t nod_test_step_runs(nod_test *test, const char *key);
/* Questions of the last call, in their order; a question that was asked again counts once. */
NOD_API size_t nod_test_questions(nod_test *test);
NOD_API const char *nod_test_question(nod_test *test, size_t index); /* its message; "" past them */
NOD_API const char *nod_test_question_key(nod_test *test, size_t index);
NOD_API size_t nod_test_refused(nod_test *test); /* answers whose content did not fit */

/* --- expectations --- */

NOD_API bool nod_test_expect_text(nod_test *test, const char *text, const char *file, int line);
NOD_API bool nod_test_expect_match(nod_test *test, const char *part, const char *file, int line);
NOD_API bool nod_test_expect_json(nod_test *test, const char *json, const char *file, int line);
NOD_API bool nod_test_expect_code(nod_test *test, const char *code, const char *file, int line);
NOD_API bool nod_test_expect_count(nod_test *test, const char *what, size_t expected, size_t got,
                                   const char *file, int line);
NOD_API bool nod_test_expect_true(nod_test *test, const char *what, bool holds, const char *file,
                                  int line);

/* The text is this, or contains this. */
#define NOD_EXPECT_TEXT(test, text)  nod_test_expect_text((test), (text), __FILE__, __LINE__)
#define NOD_EXPECT_MATCH(test, part) nod_test_expect_match((test), (part), __FILE__, __LINE__)
/* The structured result is this JSON; the order of members does not matter. */
#define NOD_EXPECT_JSON(test, json) nod_test_expect_json((test), (json), __FILE__, __LINE__)
/* It failed with this code. */
#define NOD_EXPECT_CODE(test, code) nod_test_expect_code((test), (code), __FILE__, __LINE__)
#define NOD_EXPECT_STEPS(test, n)                                                                  \
    nod_test_expect_count((test), "steps", (n), nod_test_steps(test), __FILE__, __LINE__)
#define NOD_EXPECT_QUESTIONS(test, n)                                                              \
    nod_test_expect_count((test), "questions", (n), nod_test_questions(test), __FILE__, __LINE__)
/* Anything else. */
#define NOD_EXPECT(test, expression)                                                               \
    nod_test_expect_true((test), #expression, (expression), __FILE__, __LINE__)

#ifdef __cplusplus
}
#endif

#endif
