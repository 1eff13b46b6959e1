/*
 * cli/terminal_prompt: a person is asked, line by line.
 *
 * The terminal edits the line; a pipe may send lines as well. An empty line takes what the form
 * starts with, or leaves an optional field out. Nothing is sent from here, so the end of the input
 * (Ctrl-D) or Ctrl-C at any prompt leaves everything as it was.
 */
#include <signal.h>
#include <sys/select.h>
#include <unistd.h>

#include "cli/terminal_safe.h"
#include "cli/terminal.h"
#include "json/form.h"

enum {
    PROMPT_LINE_MAX = 256 << 10,    /* bytes of a line that is typed */
    PROMPT_REASON_BYTES_MAX = 2000, /* bytes of a reason, as the server takes it */
    PROMPT_WHY_MAX = 4096,          /* bytes about what does not fit */
};

/* Waits for input. False: a signal came that ends it. A signal that was held back (terminal_live)
 * is let in here and nowhere else, so none is missed before the wait; a resized window ends
 * nothing.
 */
static bool wait_for_input(void)
{
    fd_set files;
    sigset_t held;

    FD_ZERO(&files);
    FD_SET(STDIN_FILENO, &files);
    sigemptyset(&held);
    sigaddset(&held, SIGWINCH);
    return pselect(STDIN_FILENO + 1, &files, NULL, NULL, NULL, &held) >= 0;
}

bool prompt_line(struct buf *line)
{
    char c;

    fflush(NULL);
    buf_clear(line);
    for (;;) {
        if (!wait_for_input())
            return false;
        if (read(STDIN_FILENO, &c, 1) != 1)
            return line->len > 0;
        if (c == '\n')
            return true;
        buf_add_char(line, c);
    }
}

static bool ask(const struct terminal *terminal, const char *words, struct buf *line)
{
    fputs(words, terminal->out);
    bool more = prompt_line(line);
    if (!more || !isatty(STDIN_FILENO)) /* a terminal shows the line that was typed, and its end */
        fputc('\n', terminal->out);
    return more;
}

static void say_none(const struct terminal *terminal, const struct buf *line)
{
    fputs("  ", terminal->out);
    safe_text(terminal->out, str_trim(buf_str(line)), 0);
    fputs(line->len ? " is none of these\n" : "one of these, please\n", terminal->out);
}

struct str prompt_action(const struct terminal *terminal, const char *yes, bool *ended)
{
    static const struct {
        const char *letter, *word;
        struct str action;
    } actions[] = {
        { "a", "accept", STR_INIT("accept") },   { "approve", "answer", STR_INIT("accept") },
        { "d", "decline", STR_INIT("decline") }, { "x", "dismiss", STR_INIT("cancel") },
        { "s", "show", STR_INIT("show") },       { "q", "leave", STR_INIT("") },
    };
    struct str action = STR_NONE;
    struct buf line;
    bool known = false;

    buf_init(&line, PROMPT_LINE_MAX);
    *ended = false;
    while (!known && !*ended) {
        if (yes)
            fprintf(terminal->out, "%s (a), ", yes);
        *ended =
            !ask(terminal, "decline (d), dismiss (x), show all of it (s) or leave it (q)? ", &line);
        struct str word = str_trim(buf_str(&line));
        for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]) && !*ended; i++)
            if (str_eq_nocase(word, str_of(actions[i].letter)) ||
                str_eq_nocase(word, str_of(actions[i].word))) {
                action = actions[i].action;
                known = true;
            }
        if (!known && !*ended)
            say_none(terminal, &line);
    }
    buf_finish(&line);
    return action;
}

bool prompt_again(const struct terminal *terminal, const struct field *box)
{
    struct buf line;

    buf_init(&line, PROMPT_LINE_MAX);
    if (box)
        safe_text(terminal->out, box->title, 0);
    bool more = ask(terminal,
                    box ? ": no. Send it so (a), or leave it (q)? "
                        : "destructive: approve (a) again, or leave it (q)? ",
                    &line);
    struct str word = str_trim(buf_str(&line));
    bool sure = more && (str_eq_nocase(word, STR("a")) || str_eq_nocase(word, STR("approve")) ||
                         str_eq_nocase(word, STR("accept")));
    buf_finish(&line);
    return sure;
}

