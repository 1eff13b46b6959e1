/*
 * provider/handler_ask: asking for data, for a yes, and for several things in one round.
 *
 * Each function turns its options into an ask_spec and looks into the journal. Once NOD_PENDING was
 * returned, the run is over. If the handler does not return and asks something else, that is
 * pending too, so it can never act on an answer that it does not have.
 *
 * Only an explicit accept is a yes. Everything else (no, dismissed, too late, nobody to ask) is a
 * no.
 */
#include "core/grant.h"
#include "core/note.h"
#include "provider/form_build.h"
#include "provider/local_inside.h"

nod_status call_may_ask(nod_call *call, const char *function)
{
    if (call->completion || call->step || call->mute) {
        run_bug(call->run, "The %s " STR_FMT " calls %s inside of %s", call_what(call),
                STR_ARG(call_name(call)), function,
                call->step   ? "a step"
                : call->mute ? call->mute
                             : "a completion");
        return NOD_E_USAGE;
    }
    if (call->run->bug.at) /* the call fails: nothing more is asked, above all nothing is done */
        return NOD_E_USAGE;
    if (call->broken != NOD_OK)
        return call->broken;
    return call->stopped ? NOD_PENDING : NOD_OK;
}

nod_status call_place(nod_call *call, const char *function, const void *place)
{
    if (place)
        return NOD_OK;
    run_bug(call->run, "The %s " STR_FMT " calls %s with NULL for the answer: give it a place",
            call_what(call), STR_ARG(call_name(call)), function);
    return NOD_E_USAGE;
}

nod_status call_begin_ask(nod_call *call, const char *function, nod_answer *answer)
{
    NOD_TRY(call_place(call, function, answer));
    answer_fill(call, answer, NULL);
    return call_may_ask(call, function);
}

nod_status call_check_key(nod_call *call, const char *does, struct str key)
{
    if (!str_starts(key, STR(RUN_RESERVED_PREFIX)))
        return NOD_OK;
    run_bug(call->run,
            "The %s " STR_FMT " %s under the key '" STR_FMT "': keys that begin "
            "with '" RUN_RESERVED_PREFIX "' are nod's own",
            call_what(call), STR_ARG(call_name(call)), does, STR_ARG(key));
    return NOD_E_USAGE;
}

nod_status call_ask(nod_call *call, const struct ask_spec *spec, const struct entry **answer)
{
    *answer = NULL;
    NOD_TRY(call_check_key(call, "asks", spec->key));
    nod_status status = run_ask(call->run, spec, answer);
    if (status == NOD_E_NOT_DETERMINISTIC && call->broken == NOD_OK)
        call->broken = status;
    return status;
}

static nod_status missing(nod_call *call, const char *function, const char *option)
{
    run_bug(call->run, "The %s " STR_FMT " calls %s without .%s", call_what(call),
            STR_ARG(call_name(call)), function, option);
    return NOD_E_USAGE;
}

nod_status call_message(nod_call *call, const char *function, const char *message)
{
    if (!message)
        return missing(call, function, "message");
    if (!str_blank(str_of(message)))
        return NOD_OK;
    run_bug(call->run, "The %s " STR_FMT " calls %s with a blank .message: say what is asked",
            call_what(call), STR_ARG(call_name(call)), function);
    return NOD_E_USAGE;
}

static nod_status bad_form(nod_call *call, struct str why)
{
    struct run *run = call->run;

    run_fail(run, NOD_E_BAD_SCHEMA, NULL,
             arena_fmt(&run->arena, "The form of tool " STR_FMT " cannot be asked: " STR_FMT,
                       STR_ARG(call_name(call)), STR_ARG(why)));
    run->fault.request_error = true;
    return NOD_E_BAD_SCHEMA;
}

nod_status call_form(nod_call *call, const nod_form *form, const char *schema, struct str *detail)
{
    struct str why = STR("it has both .form and .schema");

    *detail = STR_NONE;
    if (form && schema)
        return bad_form(call, why);
    if (schema) {
        *detail = call_text(call, schema);
        return NOD_OK;
    }
    *detail = form_text(form, &call->run->arena, &why);
    return detail->at ? NOD_OK : bad_form(call, why);
}

