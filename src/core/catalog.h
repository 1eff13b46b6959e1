/*
 * core/catalog: every target of this server, in the order in which they were added.
 *
 * Providers add and remove targets; the protocol lists and finds them. A target is for everybody,
 * or for one principal (target.owner), who alone can see it. Names are unique within a kind among
 * the targets of one owner, and among those for everybody. So two people may each have an app of
 * the same name. Whoever has a target of their own is given that one, and not the one of the same
 * name that is for everybody, in whichever order they were added: so all nodes decide alike.
 *
 * A tool's name is its path. Clients may be shown another (catalog_show), which is unique as well;
 * all else, and every record, has the path.
 *
 * A removed target stays alive until the last run of it has ended, and whoever else has it has let
 * go of it (target.in_use).
 */
#ifndef NOD_CORE_CATALOG_H
#define NOD_CORE_CATALOG_H

#include "core/provider.h"

struct catalog;

struct catalog *catalog_create(void);
void catalog_destroy(struct catalog *catalog); /* does not free targets */

enum { CATALOG_TARGETS_MAX = 20000 }; /* tools, resources and prompts, of each kind */

/* Targets that come and go in one step. */
struct catalog_change {
    struct target *const *add;
    size_t add_count;
    struct target *const *remove; /* those that are not there are left out */
    size_t remove_count;
};

/* Why a change cannot be made. */
struct catalog_refused {
    size_t at;                  /* the index of the target in `add` */
    const struct target *other; /* has its name; NULL: there would be too many */
    bool shown;                 /* it has another path, but clients would be shown both as one */
};

/*
 * All of the change, or nothing of it. There is no moment in which only a part has happened: a
 * target that is added under the name of one that is removed replaces it, in its place of the list,
 * and is found by every call from then on. Calls that wait go on with it, or end (replaced.c).
 *
 * NOD_E_USAGE: a name is taken, and *refused (or NULL) says whose; the other one may be of the same
 * change. NOD_E_LIMIT: there would be too many. released() of the provider is called for each
 * removed target when no call uses it, perhaps at once.
 *
 * The costs are those of the change, and with removals one walk over the targets of their kind.
 */
nod_status catalog_change(struct catalog *catalog, const struct catalog_change *change,
                          struct catalog_refused *refused);
/* The same for one target. */
nod_status catalog_add(struct catalog *catalog, struct target *target);
void catalog_remove(struct catalog *catalog, struct target *target);
nod_status catalog_replace(struct catalog *catalog, struct target *old, struct target *by);

/* A tool or prompt by name, or a resource by its exact URI, as the principal is given it.
 * Templates: see catalog_template_for. */
struct target *catalog_for(const struct catalog *catalog, struct str principal,
                           enum target_kind kind, struct str name);
struct target *catalog_template_for(const struct catalog *catalog, struct str principal,
                                    struct str uri_template);
/*
 * The names of tools by which clients are shown them and call them: the paths, or those of
 * core/tool_name.h. False, and nothing has changed: two tools would be one, *at and *other. Before
 * clients come.
 */
bool catalog_show(struct catalog *catalog, bool underscores, const struct target **at,
                  const struct target **other);
bool catalog_shows_underscores(const struct catalog *catalog);
/* As clients are shown a tool of this path; in the arena, or the path itself. */
struct str catalog_shown(const struct catalog *catalog, struct str path, struct arena *arena);
/* A tool as the principal is given it, by the name that clients are shown, or by its path. */
struct target *catalog_called(const struct catalog *catalog, struct str principal, struct str name);
/* Does a client that says this name mean the tool of this path, which may be gone? */
bool catalog_calls(const struct catalog *catalog, struct str name, struct str path);
/* The one that is for everybody. */
struct target *catalog_find(const struct catalog *catalog, enum target_kind kind, struct str name);
struct target *catalog_template(const struct catalog *catalog, struct str uri_template);
/* This one, or the one that has its name and its owner by now; NULL: there is none. */
struct target *catalog_now(const struct catalog *catalog, const struct target *target);
/* May the principal see this target of the catalog? Not if it is somebody else's, nor if the
 * principal has one of that name, or one that is shown under that name. What `listed` says is
 * another matter. */
bool catalog_is_for(const struct catalog *catalog, const struct target *target,
                    struct str principal);
/* The target that a stored call, or the call of a stored ask, goes on with: of those that its
 * principal is given, the one in the version that the call began with, if it is there. */
struct target *catalog_of_call(const struct catalog *catalog, const struct call_record *record);
struct target *catalog_of_ask(const struct catalog *catalog, const struct ask_record *record);
/* Is there something for the call of this ask, of any kind, in the version that the call has? */
bool catalog_has_version(const struct catalog *catalog, const struct ask_record *record);
/* Is there a target of that name for everybody, of any kind? */
bool catalog_has(const struct catalog *catalog, struct str name);
/*
 * The resource or template that a URI belongs to; an exact resource comes first. For a template,
 * *variables is an object of its percent-decoded variables, in the arena. For an exact resource it
 * is an empty object. Of both kinds, the principal's own come first.
 */
struct target *catalog_match(const struct catalog *catalog, struct str principal, struct str uri,
                             struct arena *arena, struct json **variables);

/* The URI's escapes are valid and stand for UTF-8 without NUL: only such a URI can match a
 * template. */
bool catalog_uri_is_text(struct str uri, struct arena *arena);

/* The URI has an encoded slash, which no variable of a template matches. */
bool catalog_uri_hides_slash(struct str uri);

/* In order. `templates` selects templates instead of resources. */
size_t catalog_count(const struct catalog *catalog, enum target_kind kind, bool templates);
struct target *catalog_at(const struct catalog *catalog, enum target_kind kind, bool templates,
                          size_t index);

/*
 * A list by page: a place (target.place) is a target's for as long as it, or what has replaced it,
 * is in the catalog, and nobody else's after that. The index of the first target at this place or
 * behind it; the count if there is none. SIZE_MAX: no target of this list had such a place so far.
 */
size_t catalog_from(const struct catalog *catalog, enum target_kind kind, bool templates,
                    uint64_t place);

/* changed(change) after every change, while its targets are still there. One listener. */
void catalog_watch(struct catalog *catalog,
                   void (*changed)(void *data, const struct catalog_change *change), void *data);

/* The target's version as records hold it: a number made from the digest of its input schema and
 * its author's version, and from its owner. It is never less than CALL_VERSION_LEAST; 0 if there is
 * neither. */
int64_t target_version(const struct target *target);
/* The same as the whole digest, and the number that is made of it. */
void target_digest(const struct target *target, unsigned char out[DIGEST_BYTES]);
int64_t version_number(const unsigned char digest[DIGEST_BYTES]);
/* Was a call that began with this version (0: not known) begun with another one of the target? */
bool target_has_changed(const struct target *target, int64_t version);

void target_hold(struct target *target);
void target_release(struct target *target);
/* Do its calls go on only where they were begun? (home.c) */
bool target_stays(const struct target *target);
/* A target that this node lacks, and that another may have (stand_in.c): with it, whoever comes for
 * a call of it can wait here. It is in no catalog, cannot be run, and is held once. */
struct target *target_stand_in(enum target_kind kind, struct str name);
bool target_is_stand_in(const struct target *target);

#endif
