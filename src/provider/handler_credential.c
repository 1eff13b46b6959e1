/*
 * provider/handler_credential: the access token of an account that the call's person has connected.
 *
 * The token is a value that no journal holds (core/need.h). What the journal does hold is that the
 * person was asked to connect an account, and how that ended. So a run first goes over the times
 * that they were asked, then fetches the token, and asks once more if there is none: the first time
 * because no account was connected, later because the service has refused it since, or it was
 * revoked. A handler may want the token as often as it likes. Other scopes are another question.
 */
#include "base/log.h"
#include "crypto/digest.h"
#include "json/write.h"
#include "provider/local_inside.h"

enum {
    CONNECT_ASKS_MAX = 8,      /* times that one call asks for the same account */
    CONNECT_NAME_MAX = 32,     /* bytes of the name of a service */
    CONNECT_SCOPES_MAX = 1024, /* bytes of scopes */
    CONNECT_DETAIL_MAX = 4096, /* bytes of what the page is told */
};

static nod_status check(nod_call *call, const char *name, const char *scopes)
{
    size_t len = name ? strlen(name) : 0;

    if (len && len <= CONNECT_NAME_MAX && (!scopes || strlen(scopes) <= CONNECT_SCOPES_MAX) &&
        (!scopes || !strpbrk(scopes, "\n\r\t\"")))
        return NOD_OK;
    run_bug(call->run,
            "The %s " STR_FMT " calls nod_credential without the name of a service, or with a name "
            "or scopes that cannot be one",
            call_what(call), STR_ARG(call_name(call)));
    return NOD_E_USAGE;
}

/* What people read of a service and of the tool: their titles, or their names if they have none. */
static struct str service_title(const nod_call *call, const char *name)
{
    const struct local *local = call->local;
    struct str title = local->title ? local->title(local->title_data, str_of(name)) : STR_NONE;

    return title.len ? title : str_of(name);
}

/* `again`: there is an account, which does not do; that is said first. */
static struct str default_message(nod_call *call, const char *name, bool again)
{
    struct str title = call->run->target->title, service = service_title(call, name);

    title = title.len ? title : call_name(call);
    if (again)
        return arena_fmt(&call->run->arena,
                         "Connect your account at " STR_FMT " again: the %s " STR_FMT
                         " needs more permissions than it was connected with.",
                         STR_ARG(service), call_what(call), STR_ARG(title));
    return arena_fmt(&call->run->arena,
                     "Connect your account at " STR_FMT ", which the %s " STR_FMT " uses.",
                     STR_ARG(service), call_what(call), STR_ARG(title));
}

/* The key of the n-th time that the person is asked for this account with these scopes. */
static struct str asked_key(nod_call *call, const char *name, const char *scopes, int n)
{
    struct arena *arena = &call->run->arena;
    char hex[DIGEST_HEX_LEN + 1];
    struct digest digest;

    if (!scopes || !*scopes)
        return arena_fmt(arena, RUN_RESERVED_PREFIX "credential.%s.%d", name, n);
    digest_of(str_of(scopes), &digest);
    digest_hex(&digest, hex);
    return arena_fmt(arena, RUN_RESERVED_PREFIX "credential.%s.%.16s.%d", name, hex, n);
}

