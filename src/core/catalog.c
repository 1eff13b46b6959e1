/*
 * core/catalog: ordered arrays of targets, with a map by name beside each.
 *
 * A shelf has one map for the targets that are for everybody, and one for each principal who has
 * any. So a name is found in two looks at most, however many people have something of that name,
 * and in one if nobody has anything of their own.
 *
 * Where clients are shown other names than the paths, there is a second map beside each of these. A
 * shown name belongs to one target, and a target that replaces one of another path takes it over in
 * the change in which that one goes.
 *
 * Holds always: a shelf is in the order of the places of its targets, and each target on it is in
 * exactly one map by name, and in the map of shown names beside it, if names are shown. Outside of
 * catalog_change no target on a shelf is marked as removed.
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
#include "core/tool_name.h"
#include "crypto/digest.h"
#include "json/utf8.h"

enum {
    SHELVES = 4,
    VARIABLES_MAX = 16,  /* of a uri template */
    VARIABLE_MAX = 1024, /* bytes of what one matches */
};

struct shown { /* a name that clients are shown */
    struct target *target;
    struct str name;
    char text[];
};

struct names { /* the targets of one owner on one shelf */
    struct map by_name;
    struct map by_shown; /* struct shown; empty where clients are shown the names themselves */
};

struct owned { /* those of a principal */
    struct str principal;
    struct names names;
    char text[];
};

struct shelf { /* tools, prompts, resources, templates */
    struct target **targets;
    size_t count, room;
    uint64_t next;       /* the place of the next target */
    bool underscores;    /* clients are shown them: tools only */
    struct names common; /* those for everybody */
    struct map owners;   /* struct owned; none is empty */
};

struct catalog {
    struct shelf shelves[SHELVES];
    void (*changed)(void *data, const struct catalog_change *change);
    void *changed_data;
};

static size_t shelf_index(enum target_kind kind, bool templates)
{
    static const size_t place[] = { [TARGET_TOOL] = 0, [TARGET_RESOURCE] = 1, [TARGET_PROMPT] = 2 };

    return kind == TARGET_RESOURCE && templates ? 3 : place[kind];
}

static struct shelf *shelf_of(const struct catalog *catalog, enum target_kind kind, bool templates)
{
    return (struct shelf *)&catalog->shelves[shelf_index(kind, templates)];
}

static struct shelf *shelf_with(const struct catalog *catalog, const struct target *target)
{
    return shelf_of(catalog, target->kind, target->is_template);
}

static void names_init(struct names *names)
{
    map_init(&names->by_name, SIZE_MAX / 2);
    map_init(&names->by_shown, SIZE_MAX / 2);
}

static void names_forget_shown(struct names *names)
{
    size_t at = 0;

    for (struct shown *shown; (shown = map_next(&names->by_shown, &at));) {
        map_remove(&names->by_shown, shown->name);
        mem_free(shown);
    }
}

static void names_finish(struct names *names)
{
    names_forget_shown(names);
    map_finish(&names->by_shown);
    map_finish(&names->by_name);
}

struct catalog *catalog_create(void)
{
    struct catalog *catalog = MEM_NEW(struct catalog);

    for (size_t i = 0; i < SHELVES; i++) { /* change_fits has the limit */
        names_init(&catalog->shelves[i].common);
        map_init(&catalog->shelves[i].owners, SIZE_MAX / 2);
    }
    return catalog;
}

static void owned_free(struct owned *owned)
{
    names_finish(&owned->names);
    mem_free(owned);
}

void catalog_destroy(struct catalog *catalog)
{
    if (!catalog)
        return;
    for (size_t i = 0; i < SHELVES; i++) {
        struct shelf *shelf = &catalog->shelves[i];
        size_t at = 0;
        for (struct owned *owned; (owned = map_next(&shelf->owners, &at));)
            owned_free(owned);
        map_finish(&shelf->owners);
        names_finish(&shelf->common);
        mem_free(shelf->targets);
    }
    mem_free(catalog);
}

/* --- by name --- */

/* Those of exactly this owner; NULL: there are none. */
static struct names *shelf_names(const struct shelf *shelf, struct str owner)
{
    struct owned *owned = owner.len && shelf->owners.count ? map_get(&shelf->owners, owner) : NULL;

    return owner.len ? (owned ? &owned->names : NULL) : (struct names *)&shelf->common;
}

static struct target *shelf_get(const struct shelf *shelf, struct str owner, struct str name)
{
    const struct names *names = shelf_names(shelf, owner);

