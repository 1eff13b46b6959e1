/*
 * host/plugin_settings: what an operator sets for a plugin, and how the plugin reads it.
 *
 * A plugin's settings are a form, as questions and tools have one. So the values of [plugin NAME]
 * are made an object as the form's kinds say, and checked as the arguments of a tool are. What is
 * left out has its preset.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/similar.h"
#include "host/host.h"
#include "host/plugin.h"
#include "provider/form_build.h"

enum { SETTING_NAMES_MAX = 512 }; /* bytes of the names that a message lists */

/* --- reading --- */

static bool section_wrong(const struct config_value *value, char why[PLUGIN_WHY_MAX],
                          const char *format, ...) __attribute__((format(printf, 3, 4)));

static bool section_wrong(const struct config_value *value, char why[PLUGIN_WHY_MAX],
                          const char *format, ...)
{
    int used = snprintf(why, PLUGIN_WHY_MAX, "%s:%d: " STR_FMT ": ", value->file, value->line,
                        STR_ARG(value->key));
    va_list args;

    va_start(args, format);
    if (used > 0 && used < PLUGIN_WHY_MAX)
        vsnprintf(why + used, (size_t)(PLUGIN_WHY_MAX - used), format, args);
    va_end(args);
    return false;
}

static const nod_field *find_field(const struct plugin *plugin, struct str name, nod_field *room)
{
    const nod_form *form = plugin->offers.settings;

    for (size_t i = 0; form && i < form->count; i++) {
        const nod_field *field = form_field(form, i, room);
        if (str_eq(str_of(field->name), name))
            return field;
    }
    return NULL;
}

static bool key_unknown(const struct plugin *plugin, const struct config_value *value,
                        char why[PLUGIN_WHY_MAX])
{
    const nod_form *form = plugin->offers.settings;
    struct similar similar = { .to = value->key };
    char names[SETTING_NAMES_MAX] = "";
    size_t used = 0;

    for (size_t i = 0; form && i < form->count; i++) {
        nod_field room;
        const char *name = form_field(form, i, &room)->name;
        similar_try(&similar, name);
        if (used < sizeof(names))
            used +=
                (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "", name);
    }
    if (similar.meant)
        return section_wrong(value, why, "the plugin has no such setting; did you mean %s?",
                             similar.meant);
    if (!used)
        return section_wrong(value, why, "the plugin has no settings");
    return section_wrong(value, why, "the plugin has no such setting; it has %s", names);
}

static struct json *number_of(struct arena *arena, struct str text)
{
    struct json *number = json_parse(arena, text, NULL, NULL);

    return json_is(number, JSON_NUMBER) ? number : NULL;
}

static struct json *truth_of(struct arena *arena, struct str text)
{
    static const char *const yes[] = { "yes", "true", NULL }, *const no[] = { "no", "false", NULL };

    return str_among(text, yes)  ? json_new_bool(arena, true)
           : str_among(text, no) ? json_new_bool(arena, false)
                                 : NULL;
}

/* A text as the kind of its field has it. NULL: it is none of that kind. */
static struct json *value_of(struct arena *arena, const nod_field *field, struct str text)
{
    switch (field->kind) {
    case NOD_FIELD_NUMBER:
    case NOD_FIELD_INT:
        return number_of(arena, text);
    case NOD_FIELD_BOOL:
        return truth_of(arena, text);
    default:
        return json_new_str(arena, text);
    }
}

static const char *kind_takes(const nod_field *field)
{
    return field->kind == NOD_FIELD_BOOL  ? "yes or no"
           : field->kind == NOD_FIELD_INT ? "a whole number"
                                          : "a number";
}

static bool read_value(struct plugin *plugin, struct json *values, const struct config_value *value,
                       char why[PLUGIN_WHY_MAX])
{
    struct arena *arena = &plugin->arena;
    nod_field room;
    const nod_field *field = find_field(plugin, value->key, &room);

    if (!field)
        return key_unknown(plugin, value, why);
    if (json_get(values, value->key))
        return section_wrong(value, why, "it is there twice");
    struct json *read = value_of(arena, field, arena_str(arena, value->value));
    if (!read)
        return section_wrong(value, why, "it takes %s", kind_takes(field));
    json_set(arena, values, value->key, read);
    return true;
}

static void add_presets(struct plugin *plugin, struct json *values)
{
    const nod_form *form = plugin->offers.settings;

    for (size_t i = 0; form && i < form->count; i++) {
        nod_field room;
        const nod_field *field = form_field(form, i, &room);
        struct str name = str_of(field->name);
        if (field->preset && !json_get(values, name))
            json_set(&plugin->arena, values, name,
                     value_of(&plugin->arena, field, str_of(field->preset)));
    }
}

/* Says the first problem of a check, at the line of its value if it has one. */
static bool check_wrong(const struct config_section *section, const char *name,
                        const struct schema_problem *problem, char why[PLUGIN_WHY_MAX])
{
    struct str key = problem->path.len ? str_skip(problem->path, 1) : STR_NONE;

    for (size_t i = 0; section && i < section->count; i++)
        if (str_eq(section->values[i].key, key))
            return section_wrong(&section->values[i], why, STR_FMT, STR_ARG(problem->message));
    if (section)
        snprintf(why, PLUGIN_WHY_MAX, "%s:%d: [plugin %s]: " STR_FMT " " STR_FMT, section->file,
                 section->line, name, STR_ARG(key), STR_ARG(problem->message));
    else
        snprintf(why, PLUGIN_WHY_MAX, "it needs a section [plugin %s]: " STR_FMT " " STR_FMT, name,
                 STR_ARG(key), STR_ARG(problem->message));
    return false;
}