/* The n-th time that the person is asked. `again`: see default_message. */
static nod_status connect_spec(nod_call *call, const char *name, int n, bool again,
                               const struct nod_credential_opts *opts, struct ask_spec *spec)
{
    struct arena *arena = &call->run->arena;
    struct json_writer w;
    struct buf detail;

    buf_init(&detail, CONNECT_DETAIL_MAX);
    json_writer_init(&w, &detail);
    jw_object(&w);
    jw_key_str(&w, STR("service"), str_of(name));
    jw_key_str(&w, STR("scopes"), call_text(call, opts->scopes));
    jw_end(&w);
    *spec = (struct ask_spec){
        .kind = ASK_URL,
        .page = PAGE_CONNECT,
        .key = asked_key(call, name, opts->scopes, n),
        .message =
            opts->message ? call_text(call, opts->message) : default_message(call, name, again),
        .worded = !opts->message,
        .detail = arena_str(arena, buf_str(&detail)),
        .ttl_ms = opts->ttl_ms,
        .wait_done = true,
        .again = true,
    };
    bool fine = json_writer_done(&w) && !arena->exhausted;
    buf_finish(&detail);
    return fine ? NOD_OK
                : run_fail(call->run, NOD_E_LIMIT, NULL, STR("The run has used up its memory"));
}

/* Asks, or gives the journalled answer. NOD_OK: the person has connected an account. */
static nod_status connect(nod_call *call, const char *name, int n, bool again,
                          const struct nod_credential_opts *opts, struct str *ask_id)
{
    const struct entry *entry;
    struct ask_spec spec;

    NOD_TRY(connect_spec(call, name, n, again, opts, &spec));
    nod_status status = run_ask(call->run, &spec, &entry);
    call->stopped |= status == NOD_PENDING;
    if (status != NOD_OK)
        return status;
    *ask_id = entry->ask_id;
    if (entry->state == ASK_ACCEPTED)
        return NOD_OK;
    return run_fail(call->run, NOD_E_REFUSED, NULL,
                    arena_fmt(&call->run->arena, "No account at " STR_FMT " was connected",
                              STR_ARG(service_title(call, name))));
}

/* The operator has not set the service up. run->fault says so already. */
static nod_status not_set_up(nod_call *call, const char *name)
{
    call->run->fault.code = "SERVICE_UNKNOWN";
    if (!call->run->dry)
        LOG_WARN("a tool wants an account at a service that this server does not know",
                 LOG_CSTR("service", name), LOG_STR("tool", call_name(call)),
                 LOG_STR("why", call->run->fault.message));
    return NOD_E_NOT_SUPPORTED;
}

nod_status nod_credential_with(nod_call *call, const char **token, const char *name,
                               const struct nod_credential_opts *given)
{
    struct nod_credential_opts opts;
    struct str ask_id = STR_NONE, value;
    nod_status status;
    int n = 1;

    OPTS_READ(opts, given);
    NOD_TRY(call_place(call, "nod_credential", token));
    *token = NULL;
    NOD_TRY(call_may_ask(call, "nod_credential"));
    if (opts.message)
        NOD_TRY(call_message(call, "nod_credential", opts.message));
    NOD_TRY(check(call, name, opts.scopes));
    for (; n <= CONNECT_ASKS_MAX &&
           run_knows(call->run, ENTRY_ASK, asked_key(call, name, opts.scopes, n));
         n++)
        NOD_TRY(connect(call, name, n, false, &opts, &ask_id));
    status = call_need(
        call,
        &(struct need_spec){ .source = STR("credential"),
                             .name = str_of(name),
                             .detail = arena_fmt(&call->run->arena, "%s\n" STR_FMT,
                                                 opts.scopes ? opts.scopes : "", STR_ARG(ask_id)) },
        &value);
    if (status == NOD_OK)
        *token = value.at;
    if (status == NOD_E_NOT_SUPPORTED)
        return not_set_up(call, name);
    if (status != NOD_E_NOT_FOUND)
        return status;
    if (n > CONNECT_ASKS_MAX)
        return run_fail(call->run, NOD_E_LIMIT, NULL,
                        arena_fmt(&call->run->arena,
                                  "The account at " STR_FMT
                                  " was connected %d times in this call, and its service does not "
                                  "accept it",
                                  STR_ARG(service_title(call, name)), CONNECT_ASKS_MAX));
    status = connect(call, name, n, value.len > 0, &opts, &ask_id);
    return status == NOD_OK ? NOD_PENDING : status; /* it is always pending here */
}
