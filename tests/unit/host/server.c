/*
 * tests/unit/host/server: nod_main as a separate process.
 *
 * The program starts itself again with "serve" as its first argument, and is then a server that the
 * tests talk to through pipes and signals.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <nod/nod.h>
#include "host/host.h"
#include "../runner.h"

enum { ROOM = 64 * 1024 };

/* --- the server --- */

static nod_status chatter(nod_call *call)
{
    printf("this is not a message\n");
    fflush(stdout);
    return nod_reply_text(call, "said");
}

static nod_status ask(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Sure?"));
    return nod_reply_text(call, yes ? "yes" : "no");
}

static nod_status brief_ask(nod_call *call)
{
    nod_answer answer;

    return nod_elicit(call, &answer, .message = "Quick?", .ttl_ms = 50);
}

static void *stop_it(void *server)
{
    nod_stop(server);
    return NULL;
}

static nod_status stop_from_a_thread(nod_call *call)
{
    pthread_t thread;

    pthread_create(&thread, NULL, stop_it, nod_server_of(call));
    pthread_join(thread, NULL);
    return nod_reply_text(call, "stopping");
}

static nod_status never_returns(nod_call *call)
{
    nod_log(call, NOD_LOG_INFO, NULL, "stuck");
    while (pause() != 0) /* it never gives 0 */
        ;
    return nod_reply_text(call, "impossible");
}

static nod_status grow(nod_call *call)
{
    static const nod_tool more[] = { { .name = "more", .handler = ask } };
    NOD_TRY(nod_tools(nod_server_of(call), more));
    return nod_reply_text(call, "grown");
}

static const nod_tool tools[] = {
    { .name = "chatter", .handler = chatter },
    { .name = "ask", .handler = ask },
    { .name = "brief_ask", .handler = brief_ask },
    { .name = "stop", .handler = stop_from_a_thread },
    /* Long enough for a busy machine to start the thread: a handler that has not begun is no worry.
     */
    { .name = "stuck", .handler = never_returns, .blocking = true, .timeout_ms = 1000 },
    { .name = "grow", .handler = grow },
};

static nod_status refuse_chatter(nod_hook_run *hook, void *data)
{
    (void)data;
    return strcmp(nod_hook_target(hook), "chatter") == 0 && getenv("REFUSE_CHATTER") ? NOD_E_REFUSED
                                                                                     : NOD_OK;
}

static int serve(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "test", .version = "1.2", .workers = 1);

    if (getenv("HANGUP_EARLY")) {
        reload_hold(); /* as nod_main begins */
        raise(SIGHUP);
    }
    /* TSan makes its room for signals in the first call that may block, and the one of GCC 12
     * forgets a signal that comes just then. Here none comes yet. */
    poll(NULL, 0, 0);
    if (nod_tools(server, tools) != NOD_OK ||
        nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "authorise", .fn = refuse_chatter) !=
            NOD_OK)
        return 99;
    if (getenv("REFUSE_CHATTER") && /* it is said on standard error, too */
        nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "nowhere", .fn = refuse_chatter) !=
            NOD_E_NOT_FOUND)
        return 98;
    if (getenv("STOP_EARLY")) {
        nod_stop(server);
        for (int i = 0; i < 10; i++)
            loop_turn(server->loop, 1);
    }
    return nod_main(server, argc, argv);
}

/* --- talking to it --- */

static pid_t pid;
static int to, from, errors;
static char line[ROOM];
static char said[ROOM]; /* on standard error */

/*
 * On aarch64 the sanitizer takes four seconds of CPU to look for leaks when a process ends, however
 * small it is. There, one server in LEAKS_ONE_IN is looked at, others each time; elsewhere all are.
 */
static void sample_leaks(void)
{
#ifdef __aarch64__
    enum { LEAKS_ONE_IN = 8 };
    const char *options = getenv("ASAN_OPTIONS");
    struct timespec now;
    char text[512];

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!options || now.tv_nsec / 1000 % LEAKS_ONE_IN == 0)
        return;
    snprintf(text, sizeof(text), "%s:detect_leaks=0", options); /* the last one counts */
    setenv("ASAN_OPTIONS", text, 1);
