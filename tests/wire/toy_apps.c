/*
 * toys: a server whose tools are people's own (core/provider.h: target.owner), and come, go and are
 * replaced while it runs.
 *
 * Ada and Bob each have an app `notes`. It says whose it is and which number it has, after a
 * question if it is told to ask. The other tools are for the test: they change what there is.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "host/host.h"
#include "core/run.h"

enum { APPS_MOST = 15000, RENEW_EVERY_MS = 1 };

struct app {
    struct target base; /* first */
    int number;
    char name[24], owner[24], descriptor[160];
};

static nod_server *server;
static struct target *notes_of_ada;
static struct target *many[APPS_MOST];
static size_t many_count;
static int alive; /* apps that are not freed */
static int renewals_left;
static int last_number;
static struct timer renewal;

/* --- the provider --- */

static void app_start(struct provider *provider, struct run *run)
{
    const struct app *app = (const struct app *)(const void *)run->target;
    const struct entry *answer;
    nod_status status = NOD_OK;

    (void)provider;
    if (json_true(json_get(run->args, STR("ask"))))
        status = run_ask(run,
                         &(struct ask_spec){ .kind = ASK_FORM,
                                             .key = STR("go"),
                                             .message = STR("Go on?"),
                                             .detail = STR("{\"type\":\"object\",\"properties\":{"
                                                           "\"word\":{\"type\":\"string\"}}}") },
                         &answer);
    run_done(run, status,
             status == NOD_OK
                 ? arena_fmt(&run->arena, "{\"content\":[{\"type\":\"text\",\"text\":\"%s %d\"}]}",
                             app->owner, app->number)
                 : STR_NONE);
}

static void app_released(struct provider *provider, struct target *target)
{
    (void)provider;
    alive--;
    mem_free((struct app *)(void *)target);
}

static const struct provider_ops app_ops = { .name = "apps",
                                             .start = app_start,
                                             .released = app_released };
static struct provider app_provider = { .ops = &app_ops };

static struct target *app_new(const char *owner, const char *name)
{
    struct app *app = MEM_NEW(struct app);

    alive++;
    app->number = ++last_number;
    snprintf(app->owner, sizeof(app->owner), "%s", owner);
    snprintf(app->name, sizeof(app->name), "%s", name);
    snprintf(app->descriptor, sizeof(app->descriptor),
             "{\"name\":\"%s\",\"title\":\"%s %s\",\"inputSchema\":{\"type\":\"object\"}}", name,
             owner, name);
    app->base = (struct target){ .kind = TARGET_TOOL,
                                 .name = str_of(app->name),
                                 .owner = str_of(app->owner),
                                 .descriptor = str_of(app->descriptor),
                                 .provider = &app_provider };
    app->base.version[0] = 1;
    return &app->base;
}

static nod_status renew(void)
{
    struct target *newer = app_new("ada", "notes");

    NOD_TRY(catalog_replace(server->catalog, notes_of_ada, newer));
    notes_of_ada = newer;
    return NOD_OK;
}

/* --- what the test changes --- */

static void renewal_due(void *data)
{
    (void)data;
    if (renewals_left == 0 || renew() != NOD_OK)
        return;
    renewals_left--;
    timer_set(server->loop, &renewal, RENEW_EVERY_MS, renewal_due, NULL);
}

/* Replaces Ada's app so often: one after the other, or all in this turn. */
static nod_status renew_notes(nod_call *call)
{
    int times = (int)nod_arg_int(call, "times");

    if (!nod_arg_bool(call, "now")) {
        renewals_left = times;
        renewal_due(NULL);
        return nod_reply_text(call, "begun");
    }
    while (times-- > 0)
        NOD_TRY(renew());
    return nod_reply_text(call, "done");
}

static nod_status how_far(nod_call *call)
{
    return nod_reply_textf(call, "%d left, %d alive", renewals_left, alive);
}

