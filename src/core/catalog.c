/*
 * core/catalog: ordered arrays of targets, with a map by name beside each.
 *
 * A URI template is RFC 6570 level 1: literals and {name}. A variable matches one or more
 * characters up to the next literal, and never a slash, not even an encoded one. So a handler that
 * makes a path of a variable stays inside its folder. Matching takes linear time: each variable
 * ends at the first place where the next literal fits.
 */
#include "core/catalog.h"

#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/percent.h"
#include "json/utf8.h"

enum {
    SHELVES = 4,
    VARIABLES_MAX = 16,  /* of a uri template */
    VARIABLE_MAX = 1024, /* bytes of what one matches */
};

struct shelf { /* tools, prompts, resources, templates */
    struct target **targets;
    size_t count, room;
    struct map by_name;
};

struct catalog {
    struct shelf shelves[SHELVES];
    void (*changed)(void *data, enum target_kind kind);
    void *changed_data;
};

static struct shelf *shelf_of(const struct catalog *catalog, enum target_kind kind, bool templates)
{
    static const int place[] = { [TARGET_TOOL] = 0, [TARGET_RESOURCE] = 1, [TARGET_PROMPT] = 2 };
    int at = kind == TARGET_RESOURCE && templates ? 3 : place[kind];

    return (struct shelf *)&catalog->shelves[at];
}

struct catalog *catalog_create(void)
{
    struct catalog *catalog = MEM_NEW(struct catalog);

    for (size_t i = 0; i < SHELVES; i++)
        map_init(&catalog->shelves[i].by_name, CATALOG_TARGETS_MAX);
    return catalog;
}

void catalog_destroy(struct catalog *catalog)
{
    if (!catalog)
        return;
    for (size_t i = 0; i < SHELVES; i++) {
        map_finish(&catalog->shelves[i].by_name);
        mem_free(catalog->shelves[i].targets);
    }
    mem_free(catalog);
}

static void catalog_tell(struct catalog *catalog, enum target_kind kind)
{
    if (catalog->changed)
        catalog->changed(catalog->changed_data, kind);
}

nod_status catalog_add(struct catalog *catalog, struct target *target)
{
    struct shelf *shelf = shelf_of(catalog, target->kind, target->is_template);

    if (map_get(&shelf->by_name, target->name))
        return NOD_E_USAGE;
    if (!map_set(&shelf->by_name, target->name, target))
        return NOD_E_LIMIT;
    if (shelf->count == shelf->room) {
        shelf->room = shelf->room ? shelf->room * 2 : 8;
        shelf->targets = mem_realloc(shelf->targets, shelf->room * sizeof(*shelf->targets));
    }
    shelf->targets[shelf->count++] = target;
    catalog_tell(catalog, target->kind);
    return NOD_OK;
}

void catalog_remove(struct catalog *catalog, struct target *target)
{
    struct shelf *shelf = shelf_of(catalog, target->kind, target->is_template);
    enum target_kind kind = target->kind;

    if (map_get(&shelf->by_name, target->name) != target)
        return;
    map_remove(&shelf->by_name, target->name);
    for (size_t i = 0; i < shelf->count; i++) {
        if (shelf->targets[i] == target) {
            memmove(&shelf->targets[i], &shelf->targets[i + 1],
                    (shelf->count - i - 1) * sizeof(*shelf->targets));
            shelf->count--;
            break;
        }
    }
    target->removed = true;
    target_hold(target);
    target_release(target);
    catalog_tell(catalog, kind);
}

struct target *catalog_find(const struct catalog *catalog, enum target_kind kind, struct str name)
{
    return map_get(&shelf_of(catalog, kind, false)->by_name, name);
}

struct target *catalog_template(const struct catalog *catalog, struct str uri_template)
{
    return map_get(&shelf_of(catalog, TARGET_RESOURCE, true)->by_name, uri_template);
}

struct target *catalog_named(const struct catalog *catalog, enum target_kind kind, struct str name)
{
    struct target *target = catalog_find(catalog, kind, name);

    return target || kind != TARGET_RESOURCE ? target : catalog_template(catalog, name);
}

bool catalog_has(const struct catalog *catalog, struct str name)
{
    for (size_t i = 0; i < SHELVES; i++)
        if (map_get(&catalog->shelves[i].by_name, name))
            return true;
    return false;
}

