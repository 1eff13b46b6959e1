/*
 * cli/terminal_command: `nod inbox`, its command line.
 *
 * The first word that is no command is the address of the server (cli/visit).
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/similar.h"
#include "cli/command.h"
#include "cli/terminal_safe.h"
#include "cli/terminal.h"

static const char help[] =
    "usage: nod inbox [ADDRESS] [COMMAND] [OPTIONS]\n\n"
    "Shows what the tools of a running server ask, and answers it. ADDRESS is http://HOST:PORT,\n"
    "https://HOST or unix:PATH; without it the server is the one of NOD_SERVER, or the nod serve\n"
    "that this user runs.\n\n"
    "  (no command)       on a terminal the list, live: Enter answers; otherwise as list\n"
    "  list [--state STATE] [--tool NAME] [--principal NAME] [--search TEXT] [--limit N]\n"
    "                     what waits, the oldest first, with ! if it is destructive;\n"
    "                     --state ended: what has ended, or answered (or approved),\n"
    "                     declined, dismissed, expired, withdrawn, ...\n"
    "  show ID            one question, with all its arguments and its form\n"
    "  answer ID          asks you for the answer. Without questions:\n"
    "    --accept [NAME=VALUE ...]   the fields of the form; several choices with commas\n"
    "    --decline, --dismiss        no; no answer at all\n"
    "    --reason TEXT               why, for the history\n"
    "    --remember N                remember the approval, by its number in show\n"
    "  watch              a line for everything that comes and goes, until it is stopped\n"
    "  remembered         approvals that are remembered (or: grants)\n"
    "  revoke ID          ends one\n"
    "  secrets            secrets that were given, by name, with the tool that asked; never\n"
    "                     their values\n"
    "  delete NAME        deletes one of yours; or any, by its ID\n"
    "  accounts           accounts that are connected, which tools use\n"
    "  disconnect NAME    ends yours at this service, or one by its id; the service is told\n\n"
    "  --name NAME        which server, if this user runs several\n"
    "  --json             for scripts: JSON on standard output, a line for each item\n"
    "  --token-file FILE  a token, the first word of the file; - is standard input. Without it\n"
    "                     NOD_TOKEN is used, if that is set. Over unix:PATH none is needed, if\n"
    "                     the server runs as this user\n"
    "  --ca-file FILE     authorities whose certificates are trusted, instead of the system's\n"
    "  --help\n\n"
    "Exit codes: 0 done or accepted, 1 failed, 2 wrong usage, 3 declined or dismissed, 4 gone (it\n"
    "has ended, or is not there), 5 refused (no such credential or role, or the answer does not\n"
    "fit).\n";

enum {
    TERMINAL_WORDS_MAX = 128, /* values that are given on the command line */
    TERMINAL_LIST_DEFAULT = 50,
    TERMINAL_LIMIT_MAX = 32, /* bytes of "limit=N" */
};

struct wanted {
    struct visit visit;
    const char *command, *id;
    const char *state, *tool, *principal, *search, *limit, *remember, *action;
    int64_t most; /* items of a list */
    char *values[TERMINAL_WORDS_MAX];
    struct answer_words answer;
    bool json;
};

static bool wrong(const char *what, const char *arg)
{
    return command_wrong("nod inbox", arg, what);
}

/* --- the command line --- */

/* A command may list what is kept at a path, or remove one of it by its id. */
static const struct command_word {
    const char *name;
    bool takes_id;
    const char *path;
    const char *said; /* if there is nothing; or when it was removed */
    void (*row)(const struct terminal *terminal, const struct json *item); /* it lists */
} words[] = {
    { "list" },
    { "show", .takes_id = true },
    { "answer", .takes_id = true },
    { "watch" },
    { "remembered", false, "/api/grants?", "No approval is remembered.\n", draw_grant },
    { "grants", false, "/api/grants?", "No approval is remembered.\n", draw_grant },
    { "revoke", true, "/api/grants/", "Revoked.\n" },
    { "secrets", false, "/api/secrets?", "No secret is stored.\n", draw_secret },
    { "delete", true, "/api/secrets/", "Deleted.\n" },
    { "accounts", false, "/api/credentials?", "No account is connected.\n", draw_account },
    { "disconnect", true, "/api/credentials/", "Disconnected.\n" },
};

