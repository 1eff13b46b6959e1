/*
 * cli/command: the command lines of the program `nod`; see command.h.
 */
#include "cli/command.h"

#include <stdio.h>

#include "base/similar.h"
#include "cli/terminal_safe.h"

bool command_wrong(const char *command, const char *arg, const char *what)
{
    fprintf(stderr, "%s: ", command);
    safe_text(stderr, str_of(arg), 0);
    fprintf(stderr, " %s\nTry %s --help.\n", what, command);
    return false;
}

/* One argument, and its value, which may be the next. */
static bool take(const struct command_line *line, char **argv, bool *next)
{
    const struct command_option *option = line->options;
    char *arg = argv[0];
    struct str name, value;
    bool joined = str_cut(str_of(arg), '=', &name, &value);

    while (option->name && !str_eq(name, str_of(option->name)))
        option++;
    if (!option->name && line->word &&
        (arg[0] != '-' || !arg[1] || (line->awaits && line->awaits(line->data, arg))))
        return line->word(line->data, arg);
    if (!option->name) {
        struct similar similar = { .to = name };
        char what[SIMILAR_TEXT];

        for (option = line->options; option->name; option++)
            similar_try(&similar, option->name);
        similar_try(&similar, "--help");
        snprintf(what, sizeof(what), "is not an option%s%s%s",
                 similar.meant ? "; did you mean " : "", similar.meant ? similar.meant : "",
                 similar.meant ? "?" : "");
        return command_wrong(line->command, arg, what);
    }
    if (!option->flag && !option->text) {
        *next = !joined;
        if (!joined && !argv[1])
            return command_wrong(line->command, option->name, "needs a value");
        *option->value = joined ? value.at : argv[1];
        return true;
    }
    if (joined)
        return command_wrong(line->command, option->name, "takes no value");
    if (option->flag)
        *option->flag = true;
    else
        *option->value = option->text;
    return true;
}

bool command_read(const struct command_line *line, int argc, char **argv, int *code)
{
    bool help = false;

    *code = COMMAND_WRONG_USAGE;
    for (int i = 0; i < argc; i++) {
        bool next = false;
        if (str_eq(str_of(argv[i]), STR("--help")))
            help = true;
        else if (!take(line, argv + i, &next))
            return false;
        i += next;
    }
    if (!help)
        return true;
    fputs(line->help, stdout);
    *code = COMMAND_FINE;
    return false;
}