static bool no_choices(struct plugin *plugin, char why[PLUGIN_WHY_MAX])
{
    const nod_form *form = plugin->offers.settings;

    for (size_t i = 0; form && i < form->count; i++) {
        nod_field room;
        const nod_field *field = form_field(form, i, &room);
        if (field->kind == NOD_FIELD_CHOICES || !field->name ||
            strcmp(field->name, "required") == 0) {
            snprintf(why, PLUGIN_WHY_MAX,
                     "its .settings have \"%s\", which no setting can be: a setting has one value, "
                     "and \"required\" is the server's own",
                     field->name ? field->name : "(no name)");
            return false;
        }
    }
    return true;
}

/* What they are checked with. A form that is wrong is the plugin's mistake, whatever the operator
 * has set: so it is found before that is read. NULL: `why`. */
static struct schema *compile_settings(struct plugin *plugin, char why[PLUGIN_WHY_MAX])
{
    const struct schema_opts opts = { .assert_formats = true, .getter_numbers = true };
    struct schema_problems problems = { 0 };
    struct str wrong = STR_NONE;
    struct json *form = form_build(plugin->offers.settings, &plugin->arena, &wrong);
    struct schema *schema = form && form_presets_fit(form, &plugin->arena, &wrong)
                                ? schema_compile(form, &opts, &plugin->arena, &problems)
                                : NULL;

    if (!schema)
        snprintf(why, PLUGIN_WHY_MAX, "its .settings are no form: " STR_FMT,
                 STR_ARG(problems.count ? problems.at[0].message : wrong));
    return schema;
}

/* `schema` NULL: the plugin has no settings. */
static bool read_section(struct plugin *plugin, const struct config_section *section,
                         const struct schema *schema, char why[PLUGIN_WHY_MAX])
{
    struct json *values = json_new_object(&plugin->arena);
    struct schema_problems problems = { 0 };

    for (size_t i = 0; section && i < section->count; i++)
        if (!read_value(plugin, values, &section->values[i], why))
            return false;
    add_presets(plugin, values);
    plugin->settings = values;
    if (schema && schema_check(schema, values, &plugin->arena, &problems) != NOD_OK)
        return check_wrong(section, plugin->offers.name, &problems.at[0], why);
    if (plugin->arena.exhausted)
        snprintf(why, PLUGIN_WHY_MAX, "its settings take more memory than they may");
    return !plugin->arena.exhausted;
}

bool plugin_settings_read(struct plugin *plugin, const struct config_section *section,
                          char why[PLUGIN_WHY_MAX])
{
    const nod_form *form = plugin->offers.settings;

    if (!no_choices(plugin, why))
        return false;
    struct schema *schema = form ? compile_settings(plugin, why) : NULL;
    bool fine = (schema || !form) && read_section(plugin, section, schema, why);
    schema_destroy(schema);
    return fine;
}

/* --- for the plugin --- */

/* The field of a setting that .load asks for. NULL: noted, and the plugin is not loaded. */
static const struct json *setting_of(nod_server *server, const char *name, unsigned kinds,
                                     const char *function)
{
    struct plugin *plugin = server ? server->loading : NULL;
    nod_field room;
    const nod_field *field = plugin ? find_field(plugin, str_of(name), &room) : NULL;

    if (!plugin)
        LOG_ERROR("settings are read in .load of a plugin", LOG_CSTR("function", function),
                  LOG_CSTR("setting", name));
    else if (!field)
        snprintf(plugin->bug, sizeof(plugin->bug),
                 "its .load reads \"%s\" with %s, and .settings has no such setting", name,
                 function);
    else if (!(kinds & 1u << field->kind))
        snprintf(plugin->bug, sizeof(plugin->bug),
                 "its .load reads \"%s\" with %s, and in .settings it is of another kind", name,
                 function);
    else
        return json_get(plugin->settings, str_of(name));
    return NULL;
}

const char *nod_setting(nod_server *server, const char *name)
{
    const struct json *value = setting_of(server, name,
                                          1u << NOD_FIELD_TEXT | 1u << NOD_FIELD_CHOICE |
                                              1u << NOD_FIELD_NUMBER | 1u << NOD_FIELD_INT,
                                          "nod_setting");

    if (!json_is(value, JSON_STRING) && !json_is(value, JSON_NUMBER))
        return "";
    return arena_str(&server->loading->arena, value->text).at;
}

int64_t nod_setting_int(nod_server *server, const char *name)
{
    int64_t number = 0;

    json_i64(setting_of(server, name, 1u << NOD_FIELD_INT, "nod_setting_int"), &number);
    return number;
}

double nod_setting_double(nod_server *server, const char *name)
{
    double number = 0;

    json_double(setting_of(server, name, 1u << NOD_FIELD_INT | 1u << NOD_FIELD_NUMBER,
                           "nod_setting_double"),
                &number);
    return number;
}

bool nod_setting_bool(nod_server *server, const char *name)
{
    return json_true(setting_of(server, name, 1u << NOD_FIELD_BOOL, "nod_setting_bool"));
}
