/*
 * cli/terminal_answer: `nod inbox answer`, from the question to what became of the answer.
 *
 * The answer comes from the command line, or from a person who is asked. It names the call
 * (executionId), so it can count for no other. If the server says that something does not fit
 * (422), a person is asked again for those fields alone; a script is told, and ends. If somebody
 * was faster (409), it says who.
 */
#include "cli/command.h"
#include "cli/terminal_safe.h"
#include "cli/terminal.h"
#include "json/write.h"

enum {
    ANSWER_BODY_MAX = 1 << 20, /* bytes of an answer */
    ANSWER_REASON_MAX = 4096,  /* bytes of a reason that is typed */
    ANSWER_WHY_MAX = 4096,     /* bytes about what does not fit */
    ANSWER_ROUNDS_MAX = 1000,  /* times that a person is asked again */
};

struct draft {
    const struct json *item;
    struct arena arena;
    struct str action;
    struct field *fields;
    size_t field_count;
    struct buf reason;
    size_t remember; /* from 1 */
};

static bool is_accept(const struct draft *draft)
{
    return str_eq(draft->action, STR("accept"));
}

/* A box that says no: accepting with it may not be the yes that it looks like. NULL: there is none.
 */
static const struct field *box_at_no(const struct draft *draft)
{
    for (size_t i = 0; i < draft->field_count; i++)
        if (field_is_box(&draft->fields[i]) && !json_true(draft->fields[i].value))
            return &draft->fields[i];
    return NULL;
}

/* --- sending --- */

static bool write_draft(const struct draft *draft, struct buf *body)
{
    struct json_writer w;

    json_writer_init(&w, body);
    jw_object(&w);
    jw_key_str(&w, STR("action"), draft->action);
    jw_key_str(&w, STR("executionId"), json_get_str(draft->item, STR("executionId")));
    if (is_accept(draft) && json_is(json_get(draft->item, STR("schema")), JSON_OBJECT)) {
        jw_key(&w, STR("content"));
        jw_object(&w);
        for (size_t i = 0; i < draft->field_count; i++)
            if (draft->fields[i].value)
                jw_key_value(&w, draft->fields[i].name, draft->fields[i].value);
        jw_end(&w);
    }
    if (draft->reason.len)
        jw_key_str(&w, STR("reason"), buf_str(&draft->reason));
    if (draft->remember) {
        const struct json *choice =
            json_at(json_get(draft->item, STR("remember")), draft->remember - 1);
        jw_key(&w, STR("remember"));
        jw_object(&w);
        jw_key_value(&w, STR("scope"), json_get(choice, STR("scope")));
        jw_key_value(&w, STR("match"), json_get(choice, STR("match")));
        jw_key_value(&w, STR("for"), json_get(choice, STR("for")));
        jw_end(&w);
    }
    jw_end(&w);
    return json_writer_done(&w);
}

static bool send_draft(struct terminal *terminal, const struct draft *draft, struct reply *reply)
{
    char path[TERMINAL_PATH_MAX] = "/api/elicitation/";
    struct buf body;
    bool sent = false;

    *reply = (struct reply){ 0 };
    buf_init(&body, ANSWER_BODY_MAX);
    path_escape(path, json_get_str(draft->item, STR("id")));
    path_add(path, STR("/resolve"));
    if (!write_draft(draft, &body))
        fputs("nod inbox: the answer is too long, or it is not UTF-8: nothing was sent\n", stderr);
    else
        sent = request_send(terminal, "POST", path, buf_str(&body), reply);
    buf_finish(&body);
    return sent;
}

static int say_taken(struct terminal *terminal, const struct draft *draft,
                     const struct reply *reply)
{
    bool approved = draw_is_approval(draft->item) && !box_at_no(draft);

    if (terminal->json)
        draw_json(reply->json);
    else
        fputs(is_accept(draft)                        ? approved ? "Approved.\n" : "Answered.\n"
              : str_eq(draft->action, STR("decline")) ? "Declined.\n"
                                                      : "Dismissed.\n",
              terminal->out);
    return is_accept(draft) ? COMMAND_FINE : TERMINAL_DECLINED;
}

