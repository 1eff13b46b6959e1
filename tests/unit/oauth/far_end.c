/* tests/unit/oauth/far_end: see far_end.h. */
#include "far_end.h"

#include "../runner.h"

static void reply(struct far_end *far, struct http_exchange *exchange)
{
    const struct http_header type = { STR("Content-Type"), STR("application/json") };

    http_reply(exchange, far->status, &type, 1, str_of(far->answer));
}

static void on_request(struct http_exchange *exchange, const struct http_request *request,
                       void *data)
{
    struct far_end *far = data;

    far->requests++;
    snprintf(far->path, sizeof(far->path), STR_FMT, STR_ARG(request->path));
    snprintf(far->body, sizeof(far->body), STR_FMT, STR_ARG(request->body));
    snprintf(far->authorization, sizeof(far->authorization), STR_FMT,
             STR_ARG(http_header(request, STR("Authorization"))));
    if (far->answers)
        far->answers(far, request);
    if (!far->holds) {
        reply(far, exchange);
        return;
    }
    assert_true(far->held_count < FAR_END_HELD_MAX);
    far->held[far->held_count++] = exchange;
}

void far_end_open(struct far_end *far, struct loop *loop)
{
    struct http_opts opts = { .limits = http_limits_default,
                              .on_request = on_request,
                              .data = far };

    *far = (struct far_end){ .loop = loop, .status = 200 };
    opts.limits.header_ms = opts.limits.body_ms = opts.limits.idle_ms = opts.limits.write_ms =
        PATIENCE_MS;
    assert_int_equal(http_listen(loop, STR("127.0.0.1"), 0, &opts, &far->server), NOD_OK);
    snprintf(far->allow, sizeof(far->allow), "127.0.0.1:%d", http_port(far->server));
    snprintf(far->base, sizeof(far->base), "http://%s", far->allow);
}

void far_end_close(struct far_end *far)
{
    http_close(far->server);
    loop_turn(far->loop, 0);
}

void far_end_say(struct far_end *far, int status, const char *format, ...)
{
    va_list args;

    far->status = status;
    va_start(args, format);
    vsnprintf(far->answer, sizeof(far->answer), format, args);
    va_end(args);
}

void far_end_release(struct far_end *far)
{
    far->holds = false;
    while (far->held_count)
        reply(far, far->held[--far->held_count]);
}

struct oauth_service_spec far_end_spec(struct far_end *far)
{
    static char authorization[128], token[128], revocation[128];

    snprintf(authorization, sizeof(authorization), "%s/authorize", far->base);
    snprintf(token, sizeof(token), "%s/token", far->base);
    snprintf(revocation, sizeof(revocation), "%s/revoke", far->base);
    return (struct oauth_service_spec){ .name = STR("mail"),
                                        .title = STR("Mail"),
                                        .authorization_endpoint = str_of(authorization),
                                        .token_endpoint = str_of(token),
                                        .revocation_endpoint = str_of(revocation),
                                        .client_id = STR("nod"),
                                        .allow = str_of(far->allow) };
}
