/*
 * cli/store_reseal: `nod store reseal`, the second half of replacing a secret.
 *
 * The secrets are those of the environment, as for a server (host/operator_keys): the newest seals,
 * the previous ones open. It reports how many records it saw, how many it sealed with the newest
 * secret, and how many it could not open. If there are any of the last, the command fails: the
 * secret that sealed them should not be dropped.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "cli/command.h"
#include "host/operator_keys.h"
#include "host/storage.h"
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
};

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
    const struct command_option options[] = { { "--store", .value = &wanted.store },
                                              { "--plain", .flag = &wanted.plain },
                                              { 0 } };
    const struct command_line line = { .command = "nod store reseal",
                                       .help = help,
                                       .options = options };
    struct keyring *ring = NULL;
    int code;

    if (!command_read(&line, argc, argv, &code))
        return code;
    if (!wanted.store) {
        command_wrong(line.command, "--store", "has to be given");
        return COMMAND_WRONG_USAGE;
    }
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_INFO, .fd = 2 });
    if (!storage_stays(wanted.store))
        return COMMAND_WRONG_USAGE;
    if (!operator_keyring(NULL, &ring))
        return COMMAND_FAILED;
    code = reseal(&wanted, ring);
    keyring_destroy(ring);
    return code;
}
