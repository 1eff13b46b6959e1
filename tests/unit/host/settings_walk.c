/*
 * tests/unit/host/settings_walk: what holds for every row of the table of settings, whatever it is.
 *
 * The rows are read as they are: another setting needs nothing here, unless its texts have to look
 * like something; then it has a line in `texts`.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/settings.h"
#include "../runner.h"

enum { ROOM = 1 << 20, TEXT_MAX = 64, NEEDS_MAX = 4 };

static struct arena arena;
static struct settings by_argv, by_struct;

/* A text that fits and one that does not, where not every text does. */
static const struct {
    const char *member, *text, *bad;
} texts[] = { { "http", "0", "99999" },
              { "inbox", "0", "nowhere" },
              { "metrics", "0", "nowhere" },
              { "public_url", "https://a", "a" },
              { "trusted_proxies", "10.0.0.0/8", "10.0.0.1/8" },
              { "soft_deadlines", "tool:x=5m", "tool:=2m" },
              { "remember", "tool=session,8h", "tool=never" },
              { "allow_fields", "tool.field", "field" },
              { "store", "sqlite:x", "x" },
              { "webhooks", "https://a", "a" },
              { "webhook_allow", "10.0.0.7:80", "10.0.0.7" },
              { "--name", "work", "A b" } };

/* By its member, or by its option if it has none. */
static bool is_row(const struct setting *row, const char *name)
{
    const char *own = row->member ? row->member : row->option;

    return own && strcmp(own, name) == 0;
}

static const struct setting *row_of(const char *option)
{
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++)
        if (row->option && strcmp(row->option, option) == 0)
            return row;
    return NULL;
}

static const char *text_for(const struct setting *row)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (is_row(row, texts[i].member))
            return texts[i].text;
    return row->words ? row->words[1] : "text";
}

static struct nod_server_opts nobodys(void)
{
    return (struct nod_server_opts){ .size = sizeof(struct nod_server_opts),
                                     .name = "x",
                                     .version = "1" };
}

static void *member_of(struct nod_server_opts *opts, const struct setting *row)
{
    return (char *)opts + row->at - offsetof(struct settings, opts);
}

static bool is_number(const struct setting *row)
{
    return row->type == SETTING_COUNT || row->type == SETTING_INT || row->type == SETTING_TIME;
}

/* What a row does not take; NULL: `texts` has to say. To a flag it is one word too many. */
static const char *bad_for(const struct setting *row)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (is_row(row, texts[i].member))
            return texts[i].bad;
    if (row->fits)
        return NULL;
    return row->type == SETTING_TEXT || row->type == SETTING_LIST ? "" : "nonsense";
}

/* The first of the options that a row needs, or NULL. */
static const struct setting *need_of(const struct setting *row)
{
    for (const struct setting *other = settings_table;
         row->needs && other < settings_table + settings_count; other++)
        if (other->option && strncmp(row->needs, other->option, strcspn(row->needs, " ")) == 0 &&
            strlen(other->option) == strcspn(row->needs, " "))
            return other;
    return NULL;
}

/* Whatever the option needs is there. NULL: a flag, or the value is missing. */
static enum settings_do give(const struct setting *row, const char *value)
{
    const char *argv[2 * NEEDS_MAX + 4] = { "server" };
    struct nod_server_opts opts = nobodys();
    int argc = 1;

    for (const struct setting *need = need_of(row); need; need = need_of(need)) {
        assert_true(argc + 4 <= (int)(sizeof(argv) / sizeof(argv[0])));
        argv[argc++] = need->option;
        argv[argc++] = text_for(need);
    }
    argv[argc++] = row->option;
    if (value)
        argv[argc++] = value;
    arena_reset(&arena);
    assert_true(settings_begin(&by_argv, &opts, &arena));
    by_argv.serve = row->serve;
    return settings_argv(&by_argv, argc, (char **)argv);
}

static void set_number(struct nod_server_opts *opts, const struct setting *row, int64_t n)
{
    void *at = member_of(opts, row);

    if (row->type == SETTING_TIME)
        *(int64_t *)at = n;
    else if (row->type == SETTING_INT)
        *(int *)at = (int)n;
    else
        *(size_t *)at = (size_t)n;
}

static const char *shown(const struct setting *row, int64_t n, char text[TEXT_MAX])
{
    bool seconds = row->type == SETTING_TIME;

    snprintf(text, TEXT_MAX, "%lld%s", (long long)(seconds ? n / 1000 : n), seconds ? "s" : "");
    return text;
}

