/*
 * bench/json: one tools/call message, read and written, against jansson and cJSON.
 *
 * Each library does what a program would do with it: parse the text into its tree, write the tree
 * compactly into memory, free both. Ours reads with duplicates refused, as the protocol does, keeps
 * its arena and its buffer from message to message, and writes by walking the tree: the raw bytes
 * of objects and arrays are removed first (inside the measured time), so that nothing is copied
 * whole. "forward" is the other case, a message that is passed on as its raw bytes.
 *
 * The libraries take turns, and the best round of each counts, so that other work on the machine
 * does not decide.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "json/write.h"
#include "json_rivals.h"

enum { ROUNDS = 40, PER_ROUND = 4000, ARENA_MAX = 1 << 20, TEXT_MAX = 1 << 20 };

static const char message[] =
    "{\"jsonrpc\":\"2.0\",\"id\":4711,\"method\":\"tools/"
    "call\",\"params\":{\"name\":\"transfer_funds\","
    "\"arguments\":{\"from\":\"DE89370400440532013000\",\"to\":\"FR1420041010050500013M02606\","
    "\"amount\":1250.75,\"currency\":\"EUR\",\"reference\":\"Invoice 2024-117, second reminder\","
    "\"urgent\":false,\"tags\":[\"billing\",\"q3\",\"approved\"]},\"_meta\":{\"progressToken\":"
    "\"tok-8841\","
    "\"client\":{\"name\":\"desk\",\"version\":\"1.4.2\"},\"attempt\":1}}}";

static struct arena arena;
static struct buf out;
static size_t written; /* keeps the work from being optimised away, and is checked */

static void containers_forget_raw(struct json *v)
{
    v->raw = STR_NONE;
    for (struct json *child = v->first; child; child = child->next)
        if (child->type >= JSON_ARRAY)
            containers_forget_raw(child);
}

static struct json *nod_read(void)
{
    static const struct json_opts opts = { .refuse_duplicates = true };

    arena_reset(&arena);
    buf_clear(&out);
    struct json *v = json_parse(&arena, STR(message), &opts, NULL);
    if (!v)
        abort();
    return v;
}

static void nod_once(void)
{
    struct json *v = nod_read();

    containers_forget_raw(v);
    if (!json_write(&out, v))
        abort();
    written = out.len;
}

static void nod_forward_once(void)
{
    if (!json_write(&out, nod_read()))
        abort();
    written = out.len;
}

static void nod_parse_once(void)
{
    written = nod_read()->raw.len;
}

static void jansson_once(void)
{
    written = rival_jansson(message, sizeof(message) - 1);
}

static void cjson_once(void)
{
    written = rival_cjson(message, sizeof(message) - 1);
}

static struct contender {
    const char *name;
    void (*once)(void);
    double best; /* nanoseconds for one message */
} contenders[] = {
    { "nod", nod_once, 1e18 },
    { "jansson", jansson_once, 1e18 },
    { "cjson", cjson_once, 1e18 },
    { "nod_parse", nod_parse_once, 1e18 },
    { "nod_forward", nod_forward_once, 1e18 },
};
enum { CONTENDERS = sizeof(contenders) / sizeof(contenders[0]) };

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void round_of(struct contender *c)
{
    double begin = now_ns();

    for (int i = 0; i < PER_ROUND; i++)
        c->once();
    double each = (now_ns() - begin) / PER_ROUND;
    if (each < c->best)
        c->best = each;
    if (written != sizeof(message) - 1) {
        fprintf(stderr, "%s wrote %zu bytes of %zu\n", c->name, written, sizeof(message) - 1);
        exit(1);
    }
}

int main(void)
{
    arena_init(&arena, ARENA_MAX);
    buf_init(&out, TEXT_MAX);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < CONTENDERS; i++)
            round_of(&contenders[i]);

    printf("json.bytes %zu\n", sizeof(message) - 1);
    for (int i = 0; i < CONTENDERS; i++)
        printf("json.%s_ns %.0f\n", contenders[i].name, contenders[i].best);
    printf("json.vs_jansson %.2f\n", contenders[1].best / contenders[0].best);
    printf("json.vs_cjson %.2f\n", contenders[2].best / contenders[0].best);
    buf_finish(&out);
    arena_finish(&arena);
    return 0;
}
