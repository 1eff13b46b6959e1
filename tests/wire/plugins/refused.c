/*
 * tests/wire/plugins/refused: plugins that cannot be loaded, each for a reason of its own.
 */
#include <nod/nod.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static nod_status plain(nod_call *call)
{
    return nod_reply_text(call, "It was called.");
}

#if defined(FAILS)
static nod_status load(nod_server *server)
{
    static const nod_tool tools[] = { { .name = "fails.plain", .handler = plain } };

    NOD_TRY(nod_tools(server, tools));
    return NOD_E_IO;
}
NOD_PLUGIN(.name = "fails", .version = "1", .load = load);

#elif defined(TAKEN)
static nod_status load(nod_server *server)
{
    static const nod_tool tools[] = { { .name = "taken.own", .handler = plain },
                                      { .name = "steady.plain", .handler = plain } };
    return nod_tools(server, tools);
}
NOD_PLUGIN(.name = "taken", .version = "1", .load = load);

#elif defined(MEETS) /* taken only where clients are shown underscores */
static nod_status load(nod_server *server)
{
    static const nod_tool tools[] = { { .name = "meets.own", .handler = plain },
                                      { .name = "steady_plain", .handler = plain } };
    return nod_tools(server, tools);
}
NOD_PLUGIN(.name = "meets", .version = "1", .load = load);

#elif defined(NEWER)
static nod_status load(nod_server *server)
{
    (void)server, (void)plain;
    return NOD_OK;
}
NOD_PLUGIN(.name = "newer", .version = "1", .load = load, .nod_version = 990203);

#elif defined(LACKS)
nod_status nod_of_tomorrow(nod_call *call);
static nod_status load(nod_server *server)
{
    static const nod_tool tools[] = { { .name = "lacks.plain", .handler = nod_of_tomorrow } };

    (void)plain;
    return nod_tools(server, tools);
}
NOD_PLUGIN(.name = "lacks", .version = "1", .load = load);

#elif defined(DIES)
static nod_status load(nod_server *server)
{
    (void)server, (void)plain;
    abort();
}
NOD_PLUGIN(.name = "dies", .version = "1", .load = load);

#elif defined(WAITS) /* for the file of that name, if there is one */
static nod_status load(nod_server *server)
{
    static const nod_tool tools[] = { { .name = "waits.plain", .handler = plain } };
    const char *file = getenv("WAITS_FOR");

    if (file)
        fputs("it waits\n", stderr);
    while (file && access(file, F_OK) != 0)
        usleep(10000);
    return nod_tools(server, tools);
}
NOD_PLUGIN(.name = "waits", .version = "1", .load = load);

#elif defined(WRONG_SETTING)
static nod_status load(nod_server *server)
{
    static const nod_tool tools[] = { { .name = "wrong.plain", .handler = plain } };

    nod_setting_int(server, "lmit");
    return nod_tools(server, tools);
}
NOD_PLUGIN(.name = "wrong", .version = "1", .load = load, .settings = NOD_FORM(NOD_INT("limit")));

#elif defined(WRONG_PRESET)
static nod_status load(nod_server *server)
{
    static const nod_tool tools[] = { { .name = "preset.plain", .handler = plain } };

    return nod_tools(server, tools);
}
NOD_PLUGIN(.name = "preset", .version = "1", .load = load,
           .settings = NOD_FORM(NOD_INT("most", NOD_MAX(50), .preset = "500")));

#elif defined(INSIDE) /* and libnod.a is linked into it */
static nod_status load(nod_server *server)
{
    static const nod_tool tools[] = { { .name = "inside.plain", .handler = plain } };

    return nod_tools(server, tools);
}
NOD_PLUGIN(.name = "inside", .version = "1", .load = load);

#else /* no plugin at all */
nod_status (*const nothing)(nod_call *call) = plain;
#endif
