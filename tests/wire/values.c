/*
 * values: tools of the probe that show how a value reaches the handler.
 */
#include "values.h"

#include <string.h>

static nod_status numbers(nod_call *call)
{
    return nod_reply_textf(call, "%lld %g", (long long)nod_arg_int_or(call, "n", 0),
                           nod_arg_double_or(call, "x", 0));
}

static nod_status ask_numbers(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "How many?", .key = "numbers",
                       .form = NOD_FORM(NOD_INT("n"), NOD_NUMBER("x"))));
    return nod_reply_textf(call, "%lld %g", (long long)nod_get_int(answer.content, "n"),
                           nod_get_double(answer.content, "x"));
}

static nod_status ask_optional(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Anything to add?", .key = "more",
                       .form = NOD_FORM(NOD_TEXT("remark"))));
    return nod_reply_textf(call, "%d %s", (int)answer.action, nod_json_text(call, answer.content));
}

static nod_status yes_or_no(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .message = "Really?", .key = "sure"));
    return nod_reply_text(call, yes ? "yes" : "no");
}

static nod_status pick(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Which?", .key = "pick",
                       .form = NOD_FORM(NOD_CHOICES("of", NOD_OPTIONS({ "a" }, { "b" })))));
    return nod_reply_text(call, nod_json_text(call, answer.content));
}

static nod_status long_word(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(call, &answer, .message = "Your book?", .key = "book",
                       .form = NOD_FORM(NOD_TEXT("text", .required = true))));
    return nod_reply_textf(call, "%zu", strlen(nod_get_str(answer.content, "text")));
}

/* Says what it is given, as JSON text. */
static nod_status structured_as(nod_call *call)
{
    return nod_reply_structured(call, nod_parse(call, nod_arg_str(call, "json")));
}

static nod_status cannot(nod_call *call)
{
    nod_reply_error(call, "This printer has no colours");
    return NOD_E_NOT_SUPPORTED;
}

static nod_status cannot_get(nod_call *call)
{
    (void)call;
    return NOD_E_NOT_SUPPORTED;
}

static nod_status read_note(nod_call *call)
{
    return nod_reply_text(call, nod_arg_str_or(call, "id", "no id"));
}

/* Asks, and then says what the request said beside its arguments. */
static nod_status said(nod_call *call)
{
    bool yes;

    NOD_TRY(nod_confirm(call, &yes, .key = "say", .message = "Say it?"));
    return nod_reply_text(call, yes ? nod_json_text(call, nod_meta(call)) : "no");
}

static nod_status said_at_once(nod_call *call)
{
    return nod_reply_text(call, nod_json_text(call, nod_meta(call)));
}

#define JSON_TEXT NOD_FORM(NOD_TEXT("json", .required = true))

static const nod_tool tools[] = {
    { .name = "numbers", .handler = numbers, .input = NOD_FORM(NOD_INT("n"), NOD_NUMBER("x")) },
    { .name = "ask_numbers", .handler = ask_numbers },
    { .name = "ask_optional", .handler = ask_optional },
    { .name = "yes_or_no", .handler = yes_or_no },
    { .name = "pick", .handler = pick },
    { .name = "long_word", .handler = long_word },
    { .name = "structured_any", .handler = structured_as, .input = JSON_TEXT },
    { .name = "structured_list",
      .handler = structured_as,
      .input = JSON_TEXT,
      .output_schema = "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}" },
    { .name = "cannot", .handler = cannot },
    { .name = "said", .handler = said, .portable = true },
    { .name = "said_blocking", .handler = said, .blocking = true },
    { .name = "said_task", .handler = said, .task = NOD_TASK_OPTIONAL },
};

static const nod_resource resources[] = {
    { .uri = "note://{id}", .name = "note", .read = read_note, .mime_type = "text/plain" },
    { .uri = "said://{id}", .name = "said", .read = said_at_once, .mime_type = "text/plain" },
    { .uri = "latin://caf%E9", .name = "latin", .read = read_note, .mime_type = "text/plain" },
};

static const nod_prompt prompts[] = { { .name = "cannot", .get = cannot_get },
                                      { .name = "said", .get = said_at_once } };

nod_status values_add(nod_server *server)
{
    NOD_TRY(nod_tools(server, tools));
    NOD_TRY(nod_resources(server, resources));
    return nod_prompts(server, prompts);
}
