/*
 * cli/visit: see visit.h.
 */
#include "cli/visit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/terminal_safe.h"
#include "host/places.h"

void visit_say(const struct visit *visit, struct str text, const char *rest)
{
    fprintf(stderr, "%s: ", visit->command);
    safe_text(stderr, text, 0);
    fprintf(stderr, "%s\n", rest);
}

/* --- which server --- */

/* A line for each, as it could be written. */
static void print_servers(const struct place_server *servers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fprintf(stderr, "  %-20s ", servers[i].name);
        safe_text(stderr, str_of(servers[i].address), 0);
        fputc('\n', stderr);
    }
}

/* A server of this user runs, and it is the only one, or the only one of that name. */
static bool find_server(struct visit *visit)
{
    struct place_server *servers = mem_alloc(PLACES_SERVERS_MAX * sizeof(*servers));
    size_t count = place_servers(servers), fit = 0;
    const struct place_server *found = NULL;

    for (size_t i = 0; i < count; i++) {
        if (visit->name && strcmp(servers[i].name, visit->name) != 0)
            continue;
        found = &servers[i];
        fit++;
    }
    if (fit == 1) {
        visit->found = str_dup(str_of(found->address));
        visit->address = visit->found;
    } else if (!count) {
        visit_say(visit, STR_NONE,
                  "no server of this user runs; nod serve starts one. For another server give its "
                  "address, as a word or in NOD_SERVER: http://HOST:PORT, https://HOST or "
                  "unix:PATH");
    } else if (!fit) {
        visit_say(visit, str_of(visit->name),
                  ": no server of this user that runs has this name; these run:");
    } else {
        visit_say(visit, visit->name ? str_of(visit->name) : STR_NONE,
                  visit->name ? ": several servers have this name; give the address of one:"
                              : "several servers of this user run; say which with --name NAME:");
    }
    if (fit != 1)
        print_servers(servers, count);
    mem_free(servers);
    return fit == 1;
}

bool visit_check(struct visit *visit)
{
    if (visit->name)
        return !visit->address ||
               command_wrong(visit->command, "--name", "and an address are two servers");
    if (!visit->address)
        visit->address = getenv("NOD_SERVER");
    if (!visit->address || !*visit->address) {
        visit->address = NULL;
        return true;
    }
    const char *wrong = remote_address_wrong(str_of(visit->address));
    return !wrong || command_wrong(visit->command, visit->address, wrong);
}

/* --- going there --- */

bool visit_begin(struct visit *visit, const char *header)
{
    char why[REMOTE_WHY_MAX];

    if (!visit->address && !find_server(visit))
        return false;
    visit->token = getenv("NOD_TOKEN");
    if (visit->token_file)
        visit->token = remote_token(visit->token_file, &visit->text, why).at;
    if (visit->token && !*visit->token)
        visit->token = NULL;
    if (visit->token_file && !visit->token) {
        visit_say(visit, str_of(why), "");
        return false;
    }
    visit->remote = remote_open(&(struct remote_opts){ .address = visit->address,
                                                       .token = visit->token,
                                                       .ca_file = visit->ca_file,
                                                       .header = header },
                                why);
    if (!visit->remote)
        visit_say(visit, str_of(why), "");
    return visit->remote != NULL;
}

void visit_end(struct visit *visit)
{
    remote_close(visit->remote);
    buf_finish(&visit->text);
    mem_free(visit->found);
}

void visit_say_unknown(const struct visit *visit, struct str detail)
{
    fprintf(stderr, "%s: the server says 401: ", visit->command);
    if (visit->token) {
        fputs("it does not know the token of ", stderr);
        safe_text(stderr, str_of(visit->token_file ? visit->token_file : "NOD_TOKEN"), 0);
        fputc('\n', stderr);
        return;
    }
    safe_text(stderr, detail.len ? detail : STR("it does not know you"), 0);
    fprintf(stderr,
            "\n%s: no token was sent: if the server has tokens, set NOD_TOKEN or give --token-file "
            "FILE; over unix:PATH its own user needs none\n",
            visit->command);
}
