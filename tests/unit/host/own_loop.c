/*
 * tests/unit/host/own_loop: servers in a loop of the program's own, one after another and several
 * at once, each with a client that is asked and answers.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nod/nod.h>
#include "../runner.h"

enum {
    TEXT_ROOM = 64 * 1024,
    BIG = 1024 * 1024,
    LIVES = 100,
    THREADS = 2,
    LIVES_OF_A_THREAD = 8,
    CALLS_OF_A_LIFE = 3,
};

/* What ASan has given out; not there without it. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

#ifdef __SANITIZE_THREAD__
#include <dlfcn.h>
#include <sys/syscall.h>

/*
 * libuv closes descriptors by a system call that TSan does not see. When another thread is given
 * the same number then, TSan believes that two threads share one descriptor. So it is shown.
 */
__attribute__((visibility("default"))) long syscall(long number, ...)
{
    static long (*_Atomic real)(long number, ...);
    long with[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        with[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_close)
        return close((int)with[0]);
    if (!real)
        real = (long (*)(long number, ...))dlsym(RTLD_NEXT, "syscall");
    return real(number, with[0], with[1], with[2], with[3], with[4], with[5]);
}
#endif

/* --- the server --- */

static nod_status ask(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Sure?"));
    return nod_reply_text(call, yes ? "said yes" : "said no");
}

static nod_status big(nod_call *call)
{
    char *text = nod_alloc(call, BIG + 1);

    memset(text, 'x', BIG);
    return nod_reply_text(call, text);
}

static nod_status work(nod_call *call)
{
    return nod_reply_text(call, "worked");
}

static const nod_tool tools[] = {
    { .name = "ask", .handler = ask },
    { .name = "big", .handler = big },
    { .name = "work", .handler = work, .blocking = true },
};

static nod_server *server_make(const char *store)
{
    nod_server *server = nod_server_new(.name = "own", .version = "1", .store = store);

    if (!server || nod_tools(server, tools) != NOD_OK)
        abort(); /* threads cannot fail a test */
    return server;
}

static void server_listens(nod_server *server)
{
    char own[] = "own", http[] = "--http=127.0.0.1:0", no_inbox[] = "--no-inbox";
    char *argv[] = { own, http, no_inbox, NULL };

    if (nod_settings_argv(server, 3, argv) != NOD_OK || nod_start(server) != NOD_OK)
        abort();
}

/* Our end of a client's socket. */
static int server_talks(nod_server *server)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
        nod_stdio(server, ends[0], ends[0]) != NOD_OK || nod_start(server) != NOD_OK)
        abort();
    return ends[1];
}

static void run(nod_server *server)
{
    while (nod_turn(server)) {
        struct pollfd fd = { .fd = nod_fd(server), .events = POLLIN };
        poll(&fd, 1, nod_timeout(server));
    }
}

/* --- clients: they block, on threads of their own --- */

struct client {
    pthread_t thread;
    nod_server *server;
    int fd;   /* stdio */
    int port; /* or HTTP */
    int answered;
};