static void same_list(const char *const *a, const char *const *b)
{
    for (; a && b && *a && *b; a++, b++)
        assert_string_equal(*a, *b);
    assert_false((a && *a) || (b && *b));
}

/* Whoever has set it, the two say the same of every setting. */
static void assert_same(const struct setting *given)
{
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        const void *a = (const char *)&by_argv + row->at, *b = (const char *)&by_struct + row->at;
        const char *const *ta = a, *const *tb = b;
        const char *const *const *la = a, *const *const *lb = b;

        if (!row->member) /* what the other options of give() have set */
            continue;
        switch (row->type) {
        case SETTING_FLAG:
            assert_int_equal(*(const bool *)a, *(const bool *)b);
            break;
        case SETTING_TIME:
            assert_int_equal(*(const int64_t *)a, *(const int64_t *)b);
            break;
        case SETTING_COUNT:
            assert_int_equal(*(const size_t *)a, *(const size_t *)b);
            break;
        case SETTING_INT:
            assert_int_equal(*(const int *)a, *(const int *)b);
            break;
        case SETTING_LIST:
            same_list(*la, *lb);
            break;
        default:
            if (!*ta != !*tb || (*ta && strcmp(*ta, *tb) != 0))
                fail_msg("%s: %s differs: %s, %s", given->option, row->member, *ta, *tb);
        }
    }
}

/* The value of a row in the struct, and on the command line (NULL: a flag). `list` is for its text.
 */
static const char *set_member(struct nod_server_opts *opts, const struct setting *row,
                              const char *list[2], char number[TEXT_MAX])
{
    void *at = member_of(opts, row);
    int64_t n = row->type == SETTING_TIME ? 120000 : row->least + 3;

    list[0] = text_for(row);
    list[1] = NULL;
    if (is_number(row)) {
        set_number(opts, row, n);
        return shown(row, n, number);
    }
    if (row->type == SETTING_FLAG) {
        *(bool *)at = true;
        return NULL;
    }
    if (row->type == SETTING_LIST)
        *(const char *const **)at = list;
    else
        *(const char **)at = list[0];
    return list[0];
}

static void given_on_the_command_line_or_in_the_struct_it_is_the_same(void **state)
{
    size_t seen = 0;
    (void)state;

    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        const char *list[NEEDS_MAX + 1][2], *value;
        struct nod_server_opts opts = nobodys();
        char number[TEXT_MAX];
        size_t needs = 0;

        if (!row->member || !row->option)
            continue;
        seen++;
        value = set_member(&opts, row, list[0], number);
        if (give(row, value) != SETTINGS_RUN)
            fail_msg("%s %s: %s", row->option, value ? value : "", by_argv.wrong);
        for (const struct setting *need = need_of(row); need; need = need_of(need)) {
            char unused[TEXT_MAX];
            assert_true(++needs <= NEEDS_MAX);
            set_member(&opts, need, list[needs], unused);
        }
        if (!settings_begin(&by_struct, &opts, &arena) || !settings_agree(&by_struct))
            fail_msg("%s: %s", row->member, by_struct.wrong);
        assert_same(row);
    }
    assert_true(seen > 40);
}

static void every_option_takes_what_fits_and_nothing_else(void **state)
{
    (void)state;
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        bool flag = row->type == SETTING_FLAG;
        const char *bad = bad_for(row), *good = flag ? NULL : text_for(row);
        char number[TEXT_MAX];

        if (!row->option)
            continue;
        if (!bad)
            fail_msg("%s: add a row to `texts`", row->option);
        if (is_number(row))
            good = shown(row, row->type == SETTING_TIME ? 120000 : row->least, number);
        if (give(row, good) != SETTINGS_RUN)
            fail_msg("%s %s: %s", row->option, flag ? "" : good, by_argv.wrong);
        if (give(row, bad) != SETTINGS_WRONG)
            fail_msg("%s took \"%s\"", row->option, bad);
        if (!strstr(by_argv.wrong, bad) || (!flag && !strstr(by_argv.wrong, row->option)))
            fail_msg("%s does not say what it was given: %s", row->option, by_argv.wrong);
        if (!flag && give(row, NULL) != SETTINGS_WRONG)
            fail_msg("%s needs no value", row->option);
    }
}

/* Whatever can be said on the command line a program can set, or there is a reason. */
static void what_only_an_operator_can_set_is_about_the_process(void **state)
{
    (void)state;
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++)
        assert_true(row->member || row->env || row->group == GROUP_LOG || row->serve);
}

