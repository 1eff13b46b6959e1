/*
 * provider/handler_page: pages of this server.
 *
 * A question that is asked on a page is one in URL mode whose address nod makes, when the question
 * is stored (core/ask.c): it has the question's own token in it. So the handler names no address,
 * and on a replay it asks the same.
 *
 * Tokens for pages of an author's own (nod_page_token) are sealed anew each time, so they are made
 * in a step. Handlers run on several threads, and a keyring belongs to one: it has a lock.
 * nod_page_check, which needs the store of a whole server, is in host/page_check.c.
 */
#include "crypto/digest.h"
#include "crypto/page_token.h"
#include "provider/local_inside.h"

enum {
    FOREIGN_URL_MAX = 4000, /* bytes of an address that sends the person back */
    FOREIGN_HOLES_MAX = 3,  /* places in it that are filled in, with up to 1 KiB each */
};

/* --- tokens --- */

void local_use_keyring(struct local *local, struct keyring *ring)
{
    pthread_mutex_lock(&local->ring_lock);
    keyring_destroy(local->ring);
    local->ring = ring;
    pthread_mutex_unlock(&local->ring_lock);
}

/* Locked. */
static struct keyring *ring_of(struct local *local)
{
    if (!local->ring)
        local->ring = keyring_random();
    return local->ring;
}

nod_status local_open_page_token(struct local *local, struct str text, struct arena *arena,
                                 struct page_token *out)
{
    pthread_mutex_lock(&local->ring_lock);
    nod_status status = page_token_open(ring_of(local), PAGE_TOKEN_OWN, text, arena, out);
    pthread_mutex_unlock(&local->ring_lock);
    return status;
}

enum { TOKEN_KEY_MAX = 100 }; /* bytes of a token's name that the key of its step has as it is */

struct token_wanted {
    struct str name;
    int64_t ttl_ms;
};

static nod_status make_token(nod_step_run *step, void *arg)
{
    const struct token_wanted *wanted = arg;
    nod_call *call = nod_step_call(step);
    struct local *local = call->local;
    /* By the store's clock, which all nodes see: another one looks at the token. */
    int64_t expires_ms = clock_wall(call->run->clock) + call->run->store_ahead_ms + wanted->ttl_ms;
    struct buf token;

    buf_init(&token, PAGE_TOKEN_TEXT_MAX);
    pthread_mutex_lock(&local->ring_lock);
    nod_status status = page_token_make(ring_of(local), PAGE_TOKEN_OWN, call->run->principal,
                                        call->run->call_id, wanted->name, expires_ms, &token);
    pthread_mutex_unlock(&local->ring_lock);
    if (status == NOD_OK)
        nod_step_result(step, json_out(json_new_str(&call->run->arena, buf_str(&token))));
    buf_finish(&token);
    return status;
}

/* Two names are two steps, however alike they begin. */
static const char *token_key(nod_call *call, struct str name)
{
    char hex[DIGEST_HEX_LEN + 1];
    struct digest digest;

    if (name.len <= TOKEN_KEY_MAX)
        return nod_fmt(call, "page token " STR_FMT, STR_ARG(name));
    digest_of(name, &digest);
    digest_hex(&digest, hex);
    return nod_fmt(call, "page token #%s", hex);
}

nod_status nod_page_token_with(nod_call *call, const char **token,
                               const struct nod_page_token_opts *given)
{
    struct nod_page_token_opts opts;
    const nod_json *made;

    OPTS_READ(opts, given);
    NOD_TRY(call_place(call, "nod_page_token", token));
    *token = "";
    struct token_wanted wanted = { .name = call_text(call, opts.name),
                                   .ttl_ms = opts.ttl_ms ? opts.ttl_ms : call->run->ask_ttl_ms };
    if (!wanted.name.len || wanted.name.len > PAGE_TOKEN_NAME_MAX || wanted.ttl_ms < 0 ||
        wanted.ttl_ms > RUN_TTL_MAX_MS) {
        run_bug(call->run,
                "The %s " STR_FMT " calls nod_page_token with a .name that is not of 1 to %d "
                "bytes, or a .ttl_ms that is not positive",
                call_what(call), STR_ARG(call_name(call)), PAGE_TOKEN_NAME_MAX);
        return NOD_E_USAGE;
    }
    NOD_TRY(nod_step(call, token_key(call, wanted.name), make_token, &wanted, &made,
                     .idempotent = true));
    *token = call_cstr(call, json_str(json_in(made)));
    return NOD_OK;
}

/* --- forms --- */

static const char response_schema[] =
    "{\"type\":\"object\",\"properties\":{\"response\":{\"type\":\"string\"}},"
    "\"required\":[\"response\"]}";

nod_status nod_elicit_page_with(nod_call *call, nod_answer *answer,
                                const struct nod_elicit_page_opts *given)
{
    struct nod_elicit_page_opts opts;

    OPTS_READ(opts, given);
    NOD_TRY(call_begin_ask(call, "nod_elicit_page", answer));
    NOD_TRY(call_message(call, "nod_elicit_page", opts.message));
    struct ask_spec spec = {
        .kind = ASK_URL,
        .page = PAGE_FORM,
        .key = call_text(call, opts.key),
        .message = call_text(call, opts.message),
        .detail = STR(response_schema),
        .ttl_ms = opts.ttl_ms,
        .sensitive = opts.sensitive,
        .consent = opts.consent,
    };
    if (opts.form || opts.schema)
        NOD_TRY(call_form(call, opts.form, opts.schema, &spec.detail));
    return ask_now(call, &spec, answer);
}

/* Places in the address that are filled in when somebody opens the link. */
static size_t count_holes(struct str url)
{
    static const char *const holes[] = { "{state}", "{return}", "{id}" };
    size_t count = 0;
    ptrdiff_t at;

    for (size_t i = 0; i < sizeof(holes) / sizeof(holes[0]); i++)
        for (struct str rest = url; (at = str_find(rest, str_of(holes[i]))) >= 0; count++)
            rest = str_skip(rest, (size_t)at + 1);
    return count;
}

nod_status page_foreign(nod_call *call, struct ask_spec *spec)
{
    struct arena *arena = &call->run->arena;
    struct json *detail = json_new_object(arena);

    if (spec->url.len > FOREIGN_URL_MAX || count_holes(spec->url) > FOREIGN_HOLES_MAX)
        return run_fail(call->run, NOD_E_USAGE, NULL,
                        STR("The address of nod_elicit_url with .returns has at most 4000 "
                            "characters, and 3 places to fill in"));
    json_set(arena, detail, STR("url"), json_new_str(arena, spec->url));
    spec->page = PAGE_FOREIGN;
    spec->detail = call_json(call, detail);
    spec->url = STR_NONE;
    return NOD_OK;
}