static void send_text(int fd, const char *text)
{
    for (size_t len = strlen(text); len;) {
        ssize_t sent = send(fd, text, len, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            abort();
        if (sent > 0) {
            text += sent;
            len -= (size_t)sent;
        }
    }
}

#define OPENING                                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-11-25\",\"capabilities\":{\"elicitation\":{}},\"clientInfo\":{\"name\":\"t\","         \
    "\"version\":\"1\"}}}\n{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
#define CALL(tool)                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\"}}"  \
    "\n"

static void *talk_lines(void *data)
{
    struct client *client = data;
    FILE *in = fdopen(dup(client->fd), "r");
    char line[TEXT_ROOM], reply[TEXT_ROOM], id[128];
    const char *at;

    send_text(client->fd, OPENING CALL("ask"));
    while (client->answered < CALLS_OF_A_LIFE && fgets(line, sizeof(line), in)) {
        if (strstr(line, "elicitation/create") && (at = strstr(line, "\"id\":"))) {
            if (sscanf(at, "\"id\":\"%100[^\"]\"", id) != 1)
                abort();
            snprintf(reply, sizeof(reply),
                     "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"action\":\"accept\","
                     "\"content\":{}}}\n",
                     id);
            send_text(client->fd, reply);
        } else if (strstr(line, "said yes")) {
            send_text(client->fd, CALL("work"));
        } else if (strstr(line, "worked") && ++client->answered < CALLS_OF_A_LIFE) {
            send_text(client->fd, CALL("ask"));
        }
    }
    nod_stop(client->server); /* from any thread */
    fclose(in);
    close(client->fd);
    return NULL;
}

/* One exchange, on a connection of its own. */
static void post(int port, const char *tool, const char *more, char got[TEXT_ROOM])
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr = { htonl(INADDR_LOOPBACK) } };
    char body[TEXT_ROOM], head[1024];
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t len = 0;
    ssize_t more_bytes;

    snprintf(
        body, sizeof(body),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
        "\"arguments\":{},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}%s}}",
        tool, more);
    snprintf(head, sizeof(head),
             "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: "
             "application/json, text/event-stream\r\nContent-Type: application/json\r\n"
             "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n"
             "Content-Length: %zu\r\n\r\n",
             tool, strlen(body));
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
        abort();
    send_text(fd, head);
    send_text(fd, body);
    while ((more_bytes = recv(fd, got + len, TEXT_ROOM - 1 - len, 0)) > 0)
        len += (size_t)more_bytes;
    got[len] = '\0';
    close(fd);
}

static void *talk_http(void *data)
{
    static const char mark[] = "\"requestState\":\"";
    struct client *client = data;
    char got[TEXT_ROOM], more[TEXT_ROOM];
    char *state, *end;

    for (int i = 0; i < CALLS_OF_A_LIFE; i++) {
        post(client->port, "ask", "", got);
        state = strstr(got, mark);
        end = state ? strchr(state += sizeof(mark) - 1, '"') : NULL;
        if (!end)
            break;
        *end = '\0';
        snprintf(more, sizeof(more),
                 ",\"requestState\":\"%s\",\"inputResponses\":{\"#1\":{\"action\":\"accept\","
                 "\"content\":{}}}",
                 state);
        post(client->port, "ask", more, got);
        client->answered += strstr(got, "said yes") != NULL;
        post(client->port, "work", "", got);
        if (!strstr(got, "worked"))
            break;
    }
    nod_stop(client->server);
    return NULL;
}

/* A server from its beginning to its end. How many calls were asked about and answered. */
static int live(bool http, const char *store)
{
    struct client client = { .server = server_make(store) };

    if (http) {
        server_listens(client.server);
        client.port = nod_port(client.server);
    } else {
        client.fd = server_talks(client.server);
    }
    if (pthread_create(&client.thread, NULL, http ? talk_http : talk_lines, &client) != 0)
        abort();
    run(client.server);
    pthread_join(client.thread, NULL);
    nod_server_destroy(client.server);
    return client.answered;
}

/* --- what is left of a server --- */

static size_t descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static size_t memory(void)
{
    if (__sanitizer_get_current_allocated_bytes)
        return __sanitizer_get_current_allocated_bytes();
    return mallinfo2().uordblks;
}

static atomic_int lines;

static void count_line(nod_log_level level, const char *line, void *data)
{
    (void)data;
    if (level >= NOD_LOG_WARNING && !strstr(line, "this server runs as root"))
        fprintf(stderr, "%s\n", line);
    lines++;
}

static void a_hundred_lives_leave_no_descriptor_and_no_memory(void **state)
{
    char folder[256], store[300];
    size_t fds = 0, bytes = 0;

    (void)state;
    assert_true(scratch_make(folder, sizeof(folder)));
    snprintf(store, sizeof(store), "sqlite:%s/lives.db", folder);
    for (int i = 0; i < LIVES + 4; i++) {
        /* The first ones leave what a process has once: libuv's own descriptors, OpenSSL's tables.
         */
        if (i == 4) {
            fds = descriptors();
            bytes = memory();
        }
        assert_int_equal(live(i % 2, i % 4 < 2 ? NULL : store), CALLS_OF_A_LIFE);
    }
    assert_int_equal(descriptors(), fds);
    size_t now = memory();
    print_message("bytes before %zu, after %d lives %zu\n", bytes, LIVES, now);
    assert_true(now <= bytes + 16 * 1024); /* 160 bytes a life would be a leak */
}

