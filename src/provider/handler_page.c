/*
 * provider/handler_page: pages of this server.
 *
 * A question that is asked on a page is one in URL mode whose address nod makes, when the question
 * is stored (core/ask.c): it has the question's own token in it. So the handler names no address,
 * and on a replay it asks the same.
 */
#include "provider/local_inside.h"

static const char response_schema[] =
    "{\"type\":\"object\",\"properties\":{\"response\":{\"type\":\"string\"}},"
    "\"required\":[\"response\"]}";

nod_status nod_elicit_page_with(nod_call *call, nod_answer *answer,
                                const struct nod_page_opts *given)
{
    struct nod_page_opts opts;
    nod_status status;

    OPTS_READ(opts, given);
    NOD_TRY(call_place(call, "nod_elicit_page", answer));
    answer_fill(call, answer, NULL);
    if (!call_may_ask(call, "nod_elicit_page", &status))
        return status;
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

nod_status page_foreign(nod_call *call, struct ask_spec *spec)
{
    struct arena *arena = &call->run->arena;
    struct json *detail = json_new_object(arena);

    json_set(arena, detail, STR("url"), json_new_str(arena, spec->url));
    spec->page = PAGE_FOREIGN;
    spec->detail = call_json(call, detail);
    spec->url = STR_NONE;
    return NOD_OK;
}