static void what_needs_another_is_refused_without_it_whoever_has_set_it(void **state)
{
    size_t seen = 0;
    (void)state;

    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        const struct setting *need = need_of(row);
        const char *argv[] = { "server", row->option, NULL, NULL }, *list[2];
        struct nod_server_opts opts = nobodys();
        char number[TEXT_MAX], named[TEXT_MAX];
        assert_true(!row->needs || (need && need->member));
        if (!need)
            continue;
        seen++;
        argv[2] = set_member(&opts, row, list, number);
        arena_reset(&arena);
        assert_true(settings_begin(&by_struct, &opts, &arena));
        assert_int_equal(settings_agree(&by_struct), is_number(row));
        snprintf(named, sizeof(named), ".%s needs .%s", row->member, need->member);
        if (!is_number(row) && strncmp(by_struct.wrong, named, strlen(named)) != 0)
            fail_msg("%s: %s", row->member, by_struct.wrong);

        opts = nobodys();
        assert_true(settings_begin(&by_argv, &opts, &arena));
        assert_int_equal(settings_argv(&by_argv, argv[2] ? 3 : 2, (char **)argv), SETTINGS_WRONG);
        snprintf(named, sizeof(named), "%s needs %s", row->option, need->option);
        if (strncmp(by_argv.wrong, named, strlen(named)) != 0)
            fail_msg("%s: %s", row->option, by_argv.wrong);
    }
    assert_true(seen > 12);
}

/* Refused on the command line, if it can be said there, and in the struct, and both messages have
 * the bounds. 0 in the struct stands for the default. */
static void refuses(const struct setting *row, int64_t n, bool sayable)
{
    struct nod_server_opts opts = nobodys();
    char number[TEXT_MAX], most[TEXT_MAX];
    struct buf takes;

    buf_init(&takes, SETTINGS_WRONG_MAX);
    if (row->option && sayable) {
        assert_int_equal(give(row, shown(row, n, number)), SETTINGS_WRONG);
        setting_takes(row, true, &takes);
        buf_add_char(&takes, 0);
        if (!strstr(by_argv.wrong, buf_str(&takes).at) || !strstr(by_argv.wrong, number))
            fail_msg("%s %s: %s", row->option, number, by_argv.wrong);
    }
    if (row->member && n) {
        set_number(&opts, row, n);
        if (settings_begin(&by_struct, &opts, &arena))
            fail_msg("%s took %lld", row->member, (long long)n);
        snprintf(most, sizeof(most), "from %lld to %lld", (long long)row->least,
                 (long long)row->most);
        if (!strstr(by_struct.wrong, most) || !strstr(by_struct.wrong, row->member))
            fail_msg("%s: %s", row->member, by_struct.wrong);
    }
    buf_finish(&takes);
}

static void each_bound_is_refused_with_its_number(void **state)
{
    (void)state;
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        bool is_time = row->type == SETTING_TIME;
        if (!is_number(row))
            continue;
        assert_true(row->least >= 1 && row->most > row->least);
        assert_true(!row->usual || (row->usual >= row->least && row->usual <= row->most));
        refuses(row, row->least - 1, true);
        refuses(row, is_time ? row->most + 1000 : row->most + 1, true);
        refuses(row, -1, row->type != SETTING_TIME);
    }
}

static void a_list_is_refused_when_it_is_longer_than_its_row_says(void **state)
{
    (void)state;
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        if (row->type != SETTING_LIST || !row->member)
            continue;
        const char **list = calloc((size_t)row->most + 2, sizeof(*list));
        struct nod_server_opts opts = nobodys();
        char most[TEXT_MAX];

        for (int64_t i = 0; i <= row->most; i++)
            list[i] = text_for(row);
        *(const char *const **)member_of(&opts, row) = list;
        arena_reset(&arena);
        assert_false(settings_begin(&by_struct, &opts, &arena));
        snprintf(most, sizeof(most), "%lld", (long long)row->most);
        assert_non_null(strstr(by_struct.wrong, most));
        list[row->most] = NULL;
        assert_true(settings_begin(&by_struct, &opts, &arena));
        free(list);
    }
}

