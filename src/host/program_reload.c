/*
 * host/program_reload: SIGHUP at `nod serve`: the configuration is read again.
 *
 * All of it is read and checked first, beside the server that runs: the files, the environment and
 * the command line that it was started with, the tokens, the certificate, and every plugin that is
 * new or has changed. If anything is wrong, nothing changes, and the log says where. Then what has
 * changed takes effect, and what needs a restart is named.
 *
 * Holds always: server->settings is what is in force. The texts of the rows that are taken at a
 * reload live in the arena of the last one, all others in that of the start.
 */
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "host/plugins.h"
#include "host/program.h"

struct reload {
    struct arena arena;
    struct settings settings;
    struct config *config;
};

static void reload_drop(struct reload *reload)
{
    if (!reload)
        return;
    config_destroy(reload->config);
    arena_finish(&reload->arena);
    MEM_DELETE(reload);
}

void program_reload_drop(nod_server *server)
{
    reload_drop(server->reload);
    server->reload = NULL;
}

/* --- what has changed --- */

static const void *row_at(const struct settings *settings, const struct setting *row)
{
    return (const char *)settings + row->at;
}

static bool texts_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool lists_same(const char *const *a, const char *const *b)
{
    for (; a && b && *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return !(a && *a) && !(b && *b);
}

static bool row_same(const struct setting *row, const struct settings *a, const struct settings *b)
{
    const void *one = row_at(a, row), *other = row_at(b, row);

    switch (row->type) {
    case SETTING_TEXT:
    case SETTING_WORD:
        return texts_same(*(const char *const *)one, *(const char *const *)other);
    case SETTING_LIST:
        return lists_same(*(const char *const *const *)one, *(const char *const *const *)other);
    default:
        return memcmp(one, other, row->size) == 0;
    }
}

/* A file that is read again may be another one, but not where there was none. */
static const char *file_next(const char *now, const char *next)
{
    return now && next ? next : now;
}

static bool row_reloads(const struct setting *row, const struct settings *now,
                        const struct settings *next)
{
    if (row->reloads == RELOADS_FILE)
        return *(const char *const *)row_at(now, row) && *(const char *const *)row_at(next, row);
    return row->reloads == RELOADS_VALUE;
}

/* A file that is not named any more stays in use. Its name may be in the arena of a reload before
 * this one, which goes. */
static void file_keep(struct settings *now, const struct setting *row, struct arena *arena)
{
    const char **file = (const char **)(void *)((char *)now + row->at);

    if (row->reloads == RELOADS_FILE && *file)
        *file = arena_str(arena, str_of(*file)).at;
}

/* Takes over the rows that need no restart, and names those that do. */
static void settings_take_over(nod_server *server, struct reload *reload)
{
    struct settings *now = &server->settings;
    const struct settings *next = &reload->settings;

    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        if (row_reloads(row, now, next)) {
            memcpy((char *)now + row->at, row_at(next, row), row->size);
            continue;
        }
        if (row->option && !row_same(row, now, next))
            LOG_WARN("a setting has changed that needs a restart: until then it stays as it was",
                     LOG_CSTR("setting", row->option + 2));
        file_keep(now, row, &reload->arena);
    }
}

static bool sections_same(const struct config_section *a, const struct config_section *b)
{
    if (!a || !b || a->count != b->count || !str_eq(a->name, b->name))
        return a == b;
    for (size_t i = 0; i < a->count; i++)
        if (!str_eq(a->values[i].key, b->values[i].key) ||
            !str_eq(a->values[i].value, b->values[i].value))
            return false;
    return true;
}

/* The services of the start stay. */
static void services_look(const nod_server *server, const struct config *next)
{
    const struct config_section *now, *then;
    size_t i = 0;

    do {
        now = config_section(server->config, STR("oauth"), i);
        then = config_section(next, STR("oauth"), i++);
    } while (now && sections_same(now, then));
    if (!sections_same(now, then))
        LOG_WARN("a service has changed that needs a restart: until then it stays as it was",
                 LOG_STR("oauth", now ? now->name : then->name));
}

/* --- what is checked before anything changes --- */

static const char *tokens_wrong(const nod_server *server, const char *file, struct arena *arena)
{
    struct str problem = STR_NONE;

    if (!server->tokens)
        return NULL;
    struct tokens *tokens = tokens_load(file, arena, &problem);
    bool fine = tokens;
    tokens_destroy(tokens);
    return fine ? NULL
                : arena_fmt(arena, "the token file cannot be used: " STR_FMT, STR_ARG(problem)).at;
}

/* The file that is in force was moved, or another one has come before it: maybe it is just being
 * written. Without it every plugin would go, and the calls that wait for their tools. */
static const char *file_wrong(const nod_server *server, const struct reload *reload,
                              struct arena *arena)
{
    const struct config *before = server->reload ? server->reload->config : server->config;

    if (!before ||
        (reload->config && strcmp(config_file(before, 0), config_file(reload->config, 0)) == 0))
        return NULL;
    return arena_fmt(arena, "%s, which is in force, is not there any more; put it back, or restart",
                     config_file(before, 0))
        .at;
}

/* NULL: all of it can be taken, and the plugins were. Services need a restart, and are looked at
 * all the same: it would fail with them. */
static const char *what_is_wrong(nod_server *server, struct reload *reload)
{
    char problem[SETTINGS_PROBLEM_MAX];
    const struct nod_server_opts *now = &server->settings.opts, *next = &reload->settings.opts;

    if (program_read(server->program, &reload->arena, &reload->settings, &reload->config) !=
        SETTINGS_RUN)
        return reload->settings.wrong;
    const char *wrong = file_wrong(server, reload, &reload->arena);
    if (wrong)
        return wrong;
    if (!host_check_oauth(server, next->oauth_file, reload->config, problem))
        return arena_str(&reload->arena, str_of(problem)).at;
    wrong = tokens_wrong(server, file_next(now->token_file, next->token_file), &reload->arena);
    if (wrong)
        return wrong;
    if (server->front && !front_reload_fits(server->front, file_next(now->tls_cert, next->tls_cert),
                                            file_next(now->tls_key, next->tls_key)))
        return "the certificate cannot be used: see above";
    return plugins_reload(server, &reload->settings, reload->config)
               ? NULL
               : "its plugins cannot be used: see above";
}

bool program_reload(nod_server *server)
{
    struct reload *reload = MEM_NEW(struct reload);
    struct grant_rule rules[GRANT_RULES_MAX];

    arena_init(&reload->arena, HOST_TEXT_MAX);
    const char *wrong = what_is_wrong(server, reload);
    if (wrong) {
        LOG_ERROR("the configuration is not taken, and nothing changes", LOG_CSTR("why", wrong));
        reload_drop(reload);
        return false;
    }
    struct reload *before = server->reload;
    server->reload = reload;
    settings_take_over(server, reload);
    services_look(server, reload->config);
    settings_log(&server->settings);
    engine_remember(server->engine, rules, remember_read(server->settings.opts.remember, rules));
    tool_names_check(server);
    LOG_INFO("the configuration was read again",
             LOG_CSTR("file", reload->config ? config_file(reload->config, 0) : "none"));
    reload_files(server);
    reload_drop(before); /* whose texts nobody has any more */
    return true;
}
