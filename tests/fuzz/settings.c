/*
 * tests/fuzz/settings: arbitrary bytes as a settings file. Whatever they are, each value that is
 * given out is a text of its line without spaces around it, no key comes twice in a section, and
 * nothing comes after an error.
 */
#include <stdint.h>
#include <stdlib.h>

#include "host/settings_file.h"
#include "target.h"

static const char *const keys[] = { "a", "bb", "issuer", "client_id", NULL };

struct seen {
    bool failed, inside;
    unsigned given;
    struct str text;
};

static void must(bool truth)
{
    if (!truth)
        abort();
}

static const char *const *on_section(void *data, struct str name, const char **why)
{
    struct seen *seen = data;

    must(!seen->failed && name.len > 0 && name.len <= SETTINGS_NAME_MAX);
    must(str_find(seen->text, name) >= 0);
    seen->given = 0;
    seen->inside = name.at[0] != '!';
    seen->failed = !seen->inside;
    *why = "it begins with !";
    return seen->inside ? keys : NULL;
}

static bool on_key(void *data, size_t which, const struct config_value *given, const char **why)
{
    struct seen *seen = data;
    struct str value = given->value;

    must(!seen->failed && seen->inside && which < 4 && !(seen->given & 1u << which));
    must(value.len > 0 && !str_is_blank_(value.at[0]) && !str_is_blank_(value.at[value.len - 1]));
    must(!memchr(value.at, '\n', value.len) && str_find(seen->text, value) >= 0);
    seen->given |= 1u << which;
    seen->failed = value.at[0] == '!';
    *why = "it begins with !";
    return !seen->failed;
}

FUZZ_TARGET(settings)
{
    struct seen seen = { .text = str_n((const char *)data, size) };
    const struct settings_reader reader = { .section = on_section, .key = on_key, .data = &seen };
    char problem[SETTINGS_PROBLEM_MAX];
    bool fine = settings_read("file", seen.text, &reader, problem);

    must(fine == !problem[0]);
    must(!(fine && seen.failed));
    return 0;
}
