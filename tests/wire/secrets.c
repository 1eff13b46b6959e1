/*
 * secrets: tools that use secrets, for secrets.test.js.
 *
 * What a tool says of a secret is its length and a checksum. Each use is a deed, a line in the file
 * that NOD_DEEDS names.
 */
#include <nod/nod.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t checksum(nod_bytes secret)
{
    uint32_t sum = 2166136261u;

    for (size_t i = 0; i < secret.len; i++)
        sum = (sum ^ (unsigned char)secret.text[i]) * 16777619u;
    return sum;
}

/* Once for each idempotency key, as the other side of a real effect would have it. */
static nod_status deed(nod_step_run *step, void *arg)
{
    const nod_bytes *secret = arg;
    const char *file = getenv("NOD_DEEDS");
    char line[256];

    if (!file)
        return NOD_OK;
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    int len = snprintf(line, sizeof(line), "%s %08x\n", nod_step_key(step), checksum(*secret));
    bool written = fd >= 0 && write(fd, line, (size_t)len) == len;
    if (fd >= 0)
        close(fd);
    return written ? NOD_OK : NOD_E_IO;
}

static nod_status use(nod_call *call)
{
    nod_bytes secret;

    NOD_TRY(nod_secret(call, &secret, .name = nod_arg_str_or(call, "name", "stripe"),
                       .message = "The key of the payment service, please.",
                       .keep_ms = nod_arg_int_or(call, "keep", 0),
                       .ttl_ms = nod_arg_int_or(call, "ttl", 0)));
    NOD_TRY(nod_step(call, "deed", deed, &secret, NULL));
    return nod_reply_textf(call, "%zu bytes, %08x", secret.len, checksum(secret));
}

static nod_status use_two(nod_call *call)
{
    nod_bytes one, other;
    bool yes;

    NOD_TRY(nod_secret(call, &one, .name = "one", .message = "The first."));
    NOD_TRY(nod_secret(call, &other, .name = "other", .message = "The second."));
    NOD_TRY(nod_step(call, "deed", deed, &other, NULL));
    NOD_TRY(nod_confirm(call, &yes, .message = "Use both?"));
    return nod_reply_textf(call, "%d: %08x %08x", yes, checksum(one), checksum(other));
}

/* Goes on without it if it is refused. */
static nod_status without(nod_call *call)
{
    nod_bytes secret;
    bool yes;
    nod_status status = nod_secret(call, &secret, .name = "stripe",
                                   .message = "The key of the payment service, please.");

    if (status != NOD_E_REFUSED)
        return status == NOD_OK ? nod_reply_text(call, "used") : status;
    NOD_TRY(nod_confirm(call, &yes, .message = "Go on without it?"));
    return nod_reply_text(call, yes ? "without" : "not at all");
}

/* Wants it twice, in other words, whatever became of it the first time. */
static nod_status insist(nod_call *call)
{
    nod_bytes secret, again;
    nod_status first = nod_secret(call, &secret, .name = "stripe", .message = "The key, please.");

    if (first != NOD_OK && first != NOD_E_REFUSED)
        return first;
    nod_status second = nod_secret(call, &again, .name = "stripe", .message = "The key, I said.");
    if (second == NOD_PENDING)
        return second;
    return nod_reply_textf(call, "%s, %s", nod_status_name(first), nod_status_name(second));
}

/* Holds the secret in its hand, where others could see it, until a file is there. */
static nod_status hold(nod_call *call)
{
    const char *until = nod_arg_str(call, "until");
    nod_bytes secret;

    NOD_TRY(nod_secret(call, &secret, .name = "stripe",
                       .message = "The key of the payment service, please."));
    char *hand = malloc(secret.len + 1);
    if (!hand)
        return NOD_E_FAILED;
    memcpy(hand, secret.text, secret.len + 1);
    fprintf(stderr, "holding\n");
    for (int i = 0; i < 6000 && access(until, F_OK) != 0; i++)
        usleep(10000);
    uint32_t sum = checksum((nod_bytes){ hand, secret.len });
    explicit_bzero(hand, secret.len);
    free(hand);
    return nod_reply_textf(call, "%zu bytes, %08x", secret.len, sum);
}

static nod_status wrong(nod_call *call)
{
    nod_bytes secret;

    NOD_TRY(nod_secret(call, &secret, .name = nod_arg_str(call, "name"), .message = "?"));
    return nod_reply_text(call, "never");
}

int main(int argc, char **argv)
{
    static const char input[] =
        "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"keep\":{\"type\":"
        "\"integer\"},\"ttl\":{\"type\":\"integer\"},\"until\":{\"type\":\"string\"}}}";
    static const nod_tool tools[] = {
        { .name = "use", .handler = use, .title = "Use a key", .input_schema = input },
        { .name = "use_two", .handler = use_two, .input_schema = input },
        { .name = "without", .handler = without, .input_schema = input },
        { .name = "insist", .handler = insist, .input_schema = input },
        { .name = "use_blocking", .handler = use, .input_schema = input, .blocking = true },
        { .name = "hold", .handler = hold, .input_schema = input, .blocking = true },
        { .name = "wrong", .handler = wrong, .input_schema = input },
        { .name = "wipe", .handler = use, .input_schema = input, .destructive = true },
    };
    nod_server *server = nod_server_new(.name = "secrets", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (nod_tools(server, tools) != NOD_OK) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