/* --- several in one process --- */

static void *many_lives(void *data)
{
    int *answered = data;

    for (int i = 0; i < LIVES_OF_A_THREAD; i++)
        *answered += live(i % 2, NULL);
    return NULL;
}

static void servers_on_threads_of_their_own_know_nothing_of_each_other(void **state)
{
    pthread_t threads[THREADS];
    int answered[THREADS] = { 0 };

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many_lives, &answered[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(answered[i], LIVES_OF_A_THREAD * CALLS_OF_A_LIFE);
}

static void two_servers_share_a_thread(void **state)
{
    struct client clients[2] = { { .server = server_make(NULL) }, { .server = server_make(NULL) } };
    bool goes_on[2] = { true, true };

    (void)state;
    clients[0].fd = server_talks(clients[0].server);
    server_listens(clients[1].server);
    clients[1].port = nod_port(clients[1].server);
    pthread_create(&clients[0].thread, NULL, talk_lines, &clients[0]);
    pthread_create(&clients[1].thread, NULL, talk_http, &clients[1]);
    while (goes_on[0] || goes_on[1]) {
        struct pollfd fds[2];
        int wait = -1;

        for (int i = 0; i < 2; i++) {
            int due = nod_timeout(clients[i].server);
            fds[i] = (struct pollfd){ .fd = goes_on[i] ? nod_fd(clients[i].server) : -1,
                                      .events = POLLIN };
            if (goes_on[i] && due >= 0 && (wait < 0 || due < wait))
                wait = due;
        }
        poll(fds, 2, wait);
        for (int i = 0; i < 2; i++)
            goes_on[i] = nod_turn(clients[i].server);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(clients[i].thread, NULL);
        nod_server_destroy(clients[i].server);
        assert_int_equal(clients[i].answered, CALLS_OF_A_LIFE);
    }
}

/* --- the process is the program's --- */

static bool is_default(int signo)
{
    struct sigaction now;

    return sigaction(signo, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}

static void a_client_that_is_gone_raises_no_signal(void **state)
{
    struct sigaction usual = { .sa_handler = SIG_DFL }, before;
    sigset_t set, blocked;

    (void)state;
    sigaction(SIGPIPE, &usual, &before);
    nod_server *server = server_make(NULL);
    int fd = server_talks(server);
    send_text(fd, OPENING CALL("big"));
    close(fd);
    run(server); /* ends with its input */
    nod_server_destroy(server);
    for (int signo = 1; signo < SIGTERM; signo++)
        if (signo == SIGHUP || signo == SIGINT || signo == SIGPIPE || signo == SIGTERM)
            assert_true(is_default(signo));
    sigpending(&set);
    assert_false(sigismember(&set, SIGPIPE));
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGPIPE));
    sigaction(SIGPIPE, &before, NULL);
}