#endif
}

static void start(const char *const *args)
{
    const char *argv[17] = { "unit-host", "server", "serve" };
    int in[2], out[2], err[2];

    for (size_t i = 0; args && args[i]; i++)
        argv[3 + i] = args[i];
    assert_int_equal(pipe(in) | pipe(out) | pipe(err), 0);
    pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        sample_leaks();
        execv("/proc/self/exe", (char **)argv);
        _exit(97);
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    to = in[1];
    from = out[0];
    errors = err[0];
    said[0] = '\0';
}

/* One line of a pipe, without its end; false at the end of the stream. */
static bool read_line(int fd)
{
    size_t len = 0;

    while (len < sizeof(line) - 1) {
        struct pollfd ready = { .fd = fd, .events = POLLIN };

        if (poll(&ready, 1, PATIENCE_MS) != 1)
            fail_msg("nothing came; so far: %.*s", (int)len, line);
        if (read(fd, line + len, 1) != 1)
            return false;
        if (line[len] == '\n') {
            line[len] = '\0';
            return true;
        }
        len++;
    }
    return false;
}

static void send_line(const char *text)
{
    assert_int_equal(write(to, text, strlen(text)), strlen(text));
    assert_int_equal(write(to, "\n", 1), 1);
}

static void expect_line(const char *part)
{
    assert_true(read_line(from));
    if (!strstr(line, part))
        fail_msg("expected %s in %s", part, line);
}

static void handshake(void)
{
    send_line("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
              "\"protocolVersion\":\"2025-06-18\","
              "\"capabilities\":{\"elicitation\":{}},\"clientInfo\":{\"name\":\"t\",\"version\":"
              "\"1\"}}}");
    expect_line("\"serverInfo\":{\"name\":\"test\",\"version\":\"1.2\"}");
    send_line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

static void call_tool(const char *name)
{
    char text[256];

    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
             "call\",\"params\":{\"name\":\"%s\",\"arguments\":{}}}",
             name);
    send_line(text);
}

static int end(void)
{
    int status = 0;
    ssize_t n;
    size_t len = 0;

    close(to);
    for (;;) {
        struct pollfd ready = { .fd = errors, .events = POLLIN };

        if (poll(&ready, 1, PATIENCE_MS) != 1) {
            kill(pid, SIGABRT); /* its core, or its sanitizer, says where it stood */
            said[len] = '\0';
            fail_msg("it does not end: %s", said);
        }
        n = read(errors, said + len, sizeof(said) - 1 - len);
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    said[len] = '\0';
    close(from);
    close(errors);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("ended by signal %d: %s", WTERMSIG(status), said);
    return WEXITSTATUS(status);
}

static void expect_end(int code)
{
    int got = end();

    if (got != code)
        fail_msg("exit code %d: %s", got, said);
}

/* --- the tests --- */

static void the_end_of_the_input_ends_the_server_in_order(void **state)
{
    (void)state;
    start(NULL);
    handshake();
    expect_end(0);
}

static void what_a_handler_prints_never_gets_between_the_messages(void **state)
{
    (void)state;
    start(NULL);
    handshake();
    call_tool("chatter");
    expect_line("\"text\":\"said\"");
    expect_end(0);
    assert_non_null(strstr(said, "this is not a message"));
}

static void ask_and_answer(const char *const *args)
{
    char *id, reply[512];

    start(args);
    handshake();
    call_tool("ask");
    expect_line("\"method\":\"elicitation/create\"");
    id = strstr(line, "\"id\":\"") + 6;
    snprintf(
        reply, sizeof(reply),
        "{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\",\"result\":{\"action\":\"accept\",\"content\":{}}}",
        (int)strcspn(id, "\""), id);
    send_line(reply);
    expect_line("\"text\":\"yes\"");
    expect_end(0);
}

static void a_question_goes_out_and_its_answer_comes_back(void **state)
{
    (void)state;
    ask_and_answer(NULL);
    assert_non_null(strstr(said, "kept in memory"));
}

static char store_address[128];

static int make_store(void **state)
{
    char folder[64];

    (void)state;
    if (!scratch_make(folder, sizeof(folder)))
        return -1;
    snprintf(store_address, sizeof(store_address), "sqlite:%s/store.db", folder);
    return 0;
}

static int remove_store(void **state)
{
    static const char *const tails[] = { "", "-wal", "-shm", ".lock" };
    char name[160];

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s%s", store_address + strlen("sqlite:"), tails[i]);
        unlink(name);
    }
    *strrchr(store_address, '/') = '\0';
    return rmdir(store_address + strlen("sqlite:"));
}

