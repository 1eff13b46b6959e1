/*
 * tests/toys/live: a provider that holds something for each call, in one file.
 *
 * Its runs are live: begun once, open while their calls wait, ended by the toy. Nothing in core/,
 * mcp/ or front/ knows of it. tests/unit/core/live.c ends its calls in every possible way;
 * tests/wire/live_server.c puts it behind a real server.
 */
#include "live.h"

#include <stdio.h>
#include <string.h>

#define LIVE_TOY_FORM                                                                              \
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}"

struct live_session *live_toy_session(struct live_toy *toy, struct str call)
{
    for (size_t i = 0; i < toy->count; i++)
        if (str_eq(str_of(toy->sessions[i].call), call))
            return &toy->sessions[i];
    return NULL;
}

static void live_heard(struct live_session *session, const char *what, struct str how)
{
    size_t len = strlen(session->heard);

    snprintf(session->heard + len, sizeof(session->heard) - len, "%s%s" STR_FMT, len ? " " : "",
             what, STR_ARG(how));
}

/* --- the seam --- */

static void live_toy_start(struct provider *provider, struct run *run)
{
    struct live_toy *toy = (struct live_toy *)provider;
    struct live_session *session = NULL;

    for (size_t i = 0; !session && i < toy->count; i++) /* one whose call is over */
        if (toy->sessions[i].ended && !toy->sessions[i].run && toy->count == LIVE_TOY_SESSIONS)
            session = &toy->sessions[i];
    if (!session && toy->count < LIVE_TOY_SESSIONS)
        session = &toy->sessions[toy->count++];
    if (!session) {
        run_done(run, run_fail(run, NOD_E_LIMIT, NULL, STR("The toy has no session left")),
                 STR_NONE);
        return;
    }
    *session = (struct live_session){ .toy = toy, .run = run };
    snprintf(session->call, sizeof(session->call), STR_FMT, STR_ARG(run->call_id));
    snprintf(session->tag, sizeof(session->tag), STR_FMT,
             STR_ARG(json_str(json_get(run->args, STR("tag")))));
    run->handle = session;
    if (toy->begun)
        toy->begun(session);
}

static void live_toy_committed(struct provider *provider, struct run *run)
{
    struct live_toy *toy = (struct live_toy *)provider;
    struct live_session *session = run->handle;

    live_heard(session, "committed", STR_NONE);
    if (toy->committed)
        toy->committed(session);
}

static void live_toy_answered(struct provider *provider, struct run *run,
                              const struct entry *answer)
{
    struct live_toy *toy = (struct live_toy *)provider;
    struct live_session *session = run->handle;
    char what[64];

    snprintf(what, sizeof(what), STR_FMT "=", STR_ARG(answer->key));
    live_heard(session, what, ask_state_name(answer->state));
    if (toy->answered)
        toy->answered(session, answer);
}

static void live_toy_cancelled(struct provider *provider, struct run *run)
{
    struct live_session *session = run->handle;

    (void)provider;
    session->cancelled++;
    session->run = NULL;
    run_done(run, NOD_E_CANCELLED, STR_NONE); /* changes nothing, and frees it */
}

static void live_toy_ended(struct provider *provider, struct str call_id,
                           const struct outcome *outcome)
{
    struct live_session *session = live_toy_session((struct live_toy *)provider, call_id);

    if (!session)
        return;
    session->ended++;
    snprintf(session->code, sizeof(session->code), "%s",
             outcome->status == NOD_OK ? "OK" : outcome->code);
}

static const struct provider_ops live_toy_ops = { .name = "live toy",
                                                  .start = live_toy_start,
                                                  .cancelled = live_toy_cancelled,
                                                  .committed = live_toy_committed,
                                                  .answered = live_toy_answered,
                                                  .ended = live_toy_ended };

void live_toy_init(struct live_toy *toy, const char *name)
{
    memset(toy, 0, sizeof(*toy));
    toy->provider.ops = &live_toy_ops;
    toy->target = (struct target){ .kind = TARGET_TOOL,
                                   .name = str_of(name),
                                   .title = str_of(name),
                                   .provider = &toy->provider,
                                   .live = true };
}

/* --- what it can be told to do --- */

nod_status live_toy_ask(struct live_session *session, const char *key, const char *message)
{
    const struct entry *answer;

    return run_ask(session->run,
                   &(struct ask_spec){ .kind = ASK_FORM,
                                       .key = str_of(key),
                                       .message = str_of(message),
                                       .detail = STR(LIVE_TOY_FORM) },
                   &answer);
}

nod_status live_toy_step(struct live_session *session, const char *key)
{
    return run_step_done(session->run, str_of(key), NOD_OK, STR("{\"done\":true}"));
}

void live_toy_commit(struct live_session *session)
{
    run_commit(session->run);
}

nod_status live_toy_take_back(struct live_session *session, const char *key, const char *why)
{
    return run_take_back(session->run, str_of(key), str_of(why));
}

void live_toy_progress(struct live_session *session, double progress)
{
    run_notice(session->run, &(struct notice){ .kind = NOTICE_PROGRESS,
                                               .progress = progress,
                                               .total = 10,
                                               .text = STR("at work") });
}

void live_toy_end(struct live_session *session, const char *text)
{
    struct run *run = session->run;
    char body[256];
    int len =
        snprintf(body, sizeof(body), "{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}", text);

    session->run = NULL;
    run_done(run, NOD_OK, str_n(body, (size_t)len));
}

void live_toy_fail(struct live_session *session, const char *code, const char *message)
{
    struct run *run = session->run;

    session->run = NULL;
    run_done(run, run_fail(run, NOD_E_FAILED, code, str_of(message)), STR_NONE);
}
