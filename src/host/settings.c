/*
 * host/settings: reads the program's struct, the environment and the command line through the table
 * of settings, and writes the help from it.
 *
 * Nothing is guessed: an option that is not in the table is an error, and so is a value outside of
 * its bounds, whoever has set it. `--name value` and `--name=value` mean the same.
 */
#include "host/settings.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/similar.h"
#include "json/unseen.h"
#include "json/utf8.h"
#include "provider/handler.h"

enum {
    HELP_LEFT = 25,      /* columns before what is said of an option */
    HELP_WIDTH = 80,     /* of a line */
    HELP_ROW_MAX = 2048, /* bytes of what is said of one setting */
    WORD_MAX = 100,      /* bytes of what is no option that are said */
    GIVEN_MAX = 60,      /* and of a value that does not fit */
};

static void *place_of(const struct settings *settings, const struct setting *row)
{
    return (char *)settings + row->at;
}

static bool wrong(struct settings *settings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The beginning of a text, to the end of a character. */
static struct str beginning(const char *text, size_t most)
{
    struct str all = str_of(text);
    size_t len = all.len < most ? all.len : most;

    while (len && len < all.len && utf8_is_tail(all.at[len]))
        len--;
    return str_n(text, len);
}

/* Always false. What was given may be anything, and is drawn on a terminal: what cannot be seen, or
 * moves what can, is escaped as in the log (base/log.h). */
static bool wrong(struct settings *settings, const char *format, ...)
{
    char said[SETTINGS_WRONG_MAX], piece[16];
    struct unseen_place place = { 0 };
    size_t used = 0, len;
    va_list args;

    va_start(args, format);
    vsnprintf(said, sizeof(said), format, args);
    va_end(args);
    for (const char *at = said, *end = said + strlen(said); at < end; at += len ? len : 1) {
        len = (unsigned char)*at < 0x80 ? 1 : utf8_sequence(at, end);
        uint32_t code = len ? utf8_code(at, len) : 0xfffd;
        bool hidden = unseen_here(&place, code) || code == '\n' || !len;
        int size = hidden ? snprintf(piece, sizeof(piece), "\\u%04x", (unsigned)code)
                          : snprintf(piece, sizeof(piece), "%.*s", (int)len, at);
        if (used + (size_t)size >= sizeof(settings->wrong))
            break;
        memcpy(settings->wrong + used, piece, (size_t)size);
        used += (size_t)size;
    }
    settings->wrong[used] = '\0';
    return false;
}

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
    if (row->reloads)
        buf_add(out, STR("; read again on SIGHUP"));
    if (row->needs && markdown)
        buf_fmt(out, "; needs %s", row->needs);
}

/* --- one value --- */

static bool in_bounds(const struct setting *row, int64_t n)
{
    return n >= row->least && n <= row->most;
}

static bool text_fits(const struct setting *row, struct str text)
{
    if (row->type != SETTING_WORD)
        return text.len && (!row->fits || row->fits(text));
    const char *const *word = row->words;
    while (*word && !str_eq(str_of(*word), text))
        word++;
    return *word;
}

static size_t list_count(const char *const *list)
{
    size_t count = 0;

    while (list && list[count])
        count++;
    return count;
}

static const char *keep(struct settings *settings, struct str text)
{
    return arena_str(settings->arena, text).at;
}

/* One more text of a list. The first one of the command line begins a list that has room for all.
 */
static bool add_text(struct settings *settings, const struct setting *row, struct str text)
{
    const char **list, *const **place = place_of(settings, row);
    bool *given = &settings->given[row - settings_table];
    bool goes_on = row->repeat == REPEAT_ADDS || (row->repeat == REPEAT_REPLACES && *given);
    size_t count = goes_on ? list_count(*place) : 0;

    if (count >= (size_t)row->most)
        return wrong(settings, "%s may be given at most %lld times", row->option,
                     (long long)row->most);
    list = *given && goes_on
               ? (const char **)*place
               : arena_zalloc(settings->arena, ((size_t)row->most + 1) * sizeof(*list));
    if (!list) /* the arena says so in the end */
        return true;
    if (list != *place && count)
        memcpy(list, *place, count * sizeof(*list));
    list[count] = keep(settings, text);
    *place = list;
    return true;
}

/* False: it does not fit, and `wrong` says why if that is not for its type, its bounds or its
 * words. */