bool catalog_has_version(const struct catalog *catalog, struct str name, int64_t version)
{
    for (size_t i = 0; i < SHELVES; i++) {
        const struct target *target = map_get(&catalog->shelves[i].by_name, name);
        if (target && target_version(target) == version)
            return true;
    }
    return false;
}

/* An invalid escape is refused: the handler must not see two spellings of the same thing. So are
 * bytes that are not UTF-8, since no text may hold them. */
static bool decode(struct arena *arena, struct str s, struct str *out)
{
    char *text = arena_alloc_aligned(arena, s.len + 1, 1);
    size_t len;

    if (!text || !percent_decode(s, text, s.len + 1, &len))
        return false;
    *out = str_n(text, len);
    return utf8_valid(*out);
}

/* The next piece of a template is a literal up to '{', or the name of a variable up to '}'. */
static bool template_match(struct str pattern, struct str uri, struct arena *arena,
                           struct json *variables)
{
    size_t count = 0;

    for (;;) {
        struct str literal, rest, name, value;
        bool more = str_cut(pattern, '{', &literal, &rest);
        if (!str_starts(uri, literal))
            return false;
        uri = str_skip(uri, literal.len);
        if (!more)
            return uri.len == 0;
        if (!str_cut(rest, '}', &name, &pattern) || ++count > VARIABLES_MAX)
            return false;
        struct str next, unused;
        str_cut(pattern, '{', &next, &unused);
        size_t len = 0;
        while (len < uri.len && uri.at[len] != '/' &&
               !(next.len && str_starts(str_skip(uri, len), next)))
            len++;
        if (len == 0 || len > VARIABLE_MAX || !decode(arena, str_n(uri.at, len), &value) ||
            memchr(value.at, '/', value.len))
            return false;
        json_set(arena, variables, name, json_new_str(arena, value));
        uri = str_skip(uri, len);
    }
}

struct target *catalog_match(const struct catalog *catalog, struct str uri, struct arena *arena,
                             struct json **variables)
{
    struct target *exact = catalog_find(catalog, TARGET_RESOURCE, uri);
    const struct shelf *templates = shelf_of(catalog, TARGET_RESOURCE, true);

    *variables = json_new_object(arena);
    if (exact)
        return exact;
    for (size_t i = 0; i < templates->count; i++) {
        *variables = json_new_object(arena);
        if (template_match(templates->targets[i]->name, uri, arena, *variables))
            return templates->targets[i];
    }
    return NULL;
}

bool catalog_uri_hides_slash(struct str uri)
{
    return str_find(uri, STR("%2F")) >= 0 || str_find(uri, STR("%2f")) >= 0;
}

bool catalog_uri_is_text(struct str uri, struct arena *arena)
{
    struct str decoded;

    return decode(arena, uri, &decoded);
}

size_t catalog_count(const struct catalog *catalog, enum target_kind kind, bool templates)
{
    return shelf_of(catalog, kind, templates)->count;
}

struct target *catalog_at(const struct catalog *catalog, enum target_kind kind, bool templates,
                          size_t index)
{
    const struct shelf *shelf = shelf_of(catalog, kind, templates);

    return index < shelf->count ? shelf->targets[index] : NULL;
}

void catalog_watch(struct catalog *catalog, void (*changed)(void *data, enum target_kind kind),
                   void *data)
{
    catalog->changed = changed;
    catalog->changed_data = data;
}

int64_t target_version(const struct target *target)
{
    return version_number(target->version);
}

int64_t version_number(const unsigned char digest[DIGEST_BYTES])
{
    static const unsigned char none[DIGEST_BYTES];
    uint64_t number = 0;

    if (memcmp(digest, none, DIGEST_BYTES) == 0)
        return 0;
    for (size_t i = 0; i < sizeof(number); i++)
        number = number << 8 | digest[i];
    return (int64_t)(number & (CALL_VERSION_LEAST - 1)) | CALL_VERSION_LEAST;
}

bool target_has_changed(const struct target *target, int64_t version)
{
    int64_t now = version ? target_version(target) : 0;

    return now && version != now;
}

void target_hold(struct target *target)
{
    target->in_use++;
}

void target_release(struct target *target)
{
    if (--target->in_use == 0 && target->removed && target->provider->ops->released)
        target->provider->ops->released(target->provider, target);
}
