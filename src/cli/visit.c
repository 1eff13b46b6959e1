/*
 * cli/visit: see visit.h.
 */
#include "cli/visit.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/terminal_safe.h"

void visit_say(const struct visit *visit, struct str text, const char *rest)
{
    fprintf(stderr, "%s: ", visit->command);
    safe_text(stderr, text, 0);
    fprintf(stderr, "%s\n", rest);
}

bool visit_check(struct visit *visit)
{
    if (!visit->address)
        visit->address = getenv("NOD_SERVER");
    if (!visit->address || !*visit->address) {
        visit_say(visit, STR_NONE,
                  "an address has to be given, as a word or in NOD_SERVER: http://HOST:PORT, "
                  "https://HOST or unix:PATH\nTry --help.");
        return false;
    }
    const char *wrong = remote_address_wrong(str_of(visit->address));
    return !wrong || command_wrong(visit->command, visit->address, wrong);
}

bool visit_begin(struct visit *visit, const char *header)
{
    char why[REMOTE_WHY_MAX];

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
