/* tests/unit/host/settings_file: settings files are read strictly, and an error names its line. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/settings_file.h"
#include "../runner.h"

static const char *const keys[] = { "issuer", "scopes", "client_id", NULL };

static struct {
    char seen[4096]; /* "[section]key=value;" one after the other */
    char problem[SETTINGS_PROBLEM_MAX];
} all;

static const char *const *on_section(void *data, struct str name, const char **why)
{
    (void)data;
    if (str_eq(name, STR("nobody"))) {
        *why = "nobody has such a section";
        return NULL;
    }
    snprintf(all.seen + strlen(all.seen), sizeof(all.seen) - strlen(all.seen), "[" STR_FMT "]",
             STR_ARG(name));
    return keys;
}

static bool on_key(void *data, size_t which, const struct config_value *value, const char **why)
{
    (void)data;
    if (str_eq(value->value, STR("bad"))) {
        *why = "it is bad";
        return false;
    }
    snprintf(all.seen + strlen(all.seen), sizeof(all.seen) - strlen(all.seen), "%s=" STR_FMT ";",
             keys[which], STR_ARG(value->value));
    return true;
}

static bool on_end(void *data, size_t *which, const char **why)
{
    (void)data;
    *why = "it has no issuer";
    if (strstr(all.seen, "[unlike]")) {
        *why = "the scopes are not like the issuer";
        *which = 1; /* scopes */
        return false;
    }
    return !strstr(all.seen, "[bare]") || strstr(all.seen, "issuer");
}

static const char *on_unknown(void *data, const char *name)
{
    (void)data;
    return strcmp(name, "secret") == 0 ? "the secret is elsewhere" : NULL;
}

static bool read_text(struct str text)
{
    const struct settings_reader reader = {
        .section = on_section, .key = on_key, .end = on_end, .unknown = on_unknown
    };

    all.seen[0] = '\0';
    return settings_read("f", text, &reader, all.problem);
}

#define READS(text, expected)                                                                      \
    do {                                                                                           \
        bool read = read_text(STR(text));                                                          \
        assert_string_equal(all.problem, "");                                                      \
        assert_true(read);                                                                         \
        assert_string_equal(all.seen, expected);                                                   \
    } while (0)
#define REFUSES(text, expected)                                                                    \
    do {                                                                                           \
        assert_false(read_text(STR(text)));                                                        \
        assert_string_equal(all.problem, expected);                                                \
    } while (0)

static void sections_and_keys_are_given_in_their_order(void **state)
{
    (void)state;
    READS("", "");
    READS("; nothing\n# at all\n\n", "");
    READS("[a]\nissuer = x\nscopes=y z\n[b]\n  client_id\t=  q  \r\n",
          "[a]issuer=x;scopes=y z;[b]client_id=q;");
    READS("\xef\xbb\xbf[a]\nissuer = x", "[a]issuer=x;");
    READS("[a]\nissuer = https://x.example/a?b=c;d#e\n", "[a]issuer=https://x.example/a?b=c;d#e;");
    READS("[a]\nissuer = \xc3\xa9\n", "[a]issuer=\xc3\xa9;");
    READS("[a]\n[b]\n", "[a][b]"); /* nothing in them, and told all the same */
}

static void what_is_not_known_is_refused_with_its_line(void **state)
{
    (void)state;
    REFUSES(
        "[a]\nissuer = x\n\ncolour = red\n",
        "f:4: [a]: colour is not a key that is known here; those are issuer, scopes, client_id");
    REFUSES("[a]\nsecret = x\n", "f:2: [a]: the secret is elsewhere");
    REFUSES("[unlike]\nissuer = i\nscopes = s\nclient_id = c\n",
            "f:3: [unlike]: the scopes are not like the issuer");
    REFUSES("[unlike]\nissuer = i\n", "f:1: [unlike]: the scopes are not like the issuer");
    REFUSES("; one\n[nobody]\n", "f:2: [nobody]: nobody has such a section");
    REFUSES("[a]\nissuer = bad\n", "f:2: issuer: it is bad");
    REFUSES(
        "[a]\nIssuer = x\n",
        "f:2: [a]: Issuer is not a key that is known here (did you mean issuer?); those are issuer, scopes, client_id");
}

static void what_stands_twice_or_nowhere_is_refused(void **state)
{
    (void)state;
    REFUSES("[a]\nissuer = x\nissuer = y\n", "f:3: issuer is there twice in [a]: take one of them out");
    REFUSES("[a]\n[b]\n[a]\n", "f:3: [a] is there twice: put all of it into one");
    REFUSES("issuer = x\n", "f:1: issuer stands in no section: put it below the line with its [NAME]");
    REFUSES("[bare]\nscopes = x\n[next]\n", "f:1: [bare]: it has no issuer");
    REFUSES("\n[bare]\nscopes = x\n", "f:2: [bare]: it has no issuer");
}

