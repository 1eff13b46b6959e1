/*
 * host/check: `nod check`, what `nod serve` would do with a configuration.
 *
 * Each setting that is in force is a line: its key, its value, and the place that has set it. Then
 * come the services, and the plugins with their settings and tools: they are loaded, because only
 * they know what their sections may hold. At last the parts of a server are made of all that, as
 * far as nothing is opened: no store, no address. So a token file that cannot be read, or a surface
 * that is not there, is found here, and is said in the words of nod serve.
 *
 * Holds always: no secret is printed. Those are in the environment or in files, whose names are.
 */
#include <stdio.h>

#include "base/log.h"
#include "core/catalog.h"
#include "host/host.h"
#include "host/operator_keys.h"
#include "host/owned.h"
#include "host/plugin.h"
#include "host/plugins.h"
#include "host/program.h"
#include "host/storage.h"
#include "provider/form_build.h"

enum {
    CHECK_LINE_MAX = 64 << 10, /* bytes of one value that is printed */
    CHECK_KEY = 29,            /* columns of a key */
    CHECK_VALUE = 39,          /* and of its value */
};

/* --- a line --- */

/* The heading of a group is printed before its first line. */
static void print_heading(const char **heading)
{
    if (*heading)
        printf("\n%s\n", *heading);
    *heading = NULL;
}

static void print_place(struct setting_place place)
{
    switch (place.from) {
    case FROM_FILE:
        printf("%s:%d\n", place.file, place.line);
        break;
    case FROM_ENVIRONMENT:
        puts("environment");
        break;
    case FROM_ARGV:
        puts("command line");
        break;
    default:
        puts("default");
    }
}

/* "redis://user:password@host": what nobody else may read is left out. */
static struct str without_password(struct str value, struct buf *room)
{
    ptrdiff_t begin = str_find(value, STR("://"));
    struct str who, host, name, password;

    if (begin < 0 || !str_cut(str_skip(value, (size_t)begin + 3), '@', &who, &host) ||
        !str_cut(who, ':', &name, &password))
        return value;
    buf_fmt(room, STR_FMT STR_FMT ":...@" STR_FMT, STR_ARG(str_n(value.at, (size_t)begin + 3)),
            STR_ARG(name), STR_ARG(host));
    return buf_str(room);
}

static void print_value(const char *key, struct str value)
{
    struct buf shown, without;

    buf_init(&shown, CHECK_LINE_MAX);
    buf_init(&without, CHECK_LINE_MAX);
    settings_shown(without_password(value, &without), &shown);
    printf("  %-*s " STR_FMT "%*s  ", CHECK_KEY, key, STR_ARG(buf_str(&shown)),
           buf_str(&shown).len < CHECK_VALUE ? CHECK_VALUE - (int)buf_str(&shown).len : 0, "");
    buf_finish(&without);
    buf_finish(&shown);
}

/* --- the settings --- */

static const void *place_of_row(const struct settings *settings, const struct setting *row)
{
    return (const char *)settings + row->at;
}

/* What is in force, as it would be written. Empty: nothing is. */
static void value_of(const struct settings *settings, const struct setting *row, struct buf *out)
{
    const void *at = place_of_row(settings, row);
    long long n = 0;

    switch (row->type) {
    case SETTING_FLAG:
        if (*(const bool *)at || settings_place(settings, row, 0).from != FROM_DEFAULT)
            buf_add(out, *(const bool *)at ? STR("yes") : STR("no"));
        return;
    case SETTING_TIME:
        if (*(const int64_t *)at)
            settings_time(*(const int64_t *)at, out);
        break;
    case SETTING_COUNT:
        n = (long long)*(const size_t *)at;
        break;
    case SETTING_INT:
        n = *(const int *)at;
        break;
    default:
        buf_add(out, str_of(*(const char *const *)at));
    }
    if (n)
        buf_fmt(out, "%lld", n);
    if (out->len || row->needs) /* what nobody has asked for has no default */
        return;
    for (const char *usual = row->usually; usual && *usual; usual++)
        if (*usual != '`')
            buf_add_char(out, *usual);
}

static void print_list(const struct settings *settings, const struct setting *row,
                       const char **heading)
{
    const char *const *list = *(const char *const *const *)place_of_row(settings, row);

    for (size_t i = 0; list && list[i]; i++) {
        print_heading(heading);
        print_value(i ? "" : row->option + strlen("--"), str_of(list[i]));
        print_place(settings_place(settings, row, i));
    }
}

static void print_one(const struct settings *settings, const struct setting *row,
                      const char **heading)
{
    struct buf text;

    buf_init(&text, CHECK_LINE_MAX);
    value_of(settings, row, &text);
    if (buf_str(&text).len) {
        print_heading(heading);
        print_value(row->option ? row->option + strlen("--") : row->env, buf_str(&text));
        print_place(settings_place(settings, row, 0));
    }
    buf_finish(&text);
}