static bool take(struct settings *settings, const struct setting *row, const char *value)
{
    void *place = place_of(settings, row);
    struct str text = str_of(value);
    int64_t n = 0;

    switch (row->type) {
    case SETTING_FLAG:
        *(bool *)place = true;
        return true;
    case SETTING_TEXT:
    case SETTING_WORD:
        *(const char **)place = keep(settings, text);
        return text_fits(row, text);
    case SETTING_LIST:
        return text_fits(row, text) && add_text(settings, row, text);
    case SETTING_TIME:
        return settings_duration(text, place) && in_bounds(row, *(int64_t *)place);
    case SETTING_COUNT:
    case SETTING_INT:
        if (!text.len || text.at[0] < '0' || text.at[0] > '9' || !str_to_i64(text, &n) ||
            !in_bounds(row, n))
            return false;
        if (row->type == SETTING_INT)
            *(int *)place = (int)n;
        else
            *(size_t *)place = (size_t)n;
        return true;
    }
    return false;
}

/* --- the program's struct, and the environment --- */

static bool member_wrong(struct settings *settings, const struct setting *row, const char *given)
{
    struct buf takes;

    buf_init(&takes, SETTINGS_WRONG_MAX);
    setting_takes(row, false, &takes);
    wrong(settings, ".%s takes " STR_FMT "; it was given \"" STR_FMT "\"%s", row->member,
          STR_ARG(buf_str(&takes)), STR_ARG(beginning(given, GIVEN_MAX)),
          *given ? "" : " (NULL is a text that is not set)");
    buf_finish(&takes);
    return false;
}

/* A number of the struct, where 0 stands for the default. */
static bool member_number(struct settings *settings, const struct setting *row)
{
    void *place = place_of(settings, row);
    bool is_time = row->type == SETTING_TIME, is_int = row->type == SETTING_INT;
    int64_t n = is_time ? *(int64_t *)place : is_int ? *(int *)place : 0;
    char given[32];

    snprintf(given, sizeof(given), "%lld", (long long)n);
    if (!is_time && !is_int) { /* what no int64_t holds is too large in any case */
        n = *(size_t *)place > INT64_MAX ? INT64_MAX : (int64_t) * (size_t *)place;
        snprintf(given, sizeof(given), "%zu", *(size_t *)place);
    }
    if (n && !in_bounds(row, n))
        return member_wrong(settings, row, given);
    if (!n)
        n = row->usual;
    if (is_time)
        *(int64_t *)place = n;
    else if (is_int)
        *(int *)place = (int)n;
    else
        *(size_t *)place = (size_t)n;
    return true;
}

static const char *keep_clean(struct settings *settings, const char *text)
{
    return text ? keep(settings, text_clean(settings->arena, str_of(text))) : NULL;
}

static bool member_list(struct settings *settings, const struct setting *row)
{
    const char *const **place = place_of(settings, row), *const *list = *place;
    size_t count = list_count(list);

    *place = NULL;
    if (count > (size_t)row->most)
        return wrong(settings, ".%s has %zu entries, and may have %lld at most; one is %s",
                     row->member, count, (long long)row->most, row->takes ? row->takes : "a text");
    const char **copy = count ? arena_zalloc(settings->arena, (count + 1) * sizeof(*copy)) : NULL;
    for (size_t i = 0; copy && i < count; i++) {
        copy[i] = keep_clean(settings, list[i]);
        if (!text_fits(row, str_of(list[i])))
            return member_wrong(settings, row, list[i]);
    }
    *place = copy;
    return true;
}

/* An empty text is refused: a program that hands on a variable which happens to be empty would
 * otherwise serve without what it asked for, such as its tokens. */
static bool read_member(struct settings *settings, const struct setting *row)
{
    const char **text = place_of(settings, row);

    switch (row->type) {
    case SETTING_FLAG:
        return true;
    case SETTING_LIST:
        return member_list(settings, row);
    case SETTING_TEXT:
    case SETTING_WORD:
        *text = keep_clean(settings, *text);
        return !*text || text_fits(row, str_of(*text)) || member_wrong(settings, row, *text);
    default:
        return member_number(settings, row);
    }
}

/* A secret is not copied: it stays where it is. */
static void read_variable(struct settings *settings, const struct setting *row)
{
    const char *value = getenv(row->env);

    if (row->type == SETTING_FLAG)
        *(bool *)place_of(settings, row) = value && strcmp(value, "1") == 0;
    else if (value && *value)
        *(const char **)place_of(settings, row) = value;
}