/* So many tools for everybody, in one batch. */
static nod_status add_many(nod_call *call)
{
    size_t count = (size_t)nod_arg_int(call, "count");
    char name[24];

    if (many_count + count > APPS_MOST)
        return NOD_E_LIMIT;
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "many_%d", last_number + 1);
        many[many_count + i] = app_new("", name);
    }
    struct catalog_change change = { .add = many + many_count, .add_count = count };
    NOD_TRY(catalog_change(server->catalog, &change, NULL));
    many_count += count;
    return nod_reply_text(call, "added");
}

/* Takes some of them away, in one batch. */
static nod_status remove_some(nod_call *call)
{
    size_t from = (size_t)nod_arg_int(call, "from"), count = (size_t)nod_arg_int(call, "count");

    if (from + count > many_count)
        return NOD_E_LIMIT;
    struct catalog_change change = { .remove = many + from, .remove_count = count };
    NOD_TRY(catalog_change(server->catalog, &change, NULL));
    memmove(many + from, many + from + count, (many_count - from - count) * sizeof(many[0]));
    many_count -= count;
    return nod_reply_text(call, "removed");
}

static nod_status says_nothing(nod_call *call)
{
    return nod_reply_text(call, "nothing");
}

/* A change of another list, which comes after all that were told before. */
static nod_status fence(nod_call *call)
{
    nod_prompt prompt = { .name = "fence", .get = says_nothing };

    if (!nod_remove_prompt(server, "fence"))
        NOD_TRY(nod_add_prompts(server, &prompt, 1, sizeof(prompt)));
    return nod_reply_text(call, "told");
}

#define COUNT NOD_FORM(NOD_INT("count", .required = true))

static const nod_tool tools[] = {
    { .name = "renew",
      .handler = renew_notes,
      .input = NOD_FORM(NOD_INT("times", .required = true), NOD_BOOL("now")) },
    { .name = "how_far", .handler = how_far },
    { .name = "add_many", .handler = add_many, .input = COUNT },
    { .name = "remove_some",
      .handler = remove_some,
      .input = NOD_FORM(NOD_INT("from", .required = true), NOD_INT("count", .required = true)) },
    { .name = "fence", .handler = fence },
};

static bool begin(void)
{
    struct target *first[] = { notes_of_ada = app_new("ada", "notes"), app_new("bob", "notes") };
    struct catalog_change change = { .add = first, .add_count = 2 };

    return nod_tools(server, tools) == NOD_OK &&
           catalog_change(server->catalog, &change, NULL) == NOD_OK;
}

/* Those of calls that still wait go with these calls. */
static void end(void)
{
    size_t count = catalog_count(server->catalog, TARGET_TOOL, false), ours = 0;
    struct target **all = mem_zalloc((count + 1) * sizeof(*all));

    for (size_t i = 0; i < count; i++) {
        struct target *tool = catalog_at(server->catalog, TARGET_TOOL, false, i);
        if (tool->provider == &app_provider)
            all[ours++] = tool;
    }
    catalog_change(server->catalog, &(struct catalog_change){ .remove = all, .remove_count = ours },
                   NULL);
    mem_free(all);
}

static int serve(void)
{
    host_own_process(server);
    if (!host_open_store(server) || !host_open_http(server) || !host_listen(server))
        return 1;
    host_begin(server);
    host_run(server);
    return 0;
}

int main(int argc, char **argv)
{
    server = nod_server_new(.name = "apps", .version = NOD_VERSION);
    if (server == NULL)
        return 1;
    if (settings_argv(&server->settings, argc, argv) != SETTINGS_RUN) {
        fprintf(stderr, "%s\n", server->settings.wrong);
        nod_server_destroy(server);
        return 2;
    }
    settings_log(&server->settings);
    int code = begin() ? serve() : 1;
    timer_stop(server->loop, &renewal);
    end();
    nod_server_destroy(server);
    return code;
}
