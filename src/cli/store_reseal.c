/*
 * cli/store_reseal: `nod store reseal`, the second half of replacing a secret.
 *
 * The secrets are those of the environment, as for a server (cli/operator_keys): the newest seals,
 * the previous ones open. It reports how many records it saw, how many it sealed with the newest
 * secret, and how many it could not open. If there are any of the last, the command fails: the
 * secret that sealed them should not be dropped.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/similar.h"
#include "cli/command.h"
#include "cli/operator_keys.h"
#include "cli/storage.h"
#include "store/reseal.h"

static const char help[] =
    "usage: nod store reseal --store ADDRESS [--plain]\n\n"
    "Brings every record of a store under the newest secret (MCP_ELICITATION_SECRET, else\n"
    "MCP_SESSION_SECRET, else MCP_SERVER_SECRET). The secrets that sealed them before are named "
    "in\n"
    "MCP_PREVIOUS_SECRETS; afterwards they can be dropped. It may be stopped at any moment, and "
    "run\n"
    "again.\n\n"
    "  --store ADDRESS   sqlite:PATH, while no server uses it;\n"
    "                    redis://HOST:PORT, also while servers use it that have the newest secret\n"
    "  --plain           seal what was written without a secret too: only for a store that\n"
    "                    nobody else could write to\n"
    "  --help\n";

struct wanted {
    const char *store;
    bool plain;
    bool help;
};

static bool wrong(const char *what, const char *arg)
{
    fprintf(stderr, "nod store reseal: %s %s\nTry --help.\n", arg, what);
    return false;
}

static bool not_an_option(const char *arg, struct str name)
{
    static const char *const names[] = { "--store", "--plain", "--help", NULL };
    char what[SIMILAR_TEXT];

    return wrong(similar_option(name, names, what), arg);
}

static bool read_args(struct wanted *wanted, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        struct str name, value;
        bool joined = str_cut(str_of(argv[i]), '=', &name, &value);

        if (str_eq(str_of(argv[i]), STR("--help")))
            wanted->help = true;
        else if (str_eq(str_of(argv[i]), STR("--plain")))
            wanted->plain = true;
        else if (!str_eq(name, STR("--store")))
            return not_an_option(argv[i], name);
        else if (!joined && i + 1 >= argc)
            return wrong("needs a value: sqlite:PATH or redis://HOST:PORT", argv[i]);
        else
            wanted->store = joined ? value.at : argv[++i];
    }
    return wanted->help || wanted->store || wrong("has to be given", "--store");
}

static int reseal(const struct wanted *wanted, struct keyring *ring)
{
    struct reseal_counts counts;

    if (!storage_reseal(&(struct storage_opts){ .address = wanted->store, .ring = ring },
                        wanted->plain, &counts))
        return COMMAND_FAILED;
    printf("records %" PRIu64 "\nre-sealed %" PRIu64 "\nrefused %" PRIu64 "\n", counts.records,
           counts.resealed, counts.refused);
    if (counts.refused)
        LOG_ERROR("some records cannot be opened with the secrets that are set: they stay as they "
                  "are",
                  LOG_INT("records", (int64_t)counts.refused),
                  LOG_CSTR("try", "name the secret that sealed them in MCP_PREVIOUS_SECRETS"));
    return counts.refused ? COMMAND_FAILED : COMMAND_FINE;
}

int command_store_reseal(int argc, char **argv)
{
    struct wanted wanted = { 0 };
    struct keyring *ring = NULL;

    if (!read_args(&wanted, argc, argv))
        return COMMAND_WRONG_USAGE;
    if (wanted.help) {
        fputs(help, stdout);
        return COMMAND_FINE;
    }
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_INFO, .fd = 2 });
    if (!operator_keyring(&ring))
        return COMMAND_FAILED;
    int code = reseal(&wanted, ring);
    keyring_destroy(ring);
    return code;
}