    return names ? map_get(&names->by_name, name) : NULL;
}

static struct target *shown_get(const struct shelf *shelf, struct str owner, struct str name)
{
    const struct names *names = shelf_names(shelf, owner);
    const struct shown *shown = names ? map_get(&names->by_shown, name) : NULL;

    return shown ? shown->target : NULL;
}

/* A tool of nod's own stands for itself, whatever anybody has. */
static struct target *given_of(struct target *own, struct target *common)
{
    return !own || (common && common->inside) ? common : own;
}

static struct target *shelf_for(const struct shelf *shelf, struct str principal, struct str name)
{
    struct target *own = shelf->owners.count ? shelf_get(shelf, principal, name) : NULL;

    return given_of(own, map_get(&shelf->common.by_name, name));
}

static struct target *shown_for(const struct shelf *shelf, struct str principal, struct str name)
{
    struct target *own = shelf->owners.count ? shown_get(shelf, principal, name) : NULL;

    return given_of(own, shown_get(shelf, STR_NONE, name));
}

static struct shown *shown_create(struct target *target)
{
    struct shown *shown = mem_zalloc(sizeof(*shown) + target->name.len);

    shown->target = target;
    shown->name = tool_name_shown(target->name, shown->text);
    return shown;
}

/* Who is shown to clients as this one would be, and is not to go; NULL: nobody else. */
static struct target *shelf_meets(const struct shelf *shelf, struct target *target)
{
    struct shown *shown = shown_create(target);
    struct target *there = shown_get(shelf, target->owner, shown->name);

    mem_free(shown);
    return there && !there->removed && !str_eq(there->name, target->name) ? there : NULL;
}

/* It takes its shown name over, if another had that one. */
static void shelf_show(struct shelf *shelf, struct target *target)
{
    struct map *by_shown = &shelf_names(shelf, target->owner)->by_shown;
    struct shown *shown = shown_create(target), *there = map_get(by_shown, shown->name);

    if (!there) {
        map_add(by_shown, shown->name, shown);
        return;
    }
    there->target = target;
    mem_free(shown);
}

static void shelf_hide(struct shelf *shelf, struct target *target)
{
    struct map *by_shown = &shelf_names(shelf, target->owner)->by_shown;
    struct shown *shown = shown_create(target), *there = map_get(by_shown, shown->name);

    mem_free(shown);
    if (!there || there->target != target)
        return; /* another has taken it over */
    map_remove(by_shown, there->name);
    mem_free(there);
}

static void shelf_set(struct shelf *shelf, struct target *target)
{
    struct str owner = target->owner;

    if (!shelf_names(shelf, owner)) {
        struct owned *owned = mem_zalloc(sizeof(*owned) + owner.len + 1);
        char *text = owned->text;
        owned->principal = str_place(&text, owner);
        names_init(&owned->names);
        map_add(&shelf->owners, owned->principal, owned);
    }
    map_set(&shelf_names(shelf, owner)->by_name, target->name, target);
    if (shelf->underscores)
        shelf_show(shelf, target);
}

static void shelf_unset(struct shelf *shelf, struct target *target)
{
    struct names *names = shelf_names(shelf, target->owner);

    if (shelf->underscores)
        shelf_hide(shelf, target);
    map_remove(&names->by_name, target->name);
    if (target->owner.len && names->by_name.count == 0)
        owned_free(map_remove(&shelf->owners, target->owner));
}

struct target *catalog_for(const struct catalog *catalog, struct str principal,
                           enum target_kind kind, struct str name)
{
    return shelf_for(shelf_of(catalog, kind, false), principal, name);
}

struct target *catalog_template_for(const struct catalog *catalog, struct str principal,
                                    struct str uri_template)
{
    return shelf_for(shelf_of(catalog, TARGET_RESOURCE, true), principal, uri_template);
}

struct target *catalog_find(const struct catalog *catalog, enum target_kind kind, struct str name)
{
    return map_get(&shelf_of(catalog, kind, false)->common.by_name, name);
}

struct target *catalog_template(const struct catalog *catalog, struct str uri_template)
{
    return map_get(&shelf_of(catalog, TARGET_RESOURCE, true)->common.by_name, uri_template);
}

struct target *catalog_now(const struct catalog *catalog, const struct target *target)
{
    return shelf_get(shelf_with(catalog, target), target->owner, target->name);
}

bool catalog_is_for(const struct catalog *catalog, const struct target *target,
                    struct str principal)
{
    const struct shelf *shelf = shelf_with(catalog, target);

