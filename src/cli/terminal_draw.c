/*
 * cli/terminal_draw: a question as text.
 *
 * Each line begins with words or a margin of ours, and everything from outside is made safe, so no
 * message can look like a line of the program. Values are shown as they came: numbers digit for
 * digit, texts in quotes, objects and lists as a tree. Before a person answers, long values and
 * long trees are folded, and the line says how to see them whole.
 */
#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "cli/terminal_safe.h"
#include "cli/terminal.h"
#include "json/write.h"

enum {
    DRAW_FOLD_COLUMNS = 400, /* of a value, before a person answers */
    DRAW_FOLD_LINES = 100,   /* of a tree, before a person answers */
    DRAW_ID_COLUMNS = 22,    /* of an id in a row */
    DRAW_TOOL_COLUMNS = 20,  /* of a tool in a row */
    DRAW_WHO_COLUMNS = 12,   /* of a principal in a row */
    DRAW_LEFT_COLUMNS = 8,   /* of the time left in a row */
    DRAW_STATE_COLUMNS = 11, /* of how it ended, in a row */
    DRAW_MARK_COLUMNS = 2,   /* of the mark of what is destructive */
    DRAW_ROW_MAX = 4096,     /* bytes of a message that are kept for a row */
    DRAW_GIST_MAX = 200,     /* bytes of the arguments in a row */
    DRAW_GIST_COLUMNS = 24,  /* of what is asked, for which a narrow row leaves out who asks */
};

struct tree {
    FILE *out;
    bool folded;
    size_t lines;
};

void draw_ink(const struct terminal *terminal, enum draw_ink ink)
{
    static const char *const codes[] = {
        [INK_PLAIN] = "\033[0m",
        [INK_BOLD] = "\033[1m",
        [INK_DIM] = "\033[2m",
        [INK_RED] = "\033[31m",
    };

    if (terminal->color)
        fputs(codes[ink], terminal->out);
}

void draw_json_in(const struct json *value)
{
    struct buf text;

    buf_init(&text, TERMINAL_TREE_MAX);
    if (json_write(&text, value))
        safe_json(stdout, buf_str(&text));
    buf_finish(&text);
}

void draw_json(const struct json *value)
{
    draw_json_in(value);
    fputc('\n', stdout);
    fflush(stdout);
}

/* --- times --- */

int64_t draw_time(struct str text)
{
    struct tm tm = { 0 };
    char copy[20];

    if (text.len < sizeof(copy) - 1)
        return 0;
    memcpy(copy, text.at, sizeof(copy) - 1);
    copy[sizeof(copy) - 1] = '\0';
    if (sscanf(copy, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec) != 6)
        return 0;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    return (int64_t)timegm(&tm) * 1000;
}

void draw_left(const struct terminal *terminal, struct str until, char text[24])
{
    int64_t now = clock_wall(clock_system()) + terminal->ahead_ms;
    int64_t then = draw_time(until);

    if (!then) {
        snprintf(text, 24, "?");
    } else if (then <= now) {
        snprintf(text, 24, "over");
    } else {
        int64_t seconds = (then - now) / 1000;

        if (seconds < 60)
            snprintf(text, 24, "%ds", (int)seconds);
        else if (seconds < 3600)
            snprintf(text, 24, "%dm %02ds", (int)(seconds / 60), (int)(seconds % 60));
        else if (seconds < 48 * 3600)
            snprintf(text, 24, "%dh %02dm", (int)(seconds / 3600), (int)(seconds / 60 % 60));
        else
            snprintf(text, 24, "%" PRId64 "d", seconds / 86400);
    }
}

/* --- trees --- */

static void draw_scalar(struct tree *tree, const struct json *v)
{
    static const char *const words[] = { "false", "true" };
    size_t columns = tree->folded ? DRAW_FOLD_COLUMNS : 0;

    switch (v->type) {
    case JSON_STRING:
        fputc('"', tree->out);
        safe_text(tree->out, v->text, columns);
        fputc('"', tree->out);
        if (columns && v->text.len > columns)
            fprintf(tree->out, " (%zu bytes in all)", v->text.len);
        break;
    case JSON_NUMBER:
        safe_text(tree->out, v->text, columns);
        break;
    case JSON_BOOL:
        fputs(words[v->truth], tree->out);
        break;
    case JSON_ARRAY:
        fputs("[]", tree->out);
        break;
    case JSON_OBJECT:
        fputs("{}", tree->out);
        break;
    default:
        fputs("null", tree->out);
    }
}