static const struct command_word *word_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i].name, name) == 0)
            return &words[i];
    return NULL;
}

static bool is_command(const struct wanted *wanted, const char *name)
{
    return strcmp(wanted->command ? wanted->command : "list", name) == 0;
}

/* A mistyped command is not taken for an address: one without a scheme has a port. What is still
 * wrong with it is said by cli/visit. */
static bool looks_like_address(const char *word)
{
    return strchr(word, ':') != NULL;
}

static bool not_a_command(const struct wanted *wanted, const char *arg)
{
    struct similar similar = { .to = str_of(arg) };
    char what[SIMILAR_TEXT];

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        similar_try(&similar, words[i].name);
    if (strcmp(arg, "forget") == 0 || strcmp(arg, "remove") == 0)
        similar.meant = "delete";
    snprintf(what, sizeof(what), "%s%s%s%s",
             wanted->visit.address ? "is no command" : "is neither a command nor an address",
             similar.meant ? "; did you mean " : "", similar.meant ? similar.meant : "",
             similar.meant ? "?" : "");
    return wrong(what, arg);
}

static bool take_word(void *data, char *arg)
{
    struct wanted *wanted = data;
    const struct command_word *command = word_of(wanted->command);

    if (!wanted->command && word_of(arg))
        wanted->command = arg;
    else if (!wanted->command && !wanted->visit.address && looks_like_address(arg))
        wanted->visit.address = arg;
    else if (!wanted->command)
        return not_a_command(wanted, arg);
    else if (!is_command(wanted, "answer") && !wanted->visit.address && looks_like_address(arg))
        return wrong("comes before the command: nod inbox ADDRESS COMMAND", arg);
    else if (command->takes_id && !wanted->id)
        wanted->id = arg;
    else if (!is_command(wanted, "answer"))
        return wrong("is one word too many", arg);
    else if (wanted->answer.value_count == TERMINAL_WORDS_MAX)
        return wrong("is one value too many", arg);
    else
        wanted->values[wanted->answer.value_count++] = arg;
    return true;
}

/* An id may begin with a dash. */
static bool awaits_id(const void *data, const char *arg)
{
    const struct wanted *wanted = data;
    const struct command_word *command = word_of(wanted->command);

    (void)arg;
    return command && command->takes_id && !wanted->id;
}

static bool number_of(const char *text, int64_t *out)
{
    return str_to_i64(str_of(text), out) && *out > 0;
}

static bool check(struct wanted *wanted)
{
    const struct command_word *command = word_of(wanted->command);
    const struct answer_words *answer = &wanted->answer;
    int64_t number = 0;

    if (!visit_check(&wanted->visit))
        return false;
    if (command && command->takes_id && !wanted->id)
        return wrong("needs an ID", wanted->command);
    wanted->most = TERMINAL_LIST_DEFAULT;
    if (wanted->limit && !number_of(wanted->limit, &wanted->most))
        return wrong("is no number of items", wanted->limit);
    if (wanted->remember && !number_of(wanted->remember, &number))
        return wrong("is no number of a choice", wanted->remember);
    wanted->answer.remember = (size_t)number;
    if (!is_command(wanted, "answer") && (answer->action.len || answer->reason || number))
        return wrong("belong to answer ID", "--accept, --decline, --dismiss, --reason, --remember");
    if ((answer->value_count || number) && !str_eq(answer->action, STR("accept")))
        return wrong("needs --accept", number ? "--remember" : wanted->values[0]);
    if (answer->reason && !answer->action.len)
        return wrong("needs --accept, --decline or --dismiss", "--reason");
    return true;
}