static void a_server_keeps_its_calls_in_the_file_it_is_given(void **state)
{
    const char *const args[] = { "--store", store_address, NULL };
    (void)state;

    for (int i = 0; i < 2; i++) { /* and finds them again */
        ask_and_answer(args);
        assert_non_null(strstr(said, "store=sqlite"));
        assert_non_null(strstr(said, "synchronous=full"));
    }
}

static void a_file_that_another_server_owns_is_refused(void **state)
{
    const char *const args[] = { "--store", store_address, NULL };
    (void)state;

    start(args);
    handshake();
    int first_to = to, first_from = from, first_errors = errors;
    pid_t first = pid;
    start(args);
    expect_end(1);
    assert_non_null(strstr(said, "in use by process"));
    to = first_to;
    from = first_from;
    errors = first_errors;
    pid = first;
    expect_end(0);
}

static void memory_is_no_store_for_a_process_that_may_be_stopped_at_any_moment(void **state)
{
    (void)state;
    start((const char *const[]){ "--ephemeral", NULL });
    expect_end(1);
    assert_non_null(strstr(said, "configure Redis"));
    start((const char *const[]){ "--store", "nowhere:x", NULL });
    expect_end(2);
    assert_non_null(strstr(said, "memory:, sqlite:PATH, redis://HOST:PORT"));
}

static void a_short_secret_is_refused(void **state)
{
    (void)state;
    setenv("MCP_SERVER_SECRET", "too-short-by-far", 1);
    start(NULL);
    expect_end(1);
    assert_non_null(strstr(said, "less than 32 characters"));
    assert_null(strstr(said, "too-short-by-far"));
    setenv("MCP_SERVER_SECRET", "long-enough-long-enough-long-enough-", 1);
    ask_and_answer((const char *const[]){ "--store", store_address, NULL });
    assert_non_null(strstr(said, "sealed=yes"));
    unsetenv("MCP_SERVER_SECRET");
}

static void the_end_of_the_input_withdraws_what_a_file_holds(void **state)
{
    (void)state;
    start((const char *const[]){ "--store", store_address, NULL });
    handshake();
    call_tool("ask");
    expect_line("elicitation/create");
    expect_end(0);
}

static void an_ask_expires_by_the_clock_of_the_host(void **state)
{
    (void)state;
    start(NULL);
    handshake();
    call_tool("brief_ask");
    expect_line("elicitation/create");
    do
        assert_true(read_line(from));
    while (strstr(line, "notifications/cancelled"));
    assert_non_null(strstr(line, "ELICITATION_TIMEOUT"));
    expect_end(0);
}

static void a_signal_ends_the_server_while_a_person_still_thinks(void **state)
{
    static const int signals[] = { SIGTERM, SIGINT };
    (void)state;

    for (int i = 0; i < 2; i++) {
        start(NULL);
        handshake();
        call_tool("ask");
        expect_line("elicitation/create");
        kill(pid, signals[i]);
        while (read_line(from))
            ;
        expect_end(0);
    }
}

static void nod_stop_from_another_thread_stops(void **state)
{
    (void)state;
    start(NULL);
    handshake();
    call_tool("stop");
    expect_line("\"text\":\"stopping\"");
    while (read_line(from))
        ;
    expect_end(0);
}

