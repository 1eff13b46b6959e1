/*
 * bench/ask_server: the server that the benchmarks of asking call; with AS_PLUGIN the same handlers
 * as a plugin of nod serve.
 *
 * `ask` asks one form and replies with the answer; `stats` reports what the process has in use.
 */
#include <malloc.h>
#include <nod/nod.h>
#include <stdio.h>
#include <unistd.h>

static nod_status ask(nod_call *call)
{
    nod_answer answer;

    NOD_TRY(nod_elicit(
        call, &answer, .key = "sure", .message = "Delete 3 files? This cannot be undone.",
        .form = NOD_FORM(NOD_BOOL("confirmed", .title = "Confirm", .required = true))));
    if (answer.action != NOD_ACCEPT || !nod_get_bool(answer.content, "confirmed"))
        return nod_reply_text(call, "not confirmed");
    return nod_reply_text(call, "confirmed");
}

static long resident(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file) {
        if (fscanf(file, "%*s %ld", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return pages * sysconf(_SC_PAGESIZE);
}

static nod_status stats(nod_call *call)
{
    struct mallinfo2 use = mallinfo2();

    return nod_reply_textf(call, "live=%zu rss=%ld;", use.uordblks + use.hblkhd, resident());
}

static const nod_tool tools[] = {
    { .name = "ask", .handler = ask, .description = "Asks, then says what was answered" },
    { .name = "stats", .handler = stats, .read_only = true },
};

#ifdef AS_PLUGIN
static nod_status load_all(nod_server *server)
{
    return nod_tools(server, tools);
}

NOD_PLUGIN(.name = "ask", .version = "1", .load = load_all);
#else
int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "ask", .version = "1");

    if (!server || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
#endif
