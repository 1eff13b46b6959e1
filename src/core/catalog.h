/*
 * core/catalog: every target there is, in the order it was added.
 *
 * Providers add and remove; the protocol lists and finds. Names are unique within a kind. A removed
 * target stays alive until the last call that uses it has ended (target.in_use).
 */
#ifndef NOD_CORE_CATALOG_H
#define NOD_CORE_CATALOG_H

#include "core/provider.h"

struct catalog;

struct catalog *catalog_create(void);
void catalog_destroy(struct catalog *catalog); /* does not free targets */

enum { CATALOG_TARGETS_MAX = 10000 }; /* tools, resources and prompts, of each kind */

/* NOD_E_USAGE: the name is taken. NOD_E_LIMIT. */
nod_status catalog_add(struct catalog *catalog, struct target *target);
/* Takes it off the lists; its provider's released() follows when no call uses it, perhaps at once.
 */
void catalog_remove(struct catalog *catalog, struct target *target);

/* A tool or prompt by name, a resource by its exact uri (templates are not found by this, but by
 * catalog_template). */
struct target *catalog_find(const struct catalog *catalog, enum target_kind kind, struct str name);
struct target *catalog_template(const struct catalog *catalog, struct str uri_template);
/* The one that a record names: as catalog_find, and templates too. */
struct target *catalog_named(const struct catalog *catalog, enum target_kind kind, struct str name);
/* Is there anything of that name, of whatever kind? */
bool catalog_has(const struct catalog *catalog, struct str name);
/*
 * The resource or template that a uri belongs to, exact ones first. For a template, *variables is
 * an object of its variables (percent-decoded) in the arena; for an exact one an empty object.
 */
struct target *catalog_match(const struct catalog *catalog, struct str uri, struct arena *arena,
                             struct json **variables);

/* Its escapes are valid and stand for UTF-8 without NUL: only then can a template match it. */
bool catalog_uri_is_text(struct str uri, struct arena *arena);

/* It has an encoded slash, which no variable of a template matches. */
bool catalog_uri_hides_slash(struct str uri);

/* In order. Resources and templates are counted apart by `templates`. */
size_t catalog_count(const struct catalog *catalog, enum target_kind kind, bool templates);
struct target *catalog_at(const struct catalog *catalog, enum target_kind kind, bool templates,
                          size_t index);

/* changed(kind) after every add and remove. One listener. */
void catalog_watch(struct catalog *catalog, void (*changed)(void *data, enum target_kind kind),
                   void *data);

/* What it takes and the version its author gives, as records carry it: a number of their digest
 * that is never less than CALL_VERSION_LEAST; 0 if there is no digest. */
int64_t target_version(const struct target *target);
/* Does the record belong to a call of another version than this target's? */
bool target_has_changed(const struct target *target, const struct call_record *record);

void target_hold(struct target *target);
void target_release(struct target *target);

#endif
