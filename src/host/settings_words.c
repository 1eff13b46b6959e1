/*
 * host/settings_words: what is said of a row of the table of settings, in messages, in --help and
 * in the documentation.
 */
#include "host/settings.h"

enum {
    HELP_LEFT = 25,      /* columns before what is said of an option */
    HELP_WIDTH = 80,     /* of a line */
    HELP_ROW_MAX = 2048, /* bytes of what is said of one setting */
};

/* --- what is said of a row --- */

void setting_takes(const struct setting *row, bool option, struct buf *out)
{
    long long least = row->least, most = row->most;

    switch (row->type) {
    case SETTING_COUNT:
    case SETTING_INT:
        buf_fmt(out, "a number of %s, from %lld to %lld", row->takes, least, most);
        break;
    case SETTING_TIME:
        if (!option) {
            buf_fmt(out, "a number of milliseconds, from %lld to %lld", least, most);
            break;
        }
        buf_add(out, STR("a time such as 90s, 30m, 24h or 7d, from 1s to "));
        settings_time(most, out);
        break;
    case SETTING_WORD:
        for (const char *const *word = row->words; *word; word++)
            buf_fmt(out, "%s%s", word == row->words ? "" : word[1] ? ", " : " or ", *word);
        break;
    case SETTING_FLAG:
        buf_add(out, STR("yes or no"));
        break;
    default:
        buf_add(out, str_of(row->takes ? row->takes : "a text"));
    }
}

void setting_value(const struct setting *row, bool markdown, struct buf *out)
{
    const char *between = markdown ? "\\|" : "|";

    if (row->type != SETTING_WORD)
        buf_add(out, str_of(row->value));
    else
        for (const char *const *word = row->words; *word; word++)
            buf_fmt(out, "%s%s", word == row->words ? "" : between, *word);
}

void setting_facts(const struct setting *row, bool markdown, struct buf *out)
{
    if (row->usually)
        buf_fmt(out, "; default %s", row->usually);
    else if (row->usual && row->type != SETTING_TIME)
        buf_fmt(out, "; default %lld", (long long)row->usual);
    if (row->usual && row->type == SETTING_TIME) {
        buf_add(out, STR("; default "));
        settings_time(row->usual, out);
    }
    if (row->type == SETTING_COUNT && (row->least != 1 || row->most != SETTINGS_COUNT_MAX))
        buf_fmt(out, "; from %lld to %lld", (long long)row->least, (long long)row->most);
    if (row->repeat != REPEAT_LAST)
        buf_fmt(out, "; repeatable, up to %lld", (long long)row->most);
    if (row->reloads == RELOADS_FILE)
        buf_add(out, STR("; read again on SIGHUP"));
    else if (row->reloads == RELOADS_VALUE && (markdown || row->serve))
        buf_add(out, row->serve ? STR("; read again on SIGHUP")
                                : STR("; in `nod serve` read again on SIGHUP"));
    if (row->needs && markdown)
        buf_fmt(out, "; needs %s", row->needs);
}

/* --- the help --- */

/* Words, as many to a line as fit. */
static void print_wrapped(FILE *out, struct str text, int column)
{
    struct str word;

    for (bool more = text.len; more;) {
        more = str_cut(text, ' ', &word, &text);
        int len = 0;
        for (size_t i = 0; i < word.len; i++)
            len += word.at[i] != '`';
        if (column + len + 1 > HELP_WIDTH) {
            fprintf(out, "\n%*s", HELP_LEFT - 1, "");
            column = HELP_LEFT - 1;
        }
        fputc(' ', out);
        for (size_t i = 0; i < word.len; i++)
            if (word.at[i] != '`')
                fputc(word.at[i], out);
        column += len + 1;
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const struct setting *row)
{
    struct buf text;

    buf_init(&text, HELP_ROW_MAX);
    setting_value(row, false, &text);
    int column = fprintf(out, "  %s%s" STR_FMT, row->option, buf_str(&text).len ? " " : "",
                         STR_ARG(buf_str(&text)));
    if (column >= HELP_LEFT)
        column = HELP_WIDTH; /* what is said begins in the next line */
    else
        column += fprintf(out, "%*s", HELP_LEFT - 1 - column, "");
    buf_clear(&text);
    buf_add(&text, str_of(row->help));
    setting_facts(row, false, &text);
    print_wrapped(out, buf_str(&text), column);
    buf_finish(&text);
}

void settings_help(FILE *out, bool serve)
{
    fputs(
        serve
            ? "Without options: MCP at /mcp and the inbox at /, on http://127.0.0.1:7600 and on a\n"
              "Unix socket of this user, with the configuration of this user or this machine.\n"
            : "Without options: MCP on standard input and output, as a client starts it.\n",
        out);
    for (size_t group = 0; group < GROUPS; group++) {
        bool any = false;
        for (const struct setting *row = settings_table; row < settings_table + settings_count;
             row++) {
            if (row->group != group || !row->option || (row->serve && !serve))
                continue;
            if (!any)
                fprintf(out, "\n%s:\n",
                        group == GROUP_SERVE ? "Of nod serve" : settings_groups[group]);
            any = true;
            print_row(out, row);
        }
    }
    fputs("\n  --help, --version\n", out);
}