/* --- from the command line --- */

/* A question that is answered on a page of the server has no form here. */
static struct str page_of(const struct draft *draft)
{
    return json_get_str(draft->item, STR("page"));
}

static int no_such_field(const struct draft *draft, struct str name)
{
    fputs("nod inbox: ", stderr);
    safe_text(stderr, name, 0);
    fputs(draft->field_count ? " is no field of this form, which has "
                             : " is no field: there is no form here",
          stderr);
    for (size_t i = 0; i < draft->field_count; i++) {
        if (i)
            fputs(", ", stderr);
        safe_text(stderr, draft->fields[i].name, 0);
    }
    fputc('\n', stderr);
    return COMMAND_WRONG_USAGE;
}

static int no_such_way(const struct draft *draft, const struct json *offered, size_t wanted)
{
    size_t count = 0;

    JSON_EACH (one, offered)
        count++;
    fprintf(stderr, "nod inbox: --remember %zu: this question has %zu ways to be remembered",
            wanted, count);
    if (count) {
        fputs(", see nod inbox show ", stderr);
        safe_text(stderr, json_get_str(draft->item, STR("id")), 0);
    }
    fputc('\n', stderr);
    return COMMAND_WRONG_USAGE;
}

/* As the server names what does not fit: a pointer (RFC 6901), and what is wrong there. */
static void add_error(struct arena *arena, struct json *errors, const struct field *field,
                      struct str why)
{
    struct str name = field->name;
    struct json *error = json_new_object(arena);
    struct buf path;

    buf_init(&path, ANSWER_BODY_MAX);
    buf_add_char(&path, '/');
    for (size_t i = 0; i < name.len; i++)
        buf_add(&path, name.at[i] == '~'   ? STR("~0")
                       : name.at[i] == '/' ? STR("~1")
                                           : str_n(name.at + i, 1));
    json_set(arena, error, STR("path"), json_new_str(arena, buf_str(&path)));
    json_set(arena, error, STR("title"), json_new_str(arena, field->title));
    json_set(arena, error, STR("message"), json_new_str(arena, why));
    json_push(errors, error);
    buf_finish(&path);
}

/* What the server would reply. */
static void draw_unfit(struct arena *arena, struct json *errors)
{
    struct json *problem = json_new_object(arena);

    json_set(arena, problem, STR("type"), json_new_str(arena, STR("about:blank")));
    json_set(arena, problem, STR("title"), json_new_str(arena, STR("Does not fit")));
    json_set(arena, problem, STR("status"), json_new_i64(arena, 422));
    json_set(arena, problem, STR("detail"),
             json_new_str(arena, STR("The answer does not fit what was asked; it still waits.")));
    json_set(arena, problem, STR("errors"), errors);
    draw_json(problem);
}

static int take_word(struct draft *draft, struct str word, struct json *errors)
{
    struct str name, value;
    struct buf why;

    if (!str_cut(word, '=', &name, &value)) {
        fputs("nod inbox: ", stderr);
        safe_text(stderr, word, 0);
        fputs(" has no value: write NAME=VALUE\n", stderr);
        return COMMAND_WRONG_USAGE;
    }
    for (size_t i = 0; i < draft->field_count; i++) {
        struct field *field = &draft->fields[i];
        if (!str_eq(field->name, name))
            continue;
        if (!field->required && str_eq(value, STR("-"))) {
            field->value = NULL;
            return COMMAND_FINE;
        }
        buf_init(&why, ANSWER_WHY_MAX);
        if (!field_take(&draft->arena, field, value, &why)) {
            fputs("nod inbox: ", stderr);
            safe_text(stderr, name, 0);
            fputs(": ", stderr);
            safe_text(stderr, buf_str(&why), 0);
            fputc('\n', stderr);
            add_error(&draft->arena, errors, field, buf_str(&why));
        }
        buf_finish(&why);
        return COMMAND_FINE;
    }
    return no_such_field(draft, name);
}

