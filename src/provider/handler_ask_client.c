/*
 * provider/handler_ask_client: pages behind a URL, the client's model, and its roots.
 *
 * A person opens a URL because the server asks for it. So only https is allowed, or http to this
 * very machine. The elicitation id in the URL ({id}) is known when the ask is stored; the core
 * fills it in. The exception is nod_require_url, which ends the call: its id is made from the call
 * and the key, so it is the same on every run.
 */
#include "crypto/digest.h"
#include "provider/local_inside.h"

enum { REQUIRE_ROUNDS_MAX = 16 }; /* how often nod_require_url asks for the same page */

nod_status ask_now(nod_call *call, const struct ask_spec *spec, nod_answer *answer)
{
    const struct entry *entry;
    nod_status status = call_ask(call, spec, &entry);

    answer_fill(call, answer, entry);
    call->stopped |= status == NOD_PENDING;
    return status == NOD_OK ? call->broken : status;
}

/* --- pages --- */

static bool is_loopback(struct str host)
{
    struct str octet, rest = str_skip(host, 4);

    if (str_eq_nocase(host, STR("localhost")) || str_eq(host, STR("[::1]")))
        return true;
    if (!str_starts(host, STR("127.")))
        return false;
    for (int i = 0; i < 3; i++) {
        int64_t n;
        bool more = str_cut(rest, '.', &octet, &rest);

        if (more != (i < 2) || octet.len > 3 || !str_to_i64(octet, &n) || n < 0 || n > 255)
            return false;
    }
    return true;
}

/* The authority without its port. False: it has user information, or no host. */
static bool url_host(struct str rest, struct str *host)
{
    size_t end = 0, colon;

    while (end < rest.len && !strchr("/?#", rest.at[end]))
        end++;
    *host = str_n(rest.at, end);
    for (colon = 0; colon < host->len; colon++) {
        if (host->at[colon] == '@' || host->at[colon] == '\\')
            return false;
    }
    colon = host->len;
    while (colon > 0 && host->at[colon - 1] >= '0' && host->at[colon - 1] <= '9')
        colon--;
    if (colon > 0 && host->at[colon - 1] == ':')
        host->len = colon - 1;
    return host->len > 0;
}

bool url_is_safe(struct str url)
{
    struct str host;

    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.at[i] <= ' ' || url.at[i] == 0x7f || strchr("<>\"\\^`|", url.at[i]))
            return false;
    if (url.len > 8 && str_eq_nocase(str_n(url.at, 8), STR("https://")))
        return url_host(str_skip(url, 8), &host);
    if (url.len > 7 && str_eq_nocase(str_n(url.at, 7), STR("http://")))
        return url_host(str_skip(url, 7), &host) && is_loopback(host);
    return false;
}

static nod_status url_check(nod_call *call, const char *function, const struct nod_url_opts *opts)
{
    if (opts->message)
        NOD_TRY(call_message(call, function, opts->message));
    if (!opts->message || !opts->url) {
        run_bug(call->run, "The %s " STR_FMT " calls %s without .message or .url", call_what(call),
                STR_ARG(call_name(call)), function);
        return NOD_E_USAGE;
    }
    if (!url_is_safe(str_of(opts->url)))
        return run_fail(call->run, NOD_E_USAGE, NULL,
                        arena_fmt(&call->run->arena,
                                  "The %s " STR_FMT " calls %s with a .url that nobody is sent "
                                  "to: it has to be https, or http on this machine",
                                  call_what(call), STR_ARG(call_name(call)), function));
    return NOD_OK;
}

nod_status nod_elicit_url_with(nod_call *call, nod_answer *answer, const struct nod_url_opts *given)
{
    struct nod_url_opts opts;

    OPTS_READ(opts, given);
    NOD_TRY(call_begin_ask(call, "nod_elicit_url", answer));
    NOD_TRY(url_check(call, "nod_elicit_url", &opts));
    struct ask_spec spec = {
        .kind = ASK_URL,
        .key = call_text(call, opts.key),
        .message = call_text(call, opts.message),
        .url = call_text(call, opts.url),
        .ttl_ms = opts.ttl_ms,
        .wait_done = opts.wait_done,
    };
    if (opts.returns)
        NOD_TRY(page_foreign(call, &spec));
    return ask_now(call, &spec, answer);
}

/* The URL with every {id} replaced. */
static struct str url_with_id(nod_call *call, struct str url, struct str id)
{
    struct buf out;
    ptrdiff_t at;

