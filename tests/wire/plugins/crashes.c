/*
 * tests/wire/plugins/crashes: a plugin that takes the process down, wherever its code runs.
 *
 * The tools are told how to crash; the hooks crash for the tools that are named after them. What is
 * the environment's: CRASHES_AT=constructor, unload.
 */
#include <nod/nod.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile bool deeper = true;

static int fall(volatile char *above)
{
    volatile char room[4096];

    room[0] = above ? above[0] : 1;
    return deeper ? fall(room) + room[0] : room[0];
}

static void crash(const char *how)
{
    volatile uintptr_t nowhere = 64; /* no null pointer, which a sanitizer would see */

    if (strcmp(how, "fault") == 0)
        *(volatile int *)nowhere = 1;
    else if (strcmp(how, "stack") == 0)
        fall(NULL);
    else
        abort();
}

static nod_status now(nod_call *call)
{
    crash(nod_arg_str(call, "how"));
    return nod_reply_text(call, "It has not crashed.");
}

static nod_status crash_step(nod_step_run *step, void *how)
{
    (void)step;
    crash(how);
    return NOD_OK;
}

static nod_status in_step(nod_call *call)
{
    NOD_TRY(nod_step(call, "crash", crash_step, (void *)nod_arg_str(call, "how"), NULL,
                     .idempotent = true));
    return nod_reply_text(call, "It has not crashed.");
}

static nod_status plain(nod_call *call)
{
    return nod_reply_text(call, "plain");
}

static nod_status asks(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Which word?",
                       .form = NOD_FORM(NOD_TEXT("word", .required = true))));
    return nod_reply_text(call, "plain");
}

static nod_status hook_crashes(nod_hook_run *hook, void *data)
{
    (void)hook, (void)data;
    abort();
}

static nod_status then_crashes(nod_hook_run *hook, nod_status status, void *data)
{
    (void)status;
    return hook_crashes(hook, data);
}

static nod_status around(nod_hook_run *hook, void *data)
{
    return nod_hook_next(hook, then_crashes, data);
}

#define HOW NOD_FORM(NOD_TEXT("how"))
static const nod_tool tools[] = {
    { .name = "crashes.now", .handler = now, .input = HOW },
    { .name = "crashes.worker", .handler = now, .input = HOW, .blocking = true },
    { .name = "crashes.step", .handler = in_step, .input = HOW },
    { .name = "crashes.plain", .handler = plain },
    { .name = "crashes.gate", .handler = plain },
    { .name = "crashes.around", .handler = plain },
    { .name = "crashes.nameless", .handler = plain },
    { .name = "crashes.answer", .handler = asks, .asks = true },
};

static bool is_at(const char *where)
{
    const char *at = getenv("CRASHES_AT");

    return at && strcmp(at, where) == 0;
}

__attribute__((constructor)) static void when_it_is_opened(void)
{
    if (is_at("constructor"))
        abort();
}

static nod_status load(nod_server *server)
{
    NOD_TRY(nod_tools(server, tools));
    NOD_TRY(nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "gate", .fn = hook_crashes,
                     .name = "careless", .target = "crashes.gate"));
    NOD_TRY(nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "start", .kind = NOD_AROUND,
                     .fn = around, .name = "round-about", .target = "crashes.around"));
    NOD_TRY(nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "start", .fn = hook_crashes,
                     .target = "crashes.nameless"));
    return nod_hook(server, .flow = NOD_FLOW_ANSWER, .stage = "buildResult", .kind = NOD_DID,
                    .fn = hook_crashes, .name = "reads-along", .target = "crashes.answer");
}

static void unload(nod_server *server)
{
    (void)server;
    if (is_at("unload"))
        abort();
}

NOD_PLUGIN(.name = "crashes", .version = "1", .load = load, .unload = unload);
