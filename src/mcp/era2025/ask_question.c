/*
 * mcp/era2025/ask_question: a question as the request that a client of the 2025 era is sent.
 *
 * Holds always: members that the client's revision does not know are left out, or written in a way
 * it knows. A question that cannot be written for this client is not sent.
 */
#include "mcp/era2025/ask_inside.h"

#include "mcp/shared/question_message.h"

static void write_empty_form(struct json_writer *w, bool confirm)
{
    jw_object(w);
    jw_key_str(w, STR("type"), STR("object"));
    jw_key(w, STR("properties"));
    jw_object(w);
    if (confirm) {
        jw_key(w, STR("confirm"));
        jw_object(w);
        jw_key_str(w, STR("type"), STR("boolean"));
        jw_key_str(w, STR("title"), STR("Confirm"));
        jw_end(w);
    }
    jw_end(w);
    jw_key(w, STR("required"));
    jw_array(w);
    if (confirm)
        jw_str(w, STR("confirm"));
    jw_end(w);
    jw_end(w);
}

/* Few forms have parts that this revision is not sent (json/form.c). An author's own text may have
 * lines, which a message has not. */
static bool is_sent_as_written(struct str form, enum form_revision revision)
{
    return revision >= FORM_2025_11_25 && !memchr(form.at, '\n', form.len) &&
           !memchr(form.at, '$', form.len) /* of $schema */ &&
           str_find(form, STR("\"pattern\"")) < 0 && str_find(form, STR("\"required\":[]")) < 0;
}

static bool draw_form(struct drawing *d)
{
    const struct revision_facts *facts = session_knows(d->session);
    struct str form = d->record->detail;
    bool as_written = form.len && is_sent_as_written(form, facts->form);
    struct schema_problems problems = { 0 };
    const struct json *tree = NULL;

    if (form.len && !as_written) {
        tree = json_parse(&d->arena, form, NULL, NULL);
        tree = tree ? form_for_revision(tree, facts->form, &d->arena, &problems) : NULL;
        if (!tree)
            return false; /* it cannot be sent to a client of that revision */
    }
    d->confirm = !form.len && d->session->boolean_confirm;
    if (facts->modes)
        jw_key_str(&d->w, STR("mode"), STR("form"));
    jw_key_str(&d->w, STR("message"),
               question_message(d->session->server, &d->arena, d->record, d->problems));
    jw_key(&d->w, STR("requestedSchema"));
    if (as_written)
        jw_raw(&d->w, form);
    else if (tree)
        jw_value(&d->w, tree);
    else
        write_empty_form(&d->w, d->confirm);
    return true;
}

static bool draw_url(struct drawing *d)
{
    struct str url = ask_url(d->session->server->opts.engine, d->record, &d->arena);

    jw_key_str(&d->w, STR("mode"), STR("url"));
    jw_key_str(&d->w, STR("message"),
               question_message(d->session->server, &d->arena, d->record, d->problems));
    jw_key_str(&d->w, STR("url"), url);
    jw_key_str(&d->w, STR("elicitationId"), d->record->id);
    return url.len > 0;
}

static bool draw_sample(struct drawing *d)
{
    const struct json *params = json_parse(&d->arena, d->record->detail, NULL, NULL);

    if (!json_is(params, JSON_OBJECT))
        return false;
    /* Tools MUST NOT be sent to a client that has not said it takes them. */
    if ((json_get(params, STR("tools")) || json_get(params, STR("toolChoice"))) &&
        !(d->session->client.declares & CLIENT_CAN_SAMPLE_TOOLS))
        return false;
    JSON_EACH (member, params)
        jw_key_value(&d->w, member->key, member);
    return true;
}

static bool draw_roots(struct drawing *d)
{
    (void)d;
    return true;
}

static const struct {
    struct str method;
    bool (*draw)(struct drawing *d); /* writes the members of params */
} drawings[] = {
    [ASK_FORM] = { STR_INIT("elicitation/create"), draw_form },
    [ASK_APPROVAL] = { STR_INIT("elicitation/create"), draw_form },
    [ASK_URL] = { STR_INIT("elicitation/create"), draw_url },
    [ASK_SAMPLE] = { STR_INIT("sampling/createMessage"), draw_sample },
    [ASK_ROOTS] = { STR_INIT("roots/list"), draw_roots },
};

bool ask2025_draw(struct drawing *d, struct str id)
{
    rpc_begin(&d->w, &d->session->server->out, id, drawings[d->record->kind].method);
    bool fine = drawings[d->record->kind].draw(d);
    return rpc_end(&d->w) && fine;
}