/* Does another row have its place, and print it? */
static bool is_printed_elsewhere(const struct setting *row)
{
    for (const struct setting *other = settings_table;
         !row->option && other < settings_table + settings_count; other++)
        if (other != row && other->at == row->at && other->option)
            return true;
    return false;
}

/* A secret that a variable has: that it is there. */
static void print_variable(const struct settings *settings, const struct setting *row,
                           const char **heading)
{
    if (row->at == offsetof(struct settings, webhook_secret)) {
        print_heading(heading);
        print_value(row->env, STR("(not printed)"));
        print_place((struct setting_place){ .from = FROM_ENVIRONMENT });
    } else {
        print_one(settings, row, heading);
    }
}

static void print_group(const struct settings *settings, enum setting_group group)
{
    const char *heading = group == GROUP_SERVE ? "Of nod serve" : settings_groups[group];

    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        if (row->group != group || row->argv_only)
            continue;
        if (row->type == SETTING_LIST && row->option)
            print_list(settings, row, &heading);
        else if (row->option)
            print_one(settings, row, &heading);
        else if (row->env && settings_is_set(settings, row) && !is_printed_elsewhere(row))
            print_variable(settings, row, &heading);
    }
}

static void print_secret(const struct settings *settings)
{
    const char *named = operator_secret_named();

    if (named) {
        print_value("secret", str_of(named));
        print_place((struct setting_place){ .from = FROM_ENVIRONMENT });
    }
    if (settings->secret_file) {
        print_value(named ? "previous secret" : "secret", str_of(settings->secret_file));
        puts(named ? "if it is there" : "made at the first start");
    }
}

static void print_settings(const struct settings *settings, const struct config *config)
{
    const char *file = config_file(config, 0);

    printf("configuration: %s\n", file ? file : "none");
    for (size_t i = 1; (file = config_file(config, i)); i++)
        printf("     includes: %s\n", file);
    for (size_t group = 0; group < GROUP_PROGRAM; group++)
        print_group(settings, (enum setting_group)group);
    print_secret(settings);
}

/* --- the sections --- */

static void print_sections(const struct config *config, struct str kind)
{
    const struct config_section *section;

    for (size_t i = 0; (section = config_section(config, kind, i)); i++)
        printf("  [" STR_FMT " " STR_FMT "]%*s  %s:%d\n", STR_ARG(section->kind),
               STR_ARG(section->name),
               (int)(section->kind.len + section->name.len) < CHECK_KEY + CHECK_VALUE - 2
                   ? CHECK_KEY + CHECK_VALUE - 2 - (int)(section->kind.len + section->name.len)
                   : 0,
               "", section->file, section->line);
}

static bool check_services(nod_server *server)
{
    char problem[SETTINGS_PROBLEM_MAX];
    bool fine =
        host_check_oauth(server, server->settings.opts.oauth_file, server->config, problem);

    if (config_section(server->config, STR("oauth"), 0))
        puts("\nServices");
    print_sections(server->config, STR("oauth"));
    if (!fine && problem[0])
        fprintf(stderr, "%s\n", problem);
    return fine;
}

/* --- plugins --- */

static struct setting_place place_in(const char *file, int line)
{
    return (struct setting_place){ .from = FROM_FILE, .line = line, .file = file };
}

/* Where a plugin is named: its file, or a folder that it is in. */
static struct setting_place place_of_plugin(const struct settings *settings, const char *path)
{
    for (const struct setting *row = settings_table; row < settings_table + settings_count; row++) {
        bool folder = row->at == offsetof(struct settings, plugin_dirs);
        if (!folder && row->at != offsetof(struct settings, plugin_files))
            continue;
        const char *const *list = *(const char *const *const *)place_of_row(settings, row);
        for (size_t i = 0; list && list[i]; i++)
            if (folder ? str_starts(str_of(path), str_of(list[i])) : strcmp(path, list[i]) == 0)
                return settings_place(settings, row, i);
    }
    return (struct setting_place){ .from = FROM_DEFAULT };
}

static void print_plugin_setting(const struct plugin *plugin, const struct config_section *section,
                                 const nod_field *field)
{
    const struct json *value = json_get(plugin->settings, str_of(field->name));
    struct setting_place place = { .from = FROM_DEFAULT };

    for (size_t i = 0; section && i < section->count; i++)
        if (settings_same_key(section->values[i].key, str_of(field->name)))
            place = place_in(section->values[i].file, section->values[i].line);
    if (!value)
        return;
    print_value(field->name, json_is(value, JSON_BOOL) ? (json_true(value) ? STR("yes") : STR("no"))
                                                       : value->text);
    print_place(place);
}