    if (!shelf->owners.count || (target->owner.len && !str_eq(target->owner, principal)))
        return !target->owner.len;
    if (shelf_for(shelf, principal, target->name) != target || !shelf->underscores)
        return shelf_for(shelf, principal, target->name) == target;
    struct shown *shown = shown_create((struct target *)(uintptr_t)target);
    bool is_for = shown_for(shelf, principal, shown->name) == target;
    mem_free(shown);
    return is_for;
}

/* A call that began with the target for everybody goes on with that one, although its principal
 * may have got one of their own since. */
static struct target *shelf_resumes(const struct shelf *shelf, struct str principal,
                                    struct str name, int64_t version)
{
    struct target *given = shelf_for(shelf, principal, name);
    struct target *other = given && given->owner.len ? map_get(&shelf->common.by_name, name) : NULL;

    return other && version && target_version(given) != version && target_version(other) == version
               ? other
               : given;
}

struct target *catalog_of_call(const struct catalog *catalog, const struct call_record *record)
{
    struct target *target = shelf_resumes(shelf_of(catalog, record->kind, false), record->principal,
                                          record->target, record->version);

    if (!target && record->kind == TARGET_RESOURCE)
        target = shelf_resumes(shelf_of(catalog, TARGET_RESOURCE, true), record->principal,
                               record->target, record->version);
    return target;
}

/* A record of an ask has the name only. If a tool and a prompt share it, the tool is meant, which
 * may be a destructive one. */
struct target *catalog_of_ask(const struct catalog *catalog, const struct ask_record *record)
{
    static const struct {
        enum target_kind kind;
        bool templates;
    } order[] = { { TARGET_TOOL, false },
                  { TARGET_PROMPT, false },
                  { TARGET_RESOURCE, false },
                  { TARGET_RESOURCE, true } };
    struct target *target = NULL;

    for (size_t i = 0; !target && i < SHELVES; i++)
        target = shelf_resumes(shelf_of(catalog, order[i].kind, order[i].templates),
                               record->principal, record->target, record->call_version);
    return target;
}

bool catalog_has_version(const struct catalog *catalog, const struct ask_record *record)
{
    for (size_t i = 0; i < SHELVES; i++) {
        const struct target *target = shelf_resumes(&catalog->shelves[i], record->principal,
                                                    record->target, record->call_version);
        if (target && target_version(target) == record->call_version)
            return true;
    }
    return false;
}

bool catalog_has(const struct catalog *catalog, struct str name)
{
    for (size_t i = 0; i < SHELVES; i++)
        if (map_get(&catalog->shelves[i].common.by_name, name))
            return true;
    return false;
}

/* --- as clients are shown them --- */

static bool shelf_show_all(struct shelf *shelf, const struct target **at,
                           const struct target **other)
{
    for (size_t i = 0; i < shelf->count; i++) {
        *at = shelf->targets[i];
        *other = shelf_meets(shelf, shelf->targets[i]);
        if (*other)
            return false;
        shelf_show(shelf, shelf->targets[i]);
    }
    return true;
}

bool catalog_show(struct catalog *catalog, bool underscores, const struct target **at,
                  const struct target **other)
{
    struct shelf *tools = shelf_of(catalog, TARGET_TOOL, false);
    size_t next = 0;

    if (underscores == tools->underscores)
        return true;
    bool fine = underscores && shelf_show_all(tools, at, other);
    tools->underscores = fine;
    if (fine)
        return true;
    names_forget_shown(&tools->common);
    for (struct owned *owned; (owned = map_next(&tools->owners, &next));)
        names_forget_shown(&owned->names);
    return !underscores;
}

bool catalog_shows_underscores(const struct catalog *catalog)
{
    return shelf_of(catalog, TARGET_TOOL, false)->underscores;
}

struct str catalog_shown(const struct catalog *catalog, struct str path, struct arena *arena)
{
    bool shows = catalog_shows_underscores(catalog);
    char *text = shows ? arena_alloc_aligned(arena, path.len + 1, 1) : NULL;

    return text ? tool_name_shown(path, text) : path;
}

struct target *catalog_called(const struct catalog *catalog, struct str principal, struct str name)
{
    const struct shelf *tools = shelf_of(catalog, TARGET_TOOL, false);
    struct target *shown = tools->underscores ? shown_for(tools, principal, name) : NULL;

    return shown ? shown : shelf_for(tools, principal, name);
}

bool catalog_calls(const struct catalog *catalog, struct str name, struct str path)
{
    return catalog_shows_underscores(catalog) ? tool_name_is_of(name, path) : str_eq(name, path);
}

