/*
 * mcp/ended_streams: streams that have ended, kept for clients whose connection died.
 *
 * If a session or a principal has too many bytes, streams that were written whole go first, because
 * most of those have arrived; then the others; the oldest first. If all together have too many, the
 * oldest go.
 *
 * Holds always: a kept stream is in one list of its session's pile and in one of its principal's,
 * and counts in both. The newest never goes, so a session past its limit still has its last result.
 */
#include "mcp/ended_streams.h"

#include "base/map.h"
#include "base/mem.h"
#include "mcp/stream.h"

struct keeper { /* a principal that has kept streams */
    struct ended_pile pile;
    size_t len;
    char name[];
};

struct ended_streams {
    struct list by_age; /* oldest first */
    struct map keepers; /* principal -> struct keeper */
    size_t bytes;
};

struct ended_streams *ended_streams_create(void)
{
    struct ended_streams *kept = MEM_NEW(struct ended_streams);

    list_init(&kept->by_age);
    map_init(&kept->keepers, MCP_SESSIONS_MAX);
    return kept;
}

void ended_streams_destroy(struct ended_streams *kept)
{
    map_finish(&kept->keepers);
    mem_free(kept);
}

void ended_pile_init(struct ended_pile *pile)
{
    list_init(&pile->written);
    list_init(&pile->lost);
    pile->bytes = 0;
}

void ended_entry_init(struct ended_entry *stream)
{
    list_init(&stream->by_age);
    list_init(&stream->of_session);
    list_init(&stream->of_keeper);
}

static bool is_kept(const struct mcp_stream *stream)
{
    return !list_empty(&stream->kept.by_age);
}

static struct keeper *keeper_of(struct ended_streams *kept, struct str principal)
{
    struct keeper *keeper = map_get(&kept->keepers, principal);

    if (keeper)
        return keeper;
    keeper = mem_alloc(sizeof(*keeper) + principal.len);
    ended_pile_init(&keeper->pile);
    keeper->len = principal.len;
    memcpy(keeper->name, principal.at, principal.len);
    map_set(&kept->keepers, str_n(keeper->name, keeper->len), keeper);
    return keeper;
}

/* The first stream of a pile to go: not `newest`, and not one that somebody reads right now. */
static struct mcp_stream *first_to_go(struct ended_pile *pile, size_t link_at,
                                      const struct mcp_stream *newest)
{
    struct list *lists[] = { &pile->written, &pile->lost };

    for (size_t i = 0; i < 2; i++)
        LIST_EACH (at, lists[i]) {
            struct mcp_stream *stream = (struct mcp_stream *)(void *)((char *)at - link_at);
            if (stream != newest && !stream->exchange)
                return stream;
        }
    return NULL;
}

static bool trim(struct ended_pile *pile, size_t most, size_t link_at,
                 const struct mcp_stream *newest)
{
    struct mcp_stream *stream = pile->bytes > most ? first_to_go(pile, link_at, newest) : NULL;

    if (stream)
        mcp_stream_destroy(stream);
    return stream != NULL;
}

static bool trim_oldest(struct ended_streams *kept, const struct mcp_stream *newest)
{
    if (kept->bytes <= MCP_KEPT_BYTES_MAX)
        return false;
    LIST_EACH (at, &kept->by_age) {
        struct mcp_stream *stream = LIST_OF(at, struct mcp_stream, kept.by_age);
        if (stream == newest || stream->exchange)
            continue;
        mcp_stream_destroy(stream);
        return true;
    }
    return false;
}

void ended_streams_add(struct mcp_stream *stream)
{
    struct session *session = stream->session;
    struct mcp_server *server = session->server;
    struct ended_streams *kept = server->ended_streams;
    struct keeper *keeper = keeper_of(kept, session_principal(session));
    struct ended_entry *link = &stream->kept;
    bool written = !stream->exchange && stream->written;

    link->keeper = keeper;
    link->bytes = mcp_stream_memory(stream);
    link->until_ms = clock_mono(server->opts.clock) + MCP_STREAM_KEEP_MS;
    list_append(&kept->by_age, &link->by_age);
    list_append(written ? &session->kept.written : &session->kept.lost, &link->of_session);
    list_append(written ? &keeper->pile.written : &keeper->pile.lost, &link->of_keeper);
    kept->bytes += link->bytes;
    session->kept.bytes += link->bytes;
    keeper->pile.bytes += link->bytes;
    while (trim(&session->kept, MCP_KEPT_BYTES_SESSION,
                offsetof(struct mcp_stream, kept.of_session), stream))
        continue;
    while (trim(&keeper->pile, MCP_KEPT_BYTES_PRINCIPAL,
                offsetof(struct mcp_stream, kept.of_keeper), stream))
        continue;
    while (trim_oldest(kept, stream))
        continue;
}

void ended_streams_written(struct mcp_stream *stream)
{
    struct ended_entry *link = &stream->kept;

    if (!is_kept(stream))
        return;
    list_remove(&link->of_session);
    list_remove(&link->of_keeper);
    list_append(&stream->session->kept.written, &link->of_session);
    list_append(&link->keeper->pile.written, &link->of_keeper);
}

void ended_streams_remove(struct mcp_stream *stream)
{
    struct session *session = stream->session;
    struct ended_streams *kept = session->server->ended_streams;
    struct ended_entry *link = &stream->kept;
    struct keeper *keeper = link->keeper;

    if (!is_kept(stream))
        return;
    list_remove(&link->by_age);
    list_remove(&link->of_session);
    list_remove(&link->of_keeper);
    kept->bytes -= link->bytes;
    session->kept.bytes -= link->bytes;
    keeper->pile.bytes -= link->bytes;
    if (ended_pile_empty(&keeper->pile)) {
        map_remove(&kept->keepers, str_n(keeper->name, keeper->len));
        mem_free(keeper);
    }
}

void ended_streams_sweep(struct mcp_server *server, int64_t now)
{
    LIST_EACH (at, &server->ended_streams->by_age) {
        struct mcp_stream *stream = LIST_OF(at, struct mcp_stream, kept.by_age);
        if (stream->kept.until_ms > now)
            break;
        if (!stream->exchange)
            mcp_stream_destroy(stream);
    }
}