bool prompt_reason(const struct terminal *terminal, struct buf *reason)
{
    struct buf line;
    bool fine;

    buf_init(&line, PROMPT_LINE_MAX);
    while ((fine = ask(terminal, "reason (may be empty): ", &line)) &&
           line.len > PROMPT_REASON_BYTES_MAX)
        fprintf(terminal->out, "  at most %d bytes\n", PROMPT_REASON_BYTES_MAX);
    if (fine)
        buf_add(reason, str_trim(buf_str(&line)));
    buf_finish(&line);
    return fine;
}

bool prompt_remember(const struct terminal *terminal, const struct json *offered, size_t *chosen)
{
    struct buf line;
    uint64_t number = 0;
    bool fine, known;

    *chosen = 0;
    if (!json_first(offered))
        return true;
    fputs("  0  only this time\n", terminal->out);
    JSON_EACH (choice, offered) {
        fprintf(terminal->out, "  %zu  ", (size_t)++number);
        safe_text(terminal->out, json_get_str(choice, STR("label")), 0);
        fputc('\n', terminal->out);
    }
    buf_init(&line, PROMPT_LINE_MAX);
    do {
        number = 0;
        fine = ask(terminal, "remember [0]: ", &line);
        known = str_blank(buf_str(&line)) ||
                (str_to_u64(str_trim(buf_str(&line)), &number) && number <= offered->count);
        if (fine && !known)
            say_none(terminal, &line);
    } while (fine && !known);
    buf_finish(&line);
    *chosen = (size_t)number;
    return fine;
}

/* --- a field --- */

static void describe(const struct terminal *terminal, const struct field *field)
{
    struct field_choice choices[FORM_CHOICES_MOST];
    size_t count = field_choices(field, choices, FORM_CHOICES_MOST);
    bool numbered = field_is_numbered(field);

    fputs("  ", terminal->out);
    field_hint(terminal->out, field, true);
    fputc('\n', terminal->out);
    for (size_t i = 0; i < count; i++) {
        if (numbered)
            fprintf(terminal->out, "  %zu  ", i + 1);
        else
            fputs("  -  ", terminal->out);
        safe_text(terminal->out, choices[i].title, 0);
        if (!str_eq(choices[i].title, choices[i].value)) {
            fputs(" (", terminal->out);
            safe_text(terminal->out, choices[i].value, 0);
            fputc(')', terminal->out);
        }
        fputc('\n', terminal->out);
    }
    if (field_is_left_out(field, STR("-")))
        fputs("  - leaves it out\n", terminal->out);
}

/* True: the line says that the field takes its preset, or nothing. */
static bool take_nothing(struct field *field, struct str typed)
{
    const struct json *preset = field_preset(field);

    if (!typed.len && preset)
        field->value = preset;
    else if ((!typed.len && !field->required) || field_is_left_out(field, typed))
        field->value = NULL;
    else
        return false;
    return true;
}

bool prompt_field(const struct terminal *terminal, struct arena *arena, struct field *field)
{
    struct buf line, why;
    bool taken = false, more = true;

    buf_init(&line, PROMPT_LINE_MAX);
    buf_init(&why, PROMPT_WHY_MAX);
    describe(terminal, field);
    while (!taken && more) {
        buf_clear(&why);
        const struct json *preset = field_preset(field);
        draw_ink(terminal, INK_BOLD);
        safe_text(terminal->out, field->title, 0);
        draw_ink(terminal, INK_PLAIN);
        if (preset) {
            fputs(" [", terminal->out);
            field_show(terminal->out, preset);
            fputc(']', terminal->out);
        }
        more = ask(terminal, ": ", &line);
        taken = more && (take_nothing(field, buf_str(&line)) ||
                         field_take(arena, field, buf_str(&line), &why));
        if (more && !taken) {
            draw_ink(terminal, INK_RED);
            fputs("  ", terminal->out);
            safe_text(terminal->out, buf_str(&why), 0);
            draw_ink(terminal, INK_PLAIN);
            fputc('\n', terminal->out);
        }
    }
    buf_finish(&why);
    buf_finish(&line);
    return taken;
}