    buf_init(&out, RUN_URL_MAX);
    while ((at = str_find(url, STR("{id}"))) >= 0) {
        buf_add(&out, str_n(url.at, (size_t)at));
        buf_add(&out, id);
        url = str_skip(url, (size_t)at + 4);
    }
    buf_add(&out, url);
    struct str done = out.overflow ? STR_NONE : arena_str(&call->run->arena, buf_str(&out));
    buf_finish(&out);
    return done;
}

static struct str require_key(nod_call *call, const struct nod_url_opts *opts)
{
    return opts->key ? call_text(call, opts->key) : STR("require_url");
}

/*
 * If asks travel in results, or only the inbox can show the page, the call need not end: the page
 * is asked for, and the handler runs again when it is done (nod_url_done). Until then it is the
 * same question, with the same id and URL, however often the client comes back; that it was opened
 * proves nothing. If the handler still wants a page after that, it is a new question, under the
 * next key.
 */
static nod_status require_by_asking(nod_call *call, const struct nod_url_opts *opts)
{
    struct arena *arena = &call->run->arena;
    struct str base = require_key(call, opts);
    struct ask_spec spec = { .kind = ASK_URL,
                             .key = base,
                             .message = call_text(call, opts->message),
                             .url = call_text(call, opts->url),
                             .ttl_ms = opts->ttl_ms,
                             .wait_done = true };

    for (int i = 2; i <= REQUIRE_ROUNDS_MAX; i++) {
        const struct entry *entry;
        nod_status status = call_ask(call, &spec, &entry);
        call->stopped |= status == NOD_PENDING;
        if (status != NOD_OK)
            return status;
        if (entry->state != ASK_ACCEPTED)
            return run_fail(call->run, NOD_E_REFUSED, "URL_ELICITATION_DECLINED",
                            STR("The page that has to be opened first was not opened"));
        spec.key = arena_fmt(arena, STR_FMT ".%d", STR_ARG(base), i);
    }
    return run_fail(call->run, NOD_E_LIMIT, NULL,
                    arena_fmt(arena, "The page was opened %d times, and is still not done",
                              REQUIRE_ROUNDS_MAX - 1));
}

nod_status nod_require_url_with(nod_call *call, const struct nod_url_opts *given)
{
    struct nod_url_opts opts;
    struct run *run = call->run;

    OPTS_READ(opts, given);
    NOD_TRY(call_may_ask(call, "nod_require_url"));
    NOD_TRY(url_check(call, "nod_require_url", &opts));
    if (!(run->supports & 1u << ASK_URL)) {
        run_fail(run, NOD_E_NOT_SUPPORTED, NULL,
                 STR("The client does not support elicitation in url mode"));
        run->fault.meta = STR("{\"mode\":\"url\"}");
        run->unasked = run->fault.message;
        return NOD_E_NOT_SUPPORTED;
    }

    /* The client itself may be told of the page, unless it was asked in another way before. */
    if (run->carried || !(run->client & 1u << ASK_URL) ||
        run_knows(run, ENTRY_ASK, require_key(call, &opts)))
        return require_by_asking(call, &opts);
    struct arena *arena = &run->arena;
    struct str message = call_text(call, opts.message);
    struct str parts[] = { STR("required url"), run->call_id, call_text(call, opts.key) };
    struct digest digest;
    digest_of_parts(parts, sizeof(parts) / sizeof(parts[0]), &digest);
    struct str id = base64url_text(arena, str_n((const char *)digest.bytes, 16));
    struct str url = url_with_id(call, call_text(call, opts.url), id);
    if (!url.at)
        return run_fail(run, NOD_E_LIMIT, NULL,
                        arena_fmt(arena, "The URL is longer than %d bytes", RUN_URL_MAX));
    struct json *data = json_new_object(arena), *list = json_new_array(arena),
                *one = json_new_object(arena);
    json_set(arena, one, STR("mode"), json_new_str(arena, STR("url")));
    json_set(arena, one, STR("elicitationId"), json_new_str(arena, id));
    json_set(arena, one, STR("url"), json_new_str(arena, url));
    json_set(arena, one, STR("message"), json_new_str(arena, message));
    json_push(list, one);
    json_set(arena, data, STR("elicitations"), list);
    run_fail(run, NOD_E_FAILED, OUTCOME_PAGE_REQUIRED, message);
    run->fault.request_error = true;
    run->fault.error_data = call_json(call, data);
    return NOD_E_FAILED;
}