static void a_signal_that_the_program_has_blocked_is_still_pending(void **state)
{
    sigset_t set, before;

    (void)state;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    raise(SIGPIPE);
    assert_int_equal(live(false, NULL), CALLS_OF_A_LIFE);
    sigpending(&set);
    assert_true(sigismember(&set, SIGPIPE));
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    assert_int_equal(sigwait(&set, &(int){ 0 }), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void the_log_goes_to_the_function_and_back(void **state)
{
    (void)state;
    lines = 0;
    assert_int_equal(live(true, NULL), CALLS_OF_A_LIFE);
    int said = lines;
    assert_true(said > 0); /* that it listens, at least */
    nod_log_to(NULL, NULL);
    assert_int_equal(live(true, NULL), CALLS_OF_A_LIFE);
    assert_int_equal(lines, said);
    nod_log_to(count_line, NULL);
}

/* --- used wrongly --- */

static void a_server_without_anybody_to_serve_does_not_start(void **state)
{
    nod_server *server = server_make(NULL);

    (void)state;
    assert_int_equal(nod_fd(server), -1);
    assert_int_equal(nod_timeout(server), -1);
    assert_false(nod_turn(server));
    assert_int_equal(nod_start(server), NOD_E_USAGE);
    assert_int_equal(nod_start(server), NOD_E_USAGE);
    assert_false(nod_turn(server));
    assert_int_equal(nod_timeout(server), 0);
    nod_server_destroy(server);
    assert_int_equal(nod_start(NULL), NOD_E_USAGE);
}

static void a_command_line_that_is_wrong_is_told_and_ends_nothing(void **state)
{
    nod_server *server = server_make(NULL);
    char own[] = "own", option[] = "--htpp=127.0.0.1:0";
    char *wrong[] = { own, option, NULL };

    (void)state;
    int before = lines;
    assert_int_equal(nod_settings_argv(server, 2, wrong), NOD_E_USAGE);
    assert_int_equal(lines, before + 1);
    nod_server_destroy(server);
}

static void what_cannot_be_opened_is_an_error_and_closes_what_it_was_given(void **state)
{
    nod_server *server =
        nod_server_new(.name = "own", .version = "1", .store = "sqlite:/nowhere/at/all.db");
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(nod_stdio(server, ends[0], ends[0]), NOD_OK);
    assert_int_equal(nod_stdio(server, ends[0], ends[0]), NOD_E_USAGE);
    nod_log_to(NULL, NULL);
    assert_int_equal(nod_start(server), NOD_E_STORE);
    nod_log_to(count_line, NULL);
    nod_server_destroy(server);
    assert_int_equal(read(ends[1], &(char){ 0 }, 1), 0); /* the other end was closed */
    close(ends[1]);

    server = server_make(NULL);
    assert_int_equal(nod_stdio(server, 999, 999), NOD_E_USAGE);
    nod_server_destroy(server);
}

static void a_server_that_is_destroyed_without_a_stop_is_gone(void **state)
{
    nod_server *server = server_make(NULL);
    char byte;

    (void)state;
    int fd = server_talks(server);
    send_text(fd, OPENING CALL("ask"));
    for (struct pollfd asked = { .fd = fd, .events = POLLIN }; poll(&asked, 1, 0) == 0;)
        nod_turn(server);
    nod_server_destroy(server);
    while (read(fd, &byte, 1) == 1)
        ;
    close(fd);
}

static void a_stop_before_the_start_is_a_stop(void **state)
{
    nod_server *server = server_make(NULL);

    (void)state;
    nod_stop(server);
    int fd = server_talks(server);
    run(server); /* it ends */
    nod_server_destroy(server);
    close(fd);
}

static void the_library_and_its_header_are_of_one_version(void **state)
{
    char text[32];

    (void)state;
    snprintf(text, sizeof(text), "%d.%d.%d", NOD_VERSION_MAJOR, NOD_VERSION_MINOR,
             NOD_VERSION_PATCH);
    assert_string_equal(text, NOD_VERSION);
    assert_string_equal(nod_version(), NOD_VERSION);
    assert_int_equal(nod_version_number(), NOD_VERSION_NUMBER);
}

SUBJECT(own_loop)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_servers_share_a_thread),
        cmocka_unit_test(servers_on_threads_of_their_own_know_nothing_of_each_other),
        cmocka_unit_test(a_hundred_lives_leave_no_descriptor_and_no_memory),
        cmocka_unit_test(a_client_that_is_gone_raises_no_signal),
        cmocka_unit_test(a_signal_that_the_program_has_blocked_is_still_pending),
        cmocka_unit_test(the_log_goes_to_the_function_and_back),
        cmocka_unit_test(a_server_without_anybody_to_serve_does_not_start),
        cmocka_unit_test(a_command_line_that_is_wrong_is_told_and_ends_nothing),
        cmocka_unit_test(what_cannot_be_opened_is_an_error_and_closes_what_it_was_given),
        cmocka_unit_test(a_server_that_is_destroyed_without_a_stop_is_gone),
        cmocka_unit_test(a_stop_before_the_start_is_a_stop),
        cmocka_unit_test(the_library_and_its_header_are_of_one_version),
    };

    nod_log_to(count_line, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