/* A store over the network turns the loop before anything is served. */
static void nod_stop_before_the_server_serves_stops(void **state)
{
    static const char *const args[] = { "--http", "0", NULL };

    (void)state;
    setenv("STOP_EARLY", "1", 1);
    start(args);
    unsetenv("STOP_EARLY");
    expect_end(0);
}

/* Listens, and never says a word. */
static int silent_redis(char *address, size_t room)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&at, len) == 0 && listen(fd, 64) == 0 &&
                getsockname(fd, (struct sockaddr *)&at, &len) == 0);
    snprintf(address, room, "redis://127.0.0.1:%d?timeout=3000", ntohs(at.sin_port));
    return fd;
}

static void a_signal_while_the_store_opens_is_heard(void **state)
{
    static const struct {
        int signo, code;
    } rows[] = { { SIGHUP, 1 }, { SIGTERM, 0 }, { SIGINT, 0 } };
    char address[64];
    const char *const args[] = { "--http", "0", "--store", address, NULL };
    int redis = silent_redis(address, sizeof(address));

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        start(args);
        do
            assert_true(read_line(errors));
        while (!strstr(line, "Redis cannot be reached"));
        kill(pid, rows[i].signo);
        expect_end(rows[i].code);
    }
    close(redis);
}

static void a_hangup_before_it_is_known_how_to_serve_is_heard(void **state)
{
    static const char *const http[] = { "--http", "0", NULL };

    (void)state;
    setenv("HANGUP_EARLY", "1", 1);
    start(http);
    for (int links = 0; links < 2;) { /* one that is made in any case, and the one of the signal */
        assert_true(read_line(errors));
        links += strstr(line, "event=inbox") != NULL;
    }
    kill(pid, SIGTERM);
    expect_end(0);
    start(NULL); /* on stdio it ends the process */
    unsetenv("HANGUP_EARLY");
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGHUP);
    close(to);
    close(from);
    close(errors);
}

static void a_handler_that_never_returns_does_not_keep_the_process(void **state)
{
    (void)state;
    start(NULL);
    handshake();
    call_tool("stuck");
    do
        assert_true(read_line(from));
    while (!strstr(line, "\"id\":2"));
    assert_non_null(strstr(line, "TOOL_TIMEOUT"));
    expect_end(0);
    assert_non_null(strstr(said, "left behind"));
}

static void tools_may_be_added_while_the_server_runs(void **state)
{
    bool told = false, replied = false;
    (void)state;

    start(NULL);
    handshake();
    call_tool("grow");
    while (!told || !replied) {
        assert_true(read_line(from));
        told |= strstr(line, "notifications/tools/list_changed") != NULL;
        replied |= strstr(line, "\"text\":\"grown\"") != NULL;
    }
    expect_end(0);
}

static void a_hook_can_refuse_a_call(void **state)
{
    (void)state;
    setenv("REFUSE_CHATTER", "1", 1);
    start(NULL);
    unsetenv("REFUSE_CHATTER");
    handshake();
    call_tool("chatter");
    expect_line("REFUSED");
    expect_end(0);
}

/* A server that listens says before that if it is root's. */
static void expect_root_warning(void)
{
    if (geteuid() != 0)
        return;
    assert_true(read_line(errors));
    assert_non_null(strstr(line, "runs as root"));
}

static void over_http_it_says_where_it_listens(void **state)
{
    static const char *const args[] = { "--http", "0", NULL };
    (void)state;

    start(args);
    assert_true(read_line(errors));
    assert_non_null(strstr(line, "no secret is set")); /* and what that means */
    assert_non_null(strstr(line, "after a restart"));
    assert_true(read_line(errors));
    assert_non_null(strstr(line, "kept in memory"));
    expect_root_warning();
    assert_true(read_line(errors));
    if (!strstr(line, "event=listening url=http://127.0.0.1:") || !strstr(line, "/mcp"))
        fail_msg("%s", line);
    kill(pid, SIGINT);
    expect_end(0);
}