static bool read_args(struct wanted *wanted, int argc, char **argv, int *code)
{
    const struct command_option options[] = {
        { "--accept", .value = &wanted->action, .text = "accept" },
        { "--decline", .value = &wanted->action, .text = "decline" },
        { "--dismiss", .value = &wanted->action, .text = "cancel" },
        { "--json", .flag = &wanted->json },
        { "--limit", .value = &wanted->limit },
        { "--principal", .value = &wanted->principal },
        { "--reason", .value = &wanted->answer.reason },
        { "--remember", .value = &wanted->remember },
        { "--search", .value = &wanted->search },
        { "--state", .value = &wanted->state },
        { "--tool", .value = &wanted->tool },
        VISIT_OPTIONS(wanted->visit),
        { 0 },
    };

    if (!command_read(&(struct command_line){ .command = wanted->visit.command,
                                              .help = help,
                                              .options = options,
                                              .word = take_word,
                                              .awaits = awaits_id,
                                              .data = wanted },
                      argc, argv, code))
        return false;
    wanted->answer.values = wanted->values;
    wanted->answer.action = str_of(wanted->action);
    *code = COMMAND_WRONG_USAGE;
    return check(wanted);
}

/* --- lists --- */

struct list {
    struct terminal *terminal;
    const char *path;  /* and its query, up to "&limit=" */
    const char *empty; /* what is said if there is nothing */
    void (*row)(const struct terminal *terminal, const struct json *item);
    int64_t most;
    int64_t count;
    char cursor[TERMINAL_PATH_MAX];
};

static void show_row(const struct terminal *terminal, const struct json *item)
{
    draw_row(terminal, item, 0);
    fputc('\n', terminal->out);
}

/* One page. True: there is another. */
static bool list_page(struct list *list, int *code)
{
    char path[TERMINAL_PATH_MAX] = "", limit[TERMINAL_LIMIT_MAX];
    struct reply reply;
    int64_t left = list->most - list->count;

    snprintf(limit, sizeof(limit), "limit=%d",
             (int)(left < TERMINAL_PAGE_MAX ? left : TERMINAL_PAGE_MAX));
    path_add(path, str_of(list->path));
    path_add(path, str_of(limit));
    if (list->cursor[0]) {
        path_add(path, STR("&cursor="));
        path_escape(path, str_of(list->cursor));
    }
    list->cursor[0] = '\0';
    *code = COMMAND_FAILED;
    if (request_send(list->terminal, "GET", path, STR_NONE, &reply)) {
        *code = reply.status == 200 ? COMMAND_FINE : reply_refused(list->terminal, &reply);
        struct str next = json_get_str(reply.json, STR("next"));
        JSON_EACH (item, *code == COMMAND_FINE ? json_get(reply.json, STR("items")) : NULL) {
            list->count++;
            if (list->terminal->json)
                draw_json(item);
            else
                list->row(list->terminal, item);
        }
        if (*code == COMMAND_FINE && next.len < sizeof(list->cursor))
            snprintf(list->cursor, sizeof(list->cursor), STR_FMT, STR_ARG(next));
    }
    reply_finish(&reply);
    return list->cursor[0] != '\0';
}

static int list_all(struct list *list)
{
    int code = COMMAND_FINE;

    while (list_page(list, &code) && list->count < list->most)
        ;
    if (code == COMMAND_FINE && !list->count && !list->terminal->json)
        fputs(list->empty, list->terminal->out);
    if (list->cursor[0])
        fputs("There are more: see --limit.\n", stderr);
    return code;
}

static void add_filter(char path[TERMINAL_PATH_MAX], const char *name, const char *value)
{
    if (!value)
        return;
    path_add(path, str_of(name));
    path_add(path, STR("="));
    path_escape(path, str_of(value));
    path_add(path, STR("&"));
}

/* The words that people read, as the server calls these states. */
static const char *state_of(const char *word)
{
    static const char *const states[][2] = { { "approved", "accepted" },
                                             { "answered", "accepted" },
                                             { "dismissed", "cancelled" } };

    for (size_t i = 0; word && i < sizeof(states) / sizeof(states[0]); i++)
        if (strcmp(word, states[i][0]) == 0)
            return states[i][1];
    return word;
}