/* The depth of a parsed tree is bounded by JSON_DEPTH_MAX. */
static void draw_children(struct tree *tree, const struct json *parent, unsigned depth)
{
    JSON_EACH (child, parent) {
        if (tree->folded && tree->lines++ >= DRAW_FOLD_LINES)
            return;
        for (unsigned i = 0; i < depth; i++)
            fputs("  ", tree->out);
        if (parent->type == JSON_OBJECT) {
            safe_text(tree->out, child->key, tree->folded ? DRAW_FOLD_COLUMNS : 0);
            fputc(':', tree->out);
        } else {
            fputc('-', tree->out);
        }
        if (json_first(child)) {
            fputc('\n', tree->out);
            draw_children(tree, child, depth + 1);
            continue;
        }
        fputc(' ', tree->out);
        draw_scalar(tree, child);
        fputc('\n', tree->out);
    }
}

static void draw_tree(const struct terminal *terminal, const struct json *value, bool folded)
{
    struct tree tree = { .out = terminal->out, .folded = folded };

    draw_children(&tree, value, 1);
    if (folded && tree.lines > DRAW_FOLD_LINES)
        fputs("  ... there is more of it: s shows it\n", terminal->out);
}

/* --- an item --- */

static void heading(const struct terminal *terminal, const char *words)
{
    draw_ink(terminal, INK_DIM);
    fputs(words, terminal->out);
    draw_ink(terminal, INK_PLAIN);
    fputc('\n', terminal->out);
}

static void draw_who(const struct terminal *terminal, const struct json *item)
{
    const struct json *client = json_get(item, STR("client"));
    FILE *out = terminal->out;

    fputs("from ", out);
    safe_text(out, json_get_str(item, STR("principal")), 0);
    if (json_is(client, JSON_OBJECT)) {
        fputs(" through ", out);
        safe_text(out, json_get_str(client, STR("name")), 0);
        fputc(' ', out);
        safe_text(out, json_get_str(client, STR("version")), 0);
    }
    fputs(", server ", out);
    safe_text(out, json_get_str(item, STR("server")), 0);
    if (json_get(item, STR("plugin"))) {
        fputs(", plugin ", out);
        safe_text(out, json_get_str(item, STR("plugin")), 0);
    }
    fputc('\n', out);
}

static void draw_title(const struct terminal *terminal, const struct json *item)
{
    struct str tool = json_get_str(item, STR("tool"));
    struct str title = json_get_str(item, STR("title"));
    FILE *out = terminal->out;

    draw_ink(terminal, INK_BOLD);
    safe_text(out, title.len ? title : tool, 0);
    draw_ink(terminal, INK_PLAIN);
    if (title.len && !str_eq(title, tool)) {
        fputs(" (", out);
        safe_text(out, tool, 0);
        fputc(')', out);
    }
    if (json_true(json_get(item, STR("destructive")))) {
        draw_ink(terminal, INK_RED);
        fputs(" destructive", out);
        draw_ink(terminal, INK_PLAIN);
    }
    if (json_get(item, STR("approves"))) {
        fputs(", for the tool ", out);
        safe_text(out, json_get_str(item, STR("approves")), 0);
    }
    fputc('\n', out);
}

/* The message of an approval ends with the arguments, for clients that show nothing else. Here they
 * have their own place. */
static struct str message_of(const struct json *item)
{
    struct str message = json_get_str(item, STR("message"));
    ptrdiff_t at = str_find(message, STR("\n\n"));
    struct str tail = at < 0 ? STR_NONE : str_skip(message, (size_t)at + 2);
    struct arena arena;

    if (str_starts(tail, STR("Arguments: ")))
        tail = str_skip(tail, strlen("Arguments: "));
    if (!str_starts(tail, STR("{")))
        return message;
    arena_init(&arena, TERMINAL_TREE_MAX);
    if (json_equal(json_parse(&arena, tail, NULL, NULL), json_get(item, STR("arguments"))))
        message.len = (size_t)at;
    arena_finish(&arena);
    return message;
}