static int answer_by_words(struct terminal *terminal, struct draft *draft,
                           const struct answer_words *words)
{
    const struct json *offered = json_get(draft->item, STR("remember"));
    struct json *errors = json_new_array(&draft->arena);
    struct reply reply;
    int code = COMMAND_FINE;

    if (page_of(draft).len && str_eq(words->action, STR("accept"))) {
        fputs("nod inbox: nothing was sent: it is answered on its page, ", stderr);
        safe_text(stderr, page_of(draft), 0);
        fputc('\n', stderr);
        return COMMAND_WRONG_USAGE;
    }
    for (size_t i = 0; i < draft->field_count; i++) /* as on the page, and at the prompts */
        draft->fields[i].value = field_preset(&draft->fields[i]);
    for (size_t i = 0; i < words->value_count && code == COMMAND_FINE; i++)
        code = take_word(draft, str_of(words->values[i]), errors);
    if (code == COMMAND_FINE && words->remember && !json_at(offered, words->remember - 1))
        code = no_such_way(draft, offered, words->remember);
    if (code != COMMAND_FINE)
        return code;
    if (json_first(errors)) {
        if (terminal->json)
            draw_unfit(&draft->arena, errors);
        return TERMINAL_REFUSED;
    }
    draft->action = words->action;
    draft->remember = words->remember;
    if (words->reason)
        buf_add(&draft->reason, str_of(words->reason));
    if (!send_draft(terminal, draft, &reply))
        code = COMMAND_FAILED;
    else
        code = reply.status == 200 ? say_taken(terminal, draft, &reply)
                                   : reply_refused(terminal, &reply);
    reply_finish(&reply);
    return code;
}

/* --- by prompts --- */

/* Does an error's path ("/name", RFC 6901) lead to this field? */
static bool leads_to(struct str path, struct str name)
{
    struct str part, rest;

    if (!str_starts(path, STR("/")))
        return false;
    str_cut(str_skip(path, 1), '/', &part, &rest);
    size_t at = 0;
    for (size_t i = 0; i < part.len; i++, at++) {
        char c = part.at[i];
        if (c == '~' && i + 1 < part.len)
            c = part.at[++i] == '1' ? '/' : '~';
        if (at >= name.len || name.at[at] != c)
            return false;
    }
    return at == name.len;
}

/* As on the page: what is destructive is not approved by one key, unless a required box was ticked,
 * which is a deliberate act as well; and an approval with a box at no is not sent unnoticed. */
static bool is_sure(const struct terminal *terminal, const struct draft *draft)
{
    const struct field *box = box_at_no(draft);

    if (!draw_is_approval(draft->item))
        return true;
    if (box)
        return prompt_again(terminal, box);
    for (size_t i = 0; i < draft->field_count; i++)
        if (field_is_box(&draft->fields[i]))
            return true;
    return !json_true(json_get(draft->item, STR("destructive"))) || prompt_again(terminal, NULL);
}

static bool ask_person(const struct terminal *terminal, struct draft *draft)
{
    bool more = true;

    if (!is_accept(draft))
        return !str_eq(draft->action, STR("decline")) || prompt_reason(terminal, &draft->reason);
    for (size_t i = 0; i < draft->field_count && more; i++)
        more = prompt_field(terminal, &draft->arena, &draft->fields[i]);
    return more &&
           prompt_remember(terminal, json_get(draft->item, STR("remember")), &draft->remember) &&
           is_sure(terminal, draft);
}