/* --- changes --- */

struct entering {            /* one that is added */
    struct target *replaces; /* or NULL */
    bool had_gone;           /* it was removed before, and calls may still use it */
};

/* A change while it is made. */
struct changing {
    struct catalog *catalog;
    const struct catalog_change *change;
    struct entering *entering; /* for each that is added */
    size_t entered;            /* of those */
    struct catalog_refused refused;
    struct target **leaving; /* what is removed and was there, once each */
    size_t leaving_count;
    size_t goes[SHELVES];
};

static bool is_on_shelf(const struct catalog *catalog, const struct target *target)
{
    return shelf_get(shelf_with(catalog, target), target->owner, target->name) == target;
}

/* Marks what goes. False: there would be too many. */
static bool change_fits(struct changing *changing)
{
    const struct catalog_change *change = changing->change;
    size_t comes[SHELVES] = { 0 };
    bool fits = true;

    for (size_t i = 0; i < change->remove_count; i++) {
        struct target *target = change->remove[i];
        if (target->removed || !is_on_shelf(changing->catalog, target))
            continue;
        target->removed = true;
        changing->leaving[changing->leaving_count++] = target;
        changing->goes[shelf_index(target->kind, target->is_template)]++;
    }
    for (size_t i = 0; i < change->add_count; i++)
        comes[shelf_index(change->add[i]->kind, change->add[i]->is_template)]++;
    for (size_t i = 0; i < SHELVES; i++)
        fits = fits && changing->catalog->shelves[i].count - changing->goes[i] + comes[i] <=
                           CATALOG_TARGETS_MAX;
    return fits;
}

/* False: the name is taken, or what it is shown under. A target that is removed in this change
 * leaves its place to the one that is added under its name. */
static bool change_enters(struct changing *changing)
{
    struct target *target = changing->change->add[changing->entered];
    struct shelf *shelf = shelf_with(changing->catalog, target);
    struct target *there = shelf_get(shelf, target->owner, target->name);
    bool taken = there && (there == target || !there->removed);
    const struct target *meets = !taken && shelf->underscores ? shelf_meets(shelf, target) : NULL;

    if (taken || meets) {
        changing->refused = (struct catalog_refused){ .at = changing->entered,
                                                      .other = taken ? there : meets,
                                                      .shown = !taken };
        return false;
    }
    changing->entering[changing->entered++] =
        (struct entering){ .replaces = there, .had_gone = target->removed };
    target->removed = false; /* so its name is taken for those that follow */
    target->place = there ? there->place : shelf->next++;
    shelf_set(shelf, target);
    return true;
}

static void change_undo(struct changing *changing)
{
    while (changing->entered > 0) {
        struct target *target = changing->change->add[--changing->entered];
        struct target *old = changing->entering[changing->entered].replaces;
        struct shelf *shelf = shelf_with(changing->catalog, target);
        target->removed = changing->entering[changing->entered].had_gone;
        if (old) {
            shelf_set(shelf, old);
        } else {
            shelf_unset(shelf, target);
            shelf->next--;
        }
    }
    for (size_t i = 0; i < changing->leaving_count; i++) {
        struct target *stays = changing->leaving[i];
        struct shelf *shelf = shelf_with(changing->catalog, stays);
        stays->removed = false;
        if (shelf->underscores)
            shelf_show(shelf, stays); /* one of another path had taken its shown name over */
    }
}

static void shelf_append(struct shelf *shelf, struct target *target)
{
    if (shelf->count == shelf->room) {
        shelf->room = shelf->room ? shelf->room * 2 : 8;
        shelf->targets = mem_realloc(shelf->targets, shelf->room * sizeof(*shelf->targets));
    }
    shelf->targets[shelf->count++] = target;
}

/* What replaces a target stands where that one stood; the others that come are at the end. */
static void shelf_clear(struct shelf *shelf)
{
    size_t kept = 0;

    for (size_t i = 0; i < shelf->count; i++) {
        struct target *target = shelf->targets[i];
        struct target *now =
            target->removed ? shelf_get(shelf, target->owner, target->name) : target;
        if (now == target && target->removed)
            shelf_unset(shelf, target);
        else
            shelf->targets[kept++] = now;
    }
    shelf->count = kept;
}

