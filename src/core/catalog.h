/*
 * core/catalog: every target of this server, in the order in which they were added.
 *
 * Providers add and remove targets; the protocol lists and finds them. Names are unique within a
 * kind. A removed target stays alive until the last call that uses it has ended (target.in_use).
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
/* Takes it off the lists. Its provider's released() is called when no call uses it, perhaps at
 * once. */
void catalog_remove(struct catalog *catalog, struct target *target);

/* A tool or prompt by name, or a resource by its exact URI. Templates: see catalog_template. */
struct target *catalog_find(const struct catalog *catalog, enum target_kind kind, struct str name);
struct target *catalog_template(const struct catalog *catalog, struct str uri_template);
/* The target that a stored record names: as catalog_find, and templates too. */
struct target *catalog_named(const struct catalog *catalog, enum target_kind kind, struct str name);
/* Is there a target of that name, of any kind? */
bool catalog_has(const struct catalog *catalog, struct str name);
/* Something of this name, in this version. */
bool catalog_has_version(const struct catalog *catalog, struct str name, int64_t version);
/*
 * The resource or template that a URI belongs to; an exact resource comes first. For a template,
 * *variables is an object of its percent-decoded variables, in the arena. For an exact resource it
 * is an empty object.
 */
struct target *catalog_match(const struct catalog *catalog, struct str uri, struct arena *arena,
                             struct json **variables);

/* The URI's escapes are valid and stand for UTF-8 without NUL: only such a URI can match a
 * template. */
bool catalog_uri_is_text(struct str uri, struct arena *arena);

/* The URI has an encoded slash, which no variable of a template matches. */
bool catalog_uri_hides_slash(struct str uri);

/* In order. `templates` selects templates instead of resources. */
size_t catalog_count(const struct catalog *catalog, enum target_kind kind, bool templates);
struct target *catalog_at(const struct catalog *catalog, enum target_kind kind, bool templates,
                          size_t index);

/* changed(kind) after every add and remove. One listener. */
void catalog_watch(struct catalog *catalog, void (*changed)(void *data, enum target_kind kind),
                   void *data);

/* The target's version as records hold it: a number made from the digest of its input schema and
 * its author's version. It is never less than CALL_VERSION_LEAST; 0 if there is no digest. */
int64_t target_version(const struct target *target);
/* The same, of that digest. */
int64_t version_number(const unsigned char digest[DIGEST_BYTES]);
/* Was a call that began with this version (0: not known) begun with another one of the target? */
bool target_has_changed(const struct target *target, int64_t version);

void target_hold(struct target *target);
void target_release(struct target *target);

#endif