static void draw_form(const struct terminal *terminal, const struct json *schema)
{
    struct arena arena;
    size_t count;

    arena_init(&arena, TERMINAL_TREE_MAX);
    struct field *fields = fields_of(&arena, schema, &count);
    if (count)
        heading(terminal, "form");
    for (size_t i = 0; i < count; i++) {
        fputs("  ", terminal->out);
        safe_text(terminal->out, fields[i].name, 0);
        if (!str_eq(fields[i].title, fields[i].name)) {
            fputs(" (", terminal->out);
            safe_text(terminal->out, fields[i].title, 0);
            fputc(')', terminal->out);
        }
        fputs(": ", terminal->out);
        field_hint(terminal->out, &fields[i], false);
        if (field_preset(&fields[i])) {
            fputs(", preset ", terminal->out);
            field_show(terminal->out, field_preset(&fields[i]));
        }
        fputc('\n', terminal->out);
    }
    arena_finish(&arena);
}

/* --- what became of it --- */

/* Nothing but a yes is asked for, whatever else is filled in. */
static bool is_consent(const struct json *item)
{
    return json_true(json_get(item, STR("consent"))) ||
           str_eq(json_get_str(item, STR("kind")), STR("approval"));
}

bool draw_is_approval(const struct json *item)
{
    bool page = json_get(item, STR("page")) != NULL;
    bool url = str_eq(json_get_str(item, STR("kind")), STR("url"));

    return is_consent(item) || (!page && (url || json_true(json_get(item, STR("destructive")))));
}

/* A required box was left at no. If the answer is not shown to this reader, that may be so, unless
 * it is consent. */
static bool says_no(const struct json *item)
{
    const struct json *content = json_get(json_get(item, STR("answer")), STR("content"));
    struct arena arena;
    size_t count;
    bool no = false;

    arena_init(&arena, TERMINAL_TREE_MAX);
    struct field *fields = fields_of(&arena, json_get(item, STR("schema")), &count);
    for (size_t i = 0; i < count; i++)
        if (field_is_box(&fields[i]))
            no =
                no || (json_is(content, JSON_OBJECT) ? !json_true(json_get(content, fields[i].name))
                                                     : !is_consent(item));
    arena_finish(&arena);
    return no;
}

struct str draw_state(const struct json *item)
{
    struct str state = json_get_str(item, STR("state"));

    if (str_eq(state, STR("accepted")))
        return draw_is_approval(item) && !says_no(item) ? STR("approved") : STR("answered");
    return str_eq(state, STR("cancelled")) ? STR("dismissed") : state;
}

void draw_winner(FILE *out, const struct json *item)
{
    const struct json *answer = json_get(item, STR("answer"));
    struct str by = json_get_str(answer, STR("by")), via = json_get_str(answer, STR("via"));

    safe_text(out, draw_state(item), 0);
    fputs(" by ", out);
    safe_text(out, by, 0);
    if (via.len && !str_eq(via, by)) { /* nod ends things by itself, and nowhere else */
        fputs(" (", out);
        safe_text(out, via, 0);
        fputc(')', out);
    }
    fputs(" at ", out);
    safe_text(out, json_get_str(answer, STR("at")), 0);
    fputc('\n', out);
}

static void draw_answer(const struct terminal *terminal, const struct json *item)
{
    const struct json *answer = json_get(item, STR("answer"));
    const struct json *call = json_get(item, STR("call"));
    struct str reason = json_get_str(answer, STR("reason"));
    struct str result = json_get_str(call, STR("result"));

    draw_winner(terminal->out, item);
    if (reason.len) {
        heading(terminal, "reason");
        safe_block(terminal->out, reason, "  | ");
    }
    if (json_first(json_get(answer, STR("content")))) {
        heading(terminal, "answer");
        draw_tree(terminal, json_get(answer, STR("content")), false);
    }
    if (result.len) {
        heading(terminal, "result");
        safe_block(terminal->out, result, "  | ");
    }
}

