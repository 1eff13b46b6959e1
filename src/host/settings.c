/*
 * host/settings: reads the program's struct, the configuration file, the environment and the
 * command line through the table of settings.
 *
 * Nothing is guessed: an option that is not in the table is an error, and so is a value outside of
 * its bounds, whoever has set it. `--name value` and `--name=value` mean the same.
 */
#include "host/settings.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/similar.h"
#include "host/config.h"
#include "json/unseen.h"
#include "json/utf8.h"
#include "provider/handler.h"

enum {
    WORD_MAX = 100, /* bytes of what is no option that are said */
    GIVEN_MAX = 60, /* and of a value that does not fit */
};

static void *place_of(const struct settings *settings, const struct setting *row)
{
    return (char *)settings + row->at;
}

static struct setting_place *place_at(struct settings *settings, const struct setting *row)
{
    return &settings->places[row - settings_table];
}

static bool wrong(struct settings *settings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool wrong_args(struct settings *settings, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* The beginning of a text, to the end of a character. */
static struct str beginning(const char *text, size_t most)
{
    struct str all = str_of(text);
    size_t len = all.len < most ? all.len : most;

    while (len && len < all.len && utf8_is_tail(all.at[len]))
        len--;
    return str_n(text, len);
}

void settings_shown(struct str text, struct buf *out)
{
    struct unseen_place place = { 0 };
    size_t len;

    for (const char *at = text.at, *end = text.at + text.len; at < end; at += len ? len : 1) {
        len = (unsigned char)*at < 0x80 ? 1 : utf8_sequence(at, end);
        uint32_t code = len ? utf8_code(at, len) : 0xfffd;
        if (unseen_here(&place, code) || code == '\n' || !len)
            buf_fmt(out, "\\u%04x", (unsigned)code);
        else
            buf_add(out, str_n(at, len));
    }
}

/* Always false. What was given may be anything. */
static bool wrong_args(struct settings *settings, const char *format, va_list args)
{
    char said[SETTINGS_WRONG_MAX];
    struct buf shown;
    int before = 0;

    if (settings->now.from == FROM_FILE)
        before = snprintf(said, sizeof(said), "%s:%d: ", settings->now.file, settings->now.line);
    if (before < 0 || (size_t)before >= sizeof(said)) /* a name of a file that fits nowhere */
        before = 0;
    vsnprintf(said + before, sizeof(said) - (size_t)before, format, args);
    buf_init(&shown, sizeof(settings->wrong) - 1);
    settings_shown(str_of(said), &shown);
    snprintf(settings->wrong, sizeof(settings->wrong), STR_FMT, STR_ARG(buf_str(&shown)));
    buf_finish(&shown);
    return false;
}

/* settings->now says where. */
static bool wrong(struct settings *settings, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    wrong_args(settings, format, args);
    va_end(args);
    return false;
}

bool settings_refuse(struct settings *settings, const char *format, ...)
{
    va_list args;

    settings->now = (struct setting_place){ .from = FROM_DEFAULT };
    va_start(args, format);
    wrong_args(settings, format, args);
    va_end(args);
    return false;
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

/* What the place that is being read calls a row: "--keep", "keep" in a file, ".keep_ms". */
static const char *said_as(const struct settings *settings, const struct setting *row)
{
    if (settings->now.from == FROM_FILE)
        return row->option + strlen("--");
    return settings->now.from != FROM_PROGRAM || !row->member ? row->option : row->member;
}

/* In front of that name. */
static const char *dot(const struct settings *settings)
{
    return settings->now.from == FROM_PROGRAM ? "." : "";
}

struct setting_place settings_place(const struct settings *settings, const struct setting *row,
                                    size_t text)
{
    size_t which = (size_t)(row - settings_table);

    return settings->texts[which] ? settings->texts[which][text] : settings->places[which];
}

/* One more text of a list. The first one of a place begins a list that has room for all. */
static bool add_text(struct settings *settings, const struct setting *row, struct str text)
{
    size_t which = (size_t)(row - settings_table);
    const char **list, *const **place = place_of(settings, row);
    bool begun = settings->places[which].from == settings->now.from;
    bool goes_on = row->repeat == REPEAT_ADDS || (row->repeat == REPEAT_REPLACES && begun);
    size_t count = goes_on ? list_count(*place) : 0, room = (size_t)row->most + 1;
    struct setting_place *from;

    if (count >= (size_t)row->most)
        return wrong(settings, "%s may be given at most %lld times", said_as(settings, row),
                     (long long)row->most);
    if (begun && goes_on) {
        list = (const char **)*place;
        from = (struct setting_place *)settings->texts[which];
    } else {
        list = arena_zalloc(settings->arena, room * sizeof(*list));
        from = arena_zalloc(settings->arena, room * sizeof(*from));
    }
    if (!list || !from) /* the arena says so in the end */
        return true;
    for (size_t i = 0; list != *place && i < count; i++) {
        list[i] = (*place)[i];
        from[i] = settings_place(settings, row, i);
    }
    list[count] = keep(settings, text);
    from[count] = settings->now;
    *place = list;
    settings->texts[which] = from;
    return true;
}

static const char *const yes[] = { "yes", "true", NULL }, *const no[] = { "no", "false", NULL };

/* A flag has no value on the command line. False: it does not fit, and `wrong` says why if that is
 * not for its type, its bounds or its words. */
static bool take(struct settings *settings, const struct setting *row, const char *value)
{
    void *place = place_of(settings, row);
    struct str text = str_of(value);
    int64_t n = 0;

    switch (row->type) {
    case SETTING_FLAG:
        *(bool *)place = !*value || str_among(text, yes);
        return *(bool *)place || str_among(text, no);
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

static bool is_zero(const void *at, size_t size)
{
    const char *bytes = at;

    while (size && !bytes[size - 1])
        size--;
    return !size;
}

/* An empty text is refused: a program that hands on a variable which happens to be empty would
 * otherwise serve without what it asked for, such as its tokens. */
static bool read_member(struct settings *settings, const struct setting *row)
{
    const char **text = place_of(settings, row);

    if (!is_zero(text, row->size))
        *place_at(settings, row) = settings->now;
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

/* A secret is not copied: it stays where it is. Another row may have the same place. */
static void read_variable(struct settings *settings, const struct setting *row)
{
    const char *value = getenv(row->env);

    if (!value || !*value)
        return;
    if (row->type == SETTING_FLAG)
        *(bool *)place_of(settings, row) = strcmp(value, "1") == 0;
    else
        *(const char **)place_of(settings, row) = value;
    for (const struct setting *other = settings_table; other < settings_table + settings_count;
         other++)
        if (other->at == row->at)
            *place_at(settings, other) = (struct setting_place){ .from = FROM_ENVIRONMENT };
}

void settings_environment(struct settings *settings)
{
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++)
        if (row->env && (!row->serve || settings->serve))
            read_variable(settings, row);
}

static bool fits_the_arena(struct settings *settings)
{
    return !settings->arena->exhausted ||
           wrong(settings, "their texts have more than %zu KiB in all", settings->arena->cap >> 10);
}

bool settings_begin(struct settings *settings, const struct nod_server_opts *opts,
                    struct arena *arena)
{
    *settings = (struct settings){ .arena = arena, .now = { .from = FROM_PROGRAM } };
    OPTS_READ(settings->opts, opts);
    if (opts && !opts->size) /* else it would seem that nothing is set */
        return wrong(settings, "a server's options need .size = sizeof(struct nod_server_opts)");
    if (!settings->opts.name || !*settings->opts.name)
        return wrong(settings, "a server needs a .name");
    if (!settings->opts.version || !*settings->opts.version)
        return wrong(settings, "a server needs a .version");
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++)
        if (row->member && !read_member(settings, row))
            return false;
    settings_environment(settings);
    return fits_the_arena(settings);
}

/* --- the rows by their options --- */

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

static bool by_operator(const struct settings *settings, const struct setting *row)
{
    enum setting_from from = settings->places[row - settings_table].from;

    return from == FROM_FILE || from == FROM_ARGV;
}

bool settings_given(const struct settings *settings, const char *option)
{
    const struct setting *row = find(str_of(option));

    return row && by_operator(settings, row);
}

struct str settings_named(const struct settings *settings, const char *option, size_t text,
                          struct arena *arena)
{
    const struct setting *row = find(str_of(option));
    struct setting_place place = settings_place(settings, row, text);

    if (place.from == FROM_FILE)
        return arena_fmt(arena, "%s:%d: %s", place.file, place.line, option + strlen("--"));
    return place.from == FROM_PROGRAM && row->member
               ? arena_fmt(arena, ".%s of the program", row->member)
               : str_of(option);
}

/* The value is missing (NULL), or does not fit. */
static bool value_wrong(struct settings *settings, const struct setting *row, const char *given)
{
    const char *option = said_as(settings, row);
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

/* *taken is the row that has it. */
static bool take_option(struct settings *settings, const struct setting *row, const char *value,
                        const struct setting **taken)
{
    const struct setting *first = row;

    for (; row; row = also(row)) {
        *taken = row;
        if (take(settings, row, value)) {
            *place_at(settings, row) = settings->now;
            return true;
        }
        if (settings->wrong[0])
            return false;
    }
    return value_wrong(settings, first, value);
}

/* --- the file --- */

/* What does not belong in a file that is copied around and shown to people. A key is compared
 * without its case. */
static const struct {
    const char *key, *instead;
} secrets[] = {
    { "mcp-elicitation-secret", "set MCP_ELICITATION_SECRET in the environment" },
    { "mcp-session-secret", "set MCP_SESSION_SECRET in the environment" },
    { "mcp-server-secret", "set MCP_SERVER_SECRET in the environment" },
    { "mcp-previous-secrets", "set MCP_PREVIOUS_SECRETS in the environment" },
    { "nod-webhook-secret", "set NOD_WEBHOOK_SECRET in the environment, or name a file that has "
                            "it: webhook-secret = FILE" },
    { "nod-store", "set NOD_STORE in the environment" },
    { "elicitation-secret", "set MCP_ELICITATION_SECRET in the environment" },
    { "secret", "set MCP_ELICITATION_SECRET in the environment" },
    { "token", "name a file that has the tokens: token-file = FILE" },
    { "tokens", "name a file that has the tokens: token-file = FILE" },
    { "nod-token", "name a file that has the tokens: token-file = FILE" },
    { "password", "set NOD_STORE in the environment, to the address of the store with its "
                  "password" },
};

#define IS_SECRET "a secret does not stand in this file: "

static const struct setting *find_key(struct str key)
{
    for (size_t i = 0; i < settings_count; i++)
        if (settings_table[i].option &&
            settings_same_key(key, str_of(settings_table[i].option + strlen("--"))))
            return &settings_table[i];
    return NULL;
}

static bool unknown_key(struct settings *settings, struct str key)
{
    char name[SETTINGS_NAME_MAX + 1];
    struct similar similar = { 0 };

    snprintf(name, sizeof(name), STR_FMT, STR_ARG(key));
    for (char *at = name; *at; at++)
        *at = *at == '_' ? '-' : (char)(*at >= 'A' && *at <= 'Z' ? *at + ('a' - 'A') : *at);
    similar.to = str_of(name);
    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
        if (str_eq(similar.to, str_of(secrets[i].key)))
            return wrong(settings, STR_FMT ": " IS_SECRET "%s", STR_ARG(key), secrets[i].instead);
    for (size_t i = 0; i < settings_count; i++)
        if (settings_table[i].option && !settings_table[i].argv_only)
            similar_try(&similar, settings_table[i].option + strlen("--"));
    similar_try(&similar, "include");
    return wrong(settings,
                 STR_FMT " is not a key of [server]%s%s%s; the keys are the options of nod serve "
                         "--help, without their dashes",
                 STR_ARG(key), similar.meant ? " (did you mean " : "",
                 similar.meant ? similar.meant : "", similar.meant ? "?)" : "");
}

/* "redis://user:password@host": what stands before the @ has a colon, and something behind it. */
static bool has_password(struct str address)
{
    ptrdiff_t begin = str_find(address, STR("://"));
    struct str who, rest, name, password;

    return begin >= 0 && str_cut(str_skip(address, (size_t)begin + 3), '@', &who, &rest) &&
           str_cut(who, ':', &name, &password) && password.len;
}

static bool is_public(struct settings *settings, const struct setting *row, struct str value)
{
    if (row->at == offsetof(struct settings, opts.webhook_secret_file) &&
        str_starts(value, STR("whsec_")))
        return wrong(settings,
                     "%s: " IS_SECRET "name a file that has it, or set NOD_WEBHOOK_SECRET in the "
                     "environment",
                     said_as(settings, row));
    if (row->at == offsetof(struct settings, opts.store) && has_password(value))
        return wrong(settings,
                     "%s: " IS_SECRET "an address with a password is set as NOD_STORE in the "
                     "environment",
                     said_as(settings, row));
    return true;
}

/* Only the last one of a list counts: then it is one value, and may be there once. */
static bool is_there_once(struct settings *settings, const struct setting *row,
                          struct setting_place before)
{
    bool several = row->type == SETTING_LIST && row->repeat != REPEAT_LAST;

    if (several || before.from != FROM_FILE)
        return true;
    if (strcmp(before.file, settings->now.file) == 0)
        return wrong(settings, "%s is there twice; the first is in line %d: take one of them out",
                     said_as(settings, row), before.line);
    return wrong(settings, "%s is set in %s:%d as well: take one of them out",
                 said_as(settings, row), before.file, before.line);
}

bool settings_take(struct settings *settings, const struct config_value *value)
{
    const struct setting *row = find_key(value->key), *taken;
    struct setting_place before[2] = { 0 };
    struct str text = value->value;

    settings->now = (struct setting_place){ FROM_FILE, value->line, value->file };
    if (!row)
        return unknown_key(settings, value->key);
    if (row->argv_only)
        return wrong(settings,
                     "%s is given on the command line; another file is read here with "
                     "include = PATH",
                     said_as(settings, row));
    if (!is_public(settings, row, text))
        return false;
    if (row->path && str_starts(text, str_of(row->path))) {
        struct str path = str_skip(text, strlen(row->path));
        text = arena_fmt(settings->arena, "%s" STR_FMT, row->path,
                         STR_ARG(config_path(settings->arena, value->file, path)));
    }
    before[0] = *place_at(settings, row);
    if (also(row))
        before[1] = *place_at(settings, also(row));
    return take_option(settings, row, text.at ? text.at : "", &taken) &&
           is_there_once(settings, taken, before[taken - row]);
}

/* --- the command line --- */

/* What is said of a word that is no option. */
static bool unknown(struct settings *settings, const char *arg, struct str name)
{
    struct similar similar = { .to = name };
    bool help = str_eq(name, STR("-?")) || str_eq(name, STR("help"));

    for (size_t i = 0; i < settings_count; i++)
        if (settings_table[i].option && (!settings_table[i].serve || settings->serve))
            similar_try(&similar, settings_table[i].option);
    similar_try(&similar, "--help");
    similar_try(&similar, "--version");
    if (help)
        similar.meant = "--help";
    if (similar.meant)
        return wrong(settings, STR_FMT " is not an option; did you mean %s?",
                     STR_ARG(beginning(arg, WORD_MAX)), similar.meant);
    return wrong(settings,
                 arg[0] == '-'     ? STR_FMT " is not an option"
                 : settings->serve ? STR_FMT " is not an option; a configuration is --config FILE"
                                   : STR_FMT " is not an option, and a server takes nothing else",
                 STR_ARG(beginning(arg, WORD_MAX)));
}

enum settings_do settings_read_argv(struct settings *settings, int argc, char **argv)
{
    const struct setting *taken;

    settings->now = (struct setting_place){ .from = FROM_ARGV };
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
        else if (row->serve && !settings->serve)
            fine = wrong(settings,
                         "%s is an option of nod serve, and this server is a program of "
                         "its own",
                         row->option);
        else if (flag && joined)
            fine = wrong(settings, "%s takes no value", row->option);
        else if (!flag && !joined && i + 1 >= argc)
            fine = value_wrong(settings, row, NULL);
        else
            fine = take_option(settings, row, flag ? "" : joined ? value.at : argv[++i], &taken);
        if (!fine)
            return SETTINGS_WRONG;
    }
    return SETTINGS_RUN;
}

/* The texts that were there keep their places. */
void settings_preset_list(struct settings *settings, const char *option, const char *const *list)
{
    const struct setting *row = find(str_of(option));
    const char *const **place = place_of(settings, row);
    size_t before = list_count(*place), count = list_count(list);
    struct setting_place *from = arena_zalloc(settings->arena, (count + 1) * sizeof(*from));

    for (size_t i = 0; from && i < count; i++)
        from[i] = i < before ? settings_place(settings, row, i)
                             : (struct setting_place){ .from = FROM_DEFAULT };
    if (!before)
        place_at(settings, row)->from = FROM_PROGRAM;
    *place = list;
    settings->texts[row - settings_table] = from;
}

enum settings_do settings_argv(struct settings *settings, int argc, char **argv)
{
    enum settings_do what = settings_read_argv(settings, argc, argv);

    return what == SETTINGS_RUN && !settings_agree(settings) ? SETTINGS_WRONG : what;
}

/* --- what goes together --- */

bool settings_is_set(const struct settings *settings, const struct setting *row)
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
        return by_operator(settings, row);
    }
}

/* Is one of these options there? Otherwise `names` has them as whoever set the row would. */
static bool has_one_of(const struct settings *settings, const struct setting *row,
                       struct buf *names)
{
    struct str word, options = str_of(row->needs);

    for (bool more = true; more;) {
        more = str_cut(options, ' ', &word, &options);
        const struct setting *other = find(word);
        if (other && settings_is_set(settings, other))
            return true;
        if (other)
            buf_fmt(names, "%s%s", dot(settings), said_as(settings, other));
        else
            buf_add(names, word);
        if (more)
            buf_add_char(names, ' ');
    }
    return false;
}

static bool has_its_needs(struct settings *settings, const struct setting *row)
{
    struct buf names;

    buf_init(&names, SETTINGS_WRONG_MAX);
    settings->now = settings_place(settings, row, 0);
    bool fine = has_one_of(settings, row, &names) ||
                wrong(settings, "%s%s needs " STR_FMT, dot(settings), said_as(settings, row),
                      STR_ARG(buf_str(&names)));
    buf_finish(&names);
    return fine;
}

/* Of two that do not go together the stronger place's counts. False: one place has said both. */
static bool one_gives_way(struct settings *settings, const char *one, const char *other)
{
    const struct setting *rows[] = { find(str_of(one)), find(str_of(other)) };
    enum setting_from from[] = { place_at(settings, rows[0])->from,
                                 place_at(settings, rows[1])->from };

    if (!settings_is_set(settings, rows[0]) || !settings_is_set(settings, rows[1]))
        return true;
    if (from[0] == from[1])
        return false;
    const struct setting *weaker = rows[from[0] > from[1]];
    memset(place_of(settings, weaker), 0, weaker->size);
    *place_at(settings, weaker) = (struct setting_place){ .from = FROM_DEFAULT };
    settings->texts[weaker - settings_table] = NULL;
    return true;
}

/* Two that one place has said and that do not go together, by the names that they have there. */
static bool clash(struct settings *settings, const char *one, const char *between,
                  const char *other, const char *behind)
{
    const struct setting *rows[] = { find(str_of(one)), find(str_of(other)) };
    struct setting_place there = settings_place(settings, rows[1], 0);
    struct str where = STR_NONE;

    settings->now = settings_place(settings, rows[0], 0);
    if (there.from == FROM_FILE)
        where = arena_fmt(settings->arena, " (%s:%d)", there.file, there.line);
    return wrong(settings, "%s%s%s%s%s" STR_FMT "%s", dot(settings), said_as(settings, rows[0]),
                 between, dot(settings), said_as(settings, rows[1]), STR_ARG(where), behind);
}

bool settings_agree(struct settings *settings)
{
    settings->now = (struct setting_place){ .from = FROM_DEFAULT };
    if (!one_gives_way(settings, "--inbox", "--http"))
        return clash(settings, "--inbox", " is for a server on standard input and output; with ",
                     "--http", " the inbox is at / already");
    if (!one_gives_way(settings, "--inbox", "--no-inbox"))
        return clash(settings, "--inbox", " and ", "--no-inbox", " do not go together");
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++)
        if (row->needs && settings_is_set(settings, row) && !has_its_needs(settings, row))
            return false;
    return fits_the_arena(settings);
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