/* --- the model and the roots --- */

enum { SAMPLE_TOKENS = 1000 };

static struct json *sample_messages(nod_call *call, const struct nod_sample_opts *opts)
{
    struct arena *arena = &call->run->arena;

    if (opts->messages)
        return call_parse(call, str_of(opts->messages));
    struct json *list = json_new_array(arena), *one = json_new_object(arena),
                *text = json_new_object(arena);
    json_set(arena, text, STR("type"), json_new_str(arena, STR("text")));
    json_set(arena, text, STR("text"), json_new_str(arena, call_text(call, opts->prompt)));
    json_set(arena, one, STR("role"), json_new_str(arena, STR("user")));
    json_set(arena, one, STR("content"), text);
    json_push(list, one);
    return list;
}

/* The parameters of the request. NULL: the options make none, and a bug is recorded. */
static struct json *sample_params(nod_call *call, const struct nod_sample_opts *opts)
{
    struct arena *arena = &call->run->arena;
    struct json *params =
        opts->params ? call_parse(call, str_of(opts->params)) : json_new_object(arena);
    struct json *messages = opts->prompt || opts->messages ? sample_messages(call, opts) : NULL;
    const char *wrong = NULL;

    if (opts->params && !json_is(params, JSON_OBJECT))
        wrong = ".params that is not a JSON object";
    else if (!opts->prompt == !opts->messages)
        wrong = "either none or both of .prompt and .messages";
    else if (opts->prompt && str_blank(str_of(opts->prompt)))
        wrong = "a blank .prompt";
    else if (!json_is(messages, JSON_ARRAY) && !arena->exhausted)
        wrong = ".messages that is not a JSON array";
    else if (opts->max_tokens < 0)
        wrong = "a negative .max_tokens";
    if (wrong) {
        run_bug(call->run, "The %s " STR_FMT " calls nod_sample with %s", call_what(call),
                STR_ARG(call_name(call)), wrong);
        return NULL;
    }
    json_set(arena, params, STR("messages"), messages);
    json_set(arena, params, STR("maxTokens"),
             json_new_i64(arena, opts->max_tokens ? opts->max_tokens : SAMPLE_TOKENS));
    if (opts->system_prompt)
        json_set(arena, params, STR("systemPrompt"),
                 json_new_str(arena, call_text(call, opts->system_prompt)));
    return params;
}

static nod_status sample_spec(nod_call *call, const struct nod_sample_opts *given,
                              struct ask_spec *spec)
{
    struct nod_sample_opts opts;

    OPTS_READ(opts, given);
    struct json *params = sample_params(call, &opts);
    if (!params)
        return NOD_E_USAGE;
    *spec = (struct ask_spec){
        .kind = ASK_SAMPLE,
        .key = call_text(call, opts.key),
        .detail = call_json(call, params),
        .ttl_ms = opts.ttl_ms,
    };
    return NOD_OK;
}

nod_status nod_sample_with(nod_call *call, nod_answer *answer, const struct nod_sample_opts *opts)
{
    struct ask_spec spec;

    NOD_TRY(call_begin_ask(call, "nod_sample", answer));
    NOD_TRY(sample_spec(call, opts, &spec));
    return ask_now(call, &spec, answer);
}

nod_status nod_want_sample_with(nod_call *call, nod_answer *answer,
                                const struct nod_sample_opts *opts)
{
    struct ask_spec spec;

    NOD_TRY(call_begin_ask(call, "nod_want_sample", answer));
    NOD_TRY(sample_spec(call, opts, &spec));
    return want_ask(call, &spec, answer);
}

nod_status nod_roots(nod_call *call, nod_answer *answer)
{
    struct ask_spec spec = { .kind = ASK_ROOTS };

    NOD_TRY(call_begin_ask(call, "nod_roots", answer));
    return ask_now(call, &spec, answer);
}

nod_status nod_want_roots_with(nod_call *call, nod_answer *answer,
                               const struct nod_roots_opts *given)
{
    struct nod_roots_opts opts;

    OPTS_READ(opts, given);
    NOD_TRY(call_begin_ask(call, "nod_want_roots", answer));
    struct ask_spec spec = {
        .kind = ASK_ROOTS,
        .key = call_text(call, opts.key),
        .ttl_ms = opts.ttl_ms,
    };
    return want_ask(call, &spec, answer);
}