static bool fits_the_arena(struct settings *settings)
{
    return !settings->arena->exhausted ||
           wrong(settings, "their texts have more than %zu KiB in all", settings->arena->cap >> 10);
}

bool settings_begin(struct settings *settings, const struct nod_server_opts *opts,
                    struct arena *arena)
{
    *settings = (struct settings){ .arena = arena };
    OPTS_READ(settings->opts, opts);
    if (opts && !opts->size) /* else it would seem that nothing is set */
        return wrong(settings, "a server's options need .size = sizeof(struct nod_server_opts)");
    if (!settings->opts.name || !*settings->opts.name)
        return wrong(settings, "a server needs a .name");
    if (!settings->opts.version || !*settings->opts.version)
        return wrong(settings, "a server needs a .version");
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        if (row->env)
            read_variable(settings, row);
        if (row->member && !read_member(settings, row))
            return false;
    }
    return fits_the_arena(settings);
}

/* --- the command line --- */

static const struct setting *find(struct str option)
{
    for (size_t i = 0; i < settings_count; i++)
        if (settings_table[i].option && str_eq(str_of(settings_table[i].option), option))
            return &settings_table[i];
    return NULL;
}

/* The next row with the same option, or NULL. */
static const struct setting *also(const struct setting *row)
{
    const struct setting *next = row + 1;

    return next < settings_table + settings_count && next->option &&
                   str_eq(str_of(next->option), str_of(row->option))
               ? next
               : NULL;
}

bool settings_given(const struct settings *settings, const char *option)
{
    const struct setting *row = find(str_of(option));

    return row && settings->given[row - settings_table];
}

/* What is said of a word that is no option. */
static bool unknown(struct settings *settings, const char *arg, struct str name)
{
    struct similar similar = { .to = name };
    bool help = str_eq(name, STR("-?")) || str_eq(name, STR("help"));

    for (size_t i = 0; i < settings_count; i++)
        if (settings_table[i].option)
            similar_try(&similar, settings_table[i].option);
    similar_try(&similar, "--help");
    similar_try(&similar, "--version");
    if (help)
        similar.meant = "--help";
    if (similar.meant)
        return wrong(settings, STR_FMT " is not an option; did you mean %s?",
                     STR_ARG(beginning(arg, WORD_MAX)), similar.meant);
    return wrong(settings,
                 arg[0] == '-' ? STR_FMT " is not an option"
                               : STR_FMT " is not an option, and a server takes nothing else",
                 STR_ARG(beginning(arg, WORD_MAX)));
}

/* The value is missing (NULL), or does not fit. */
static bool value_wrong(struct settings *settings, const struct setting *row, const char *given)
{
    const char *option = row->option;
    struct buf takes;

    buf_init(&takes, SETTINGS_WRONG_MAX);
    setting_takes(row, true, &takes);
    while ((row = also(row))) {
        buf_add(&takes, STR(", or "));
        setting_takes(row, true, &takes);
    }
    if (given)
        wrong(settings, "%s takes " STR_FMT "; it was given \"" STR_FMT "\"", option,
              STR_ARG(buf_str(&takes)), STR_ARG(beginning(given, GIVEN_MAX)));
    else
        wrong(settings, "%s needs a value: " STR_FMT, option, STR_ARG(buf_str(&takes)));
    buf_finish(&takes);
    return false;
}

static bool take_option(struct settings *settings, const struct setting *row, const char *value)
{
    const struct setting *first = row;

    for (; row; row = also(row)) {
        if (take(settings, row, value)) {
            settings->given[row - settings_table] = true;
            return true;
        }
        if (settings->wrong[0])
            return false;
    }
    return value_wrong(settings, first, value);
}

/* Is it there, whoever has set it? A number always is: it has a default. */
static bool is_set(const struct settings *settings, const struct setting *row)
{
    const void *place = place_of(settings, row);

    switch (row->type) {
    case SETTING_FLAG:
        return *(const bool *)place;
    case SETTING_TEXT:
    case SETTING_WORD:
    case SETTING_LIST:
        return *(void *const *)place != NULL;
    default:
        return settings->given[row - settings_table];
    }
}

/* Is one of these options there? Otherwise `names` has them as whoever set the row would. */
static bool has_one_of(const struct settings *settings, const struct setting *row,
                       struct buf *names)
{
    bool by_argv = settings->given[row - settings_table];
    struct str word, options = str_of(row->needs);