/* Says what does not fit, and asks for those fields again; for everything, if no field is named. */
static bool ask_again(const struct terminal *terminal, struct draft *draft,
                      const struct json *errors)
{
    bool more = true, named = false;

    JSON_EACH (error, errors) {
        struct str path = json_get_str(error, STR("path"));
        draw_ink(terminal, INK_RED);
        fputs("  ", terminal->out);
        safe_text(terminal->out, path, 0);
        fputs(path.len ? ": " : "", terminal->out);
        safe_text(terminal->out, json_get_str(error, STR("message")), 0);
        draw_ink(terminal, INK_PLAIN);
        fputc('\n', terminal->out);
        if (str_eq(path, STR("/remember")))
            more = more && prompt_remember(terminal, json_get(draft->item, STR("remember")),
                                           &draft->remember);
        for (size_t i = 0; i < draft->field_count && more; i++)
            if (leads_to(path, draft->fields[i].name)) {
                more = prompt_field(terminal, &draft->arena, &draft->fields[i]);
                named = true;
            }
        named = named || str_eq(path, STR("/remember"));
    }
    if (named || !more)
        return more;
    buf_clear(&draft->reason);
    return ask_person(terminal, draft);
}

static int nothing_sent(const struct terminal *terminal)
{
    fputs("Nothing was sent; the question still waits.\n", terminal->out);
    return COMMAND_FAILED;
}

static int answer_by_prompts(struct terminal *terminal, struct draft *draft)
{
    const char *yes = page_of(draft).len              ? NULL
                      : draw_is_approval(draft->item) ? "approve"
                                                      : "answer";
    bool ended;
    int code = COMMAND_FAILED;

    draw_item(terminal, draft->item, true);
    draft->action = prompt_action(terminal, yes, &ended);
    while (str_eq(draft->action, STR("show"))) {
        draw_item(terminal, draft->item, false);
        draft->action = prompt_action(terminal, yes, &ended);
    }
    if (is_accept(draft) && page_of(draft).len) {
        fputs("It is answered on its page: ", terminal->out);
        safe_text(terminal->out, page_of(draft), 0);
        fputc('\n', terminal->out);
        return nothing_sent(terminal);
    }
    if (!draft->action.len || !ask_person(terminal, draft))
        return nothing_sent(terminal);
    for (int round = 0; round < ANSWER_ROUNDS_MAX; round++) {
        struct reply reply;
        bool sent = send_draft(terminal, draft, &reply);
        bool again = sent && reply.status == 422;
        bool asked = again && ask_again(terminal, draft, json_get(reply.json, STR("errors")));
        if (sent && !again)
            code = reply.status == 200 ? say_taken(terminal, draft, &reply)
                                       : reply_refused(terminal, &reply);
        else if (again && !asked)
            code = TERMINAL_REFUSED;
        reply_finish(&reply);
        if (!again)
            return code;
        if (!asked)
            break;
    }
    nothing_sent(terminal);
    return code;
}

int answer_item(struct terminal *terminal, struct str id, const struct answer_words *words)
{
    struct reply reply;
    struct draft draft;
    int code;

    if (!request_item(terminal, id, &reply, &code)) {
        reply_finish(&reply);
        return code;
    }
    draft = (struct draft){ .item = reply.json };
    arena_init(&draft.arena, TERMINAL_TREE_MAX);
    buf_init(&draft.reason, ANSWER_REASON_MAX);
    draft.fields = fields_of(&draft.arena, json_get(reply.json, STR("schema")), &draft.field_count);
    /* The same words again are no failure: whether they are the same is the server's to say. */
    bool paged = page_of(&draft).len && str_eq(words->action, STR("accept"));
    bool again = words->action.len && !words->remember && !paged;
    if (json_get(reply.json, STR("answer")) && !again) {
        if (terminal->json)
            draw_json(reply.json);
        else
            draw_item(terminal, reply.json, true);
        fputs("nod inbox: this has ended\n", stderr);
        code = TERMINAL_GONE;
    } else if (words->action.len) {
        code = answer_by_words(terminal, &draft, words);
    } else {
        code = answer_by_prompts(terminal, &draft);
    }
    buf_finish(&draft.reason);
    arena_finish(&draft.arena);
    reply_finish(&reply);
    return code;
}
