/*
 * mcp/shared/listened: see listened.h.
 *
 * Two tables. `wants` counts the subscriptions of a principal to a URI, because it depends on the
 * principal which target a URI leads to. `heard` counts, for a target and a URI, how many of those
 * lead there; its provider is told when that begins and when it is over. If a target is replaced
 * while it is listened to, its successor is told that somebody listens. A target that is removed is
 * told nothing more: listening to it ends with it.
 *
 * Holds always: for a target and a URI, a provider hears yes and no in turn, beginning with yes. A
 * target that is in `heard` is held.
 */
#include "mcp/shared/listened.h"

#include "base/map.h"
#include "base/mem.h"
#include "core/catalog.h"
#include "mcp/shared/server_inside.h"

enum {
    LISTENED_MAX = 100000,          /* resources that somebody subscribes to, of all principals */
    LISTENED_ARENA_MAX = 256 << 10, /* memory to find the resource of a URI */
};

struct heard {
    struct target *target;
    size_t wants; /* that lead here */
    struct str uri;
    size_t len;
    char key[]; /* the target, then the URI */
};

struct want {
    size_t count;
    struct heard *heard; /* NULL: nobody provides it, or nobody can be told */
    struct str principal, uri;
    size_t len;
    char key[]; /* the length of the principal, the principal, the URI */
};

struct listened {
    struct map wants; /* struct want */
    struct map heard; /* struct heard */
};

struct listened *listened_create(void)
{
    struct listened *listened = MEM_NEW(struct listened);

    map_init(&listened->wants, LISTENED_MAX);
    map_init(&listened->heard, LISTENED_MAX);
    return listened;
}

static void heard_tell(const struct heard *heard, bool yes)
{
    struct provider *provider = heard->target->provider;

    if (provider->ops->listened && !heard->target->removed)
        provider->ops->listened(provider, heard->target, heard->uri, yes);
}

static struct heard *heard_add(struct listened *listened, struct target *target, struct str uri)
{
    size_t len = sizeof(target) + uri.len;
    struct heard *made = mem_alloc(sizeof(*made) + len);

    memcpy(made->key, &target, sizeof(target));
    memcpy(made->key + sizeof(target), uri.at, uri.len);
    struct heard *heard = map_get(&listened->heard, str_n(made->key, len));
    if (heard) {
        mem_free(made);
        heard->wants++;
        return heard;
    }
    made->target = target;
    made->wants = 1;
    made->uri = str_n(made->key + sizeof(target), uri.len);
    made->len = len;
    if (!map_set(&listened->heard, str_n(made->key, len), made)) {
        mem_free(made);
        return NULL;
    }
    target_hold(target);
    heard_tell(made, true);
    return made;
}

static void heard_drop(struct listened *listened, struct heard *heard)
{
    if (!heard || --heard->wants)
        return;
    map_remove(&listened->heard, str_n(heard->key, heard->len));
    heard_tell(heard, false);
    target_release(heard->target);
    mem_free(heard);
}

/* The target that the URI leads to now. */
static struct target *want_target(struct mcp_server *server, const struct want *want)
{
    struct json *variables = NULL;
    struct arena arena;

    arena_init(&arena, LISTENED_ARENA_MAX);
    struct target *target =
        catalog_match(server->opts.catalog, want->principal, want->uri, &arena, &variables);
    arena_finish(&arena);
    return target && target->subscribable ? target : NULL;
}

static void want_find(struct mcp_server *server, struct want *want)
{
    struct target *target = want_target(server, want);
    struct heard *before = want->heard;

    if ((before ? before->target : NULL) == target)
        return;
    want->heard = target ? heard_add(server->listened, target, want->uri) : NULL;
    heard_drop(server->listened, before);
}

static struct want *want_make(struct str principal, struct str uri)
{
    size_t len = sizeof(size_t) + principal.len + uri.len;
    struct want *want = mem_zalloc(sizeof(*want) + len);
    char *at = want->key + sizeof(size_t);

    memcpy(want->key, &principal.len, sizeof(size_t));
    want->principal =
        str_n(memcpy(at, principal.len ? principal.at : "", principal.len), principal.len);
    want->uri = str_n(memcpy(at + principal.len, uri.len ? uri.at : "", uri.len), uri.len);
    want->len = len;
    return want;
}

void listened_add(struct mcp_server *server, struct str principal, struct str uri)
{
    struct map *wants = &server->listened->wants;
    struct want *made = want_make(principal, uri);
    struct want *want = map_get(wants, str_n(made->key, made->len));

    if (want) {
        mem_free(made);
        want->count++;
    } else if (map_set(wants, str_n(made->key, made->len), made)) {
        made->count = 1;
        want_find(server, made);
    } else {
        mem_free(made); /* its client is told of changes all the same */
    }
}

void listened_drop(struct mcp_server *server, struct str principal, struct str uri)
{
    struct listened *listened = server->listened;
    struct want *key = want_make(principal, uri);
    struct want *want = map_get(&listened->wants, str_n(key->key, key->len));

    mem_free(key);
    if (!want || --want->count)
        return;
    map_remove(&listened->wants, str_n(want->key, want->len));
    heard_drop(listened, want->heard);
    mem_free(want);
}

void listened_changed(struct mcp_server *server)
{
    struct want *want;
    size_t at = 0;

    while ((want = map_next(&server->listened->wants, &at)))
        want_find(server, want);
}

void listened_destroy(struct listened *listened)
{
    struct want *want;
    size_t at = 0;

    if (!listened)
        return;
    while ((want = map_next(&listened->wants, &at))) {
        map_remove(&listened->wants, str_n(want->key, want->len));
        heard_drop(listened, want->heard);
        mem_free(want);
    }
    map_finish(&listened->wants);
    map_finish(&listened->heard);
    mem_free(listened);
}