    for (bool more = true; more;) {
        more = str_cut(options, ' ', &word, &options);
        const struct setting *other = find(word);
        if (other && is_set(settings, other))
            return true;
        if (other && !by_argv)
            buf_fmt(names, ".%s", other->member);
        else
            buf_add(names, word);
        if (more)
            buf_add_char(names, ' ');
    }
    return false;
}

static bool has_its_needs(struct settings *settings, const struct setting *row)
{
    bool by_argv = settings->given[row - settings_table], fine;
    struct buf names;

    buf_init(&names, SETTINGS_WRONG_MAX);
    fine = has_one_of(settings, row, &names) ||
           wrong(settings, "%s%s needs " STR_FMT, by_argv ? "" : ".",
                 by_argv ? row->option : row->member, STR_ARG(buf_str(&names)));
    settings->by_program = !fine && !by_argv;
    buf_finish(&names);
    return fine;
}

/* Of two that do not go together the command line's counts. False: one place has said both. */
static bool one_gives_way(struct settings *settings, const char *one, const char *other)
{
    const struct setting *rows[] = { find(str_of(one)), find(str_of(other)) };
    bool given[] = { settings_given(settings, one), settings_given(settings, other) };

    if (!is_set(settings, rows[0]) || !is_set(settings, rows[1]))
        return true;
    if (given[0] == given[1])
        return false;
    const struct setting *weaker = rows[given[0]];
    memset(place_of(settings, weaker), 0,
           weaker->type == SETTING_FLAG ? sizeof(bool) : sizeof(void *));
    return true;
}

/* Two that one place has said and that do not go together, by the names that they have there. */
static bool clash(struct settings *settings, const char *one, const char *between,
                  const char *other, const char *behind)
{
    bool by_argv = settings_given(settings, one);

    settings->by_program = !by_argv;
    if (by_argv)
        return wrong(settings, "%s%s%s%s", one, between, other, behind);
    return wrong(settings, ".%s%s.%s%s", find(str_of(one))->member, between,
                 find(str_of(other))->member, behind);
}

bool settings_agree(struct settings *settings)
{
    if (!one_gives_way(settings, "--inbox", "--http"))
        return clash(settings, "--inbox", " is for a server on standard input and output; with ",
                     "--http", " the inbox is at / already");
    if (!one_gives_way(settings, "--inbox", "--no-inbox"))
        return clash(settings, "--inbox", " and ", "--no-inbox", " do not go together");
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++)
        if (row->needs && is_set(settings, row) && !has_its_needs(settings, row))
            return false;
    return fits_the_arena(settings);
}

enum settings_do settings_argv(struct settings *settings, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct str name, value;
        bool joined = str_cut(str_of(argv[i]), '=', &name, &value), fine;

        if ((str_eq(name, STR("--help")) || str_eq(name, STR("-h"))) && !joined)
            return SETTINGS_HELP;
        if (str_eq(name, STR("--version")) && !joined)
            return SETTINGS_VERSION;
        const struct setting *row = find(name);
        bool flag = row && row->type == SETTING_FLAG;
        if (!row)
            fine = unknown(settings, argv[i], name);
        else if (flag && joined)
            fine = wrong(settings, "%s takes no value", row->option);
        else if (!flag && !joined && i + 1 >= argc)
            fine = value_wrong(settings, row, NULL);
        else
            fine = take_option(settings, row, flag ? "" : joined ? value.at : argv[++i]);
        if (!fine)
            return SETTINGS_WRONG;
    }
    return settings_agree(settings) ? SETTINGS_RUN : SETTINGS_WRONG;
}

void settings_log(const struct settings *settings)
{
    struct log_opts opts = { .level = LOG_LEVEL_INFO, .fd = 2 };

    if (settings->log)
        log_level_parse(str_of(settings->log), &opts.level);
    if (settings->log_format && strcmp(settings->log_format, "json") == 0)
        opts.format = LOG_FORMAT_JSON;
    log_setup(&opts);
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

void settings_help(FILE *out)
{
    fputs("Without options: MCP on standard input and output, as a client starts it.\n", out);
    for (size_t group = 0; group < GROUPS; group++) {
        bool any = false;
        for (const struct setting *row = settings_table; row < settings_table + settings_count;
             row++) {
            if (row->group != group || !row->option)
                continue;
            if (!any)
                fprintf(out, "\n%s:\n", settings_groups[group]);
            any = true;
            print_row(out, row);
        }
    }
    fputs("\n  --help, --version\n", out);
}