void answer_fill(nod_call *call, nod_answer *answer, const struct entry *entry)
{
    static const nod_action actions[] = {
        [ASK_PENDING] = NOD_WAITING,     [ASK_ACCEPTED] = NOD_ACCEPT,
        [ASK_DECLINED] = NOD_DECLINE,    [ASK_CANCELLED] = NOD_CANCEL,
        [ASK_EXPIRED] = NOD_EXPIRED,     [ASK_WITHDRAWN] = NOD_WITHDRAWN,
        [ASK_UNSUPPORTED] = NOD_UNASKED, [ASK_INVALID] = NOD_UNFIT,
    };

    *answer = (nod_answer){ .action = NOD_WAITING, .by = "", .ask_id = "" };
    if (!entry)
        return;
    answer->action = actions[entry->state];
    answer->by = call_cstr(call, entry->by);
    answer->ask_id = call_cstr(call, entry->ask_id);
    if (entry->state != ASK_ACCEPTED || !entry->content.len)
        return;
    struct json *content = call_parse(call, entry->content);
    answer->content = json_out(content);
    if (json_has_nul(content)) {
        answer->action = NOD_UNFIT;
        answer->content = NULL;
        call->broken =
            run_fail(call->run, NOD_E_INVALID, NULL,
                     STR("The answer has a NUL character in it, which no text may have"));
    }
}

/* --- data --- */

static const char response_schema[] =
    "{\"type\":\"object\",\"properties\":{\"response\":{\"type\":\"string\"}},"
    "\"required\":[\"response\"]}";

static nod_status elicit_spec(nod_call *call, const char *function,
                              const struct nod_elicit_opts *opts, struct ask_spec *spec)
{
    NOD_TRY(call_message(call, function, opts->message));
    *spec = (struct ask_spec){
        .kind = ASK_FORM,
        .key = call_text(call, opts->key),
        .message = call_text(call, opts->message),
        .detail = STR(response_schema),
        .ttl_ms = opts->ttl_ms,
        .attempts = opts->attempts,
        .sensitive = opts->sensitive,
    };
    return opts->form || opts->schema ? call_form(call, opts->form, opts->schema, &spec->detail)
                                      : NOD_OK;
}

nod_status nod_elicit_with(nod_call *call, nod_answer *answer, const struct nod_elicit_opts *given)
{
    struct nod_elicit_opts opts;
    struct ask_spec spec;

    OPTS_READ(opts, given);
    NOD_TRY(call_begin_ask(call, "nod_elicit", answer));
    NOD_TRY(elicit_spec(call, "nod_elicit", &opts, &spec));
    return ask_now(call, &spec, answer);
}

/* One more question of a round. nod_await reports how it ended. */
nod_status want_ask(nod_call *call, const struct ask_spec *spec, nod_answer *answer)
{
    const struct entry *entry;

    call->run->wanted++;
    call->awaited = false;
    nod_status status = call_ask(call, spec, &entry);
    answer_fill(call, answer, entry);
    switch (status) {
    case NOD_OK:
        return call->broken;
    case NOD_PENDING:
        call->waiting = true;
        return NOD_OK;
    case NOD_E_TIMEOUT:
    case NOD_E_INVALID:
    case NOD_E_NOT_SUPPORTED: /* nod_await reports how it ended */
        if (call->await == NOD_OK)
            call->await = status;
        return NOD_OK;
    default:
        return status;
    }
}

nod_status nod_want_with(nod_call *call, nod_answer *answer, const struct nod_elicit_opts *given)
{
    struct nod_elicit_opts opts;
    struct ask_spec spec;

    OPTS_READ(opts, given);
    NOD_TRY(call_begin_ask(call, "nod_want", answer));
    NOD_TRY(elicit_spec(call, "nod_want", &opts, &spec));
    return want_ask(call, &spec, answer);
}

nod_status nod_await(nod_call *call)
{
    nod_status status;

    NOD_TRY(call_may_ask(call, "nod_await"));
    call->awaited = true;
    if (call->await != NOD_OK) {
        status = call->await;
        call->await = NOD_OK;
        return status;
    }
    call->stopped = call->waiting;
    return call->waiting ? NOD_PENDING : NOD_OK;
}

/* --- a yes --- */

bool is_a_no(nod_status status)
{
    return status == NOD_E_TIMEOUT || status == NOD_E_NOT_SUPPORTED || status == NOD_E_INVALID;
}

static nod_status ask_consent(nod_call *call, const struct ask_spec *spec,
                              const struct entry **entry)
{
    nod_status status = call_ask(call, spec, entry);

    call->stopped |= status == NOD_PENDING;
    return is_a_no(status) ? NOD_OK : status;
}