static void what_inih_would_let_pass_is_refused(void **state)
{
    (void)state;
    REFUSES("[a] b\n", "f:1: a section is [NAME], with nothing behind it");
    REFUSES("[a\n", "f:1: a section is [NAME], with nothing behind it");
    REFUSES("[]\n", "f:1: a section has a name of 1 to 48 characters, and no spaces around it");
    REFUSES("[ a ]\n", "f:1: a section has a name of 1 to 48 characters, and no spaces around it");
    REFUSES("[\n", "f:1: a section is [NAME], with nothing behind it");
    REFUSES("[a]b]\n", "f:1: a section has a name of 1 to 48 characters, and no spaces around it");
    REFUSES("[a]\nissuer\n", "f:2: this is neither [NAME], nor key = value, nor a comment");
    REFUSES("[a]\nissuer: x\n", "f:2: this is neither [NAME], nor key = value, nor a comment");
    REFUSES("[a]\nissuer: x = y\n", "f:2: the name of a key has 1 to 48 characters, and no colon");
    REFUSES("[a]\n= x\n", "f:2: the name of a key has 1 to 48 characters, and no colon");
    REFUSES("[a]\nissuer =\n", "f:2: issuer has no value");
    REFUSES("[a]\nissuer = x\n  more\n",
            "f:3: this is neither [NAME], nor key = value, nor a comment");
    REFUSES("[a]\nissuer = x ; why\n", "f:2: a comment has a line of its own");
    REFUSES("[a]\nissuer = ;x\n", "f:2: a comment has a line of its own");
    REFUSES("[a]\nissuer = x # why\n", "f:2: a comment has a line of its own");
    REFUSES("[a]\nissuer = #x\n", "f:2: a comment has a line of its own");
    REFUSES("[a]\nissuer = x\0y\n", "f:2: this line has bytes that are not text (UTF-8)");
    REFUSES("[a]\nissuer = \xff\n", "f:2: this line has bytes that are not text (UTF-8)");
    REFUSES("[a]\nissuer = x\x01\n", "f:2: this line has bytes that are not text (UTF-8)");
}

static void every_size_has_its_bound(void **state)
{
    char text[SETTINGS_LINE_MAX + 64], name[SETTINGS_NAME_MAX + 8];

    (void)state;
    memset(name, 'n', sizeof(name));
    snprintf(text, sizeof(text), "[%.*s]\n", SETTINGS_NAME_MAX, name);
    assert_true(read_text(str_of(text)));
    snprintf(text, sizeof(text), "[%.*s]\n", SETTINGS_NAME_MAX + 1, name);
    assert_false(read_text(str_of(text)));

    int head = snprintf(text, sizeof(text), "[a]\nissuer = ");
    memset(text + head, 'x', sizeof(text) - (size_t)head);
    assert_true(read_text(str_n(text, 1000)));
    assert_int_equal(strlen(all.seen), 1000 - (size_t)head + strlen("[a]issuer=;"));
    assert_false(read_text(str_n(text, sizeof(text))));
    assert_non_null(strstr(all.problem, "f:2: this line is longer than "));

    char *many = malloc(SETTINGS_FILE_MAX + 1);
    size_t used = 0;
    memset(many, '\n', SETTINGS_FILE_MAX + 1);
    assert_true(read_text(str_n(many, SETTINGS_FILE_MAX)));
    assert_false(read_text(str_n(many, SETTINGS_FILE_MAX + 1)));
    assert_string_equal(all.problem, "f: the file is larger than 262144 bytes");
    for (int i = 0; i <= SETTINGS_SECTIONS_MAX; i++)
        used += (size_t)snprintf(many + used, SETTINGS_FILE_MAX - used, "[s%d]\n", i);
    assert_false(read_text(str_n(many, used)));
    assert_string_equal(all.problem, "f:257: there are more than 256 sections");
    free(many);
}

static void a_file_that_is_not_there_is_named(void **state)
{
    const struct settings_reader reader = { .section = on_section, .key = on_key };

    (void)state;
    assert_false(settings_read_file("/nowhere/at/all.ini", &reader, all.problem));
    assert_string_equal(all.problem,
                        "/nowhere/at/all.ini: the file cannot be read: No such file or directory");
    assert_false(settings_read_file("/", &reader, all.problem));
    assert_string_equal(all.problem, "/: the file cannot be read: Is a directory");
}

SUBJECT(settings_file)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_and_keys_are_given_in_their_order),
        cmocka_unit_test(what_is_not_known_is_refused_with_its_line),
        cmocka_unit_test(what_stands_twice_or_nowhere_is_refused),
        cmocka_unit_test(what_inih_would_let_pass_is_refused),
        cmocka_unit_test(every_size_has_its_bound),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