void draw_item(const struct terminal *terminal, const struct json *item, bool folded)
{
    const struct json *arguments = json_get(item, STR("arguments"));
    struct str url = json_get_str(item, STR("url"));
    FILE *out = terminal->out;
    char left[24];

    draw_title(terminal, item);
    draw_who(terminal, item);
    fputs("id ", out);
    safe_text(out, json_get_str(item, STR("id")), 0);
    fputs(", asked at ", out);
    safe_text(out, json_get_str(item, STR("askedAt")), 0);
    if (str_eq(json_get_str(item, STR("state")), STR("pending"))) {
        draw_left(terminal, json_get_str(item, STR("expiresAt")), left);
        fprintf(out, ", time left %s", left);
    }
    fputc('\n', out);
    safe_block(out, message_of(item), "  | ");
    if (json_get(item, STR("secret"))) {
        heading(terminal, "secret");
        safe_block(out, json_get_str(item, STR("secret")), "  | ");
    }
    if (url.len) {
        heading(terminal, json_get(item, STR("page")) ? "answered on this page" : "page");
        safe_block(out, url, "  | ");
    }
    if (json_first(arguments)) {
        heading(terminal, "arguments");
        draw_tree(terminal, arguments, folded);
    }
    if (json_get(item, STR("answer"))) {
        draw_answer(terminal, item);
    } else if (!folded) {
        const struct json *offered = json_get(item, STR("remember"));
        size_t number = 0;
        draw_form(terminal, json_get(item, STR("schema")));
        if (json_first(offered))
            heading(terminal, "an approval can be remembered");
        JSON_EACH (choice, offered) {
            fprintf(terminal->out, "  %zu  ", ++number);
            safe_text(terminal->out, json_get_str(choice, STR("label")), 0);
            fputc('\n', terminal->out);
        }
    }
}

/* --- rows --- */

/* A column, and a space behind it. */
static void cell(FILE *out, struct str text, size_t columns)
{
    safe_cell(out, text, columns);
    fputc(' ', out);
}

/* Never cut, because it is what one types. */
static void draw_id(FILE *out, struct str id)
{
    safe_cell(out, id, id.len > DRAW_ID_COLUMNS ? 0 : DRAW_ID_COLUMNS);
}

/* The arguments in short, for questions that say nothing else of what they are about. */
static void add_arguments(struct buf *line, const struct json *arguments)
{
    size_t most = line->len + DRAW_GIST_MAX;

    JSON_EACH (one, arguments) {
        struct buf value;
        buf_init(&value, DRAW_GIST_MAX);
        bool whole = json_write(&value, one) && line->len + one->key.len + value.len < most;
        buf_add(line, one == json_first(arguments) ? STR(" ") : STR(", "));
        if (whole)
            buf_fmt(line, STR_FMT ": " STR_FMT, STR_ARG(one->key), STR_ARG(buf_str(&value)));
        else
            buf_add(line, STR("..."));
        buf_finish(&value);
        if (!whole)
            return;
    }
}

/* What is asked, in one line: the first of the message, and the arguments if it ended with them. */
static void add_gist(struct buf *line, const struct json *item, size_t most)
{
    struct str message = message_of(item), first, rest = STR_NONE;
    bool repeated = message.len < json_get_str(item, STR("message")).len;

    str_cut(message, '\n', &first, &rest);
    bool cut = first.len > most;
    if (cut)
        first.len = most;
    buf_add(line, first);
    if (cut || !str_blank(rest))
        buf_add(line, STR(" ..."));
    if (repeated)
        add_arguments(line, json_get(item, STR("arguments")));
}

