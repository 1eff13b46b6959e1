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

static bool reload_refused(const char *why)
{
    LOG_ERROR("the configuration is not taken, and nothing changes", LOG_CSTR("why", why));
    return false;
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

/* Takes over the rows that need no restart, and names those that do. */
static void settings_take_over(nod_server *server, const struct settings *next)
{
    struct settings *now = &server->settings;

    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        if (row_reloads(row, now, next))
            memcpy((char *)now + row->at, row_at(next, row), row->size);
        else if (row->option && !row_same(row, now, next))
            LOG_WARN("a setting has changed that needs a restart: until then it stays as it was",
                     LOG_CSTR("setting", row->option + 2));
    }
}

/* --- what is checked before anything changes --- */

static bool tokens_fit(const nod_server *server, const char *file)
{
    struct str problem = STR_NONE;
    struct arena arena;

    if (!server->tokens)
        return true;
    arena_init(&arena, HOST_TEXT_MAX);
    struct tokens *tokens = tokens_load(file, &arena, &problem);
    if (!tokens)
        LOG_ERROR("the token file cannot be used, and nothing changes", LOG_CSTR("file", file),
                  LOG_STR("why", problem));
    tokens_destroy(tokens);
    arena_finish(&arena);
    return tokens;
}

static bool all_fits(nod_server *server, struct reload *reload)
{
    const struct nod_server_opts *now = &server->settings.opts, *next = &reload->settings.opts;

    if (program_read(server->program, &reload->arena, &reload->settings, &reload->config) !=
        SETTINGS_RUN)
        return reload_refused(reload->settings.wrong);
    return tokens_fit(server, file_next(now->token_file, next->token_file)) &&
           (!server->front ||
            front_reload_fits(server->front, file_next(now->tls_cert, next->tls_cert),
                              file_next(now->tls_key, next->tls_key))) &&
           plugins_reload(server, &reload->settings, reload->config);
}

bool program_reload(nod_server *server)
{
    struct reload *reload = MEM_NEW(struct reload);
    struct grant_rule rules[GRANT_RULES_MAX];

    arena_init(&reload->arena, HOST_TEXT_MAX);
    if (!all_fits(server, reload)) {
        reload_drop(reload);
        return false;
    }
    struct reload *before = server->reload;
    server->reload = reload;
    settings_take_over(server, &reload->settings);
    settings_log(&server->settings);
    engine_remember(server->engine, rules, remember_read(server->settings.opts.remember, rules));
    tool_names_check(server);
    LOG_INFO("the configuration was read again",
             LOG_CSTR("file", reload->config ? config_file(reload->config, 0) : "none"));
    reload_files(server);
    reload_drop(before); /* whose texts nobody has any more */
    return true;
}
