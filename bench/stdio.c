/*
 * bench/stdio: one call with one question after another, over stdio.
 *
 *   stdio.vs_sdk   calls a second of nod, over those of the official TypeScript SDK's server, with
 *                  the same driver
 *
 * Run as: bench-stdio NOD_SERVER -- RIVAL COMMAND... The two are driven in turns; the medians are
 * compared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "load.h"
#include "server_process.h"

enum { ROUNDS = 5, CALLS = 400, LINE_MAX_BYTES = 65536 };

struct peer {
    struct server_process process;
    char line[LINE_MAX_BYTES];
    size_t len;
    unsigned next_id;
};

static void fail(const char *what, const char *line)
{
    fprintf(stderr, "bench-stdio: %s: %s\n", what, line);
    exit(1);
}

static void say(struct peer *peer, const char *text)
{
    size_t len = strlen(text);

    for (size_t sent = 0; sent < len;) {
        ssize_t wrote = write(peer->process.in, text + sent, len - sent);
        if (wrote <= 0)
            fail("cannot write", text);
        sent += (size_t)wrote;
    }
}

/* The next line, without its end. The one before is no longer valid. */
static const char *hear(struct peer *peer)
{
    static char line[LINE_MAX_BYTES];

    for (;;) {
        char *end = memchr(peer->line, '\n', peer->len);
        if (end) {
            size_t len = (size_t)(end - peer->line);
            memcpy(line, peer->line, len);
            line[len] = '\0';
            peer->len -= len + 1;
            memmove(peer->line, end + 1, peer->len);
            return line;
        }
        ssize_t got =
            read(peer->process.out, peer->line + peer->len, sizeof(peer->line) - peer->len);
        if (got <= 0)
            fail("the server is gone", "");
        peer->len += (size_t)got;
    }
}

static void open_session(struct peer *peer)
{
    say(peer, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
              "\"protocolVersion\":\"2025-11-25\","
              "\"capabilities\":{\"elicitation\":{\"form\":{}}},\"clientInfo\":{\"name\":\"bench\","
              "\"version\":\"1\"}}}\n");
    hear(peer);
    say(peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
}

static void one_call(struct peer *peer)
{
    char text[512];

    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/"
             "call\",\"params\":{\"name\":\"ask\",\"arguments\":{}}}\n",
             ++peer->next_id);
    say(peer, text);
    const char *question = hear(peer);
    const char *id = strstr(question, "\"id\":");
    if (!id || !strstr(question, "elicitation/create"))
        fail("expected a question", question);
    id += 5;
    size_t len = *id == '"' ? strcspn(id + 1, "\"") + 2 : strspn(id, "0123456789");
    snprintf(text, sizeof(text),
             "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"action\":\"accept\",\"content\":{"
             "\"confirmed\":true}}}\n",
             (int)len, id);
    say(peer, text);
    const char *result = hear(peer);
    if (!strstr(result, "\"confirmed\""))
        fail("expected a result", result);
}

static double calls_a_second(struct peer *peer)
{
    struct timespec a, b;

    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int i = 0; i < CALLS; i++)
        one_call(peer);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return CALLS / ((double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9);
}

int main(int argc, char **argv)
{
    static struct peer nod, rival;
    double ours[ROUNDS], theirs[ROUNDS];

    if (argc < 4 || strcmp(argv[2], "--") != 0) {
        fprintf(stderr, "usage: bench-stdio NOD_SERVER -- RIVAL COMMAND...\n");
        return 2;
    }
    nod.process = server_process_pipe((char *const[]){ argv[1], NULL });
    rival.process = server_process_pipe(argv + 3);
    open_session(&nod);
    open_session(&rival);
    calls_a_second(&nod); /* warm */
    calls_a_second(&rival);
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = calls_a_second(&nod);
        theirs[i] = calls_a_second(&rival);
    }
    double a = load_median(ours, ROUNDS), b = load_median(theirs, ROUNDS);
    printf("stdio.vs_sdk %.2f\n", a / b);
    fprintf(stderr,
            "stdio, one call with one question after another: nod %.0f a second, SDK v1 %.0f\n", a,
            b);
    server_process_stop(&nod.process);
    server_process_stop(&rival.process);
    return 0;
}