static int list_items(struct terminal *terminal, const struct wanted *wanted)
{
    char path[TERMINAL_PATH_MAX] = "/api/elicitation?";
    bool waiting = !wanted->state || strcmp(wanted->state, "pending") == 0;
    struct list list = {
        .terminal = terminal,
        .path = path,
        .empty = waiting ? "Nothing waits for you.\n" : "There is nothing.\n",
        .row = show_row,
        .most = wanted->most,
    };

    add_filter(path, "state", state_of(wanted->state));
    add_filter(path, "tool", wanted->tool);
    add_filter(path, "principal", wanted->principal);
    add_filter(path, "q", wanted->search);
    return list_all(&list);
}

/* --- one --- */

static int show(struct terminal *terminal, struct str id)
{
    struct reply reply;
    int code;

    if (request_item(terminal, id, &reply, &code)) {
        code = COMMAND_FINE;
        if (terminal->json)
            draw_json(reply.json);
        else
            draw_item(terminal, reply.json, false);
    }
    reply_finish(&reply);
    return code;
}

/* Deletes what is called so below the path. */
static int remove_one(struct terminal *terminal, const char *below, struct str id,
                      const char *removed)
{
    char path[TERMINAL_PATH_MAX] = "";
    struct reply reply;
    int code = COMMAND_FAILED;

    path_add(path, str_of(below));
    path_escape(path, id);
    if (request_send(terminal, "DELETE", path, STR_NONE, &reply))
        code = reply.status == 204 ? COMMAND_FINE : reply_refused(terminal, &reply);
    if (code == COMMAND_FINE && !terminal->json)
        fputs(removed, terminal->out);
    reply_finish(&reply);
    return code;
}

/* A terminal that can do more than print. */
static bool is_screen(FILE *out)
{
    const char *kind = getenv("TERM");

    return isatty(fileno(out)) && kind && *kind && strcmp(kind, "dumb") != 0;
}

static int run(struct terminal *terminal, const struct wanted *wanted)
{
    const struct command_word *command = word_of(wanted->command);
    struct str id = str_of(wanted->id);

    if (is_command(wanted, "show"))
        return show(terminal, id);
    if (is_command(wanted, "answer"))
        return answer_item(terminal, id, &wanted->answer);
    if (command && command->row)
        return list_all(&(struct list){ .terminal = terminal,
                                        .path = command->path,
                                        .empty = command->said,
                                        .row = command->row,
                                        .most = wanted->most });
    if (command && command->path)
        return remove_one(terminal, command->path, id, command->said);
    if (is_command(wanted, "watch"))
        return watch_inbox(terminal);
    bool filtered = wanted->state || wanted->tool || wanted->principal || wanted->search;
    bool live = !wanted->command && !terminal->json && !filtered && !wanted->limit &&
                is_screen(stdout) && isatty(STDIN_FILENO);
    return live ? live_inbox(terminal) : list_items(terminal, wanted);
}

int command_inbox(int argc, char **argv)
{
    struct wanted wanted = { .visit.command = "nod inbox" };
    int code;

    safe_setup();
    if (!read_args(&wanted, argc, argv, &code))
        return code;
    const char *no_color = getenv("NO_COLOR"); /* https://no-color.org: anything but nothing */
    FILE *out = wanted.json ? stderr : stdout;
    struct terminal terminal = { .visit = &wanted.visit,
                                 .out = out,
                                 .json = wanted.json,
                                 .color = is_screen(out) && !(no_color && *no_color) };
    code = visit_begin(&wanted.visit, "X-Nod-Via: terminal") ? run(&terminal, &wanted)
                                                             : COMMAND_FAILED;
    visit_end(&wanted.visit);
    if (fflush(stdout) == 0)
        return code;
    visit_say(&wanted.visit, STR_NONE, "standard output cannot be written");
    return COMMAND_FAILED;
}
