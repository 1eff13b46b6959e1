/*
 * turns-server: tools whose calls are as heavy as a client can make them, for the tests of how long
 * a turn of the loop takes.
 *
 * TURNS_TOOLS=n registers so many tools more.
 */
#include <nod/nod.h>

#include <stdio.h>
#include <stdlib.h>

static nod_status take(nod_call *call)
{
    return nod_reply_text(call, "taken");
}

static nod_status ask(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = nod_arg_str_or(call, "message", "Who are you?"),
                       .ttl_ms = nod_arg_int_or(call, "ttl", 0),
                       .form = NOD_FORM(NOD_TEXT("name"))));
    return nod_reply_text(call, "asked");
}

/* As a task, where the client has tasks. */
static nod_status echo(nod_call *call)
{
    return nod_reply_text(call, nod_arg_str_or(call, "text", ""));
}

#define ANYTHING "{\"type\":\"object\"}"
#define CHECKED                                                                                    \
    "{\"type\":\"object\",\"properties\":{"                                                        \
    "\"numbers\":{\"type\":\"array\",\"items\":{\"type\":\"number\",\"minimum\":0}},"              \
    "\"words\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"maxLength\":4000000,"          \
    "\"pattern\":\"^([a-z]+[0-9]*)+$\"}},"                                                         \
    "\"different\":{\"type\":\"array\",\"uniqueItems\":true}},"                                    \
    "\"patternProperties\":{\"^f[0-9]+$\":{\"type\":[\"string\",\"object\",\"integer\"],"          \
    "\"pattern\":\"^[a-z]*$\"}}}"

static const nod_tool tools[] = {
    { .name = "take", .handler = take, .input_schema = ANYTHING },
    { .name = "echo", .handler = echo, .input_schema = ANYTHING, .task = NOD_TASK_OPTIONAL },
    { .name = "checked", .handler = take, .input_schema = CHECKED },
    { .name = "ask", .handler = ask, .input_schema = ANYTHING },
    { .name = "gated", .handler = take, .input_schema = ANYTHING, .requires_confirmation = true },
};

static bool add_many(nod_server *server, long count)
{
    static char names[20000][16];

    for (long i = 0; i < count && i < 20000; i++) {
        snprintf(names[i], sizeof(names[i]), "tool%ld", i);
        const nod_tool more[] = { { .name = names[i],
                                    .handler = take,
                                    .description = "One of very many tools",
                                    .input_schema = CHECKED } };
        if (nod_tools(server, more) != NOD_OK)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    const char *many = getenv("TURNS_TOOLS"), *page = getenv("TURNS_PAGE");
    nod_server *server = nod_server_new(.name = "turns", .version = NOD_VERSION,
                                        .page_size = page ? (size_t)atol(page) : 0);

    if (!server)
        return 1;
    if (nod_tools(server, tools) != NOD_OK || !add_many(server, many ? atol(many) : 0)) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