/* NULL is how a program says nothing. An empty text would be a token file that is not there. */
static void an_empty_text_is_refused_wherever_it_is_and_the_message_names_the_member(void **state)
{
    size_t seen = 0;
    (void)state;

    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        const char *const list[] = { text_for(row), "", NULL };
        struct nod_server_opts opts = nobodys();

        if (!row->member || is_number(row) || row->type == SETTING_FLAG)
            continue;
        seen++;
        if (row->type == SETTING_LIST)
            *(const char *const **)member_of(&opts, row) = list;
        else
            *(const char **)member_of(&opts, row) = "";
        arena_reset(&arena);
        char named[TEXT_MAX];
        if (settings_begin(&by_struct, &opts, &arena))
            fail_msg("%s took an empty text", row->member);
        snprintf(named, sizeof(named), ".%s", row->member);
        if (!strstr(by_struct.wrong, named))
            fail_msg("%s: %s", row->member, by_struct.wrong);
        if (row->option && (give(row, "") != SETTINGS_WRONG || !strstr(by_argv.wrong, row->option)))
            fail_msg("%s: %s", row->option, by_argv.wrong);
    }
    assert_true(seen > 20);
}

static void a_word_is_one_of_its_row_and_the_message_names_them(void **state)
{
    (void)state;
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        if (row->type != SETTING_WORD)
            continue;
        for (const char *const *word = row->words; *word; word++)
            assert_int_equal(give(row, *word), SETTINGS_RUN);
        assert_int_equal(give(row, "nonsense"), SETTINGS_WRONG);
        for (const char *const *word = row->words; *word; word++)
            assert_non_null(strstr(by_argv.wrong, *word));
        struct nod_server_opts opts = nobodys();
        if (!row->member)
            continue;
        *(const char **)member_of(&opts, row) = "nonsense";
        assert_false(settings_begin(&by_struct, &opts, &arena));
        assert_non_null(strstr(by_struct.wrong, row->words[0]));
    }
}

static void an_option_without_its_last_letter_names_the_one_that_was_meant(void **state)
{
    (void)state;
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        char mistyped[TEXT_MAX], meant[TEXT_MAX + 32];
        const char *argv[] = { "server", mistyped };
        struct nod_server_opts opts = nobodys();

        if (!row->option)
            continue;
        snprintf(mistyped, sizeof(mistyped), "%.*s", (int)strlen(row->option) - 1, row->option);
        if (row_of(mistyped)) /* --plugins */
            continue;
        snprintf(meant, sizeof(meant), "did you mean %s?", row->option);
        assert_true(settings_begin(&by_argv, &opts, &arena));
        by_argv.serve = row->serve;
        assert_int_equal(settings_argv(&by_argv, 2, (char **)argv), SETTINGS_WRONG);
        if (!strstr(by_argv.wrong, meant))
            fail_msg("%s: %s", mistyped, by_argv.wrong);
    }
}

static void what_can_be_given_is_said_in_the_help(void **state)
{
    char *help = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&help, &len);
    (void)state;

    settings_help(out, true);
    fclose(out);
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        if (row->option && (!strstr(help, row->option) || !row->help))
            fail_msg("%s is not in the help", row->option);
        if (row->option && row->group == GROUP_PROGRAM)
            fail_msg("%s is in the group of what only a program can set", row->option);
    }
    free(help);
}

static void the_place_of_a_row_has_the_size_of_its_type(void **state)
{
    static const size_t sizes[] = {
        [SETTING_FLAG] = sizeof(bool),    [SETTING_TEXT] = sizeof(char *),
        [SETTING_WORD] = sizeof(char *),  [SETTING_LIST] = sizeof(char **),
        [SETTING_TIME] = sizeof(int64_t), [SETTING_COUNT] = sizeof(size_t),
        [SETTING_INT] = sizeof(int),
    };

    (void)state;
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++)
        if (row->size != sizes[row->type])
            fail_msg("%s: its member has %zu bytes, and its type %zu: is .type right?",
                     row->member ? row->member : row->option, row->size, sizes[row->type]);
}

SUBJECT(settings_walk)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_of_a_row_has_the_size_of_its_type),
        cmocka_unit_test(given_on_the_command_line_or_in_the_struct_it_is_the_same),
        cmocka_unit_test(every_option_takes_what_fits_and_nothing_else),
        cmocka_unit_test(what_only_an_operator_can_set_is_about_the_process),
        cmocka_unit_test(what_needs_another_is_refused_without_it_whoever_has_set_it),
        cmocka_unit_test(each_bound_is_refused_with_its_number),
        cmocka_unit_test(a_list_is_refused_when_it_is_longer_than_its_row_says),
        cmocka_unit_test(an_empty_text_is_refused_wherever_it_is_and_the_message_names_the_member),
        cmocka_unit_test(a_word_is_one_of_its_row_and_the_message_names_them),
        cmocka_unit_test(an_option_without_its_last_letter_names_the_one_that_was_meant),
        cmocka_unit_test(what_can_be_given_is_said_in_the_help),
    };
    arena_init(&arena, ROOM);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_finish(&arena);
    return failed;
}