static void print_tools(const nod_server *server, const struct plugin *plugin)
{
    size_t count = catalog_count(server->catalog, TARGET_TOOL, false), shown = 0;

    for (size_t i = 0; i < count; i++) {
        const struct target *tool = catalog_at(server->catalog, TARGET_TOOL, false, i);
        if (str_eq(tool->from, plugin->name))
            printf("  %-*s " STR_FMT "\n", CHECK_KEY, shown++ ? "" : "tools", STR_ARG(tool->name));
    }
    if (!shown)
        printf("  %-*s none\n", CHECK_KEY, "tools");
}

static void print_plugin(const nod_server *server, const struct plugin *plugin)
{
    const struct config_section *section = config_plugin(server->config, plugin->name);
    const nod_form *form = plugin->offers.settings;
    nod_field room;

    printf("\nPlugin " STR_FMT " %s\n", STR_ARG(plugin->name), plugin->offers.version);
    print_value("file", str_of(plugin->file.path));
    print_place(place_of_plugin(&server->settings, plugin->file.path));
    if (section && section->required_at) {
        print_value("required", section->required ? STR("yes") : STR("no"));
        print_place(place_in(section->required_at->file, section->required_at->line));
    }
    for (size_t i = 0; form && i < form->count; i++)
        print_plugin_setting(plugin, section, form_field(form, i, &room));
    print_tools(server, plugin);
}

static bool check_plugins(nod_server *server)
{
    const struct settings *settings = &server->settings;
    char why[OWNED_WHY_MAX];

    if (!settings->plugin_files && !settings->plugin_dirs &&
        !config_section(server->config, STR("plugin"), 0))
        return true;
    puts("\nPlugins are loaded now, because only they know what their sections may hold.");
    fflush(stdout);
    owned_make(settings->state, why); /* for their copies; plugins_load says what is wrong */
    bool fine = plugins_load(server, server->config, settings->state, true);
    LIST_EACH (at, &server->plugins) {
        struct plugin *plugin = LIST_OF(at, struct plugin, link);
        if (!plugin->leaving)
            print_plugin(server, plugin);
    }
    return fine;
}

/* --- the parts of a server --- */

/* Its own secret, if it may have one and the environment has none, is made at the first start, and
 * not here. */
static bool check_secrets(nod_server *server)
{
    return (server->settings.secret_file && !operator_secret_named()) ||
           operator_keyring(NULL, &server->ring);
}

static bool check_addresses(const nod_server *server)
{
    struct str host;
    int port;

    for (const char *const *at = server->settings.opts.http; *at; at++)
        if (!settings_address(str_of(*at), &host, &port) || !front_may_listen(server->front, host))
            return false;
    return true;
}

static bool check_parts(nod_server *server)
{
    const struct nod_server_opts *opts = &server->settings.opts;

    if (!tool_names_show(server))
        return false;
    tool_names_check(server);
    if (!storage_is_known(opts->store) || !check_secrets(server))
        return false;
    host_make_engine(server, clock_held(),
                     storage_open(&(struct storage_opts){ .loop = server->loop }));
    if (!host_portable_fits(server))
        return false;
    if (!opts->http)
        return host_open_inbox_beside_stdio(server, false) && host_prepare_stdio(server) &&
               host_open_webhooks(server);
    return host_open_http(server) && host_open_webhooks(server) && host_use_surfaces(server) &&
           check_addresses(server);
}

bool host_check(nod_server *server)
{
    bool services = check_services(server), plugins = services && check_plugins(server);

    fflush(stdout);
    return plugins && check_parts(server);
}

int program_check(const char *file, int argc, char **argv)
{
    struct program program = { .command = "nod check", .argc = argc, .argv = argv, .file = file };
    struct settings settings;
    struct config *config;
    struct arena arena;

    arena_init(&arena, HOST_TEXT_MAX);
    if (program_read(&program, &arena, &settings, &config) != SETTINGS_RUN) {
        program_say_wrong(&program, &settings);
        config_destroy(config);
        arena_finish(&arena);
        return settings.now.from == FROM_ARGV ? EXIT_WRONG_USAGE : EXIT_CANNOT_SERVE;
    }
    log_setup(&(struct log_opts){ .level = LOG_LEVEL_WARN, .fd = 2 });
    host_watch_crashes(); /* code of plugins runs */
    nod_server *server = host_create(&settings, &arena);
    server->config = config;
    server->program = &program;
    print_settings(&server->settings, config);
    bool fine = host_check(server);
    fflush(stdout);
    nod_server_destroy(server);
    return fine ? EXIT_FINE : EXIT_CANNOT_SERVE;
}
