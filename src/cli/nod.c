/*
 * cli/nod: the program `nod`, a table of commands.
 *
 * It reads the words of a command and hands the rest over. It does nothing else.
 */
#include <nod/nod.h>
#include <stdio.h>

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
    { { "inbox" },
      "inbox ADDRESS [COMMAND]",
      "see and answer what the tools of a running server ask, and look at what is kept of it:\n"
      "      list, show, answer, watch, remembered, revoke, secrets, delete, accounts, "
      "disconnect",
      command_inbox },
    { { "login" },
      "login ADDRESS [--token-file FILE]",
      "print a link that opens the inbox of a running server, once",
      command_login },
    { { "store", "reseal" },
      "store reseal --store ADDRESS [--plain]",
      "bring every record under the newest secret, so that older ones can be dropped",
      command_store_reseal },
};

static void help(FILE *out)
{
    fprintf(out, "usage: nod COMMAND\n\n");
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
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

int main(int argc, char **argv)
{
    struct str first = argc > 1 ? str_of(argv[1]) : STR_NONE;

    if (str_eq(first, STR("--help"))) {
        help(stdout);
        return COMMAND_FINE;
    }
    if (str_eq(first, STR("--version"))) {
        printf("nod %s\n", NOD_VERSION);
        return COMMAND_FINE;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        int words = words_of(&commands[i], argc, argv);
        if (words)
            return commands[i].run(argc - 1 - words, argv + 1 + words);
    }
    if (first.len) {
        fputs("nod: ", stderr);
        safe_text(stderr, first, 0);
        fputs(" is no command\n\n", stderr);
    }
    help(stderr);
    return COMMAND_WRONG_USAGE;
}