static void change_make(struct changing *changing)
{
    const struct catalog_change *change = changing->change;
    struct catalog *catalog = changing->catalog;

    for (size_t i = 0; i < SHELVES; i++)
        if (changing->goes[i])
            shelf_clear(&catalog->shelves[i]);
    for (size_t i = 0; i < change->add_count; i++)
        if (!changing->entering[i].replaces)
            shelf_append(shelf_with(catalog, change->add[i]), change->add[i]);
    if (catalog->changed && (change->add_count || changing->leaving_count))
        catalog->changed(catalog->changed_data,
                         &(struct catalog_change){ .add = change->add,
                                                   .add_count = change->add_count,
                                                   .remove = changing->leaving,
                                                   .remove_count = changing->leaving_count });
    for (size_t i = 0; i < changing->leaving_count; i++) {
        target_hold(changing->leaving[i]);
        target_release(changing->leaving[i]);
    }
}

nod_status catalog_change(struct catalog *catalog, const struct catalog_change *change,
                          struct catalog_refused *refused)
{
    struct changing changing = { .catalog = catalog, .change = change };
    nod_status status;

    changing.entering = mem_zalloc((change->add_count + 1) * sizeof(*changing.entering));
    changing.leaving = mem_zalloc((change->remove_count + 1) * sizeof(*changing.leaving));
    status = change_fits(&changing) ? NOD_OK : NOD_E_LIMIT;
    while (status == NOD_OK && changing.entered < change->add_count)
        status = change_enters(&changing) ? NOD_OK : NOD_E_USAGE;
    if (status == NOD_OK) {
        change_make(&changing);
    } else {
        if (refused)
            *refused = changing.refused;
        change_undo(&changing);
    }
    mem_free(changing.entering);
    mem_free(changing.leaving);
    return status;
}

nod_status catalog_add(struct catalog *catalog, struct target *target)
{
    return catalog_change(catalog, &(struct catalog_change){ .add = &target, .add_count = 1 },
                          NULL);
}

void catalog_remove(struct catalog *catalog, struct target *target)
{
    catalog_change(catalog, &(struct catalog_change){ .remove = &target, .remove_count = 1 }, NULL);
}

nod_status catalog_replace(struct catalog *catalog, struct target *old, struct target *by)
{
    return catalog_change(
        catalog,
        &(struct catalog_change){ .add = &by, .add_count = 1, .remove = &old, .remove_count = 1 },
        NULL);
}

void catalog_watch(struct catalog *catalog,
                   void (*changed)(void *data, const struct catalog_change *change), void *data)
{
    catalog->changed = changed;
    catalog->changed_data = data;
}

/* --- by URI --- */

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

/* The first template of this owner that fits. */
static struct target *shelf_match(const struct shelf *templates, struct str owner, struct str uri,
                                  struct arena *arena, struct json **variables)
{
    for (size_t i = 0; i < templates->count; i++) {
        struct target *target = templates->targets[i];
        if (!str_eq(target->owner, owner))
            continue;
        *variables = json_new_object(arena);
        if (template_match(target->name, uri, arena, *variables))
            return target;
    }
    return NULL;
}

struct target *catalog_match(const struct catalog *catalog, struct str principal, struct str uri,
                             struct arena *arena, struct json **variables)
{
    const struct shelf *templates = shelf_of(catalog, TARGET_RESOURCE, true);
    struct target *target = catalog_for(catalog, principal, TARGET_RESOURCE, uri);

    *variables = json_new_object(arena);
    if (!target && principal.len && templates->owners.count)
        target = shelf_match(templates, principal, uri, arena, variables);
    return target ? target : shelf_match(templates, STR_NONE, uri, arena, variables);
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

size_t catalog_from(const struct catalog *catalog, enum target_kind kind, bool templates,
                    uint64_t place)
{
    const struct shelf *shelf = shelf_of(catalog, kind, templates);
    size_t low = 0, high = shelf->count;

    if (place > shelf->next)
        return SIZE_MAX;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shelf->targets[middle]->place < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- versions and use --- */

/* A target that is somebody else's is never the same version, however alike both are. */
void target_digest(const struct target *target, unsigned char out[DIGEST_BYTES])
{
    struct str parts[] = { str_n((const char *)target->version, DIGEST_BYTES), target->owner };
    struct digest whole;

    memcpy(out, target->version, DIGEST_BYTES);
    if (!target->owner.len)
        return;
    digest_of_parts(parts, sizeof(parts) / sizeof(parts[0]), &whole);
    memcpy(out, whole.bytes, DIGEST_BYTES);
}

int64_t target_version(const struct target *target)
{
    unsigned char digest[DIGEST_BYTES];

    if (!target->owner.len)
        return version_number(target->version);
    target_digest(target, digest);
    return version_number(digest);
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