nod_status nod_confirm_with(nod_call *call, bool *yes, const struct nod_confirm_opts *given)
{
    struct nod_confirm_opts opts;
    const struct entry *entry;
    nod_status status;

    OPTS_READ(opts, given);
    NOD_TRY(call_place(call, "nod_confirm", yes));
    *yes = false;
    NOD_TRY(call_may_ask(call, "nod_confirm"));
    NOD_TRY(call_message(call, "nod_confirm", opts.message));
    struct ask_spec spec = {
        .kind = ASK_FORM,
        .key = call_text(call, opts.key),
        .message = call_text(call, opts.message),
        .ttl_ms = opts.ttl_ms,
        .consent = true,
    };
    status = ask_consent(call, &spec, &entry);
    *yes = status == NOD_OK && entry && entry->state == ASK_ACCEPTED;
    return status;
}

static struct str shown_message(nod_call *call, const char *message, const struct json *arguments,
                                bool own)
{
    struct str text = call_text(call, message);

    /* Readers take out what is appended here: they shall not take a text for it that only looks
     * so. */
    if (!json_first(arguments) && !str_ends(text, ARGS_ELSEWHERE))
        return text;
    return arena_fmt(&call->run->arena, STR_FMT "\n\n" STR_FMT, STR_ARG(text),
                     STR_ARG(run_show_args(call->run, arguments, own, true)));
}

static nod_status approve_spec(nod_call *call, const struct nod_approve_opts *opts,
                               struct ask_spec *spec)
{
    const nod_json *arguments = opts->arguments ? opts->arguments : nod_args(call);

    NOD_TRY(call_message(call, "nod_approve", opts->message));
    *spec = (struct ask_spec){
        .kind = ASK_APPROVAL,
        .key = call_text(call, opts->key),
        .message = shown_message(call, opts->message, json_in(arguments), opts->arguments != NULL),
        .authored = call_text(call, opts->message).len,
        .ttl_ms = opts->ttl_ms,
        .attempts = opts->attempts ? opts->attempts : APPROVE_ATTEMPTS,
        .consent = true,
    };
    if (opts->form || opts->schema)
        return call_form(call, opts->form, opts->schema, &spec->detail);
    if (opts->tool_path && *opts->tool_path) {
        spec->path = call_text(call, opts->tool_path);
        spec->path_digest = grant_digest(&call->run->arena, json_in(arguments));
        if (spec->path.len > LOCAL_TOOL_NAME_MAX)
            return run_fail(call->run, NOD_E_USAGE, NULL,
                            STR("nod_approve has a .tool_path that is longer than the name of a "
                                "tool may be"));
    }
    return opts->type == NOD_APPROVAL_FORM
               ? missing(call, "nod_approve with NOD_APPROVAL_FORM", "form")
               : NOD_OK;
}

nod_status nod_approve_with(nod_call *call, nod_approval *approval,
                            const struct nod_approve_opts *given)
{
    struct nod_approve_opts opts;
    struct ask_spec spec;
    const struct entry *entry;
    nod_answer answer;
    nod_status status;

    OPTS_READ(opts, given);
    NOD_TRY(call_place(call, "nod_approve", approval));
    *approval = (nod_approval){ .execution_id = "", .by = "" };
    NOD_TRY(call_may_ask(call, "nod_approve"));
    NOD_TRY(approve_spec(call, &opts, &spec));
    status = ask_consent(call, &spec, &entry);
    if (status != NOD_OK)
        return status;
    answer_fill(call, &answer, entry);
    approval->approved = answer.action == NOD_ACCEPT;
    approval->execution_id = answer.ask_id;
    approval->action = entry ? answer.action : NOD_UNASKED; /* it was not even recorded */
    approval->by = answer.by;
    approval->data = answer.content; /* of an empty form there is none */
    return call->broken;
}

const char *nod_answer_reason(nod_call *call, const nod_answer *answer)
{
    const struct run *run = call->run;
    struct str id = str_of(answer->ask_id);

    for (size_t i = 0; id.len && i < run->journal_count; i++)
        if (run->journal[i].class == ENTRY_ASK && str_eq(run->journal[i].ask_id, id))
            return call_cstr(call, note_reason(run->journal[i].note, &call->run->arena));
    return "";
}

bool nod_supports(nod_call *call, nod_mode mode)
{
    static const enum ask_kind kinds[] = { [NOD_MODE_FORM] = ASK_FORM,
                                           [NOD_MODE_URL] = ASK_URL,
                                           [NOD_MODE_SAMPLING] = ASK_SAMPLE,
                                           [NOD_MODE_ROOTS] = ASK_ROOTS };

    return (size_t)mode < sizeof(kinds) / sizeof(kinds[0]) &&
           run_supports_kind(call->run, kinds[mode]);
}
