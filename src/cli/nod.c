/*
 * cli/nod: the program `nod`, a table of commands.
 *
 * It reads the words of a command and hands the rest over. It does nothing else.
 */
#include <nod/nod.h>
#include <stdio.h>

#include "base/similar.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/terminal_safe.h"

enum { COMMAND_WORDS_MAX = 2 };

struct command {
    const char *words[COMMAND_WORDS_MAX];
    const char *usage;
    const char *what;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    { { "serve" },
      "serve [--config FILE] [OPTION...]",
      "a server: its tools are plugins, and a file says how it is set up",
      command_serve },
    { { "check" },
      "check [FILE] [OPTION...]",
      "say what nod serve would do with this configuration, and where each value is from",
      command_check },
    { { "new" },
      "new NAME",
      "write a project with a plugin: its source, its test, and what builds it",
      command_new },
    { { "inbox" },
      "inbox [ADDRESS] [COMMAND]",
      "see and answer what the tools of a running server ask, and look at what is kept of it:\n"
      "      list, show, answer, watch, remembered, revoke, secrets, delete, accounts, "
      "disconnect",
      command_inbox },
    { { "login" },
      "login [ADDRESS] [--token-file FILE]",
      "print a link that opens the inbox of a running server, once",
      command_login },
    { { "store", "list" },
      "store list --store ADDRESS [--ended] [--json]",
      "list the calls of a store, without a server",
      command_store_list },
    { { "store", "end" },
      "store end CALL --reason TEXT --store ADDRESS",
      "end a call, without a server; its caller reads the reason",
      command_store_end },
    { { "store", "reseal" },
      "store reseal --store ADDRESS [--plain]",
      "bring every record under the newest secret, so that older ones can be dropped",
      command_store_reseal },
};

/* All commands, or those that begin with this word, if there are any. */
static void help(FILE *out, struct str word)
{
    bool some = false;

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        some |= str_eq(word, str_of(commands[i].words[0]));
    fprintf(out, "usage: nod COMMAND\n\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (!some || str_eq(word, str_of(commands[i].words[0])))
            fprintf(out, "  nod %s\n      %s\n", commands[i].usage, commands[i].what);
    fprintf(out, "\n  nod COMMAND --help, nod --help, nod --version\n");
}

/* How many words of the command line name this command; 0: it is another. */
static int words_of(const struct command *command, int argc, char **argv)
{
    int count = 0;

    for (; count < COMMAND_WORDS_MAX && command->words[count]; count++)
        if (count + 1 >= argc || !str_eq(str_of(argv[count + 1]), str_of(command->words[count])))
            return 0;
    return count;
}

/* The words of a command line that name no command: what is there instead, if a word of it is
 * right or nearly so. */
static void say_unknown(int argc, char **argv)
{
    struct str first = str_of(argv[1]), second = argc > 2 ? str_of(argv[2]) : STR_NONE;
    struct similar similar = { .to = first };
    size_t count = sizeof(commands) / sizeof(commands[0]), known = 0;

    for (size_t i = 0; i < count; i++)
        known += str_eq(first, str_of(commands[i].words[0]));
    if (known)
        similar.to = second;
    for (size_t i = 0; i < count; i++)
        if (!known || str_eq(first, str_of(commands[i].words[0])))
            similar_try(&similar, commands[i].words[known ? 1 : 0]);
    fputs("nod: ", stderr);
    safe_text(stderr, first, 0);
    if (known && !second.len) {
        fputs(" needs one more word\n\n", stderr);
        return;
    }
    if (known) {
        fputc(' ', stderr);
        safe_text(stderr, second, 0);
    }
    fputs(" is no command", stderr);
    if (similar.meant)
        fprintf(stderr, "; did you mean nod %s%s%s?", known ? argv[1] : "", known ? " " : "",
                similar.meant);
    fputs("\n\n", stderr);
}

int main(int argc, char **argv)
{
    struct str first = argc > 1 ? str_of(argv[1]) : STR_NONE;

    if (str_eq(first, STR("--help")) || str_eq(first, STR("help")) || str_eq(first, STR("-h"))) {
        help(stdout, STR_NONE);
        return COMMAND_FINE;
    }
    if (str_eq(first, STR("--version"))) {
        printf("nod %s\n", NOD_VERSION);
        return COMMAND_FINE;
    }
    if (argc == 3 && str_eq(first, STR("store")) && str_eq(str_of(argv[2]), STR("--help"))) {
        help(stdout, first);
        return COMMAND_FINE;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        int words = words_of(&commands[i], argc, argv);
        if (words)
            return commands[i].run(argc - 1 - words, argv + 1 + words);
    }
    if (first.len)
        say_unknown(argc, argv);
    help(stderr, first);
    return COMMAND_WRONG_USAGE;
}