void draw_row(const struct terminal *terminal, const struct json *item, size_t columns)
{
    bool pending = str_eq(json_get_str(item, STR("state")), STR("pending"));
    size_t begin = pending ? DRAW_LEFT_COLUMNS : DRAW_STATE_COLUMNS;
    size_t used = begin + DRAW_MARK_COLUMNS + DRAW_TOOL_COLUMNS + DRAW_WHO_COLUMNS + 3;
    bool who = !columns || columns >= used + DRAW_GIST_COLUMNS;
    FILE *out = terminal->out;
    struct buf line;
    char left[24];

    if (!columns) {
        draw_id(out, json_get_str(item, STR("id")));
        fputc(' ', out);
    }
    draw_left(terminal, json_get_str(item, STR("expiresAt")), left);
    safe_cell(out, pending ? str_of(left) : draw_state(item), begin);
    fputs(json_true(json_get(item, STR("destructive"))) ? " ! " : "   ", out);
    used -= who ? 0 : DRAW_WHO_COLUMNS + 1;
    if (columns && columns < used + DRAW_GIST_COLUMNS / 2) { /* a narrow window: the tool alone */
        safe_text(out, json_get_str(item, STR("tool")), columns - begin - DRAW_MARK_COLUMNS - 1);
        return;
    }
    cell(out, json_get_str(item, STR("tool")), DRAW_TOOL_COLUMNS);
    if (who) {
        cell(out, json_get_str(item, STR("principal")), DRAW_WHO_COLUMNS);
    }
    buf_init(&line, TERMINAL_TREE_MAX);
    add_gist(&line, item, TERMINAL_TREE_MAX);
    safe_text(out, buf_str(&line), columns ? columns - used : 0);
    buf_finish(&line);
}

struct json *draw_row_of(struct arena *arena, const struct json *item)
{
    static const struct str names[] = { STR_INIT("id"), STR_INIT("state"), STR_INIT("tool"),
                                        STR_INIT("principal"), STR_INIT("expiresAt") };
    struct json *row = json_new_object(arena);
    bool destructive = json_true(json_get(item, STR("destructive")));
    struct buf line;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        json_set(arena, row, names[i], json_new_str(arena, json_get_str(item, names[i])));
    json_set(arena, row, STR("destructive"), json_new_bool(arena, destructive));
    buf_init(&line, TERMINAL_TREE_MAX);
    add_gist(&line, item, DRAW_ROW_MAX);
    json_set(arena, row, STR("message"), json_new_str(arena, buf_str(&line)));
    buf_finish(&line);
    return row;
}

void draw_secret(const struct terminal *terminal, const struct json *secret)
{
    struct str until = json_get_str(secret, STR("expiresAt"));
    FILE *out = terminal->out;
    char left[24];

    draw_left(terminal, until, left);
    cell(out, json_get_str(secret, STR("name")), DRAW_TOOL_COLUMNS);
    cell(out, until.len ? str_of(left) : STR("-"), DRAW_LEFT_COLUMNS);
    cell(out, json_get_str(secret, STR("principal")), DRAW_WHO_COLUMNS);
    cell(out, json_get_str(secret, STR("tool")), DRAW_TOOL_COLUMNS);
    safe_text(out, json_get_str(secret, STR("id")), 0);
    fputc('\n', out);
}

void draw_account(const struct terminal *terminal, const struct json *account)
{
    FILE *out = terminal->out;

    safe_text(out, json_get_str(account, STR("id")), 0);
    fputc(' ', out);
    cell(out, json_get_str(account, STR("title")), DRAW_TOOL_COLUMNS);
    cell(out, json_get_str(account, STR("principal")), DRAW_WHO_COLUMNS);
    safe_text(out, json_get_str(account, STR("scopes")), 0);
    if (!str_eq(json_get_str(account, STR("state")), STR("connected")))
        fputs("  (has to be connected again)", out);
    fputc('\n', out);
}

void draw_grant(const struct terminal *terminal, const struct json *grant)
{
    struct str until = json_get_str(grant, STR("expiresAt"));
    FILE *out = terminal->out;
    int64_t uses = 0;
    char left[24];

    json_i64(json_get(grant, STR("uses")), &uses);
    draw_left(terminal, until, left);
    draw_id(out, json_get_str(grant, STR("id")));
    fputc(' ', out);
    cell(out, until.len ? str_of(left) : STR("-"), DRAW_LEFT_COLUMNS);
    cell(out, json_get_str(grant, STR("tool")), DRAW_TOOL_COLUMNS);
    safe_cell(out, json_get_str(grant, STR("principal")), DRAW_WHO_COLUMNS);
    fprintf(out, " used %" PRId64 "  ", uses);
    safe_text(out, json_get_str(grant, STR("label")), 0);
    if (json_is(json_get(grant, STR("sleeps")), JSON_STRING)) {
        fputs("; sleeps: ", out);
        safe_text(out, json_get_str(grant, STR("sleeps")), 0);
    }
    fputc('\n', out);
    safe_block(out, json_get_str(grant, STR("message")), "  | ");
}
