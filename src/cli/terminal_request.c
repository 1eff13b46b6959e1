/*
 * cli/terminal_request: requests to a running server.
 *
 * A reply is read as JSON, within limits. If the server refuses, its own words are said, made safe,
 * and the exit code tells a script which kind of no it is.
 */
#include <ctype.h>

#include "base/clock.h"
#include "cli/command.h"
#include "cli/terminal_safe.h"
#include "cli/terminal.h"

static bool request_as(struct terminal *terminal, const char *method, const char *path,
                       struct str body, struct reply *reply, char why[REMOTE_WHY_MAX])
{
    *reply = (struct reply){ 0 };
    buf_init(&reply->text, REMOTE_REPLY_MAX);
    arena_init(&reply->arena, TERMINAL_TREE_MAX);
    reply->status = remote_send(terminal->visit->remote, method, path, body, &reply->text, why);
    if (!reply->status)
        return false;
    reply->json = json_parse(&reply->arena, buf_str(&reply->text),
                             &(struct json_opts){ .max_depth = JSON_DEPTH_MAX }, NULL);
    int64_t now = draw_time(json_get_str(reply->json, STR("now")));
    if (now)
        terminal->ahead_ms = now - clock_wall(clock_system());
    return true;
}

bool request_send(struct terminal *terminal, const char *method, const char *path, struct str body,
                  struct reply *reply)
{
    char why[REMOTE_WHY_MAX];

    if (request_as(terminal, method, path, body, reply, why))
        return true;
    visit_say(terminal->visit, str_of(why), "");
    return false;
}

bool request_quietly(struct terminal *terminal, const char *path, struct reply *reply)
{
    char why[REMOTE_WHY_MAX];

    return request_as(terminal, "GET", path, STR_NONE, reply, why);
}

void reply_finish(struct reply *reply)
{
    arena_finish(&reply->arena);
    buf_finish(&reply->text);
}

bool request_waiting(struct terminal *terminal, bool quietly,
                     void (*item)(void *data, const struct json *item), void *data, bool *more)
{
    char path[TERMINAL_PATH_MAX], limit[32];
    size_t count = 0;
    bool fine = true;

    path[0] = '\0';
    *more = true;
    for (int page = 0; fine && *more && count < TERMINAL_PAGE_MAX && page < TERMINAL_PAGE_MAX;
         page++) {
        struct reply reply;
        char all[TERMINAL_PATH_MAX] = "/api/elicitation?";
        snprintf(limit, sizeof(limit), "limit=%d", TERMINAL_PAGE_MAX - (int)count);
        path_add(all, str_of(limit));
        path_add(all, str_of(path));
        fine = (quietly ? request_quietly(terminal, all, &reply)
                        : request_send(terminal, "GET", all, STR_NONE, &reply)) &&
               reply.status == 200;
        JSON_EACH (each, fine ? json_get(reply.json, STR("items")) : NULL) {
            item(data, each);
            count++;
        }
        struct str next = json_get_str(reply.json, STR("next"));
        *more = next.len > 0;
        path[0] = '\0';
        path_add(path, STR("&cursor="));
        path_escape(path, next);
        reply_finish(&reply);
    }
    return fine;
}

static int code_of(int status)
{
    switch (status) {
    case 400:
        return COMMAND_WRONG_USAGE;
    case 404:
    case 409:
    case 410:
        return TERMINAL_GONE;
    case 401:
    case 403:
    case 422:
        return TERMINAL_REFUSED;
    default:
        return COMMAND_FAILED;
    }
}

int reply_refused(struct terminal *terminal, const struct reply *reply)
{
    struct str detail = json_get_str(reply->json, STR("detail"));

    if (terminal->json && reply->json)
        draw_json(reply->json);
    if (reply->status == 401) {
        visit_say_unknown(terminal->visit, detail);
        return TERMINAL_REFUSED;
    }
    fprintf(stderr, "nod inbox: the server says %d: ", reply->status);
    if (detail.len)
        safe_text(stderr, detail, 0);
    else
        fputs(reply->status == 404 ? "it has no inbox, or it is not a nod server" : "no reason",
              stderr);
    fputc('\n', stderr);
    if (json_get(reply->json, STR("answer"))) {
        fputs("  ", stderr);
        draw_winner(stderr, reply->json);
    }
    JSON_EACH (error, json_get(reply->json, STR("errors"))) {
        struct str path = json_get_str(error, STR("path"));
        struct str message = json_get_str(error, STR("message"));
        if (!path.len && str_eq(message, detail))
            continue; /* a hook's sentence, which stands above */
        fputs("  ", stderr);
        safe_text(stderr, path, 0);
        fputs(path.len ? ": " : "", stderr);
        safe_text(stderr, message, 0);
        fputc('\n', stderr);
    }
    return code_of(reply->status);
}

void path_add(char path[TERMINAL_PATH_MAX], struct str text)
{
    size_t len = strlen(path);

    if (text.len >= TERMINAL_PATH_MAX - len)
        text.len = TERMINAL_PATH_MAX - len - 1;
    if (text.len)
        memcpy(path + len, text.at, text.len);
    path[len + text.len] = '\0';
}

void path_escape(char path[TERMINAL_PATH_MAX], struct str text)
{
    char escaped[4];

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        bool plain = c < 0x80 && (isalnum(c) || c == '-' || c == '_' || c == '~');
        snprintf(escaped, sizeof(escaped), plain ? "%c" : "%%%02X", c);
        path_add(path, str_of(escaped));
    }
}

bool request_item(struct terminal *terminal, struct str id, struct reply *reply, int *code)
{
    char path[TERMINAL_PATH_MAX] = "/api/elicitation/";

    path_escape(path, id);
    *code = COMMAND_FAILED;
    if (!request_send(terminal, "GET", path, STR_NONE, reply))
        return false;
    if (reply->status == 200 && json_is(reply->json, JSON_OBJECT))
        return true;
    *code = reply_refused(terminal, reply);
    return false;
}
