/*
 * mcp/offered/lists: tools/list and the other lists, by page.
 *
 * A cursor is opaque to the client: base64url of the list's letter and the place of the next item.
 * A place is never given to another target. So the pages of a client that goes on with its cursor
 * have every item once that was there all the time, whatever was removed, added or replaced
 * between two of them. A cursor of another list, or of a place that no target has had so far (the
 * server was started anew), is an error, and the client begins again.
 *
 * The descriptor of a tool has its path. Where clients are shown another name, it is written anew.
 *
 * A target may say to whom it is listed (struct target). For everybody else it does not exist,
 * neither in the list nor when it is called, unless it may be called unlisted.
 */
#include "mcp/offered/lists.h"

#include <inttypes.h>
#include <stdio.h>

#include "crypto/digest.h"
#include "mcp/later/pending.h"
#include "mcp/later/view.h"

/* Templates have a list of their own. */
static char list_letter(enum target_kind kind, bool templates)
{
    static const char letters[] = {
        [TARGET_TOOL] = 't', [TARGET_RESOURCE] = 'r', [TARGET_PROMPT] = 'p'
    };

    return templates ? 'u' : letters[kind];
}

struct str lists_cursor(enum target_kind kind, bool templates, uint64_t place,
                        char out[LISTS_CURSOR_MAX])
{
    char plain[LISTS_CURSOR_MAX / 4 * 3 - 1];
    int n = snprintf(plain, sizeof(plain), "%c%" PRIu64, list_letter(kind, templates), place);
    struct str bytes = str_n(plain, n > 0 ? (size_t)n : 0);

    base64url_encode(bytes, out);
    return str_n(out, base64url_len(bytes.len));
}

bool lists_place(enum target_kind kind, bool templates, struct str cursor, uint64_t *place)
{
    uint8_t plain[LISTS_CURSOR_MAX];
    size_t len;

    return base64url_decode(cursor, plain, sizeof(plain), &len) && len >= 2 &&
           plain[0] == (uint8_t)list_letter(kind, templates) &&
           str_to_u64(str_n((const char *)plain + 1, len - 1), place);
}

bool lists_are_public(const struct mcp_server *server)
{
    return !server_has_tokens(server) && !views_used(server) && !server->model;
}

bool lists_show(const struct request *request, const struct target *target)
{
    if (!catalog_is_for(request->server->opts.catalog, target, request->sender))
        return false;
    if (!target->listed)
        return true; /* mostly */
    unsigned can = request->can;
    struct audience audience = { .principal = request->sender,
                                 .kinds = client_ask_kinds(can),
                                 .views = client_has_views(can),
                                 .roles = request->roles };

    return target->listed(target, &audience);
}

bool lists_allow(const struct request *request, const struct target *target)
{
    return target->callable_unlisted || lists_show(request, target);
}

/* The index of the next listed target, from here on; `count` if there is none. */
static size_t next_shown(const struct request *request, enum target_kind kind, bool templates,
                         size_t at, size_t count)
{
    const struct catalog *catalog = request->server->opts.catalog;

    while (at < count && !lists_show(request, catalog_at(catalog, kind, templates, at)))
        at++;
    return at;
}

bool lists_any(const struct request *request, enum target_kind kind, bool templates)
{
    size_t count = catalog_count(request->server->opts.catalog, kind, templates);

    return next_shown(request, kind, templates, 0, count) < count;
}

/* The descriptor under the name that clients are shown. */
static struct str descriptor_shown(const struct request *request, const struct target *tool)
{
    struct arena *arena = &request->server->message;
    struct str name = catalog_shown(request->server->opts.catalog, tool->name, arena);
    struct str descriptor = tool->descriptor;
    struct json_writer w;
    struct arena tree;
    struct buf out;

    if (str_eq(name, tool->name))
        return descriptor;
    arena_init(&tree, LISTS_DESCRIPTOR_MAX);
    buf_init(&out, LISTS_DESCRIPTOR_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    const struct json *listing = json_parse(&tree, descriptor, NULL, NULL);
    JSON_EACH (member, listing) {
        if (str_eq(member->key, STR("name")))
            jw_key_str(&w, STR("name"), name);
        else
            jw_key_value(&w, member->key, member);
    }
    jw_end(&w);
    if (listing && json_writer_done(&w))
        descriptor = arena_str(arena, buf_str(&out));
    buf_finish(&out);
    arena_finish(&tree);
    return descriptor;
}

/* A client that may get a pending result is told so by the output schema, and one that shows views
 * is given the tool's. In the 2025 era any client may refuse a prompt with an error, and then its
 * call waits elsewhere. */
static struct str descriptor_for(const struct request *request, struct target *target)
{
    unsigned can = request->can;
    struct arena *arena = &request->server->message;

    if (target->kind != TARGET_TOOL)
        return target->descriptor;
    struct str descriptor = descriptor_shown(request, target);
    if (pending_may_come(request->server, target, can, request->roles) ||
        (!request->meta && engine_asks_people_elsewhere(request->server->opts.engine, target)))
        descriptor = pending_widen(arena, descriptor);
    return views_listing(arena, target, can, descriptor);
}

void lists_reply(struct request *request, enum target_kind kind, bool templates, struct str name,
                 enum revision_part part)
{
    const struct catalog *catalog = request->server->opts.catalog;
    const struct json *cursor_given = json_get(request->params, STR("cursor"));
    size_t count = catalog_count(catalog, kind, templates), from = 0;
    uint64_t place = 0;
    enum revision revision = request->revision;
    struct json_writer w;

    if (cursor_given)
        from = lists_place(kind, templates, json_str(cursor_given), &place)
                   ? catalog_from(catalog, kind, templates, place)
                   : SIZE_MAX;
    if (from == SIZE_MAX) {
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("params.cursor is not one of this list; begin again without a cursor."));
        return;
    }
    reply_begin(request, &w);
    reply_cacheable(request, &w, MCP_LIST_FRESH_MS, lists_are_public(request->server));
    jw_key(&w, name);
    jw_array(&w);
    size_t at = next_shown(request, kind, templates, from, count), begin = w.out->len;
    for (size_t n = 0;
         at < count && n < request->server->opts.page_size && w.out->len - begin < LISTS_PAGE_BYTES;
         n++) {
        struct str descriptor = descriptor_for(request, catalog_at(catalog, kind, templates, at));
        if (request->meta) /* revision 2026-07-28 takes the descriptor as it is */
            jw_raw(&w, descriptor);
        else
            revision_write(&w, revision, part, descriptor);
        at = next_shown(request, kind, templates, at + 1, count);
    }
    jw_end(&w);
    if (at < count) {
        char cursor[LISTS_CURSOR_MAX];
        jw_key_str(
            &w, STR("nextCursor"),
            lists_cursor(kind, templates, catalog_at(catalog, kind, templates, at)->place, cursor));
    }
    reply_end(request, &w);
}