static void a_secret_that_cannot_be_used_is_refused(void **state)
{
    static const char *const args[] = { "--http", "0", NULL };
    static const struct {
        const char *name, *value, *previous, *said;
    } rows[] = {
        { "MCP_ELICITATION_SECRET", "short", NULL, "MCP_ELICITATION_SECRET" },
        { "MCP_SESSION_SECRET", "short", NULL, "MCP_SESSION_SECRET" },
        { "MCP_SERVER_SECRET", "a secret of at least thirty-two characters", "short",
          "MCP_PREVIOUS_SECRETS" },
        { "MCP_SERVER_SECRET", "", "a secret of at least thirty-two characters",
          "MCP_PREVIOUS_SECRETS" },
    };
    (void)state;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        setenv(rows[i].name, rows[i].value, 1);
        if (rows[i].previous)
            setenv("MCP_PREVIOUS_SECRETS", rows[i].previous, 1);
        start(args);
        expect_end(1);
        assert_non_null(strstr(said, rows[i].said));
        assert_null(strstr(said, "short"));
        assert_null(strstr(said, "thirty-two"));
        unsetenv(rows[i].name);
        unsetenv("MCP_PREVIOUS_SECRETS");
    }
}

static void with_a_secret_there_is_nothing_to_warn_of(void **state)
{
    static const char *const args[] = { "--http", "0", NULL };
    (void)state;

    setenv("MCP_ELICITATION_SECRET", "a secret of at least thirty-two characters", 1);
    setenv("MCP_PREVIOUS_SECRETS", " an older one that was good for a long time ,", 1);
    start(args);
    assert_true(read_line(errors));
    assert_non_null(strstr(line, "kept in memory"));
    expect_root_warning();
    assert_true(read_line(errors));
    assert_non_null(strstr(line, "event=listening"));
    kill(pid, SIGINT);
    expect_end(0);
    unsetenv("MCP_ELICITATION_SECRET");
    unsetenv("MCP_PREVIOUS_SECRETS");
}

static void a_public_address_without_tokens_is_refused(void **state)
{
    static const char *const args[] = { "--http", "0.0.0.0:0", NULL };
    static const char *const missing[] = { "--http", "0", "--token-file", "no-such-file", NULL };
    (void)state;

    start(args);
    expect_end(1);
    start(missing);
    expect_end(1);
    assert_non_null(strstr(said, "no-such-file"));
}

static void a_wrong_command_line_is_exit_code_2(void **state)
{
    static const char *const args[] = { "--nonsense", NULL };
    (void)state;

    start(args);
    expect_end(2);
    assert_non_null(strstr(said, "--nonsense is not an option"));
}

static void options_of_a_server_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    assert_null(nod_server_create(NULL));
    assert_null(nod_server_new(.version = "1"));
    assert_null(nod_server_new(.name = "x"));
    assert_null(nod_server_new(.name = "x", .version = "1", .workers = -1));
    assert_null(nod_server_new(.name = "x", .version = "1", .ask_ttl_ms = -1));
    assert_null(nod_server_new(.name = "x", .version = "1", .heartbeat_ms = -1));
    assert_null(nod_server_new(.name = "x", .version = "1", .node_ttl_ms = -1));
    nod_server *server = nod_server_new(.name = "x", .version = "1");
    assert_non_null(server);
    nod_resource_updated(server, "x://y"); /* before anybody listens: no harm */
    nod_url_done(server, "id");
    nod_server_destroy(server);
    nod_server_destroy(NULL);
}

static void note_status(void *data, nod_status status, const nod_page *page)
{
    assert_null(page);
    *(nod_status *)data = status;
}

