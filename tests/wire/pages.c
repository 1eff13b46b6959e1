/*
 * pages: tools whose questions are asked on pages of this server, for pages.test.js.
 */
#include <pthread.h>
#include <stdio.h>

#include <nod/nod.h>

static nod_status reply_answer(nod_call *call, const nod_answer *answer)
{
    static const char *const names[] = { "waiting", "accept",    "decline", "cancel",
                                         "expired", "withdrawn", "unfit",   "unasked" };

    return nod_reply_textf(call, "%s by %s: %s", names[answer->action], answer->by,
                           answer->content ? nod_json_text(call, answer->content) : "nothing");
}

/* A form. */
static nod_status form(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_page(
        call, &answer, .message = nod_arg_str_or(call, "message", "Where does it go?"),
        .ttl_ms = nod_arg_int_or(call, "ttl", 0),
        .consent = nod_arg_bool_or(call, "consent", false),
        .form =
            NOD_FORM(NOD_TEXT("city", .title = "City", .required = true, NOD_MIN(1), NOD_MAX(40)),
                     NOD_INT("floor", .title = "Floor", NOD_MIN(0), NOD_MAX(99)))));
    return reply_answer(call, &answer);
}

/* A box to tick. */
static nod_status erase(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(
        nod_elicit_page(call, &answer, .message = "Erase it?",
                        .form = NOD_FORM(NOD_BOOL("sure", .title = "Erase it", .required = true))));
    return reply_answer(call, &answer);
}

/* A page of somebody else, which sends the person back. */
static nod_status foreign(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit_url(call, &answer, .message = "Pay for it", .returns = true,
                           .ttl_ms = nod_arg_int_or(call, "ttl", 0),
                           .url = nod_arg_str(call, "url")));
    return reply_answer(call, &answer);
}

/* A token for a page of our own; and another one, if there is a name for it. */
static nod_status own(nod_call *call)
{
    const char *token, *another = nod_arg_str_or(call, "id", "");

    NOD_TRY(nod_page_token(call, &token, .name = nod_arg_str_or(call, "message", "order 7"),
                           .ttl_ms = nod_arg_int_or(call, "ttl", 0)));
    if (!*another)
        return nod_reply_text(call, token);
    NOD_TRY(nod_page_token(call, &another, .name = another));
    return nod_reply_text(call, nod_fmt(call, "%s %s", token, another));
}

/* What such a page asks: the handler is blocking, and waits for what the server's thread is told.
 */
struct checked {
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool done;
    nod_status status;
    char name[64];
};

static void is_checked(void *data, nod_status status, const nod_page *page)
{
    struct checked *checked = data;

    pthread_mutex_lock(&checked->lock);
    checked->status = status;
    snprintf(checked->name, sizeof(checked->name), "%s", page ? page->name : "nothing");
    checked->done = true;
    pthread_cond_signal(&checked->told);
    pthread_mutex_unlock(&checked->lock);
}

static nod_status check(nod_call *call)
{
    struct checked checked = { .lock = PTHREAD_MUTEX_INITIALIZER,
                               .told = PTHREAD_COND_INITIALIZER };

    nod_page_check(nod_server_of(call), nod_arg_str(call, "url"), nod_arg_str(call, "message"),
                   nod_arg_bool_or(call, "consent", false), is_checked, &checked);
    pthread_mutex_lock(&checked.lock);
    while (!checked.done)
        pthread_cond_wait(&checked.told, &checked.lock);
    pthread_mutex_unlock(&checked.lock);
    return nod_reply_textf(call, "%s: %s", nod_status_name(checked.status), checked.name);
}

static nod_status require(nod_call *call)
{
    return nod_require_url(call, .message = "Open this first",
                           .url = "https://example.org/first?id={id}");
}

static nod_status done(nod_call *call)
{
    nod_url_done(nod_server_of(call), nod_arg_str(call, "id"));
    return nod_reply_text(call, "done");
}

static const char input[] =
    "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"},\"url\":{\"type\":"
    "\"string\"},\"id\":{\"type\":\"string\"},\"ttl\":{\"type\":\"integer\"},\"consent\":{\"type\":"
    "\"boolean\"}}}";

/* Asked before the call starts. */
static nod_status at_gate(nod_hook_run *hook, void *data)
{
    nod_answer answer;

    (void)data;
    NOD_TRY(nod_elicit_page(nod_hook_call(hook), &answer, .message = "May it start?",
                            .form = NOD_FORM(NOD_TEXT("city", .required = true))));
    return answer.action == NOD_ACCEPT ? NOD_OK
                                       : nod_hook_fail(hook, NOD_E_REFUSED, "SHUT", "It is shut.");
}

static nod_status gated(nod_call *call)
{
    return nod_reply_text(call, "open");
}

int main(int argc, char **argv)
{
    static const nod_tool tools[] = {
        { .name = "form", .handler = form, .title = "Ship it", .input_schema = input },
        { .name = "long", .handler = form, .input_schema = input, .task = NOD_TASK_OPTIONAL },
        { .name = "wipe", .handler = form, .input_schema = input, .destructive = true },
        { .name = "erase", .handler = erase, .destructive = true },
        { .name = "own", .handler = own, .input_schema = input },
        { .name = "check", .handler = check, .input_schema = input, .blocking = true },
        { .name = "require", .handler = require },
        { .name = "done", .handler = done, .input_schema = input },
        { .name = "foreign", .handler = foreign, .input_schema = input },
        { .name = "gated", .handler = gated },
    };
    nod_server *server = nod_server_new(.name = "pages", .version = NOD_VERSION);

    if (server == NULL)
        return 1;
    if (nod_tools(server, tools) != NOD_OK ||
        nod_hook(server, .flow = NOD_FLOW_CALL, .stage = "gate", .fn = at_gate, .name = "shut",
                 .target = "gated") != NOD_OK) {
        nod_server_destroy(server);
        return 1;
    }
    return nod_main(server, argc, argv);
}
