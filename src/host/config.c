/*
 * host/config: see config.h.
 */
#include "host/config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/similar.h"
#include "host/owned.h"

/* The sections that there are. */
static const struct {
    const char *kind;
    bool named; /* [kind NAME] */
} section_kinds[] = { { "server", false }, { "oauth", true }, { "plugin", true } };

/* Written so that nobody takes it for the beginning of a comment. */
#define ALL_INI "*.ini"

#define SECTIONS_KNOWN "there are [server], [oauth NAME] and [plugin NAME]"

struct config_file {
    const char *path;
    dev_t device;
    ino_t inode;
    const struct config_value *by; /* the line that includes it; NULL: the first file */
    bool open;                     /* it is being read, or what it includes is */
};

struct config {
    struct arena arena;
    struct config_file files[CONFIG_FILES_MAX];
    size_t file_count;
    struct config_section sections[CONFIG_SECTIONS_MAX];
    size_t section_count;
};

/* While it is read. */
struct gathering {
    struct config *config;
    char *problem;
    /* Of all sections, in the order of their lines, and the section of each. */
    struct config_value *values;
    size_t *sections;
    size_t value_count;
    size_t depth;
};

static bool file_wrong(struct gathering *g, const char *path, const struct config_value *by,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Of a file, in the line that includes it. Always false. */
static bool file_wrong(struct gathering *g, const char *path, const struct config_value *by,
                       const char *format, ...)
{
    char what[OWNED_WHY_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (by)
        return settings_problem(g->problem, by->file, by->line, "include: %s: %s", path, what);
    snprintf(g->problem, SETTINGS_PROBLEM_MAX, "%s: %s", path, what);
    return false;
}

static bool too_much(struct gathering *g)
{
    return file_wrong(g, g->config->files[0].path, NULL, "with what it includes it is too large");
}

struct str config_path(struct arena *arena, const char *file, struct str path)
{
    const char *slash = strrchr(file, '/');

    if (!slash || (path.len && path.at[0] == '/'))
        return arena_str(arena, path);
    return arena_fmt(arena, "%.*s/" STR_FMT, (int)(slash - file), file, STR_ARG(path));
}

/* --- the sections --- */

static struct config_section *section_of(struct config *config, struct str kind, struct str name)
{
    for (size_t i = 0; i < config->section_count; i++)
        if (str_eq(config->sections[i].kind, kind) && str_eq(config->sections[i].name, name))
            return &config->sections[i];
    return NULL;
}

/* "plugin github" is taken apart. */
static bool kind_of_section(struct gathering *g, const struct config_section *from,
                            struct str *kind, struct str *name)
{
    struct similar similar = { 0 };
    size_t i = 0, count = sizeof(section_kinds) / sizeof(section_kinds[0]);

    if (!str_cut(from->name, ' ', kind, name))
        *name = STR_NONE;
    *name = str_trim(*name);
    similar.to = *kind;
    while (i < count && !str_eq(str_of(section_kinds[i].kind), *kind))
        similar_try(&similar, section_kinds[i++].kind);
    if (i == count)
        return settings_problem(g->problem, from->file, from->line,
                                "[" STR_FMT "]: there is no such section%s%s%s; " SECTIONS_KNOWN,
                                STR_ARG(from->name), similar.meant ? " (did you mean " : "",
                                similar.meant ? similar.meant : "", similar.meant ? "?)" : "");
    if (!section_kinds[i].named && name->len)
        return settings_problem(g->problem, from->file, from->line,
                                "[" STR_FMT "]: [%s] has no name", STR_ARG(from->name),
                                section_kinds[i].kind);
    if (section_kinds[i].named && (!name->len || !str_is_plain(*name)))
        return settings_problem(g->problem, from->file, from->line,
                                "[" STR_FMT "]: it needs a name of a-z, 0-9, - and _: [%s NAME]",
                                STR_ARG(from->name), section_kinds[i].kind);
    return true;
}

/* The section of the whole that a section of a file is part of. NULL: it is none. */
static struct config_section *section_begin(struct gathering *g, const struct config_section *from)
{
    struct config *config = g->config;
    struct str kind, name;

    if (!kind_of_section(g, from, &kind, &name))
        return NULL;
    struct config_section *there = section_of(config, kind, name);
    if (there)
        return there;
    if (config->section_count == CONFIG_SECTIONS_MAX) {
        settings_problem(g->problem, from->file, from->line, "there are more than %d sections",
                         CONFIG_SECTIONS_MAX);
        return NULL;
    }
    there = &config->sections[config->section_count++];
    *there = (struct config_section){
        .kind = kind, .name = name, .file = from->file, .line = from->line
    };
    return there;
}

static bool set_before(struct gathering *g, const struct config_value *value,
                       const struct config_value *before, const struct config_section *in)
{
    if (before->file == value->file)
        return settings_problem(g->problem, value->file, value->line,
                                STR_FMT " is there twice in " SECTION_FMT
                                        "; the first is in line %d: take one of them out",
                                STR_ARG(value->key), SECTION_ARG(in), before->line);
    return settings_problem(g->problem, value->file, value->line,
                            STR_FMT " of " SECTION_FMT
                                    " is set in %s:%d as well: take one of them out",
                            STR_ARG(value->key), SECTION_ARG(in), before->file, before->line);
}

/* Whether a plugin has to be there: no setting of its own. */
static bool take_required(struct gathering *g, struct config_section *in,
                          const struct config_value *value)
{
    if (in->required_at)
        return set_before(g, value, in->required_at, in);
    if (!str_eq(value->value, STR("yes")) && !str_eq(value->value, STR("no")) &&
        !str_eq(value->value, STR("true")) && !str_eq(value->value, STR("false")))
        return settings_problem(g->problem, value->file, value->line,
                                "required takes yes or no; it was given \"" STR_FMT "\"",
                                STR_ARG(value->value));
    in->required_at = value;
    in->required = str_eq(value->value, STR("yes")) || str_eq(value->value, STR("true"));
    return true;
}

/* What may be there twice in [server] is known to the table of settings. */
static bool add_value(struct gathering *g, struct config_section *in,
                      const struct config_value *value)
{
    size_t which = (size_t)(in - g->config->sections);
    bool server = str_eq(in->kind, STR("server"));

    if (str_eq(in->kind, STR("plugin")) && settings_same_key(value->key, STR("required")))
        return take_required(g, in, value);
    for (size_t i = 0; !server && i < g->value_count; i++)
        if (g->sections[i] == which && settings_same_key(g->values[i].key, value->key))
            return set_before(g, value, &g->values[i], in);
    if (g->value_count == CONFIG_VALUES_MAX)
        return settings_problem(g->problem, value->file, value->line,
                                "there are more than %d keys in all", CONFIG_VALUES_MAX);
    g->sections[g->value_count] = which;
    g->values[g->value_count++] = *value;
    in->count++;
    return true;
}

/* --- what is included --- */

static bool gather_file(struct gathering *g, const char *path, const struct config_value *by);

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of a folder that end in .ini, sorted, without those that begin with a dot. */
static bool list_folder(struct gathering *g, const char *folder, const struct config_value *by,
                        const char *names[CONFIG_FILES_MAX], size_t *count)
{
    DIR *open = opendir(folder);
    struct dirent *entry;
    bool fine = true;

    *count = 0;
    if (!open)
        return file_wrong(g, folder, by, "%s",
                          errno == ENOENT
                              ? "there is no such folder; make it, or take this line out"
                              : strerror(errno));
    while (fine && (entry = readdir(open))) {
        struct str name = str_of(entry->d_name);
        if (name.at[0] == '.' || !str_ends(name, STR(".ini")))
            continue;
        if (*count == CONFIG_FILES_MAX)
            fine = file_wrong(g, folder, by, "there are more than %d files in this folder",
                              CONFIG_FILES_MAX);
        else
            names[(*count)++] = arena_str(&g->config->arena, name).at;
    }
    closedir(open);
    if (g->config->arena.exhausted)
        return too_much(g);
    qsort(names, *count, sizeof(*names), by_name);
    return fine;
}

static bool include_folder(struct gathering *g, struct str folder, const struct config_value *by)
{
    const char *names[CONFIG_FILES_MAX];
    char why[OWNED_WHY_MAX];
    size_t count;

    if (!list_folder(g, folder.at, by, names, &count))
        return false;
    if (!owned_folder(folder.at, why))
        return settings_problem(g->problem, by->file, by->line, "include: %s", why);
    for (size_t i = 0; i < count; i++)
        if (!gather_file(
                g, arena_fmt(&g->config->arena, STR_FMT "/%s", STR_ARG(folder), names[i]).at, by))
            return false;
    return true;
}

static bool include(struct gathering *g, const struct config_value *by)
{
    struct str path = config_path(&g->config->arena, by->file, by->value), all = STR("/" ALL_INI);

    if (!path.at)
        return too_much(g);
    if (str_ends(path, all))
        return include_folder(g, arena_str(&g->config->arena, str_n(path.at, path.len - all.len)),
                              by);
    if (str_eq(by->value, STR(ALL_INI)))
        return include_folder(g, STR("."), by);
    if (memchr(by->value.at, '*', by->value.len))
        return settings_problem(g->problem, by->file, by->line,
                                "include takes the name of a file, or DIR/" ALL_INI
                                "; it was given "
                                "\"" STR_FMT "\"",
                                STR_ARG(by->value));
    return gather_file(g, path.at, by);
}

/* --- a file --- */

/* A file that is read already: within itself, or twice. */
static bool is_new(struct gathering *g, const char *path, const struct config_value *by,
                   const struct stat *about)
{
    struct config *config = g->config;

    for (size_t i = 0; i < config->file_count; i++) {
        const struct config_file *file = &config->files[i];
        if (file->device != about->st_dev || file->inode != about->st_ino)
            continue;
        if (file->open)
            return file_wrong(g, path, by, "%s",
                              strcmp(file->path, by->file) == 0
                                  ? "a file cannot include itself; take this line out"
                                  : "this file is being read already, and includes this one: there "
                                    "would be no end of it; take this line out");
        return settings_problem(g->problem, by->file, by->line,
                                "include: %s: it is included in %s:%d already", path,
                                file->by->file, file->by->line);
    }
    if (config->file_count == CONFIG_FILES_MAX)
        return file_wrong(g, path, by, "there are more than %d files", CONFIG_FILES_MAX);
    return true;
}

/* The text, to be freed, of a file that is not read already, and that is ours. */
static char *open_file(struct gathering *g, const char *path, const struct config_value *by,
                       size_t *len)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* it may be a pipe */
    char why[OWNED_WHY_MAX];
    struct stat about;

    if (fd < 0 || fstat(fd, &about) != 0) {
        file_wrong(g, path, by, "%s%s", errno == ENOENT ? "there is no such file" : strerror(errno),
                   errno == ENOENT && by ? "; make it, or take this line out" : "");
    } else if (!S_ISREG(about.st_mode)) {
        file_wrong(g, path, by, "%s",
                   S_ISDIR(about.st_mode) ? "this is a folder, whose files are DIR/" ALL_INI
                                          : "this is no file");
    } else if (!owned_file(fd, path, why)) {
        if (by)
            settings_problem(g->problem, by->file, by->line, "include: %s", why);
        else
            snprintf(g->problem, SETTINGS_PROBLEM_MAX, "%s", why);
    } else if (is_new(g, path, by, &about)) {
        g->config->files[g->config->file_count++] = (struct config_file){
            .path = path, .device = about.st_dev, .inode = about.st_ino, .by = by, .open = true
        };
        return settings_text(path, fdopen(fd, "r"), len, g->problem);
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static bool gather_sections(struct gathering *g, const struct config_section *sections,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct config_section *in = section_begin(g, &sections[i]);
        if (!in)
            return false;
        bool server = str_eq(in->kind, STR("server"));
        for (size_t j = 0; j < sections[i].count; j++) {
            const struct config_value *value = &sections[i].values[j];
            bool includes = server && settings_same_key(value->key, STR("include"));
            if (includes ? !include(g, value) : !add_value(g, in, value))
                return false;
        }
    }
    return true;
}

static bool gather_file(struct gathering *g, const char *path, const struct config_value *by)
{
    const struct config_section *sections;
    size_t len, count;

    if (!path)
        return too_much(g);
    if (g->depth == CONFIG_DEPTH_MAX)
        return file_wrong(g, path, by, "more than %d files include each other", CONFIG_DEPTH_MAX);
    char *text = open_file(g, path, by, &len);
    if (!text)
        return false;
    struct config_file *file = &g->config->files[g->config->file_count - 1];
    g->depth++;
    bool fine =
        settings_parse(path, str_n(text, len), &g->config->arena, &sections, &count, g->problem) &&
        gather_sections(g, sections, count);
    g->depth--;
    file->open = false;
    mem_free(text);
    return fine;
}

/* --- the whole --- */

/* Each section has its own values, which were gathered with those of the others between them. */
static bool sort_values(struct gathering *g)
{
    struct config *config = g->config;

    for (size_t i = 0; i < config->section_count; i++) {
        struct config_section *section = &config->sections[i];
        struct config_value *values =
            arena_zalloc(&config->arena, (section->count + 1) * sizeof(*values));
        size_t count = 0;
        if (!values)
            return too_much(g);
        for (size_t j = 0; j < g->value_count; j++)
            if (g->sections[j] == i)
                values[count++] = g->values[j];
        section->values = values;
    }
    return true;
}

struct config *config_read(const char *file, char problem[SETTINGS_PROBLEM_MAX])
{
    struct config *config = MEM_NEW(struct config);
    struct gathering *g = MEM_NEW(struct gathering);

    problem[0] = '\0';
    arena_init(&config->arena, CONFIG_TEXT_MAX);
    g->config = config;
    g->problem = problem;
    g->values = mem_alloc(CONFIG_VALUES_MAX * sizeof(*g->values));
    g->sections = mem_alloc(CONFIG_VALUES_MAX * sizeof(*g->sections));
    bool fine = gather_file(g, arena_str(&config->arena, str_of(file)).at, NULL) && sort_values(g);
    mem_free(g->sections);
    mem_free(g->values);
    MEM_DELETE(g);
    if (fine)
        return config;
    config_destroy(config);
    return NULL;
}

void config_destroy(struct config *config)
{
    if (!config)
        return;
    arena_finish(&config->arena);
    MEM_DELETE(config);
}

bool config_apply(const struct config *config, struct settings *settings)
{
    const struct config_section *server = config_section(config, STR("server"), 0);

    for (size_t i = 0; server && i < server->count; i++)
        if (!settings_take(settings, &server->values[i]))
            return false;
    return true;
}

const char *config_file(const struct config *config, size_t at)
{
    return config && at < config->file_count ? config->files[at].path : NULL;
}

const struct config_section *config_section(const struct config *config, struct str kind, size_t at)
{
    for (size_t i = 0; config && i < config->section_count; i++)
        if (str_eq(config->sections[i].kind, kind) && at-- == 0)
            return &config->sections[i];
    return NULL;
}

const struct config_section *config_plugin(const struct config *config, struct str name)
{
    const struct config_section *section;

    for (size_t i = 0; (section = config_section(config, STR("plugin"), i)); i++)
        if (str_eq(section->name, name))
            return section;
    return NULL;
}