static void without_a_server_nothing_is_registered_and_nothing_crashes(void **state)
{
    static const nod_resource resources[] = { { .uri = "x://y", .name = "y", .read = ask } };
    static const nod_prompt prompts[] = { { .name = "p", .get = ask } };
    (void)state;

    assert_int_equal(nod_tools(NULL, tools), NOD_E_USAGE);
    assert_int_equal(nod_resources(NULL, resources), NOD_E_USAGE);
    assert_int_equal(nod_prompts(NULL, prompts), NOD_E_USAGE);
    assert_int_equal(nod_hook(NULL, .stage = "start"), NOD_E_USAGE);
    assert_int_equal(nod_oauth(NULL, .name = "x"), NOD_E_USAGE);
    assert_false(nod_remove_tool(NULL, "ask"));
    assert_int_equal(nod_main(NULL, 0, NULL), 1);
    nod_resource_updated(NULL, "x://y");
    nod_url_done(NULL, "id");
    nod_status told = NOD_OK;
    nod_page_check(NULL, "token", "ann", true, note_status, &told);
    assert_int_equal(told, NOD_E_USAGE);
    nod_stop(NULL);
}

/* So what is registered before must not want them. */
static void a_server_has_no_engine_and_no_store_before_it_serves(void **state)
{
    nod_server *server = nod_server_new(.name = "x", .version = "1");
    (void)state;

    assert_null(server->engine);
    assert_null(server->store);
    for (int i = 0; i < 2; i++) { /* its name is free again */
        assert_int_equal(nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "gate", .name = "one",
                                  .fn = refuse_chatter),
                         NOD_OK);
        assert_int_equal(nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "gate", .name = "one",
                                  .fn = refuse_chatter),
                         NOD_E_USAGE);
        assert_true(nod_remove_hook(server, "one"));
        assert_false(nod_remove_hook(server, "one"));
        if (i == 1)
            assert_int_equal(nod_hook(server, .flow = NOD_FLOW_ANSWER, .stage = "finalize",
                                      .name = "two", .fn = refuse_chatter),
                             NOD_OK);
    }
    nod_server_destroy(server); /* with a hook that no engine has had */
}

SUBJECT(server)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_of_the_input_ends_the_server_in_order),
        cmocka_unit_test(what_a_handler_prints_never_gets_between_the_messages),
        cmocka_unit_test(a_question_goes_out_and_its_answer_comes_back),
        cmocka_unit_test_setup_teardown(a_server_keeps_its_calls_in_the_file_it_is_given,
                                        make_store, remove_store),
        cmocka_unit_test_setup_teardown(a_file_that_another_server_owns_is_refused, make_store,
                                        remove_store),
        cmocka_unit_test(memory_is_no_store_for_a_process_that_may_be_stopped_at_any_moment),
        cmocka_unit_test_setup_teardown(a_short_secret_is_refused, make_store, remove_store),
        cmocka_unit_test_setup_teardown(the_end_of_the_input_withdraws_what_a_file_holds,
                                        make_store, remove_store),
        cmocka_unit_test(an_ask_expires_by_the_clock_of_the_host),
        cmocka_unit_test(a_signal_ends_the_server_while_a_person_still_thinks),
        cmocka_unit_test(nod_stop_from_another_thread_stops),
        cmocka_unit_test(nod_stop_before_the_server_serves_stops),
        cmocka_unit_test(a_signal_while_the_store_opens_is_heard),
        cmocka_unit_test(a_hangup_before_it_is_known_how_to_serve_is_heard),
        cmocka_unit_test(a_handler_that_never_returns_does_not_keep_the_process),
        cmocka_unit_test(tools_may_be_added_while_the_server_runs),
        cmocka_unit_test(a_hook_can_refuse_a_call),
        cmocka_unit_test(over_http_it_says_where_it_listens),
        cmocka_unit_test(a_secret_that_cannot_be_used_is_refused),
        cmocka_unit_test(with_a_secret_there_is_nothing_to_warn_of),
        cmocka_unit_test(a_public_address_without_tokens_is_refused),
        cmocka_unit_test(a_wrong_command_line_is_exit_code_2),
        cmocka_unit_test(options_of_a_server_that_make_no_sense_are_refused),
        cmocka_unit_test(a_server_has_no_engine_and_no_store_before_it_serves),
        cmocka_unit_test(without_a_server_nothing_is_registered_and_nothing_crashes),
    };

    signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && strcmp(argv[1], "serve") == 0) {
        argv[1] = argv[0];
        return serve(argc - 1, argv + 1);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
