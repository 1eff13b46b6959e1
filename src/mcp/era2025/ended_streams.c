/*
 * mcp/era2025/ended_streams: streams that have ended, kept for clients whose connection died.
 *
 * If a session, a principal or all together have too many bytes, streams that have arrived go, the
 * oldest first. The others stay for their time.
 *
 * Holds always: a kept stream is in one list of its session's pile and in one of its principal's,
 * and counts in both.
 */
#include "mcp/era2025/ended_streams.h"

#include "base/map.h"
#include "base/mem.h"
#include "mcp/era2025/stream.h"
#include "mcp/shared/delivery.h"

struct keeper { /* a principal that has kept streams */
    struct ended_pile pile;
    bool held; /* it stays, even if it has none */
    size_t len;
    char name[];
};

struct ended_streams {
    struct list by_age; /* oldest first */
    struct map keepers; /* principal -> struct keeper */
    size_t bytes, lost_bytes;
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
    list_init(&pile->arrived);
    list_init(&pile->lost);
    pile->bytes = pile->lost_bytes = 0;
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
    keeper->held = false;
    keeper->len = principal.len;
    memcpy(keeper->name, principal.at, principal.len);
    map_set(&kept->keepers, str_n(keeper->name, keeper->len), keeper);
    return keeper;
}

static void keeper_drop(struct ended_streams *kept, struct keeper *keeper)
{
    if (keeper->held || !ended_pile_empty(&keeper->pile))
        return;
    map_remove(&kept->keepers, str_n(keeper->name, keeper->len));
    mem_free(keeper);
}

/* Destroys the oldest of a pile that has arrived, and that nobody reads right now. */
static bool trim(struct ended_pile *pile, size_t most, size_t link_at)
{
    if (pile->bytes - pile->lost_bytes <= most)
        return false;
    LIST_EACH (at, &pile->arrived) {
        struct mcp_stream *stream = (struct mcp_stream *)(void *)((char *)at - link_at);
        if (!stream->exchange) {
            mcp_stream_destroy(stream);
            return true;
        }
    }
    return false;
}

static bool trim_oldest(struct ended_streams *kept)
{
    if (kept->bytes - kept->lost_bytes <= MCP_KEPT_BYTES_MAX)
        return false;
    LIST_EACH (at, &kept->by_age) {
        struct mcp_stream *stream = LIST_OF(at, struct mcp_stream, kept.by_age);
        if (stream->kept.lost || stream->exchange)
            continue;
        mcp_stream_destroy(stream);
        return true;
    }
    return false;
}

static void count(struct ended_streams *kept, struct mcp_stream *stream, bool more, bool lost)
{
    struct ended_entry *link = &stream->kept;
    size_t *of[] = { lost ? &kept->lost_bytes : &kept->bytes,
                     lost ? &stream->session->kept.lost_bytes : &stream->session->kept.bytes,
                     lost ? &link->keeper->pile.lost_bytes : &link->keeper->pile.bytes };

    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
        *of[i] = more ? *of[i] + link->bytes : *of[i] - link->bytes;
}

void ended_streams_add(struct mcp_stream *stream)
{
    struct session *session = stream->session;
    struct mcp_server *server = session->server;
    struct ended_streams *kept = server->ended_streams;
    struct keeper *keeper = keeper_of(kept, session_principal(session));
    struct ended_entry *link = &stream->kept;

    link->keeper = keeper;
    link->bytes = (uint32_t)mcp_stream_memory(stream);
    link->ended_ms = clock_mono(server->opts.clock);
    link->until_ms = link->ended_ms + MCP_STREAM_KEEP_MS;
    link->lost = !stream->arrived;
    list_append(&kept->by_age, &link->by_age);
    list_append(link->lost ? &session->kept.lost : &session->kept.arrived, &link->of_session);
    list_append(link->lost ? &keeper->pile.lost : &keeper->pile.arrived, &link->of_keeper);
    count(kept, stream, true, false);
    if (link->lost)
        count(kept, stream, true, true);
    keeper->held = true; /* until it was looked at */
    while (
        trim(&session->kept, MCP_KEPT_BYTES_SESSION, offsetof(struct mcp_stream, kept.of_session)))
        continue;
    while (
        trim(&keeper->pile, MCP_KEPT_BYTES_PRINCIPAL, offsetof(struct mcp_stream, kept.of_keeper)))
        continue;
    while (trim_oldest(kept))
        continue;
    keeper->held = false;
    keeper_drop(kept, keeper);
}

void ended_streams_arrived(struct mcp_stream *stream)
{
    struct ended_streams *kept = stream->session->server->ended_streams;
    struct ended_entry *link = &stream->kept;

    if (!is_kept(stream) || !link->lost)
        return;
    count(kept, stream, false, true);
    link->lost = false;
    list_remove(&link->of_session);
    list_remove(&link->of_keeper);
    list_append(&stream->session->kept.arrived, &link->of_session);
    list_append(&link->keeper->pile.arrived, &link->of_keeper);
    /* The next one that is kept makes it go, if it has to: somebody may be about to use it. */
}

size_t ended_streams_lost(const struct mcp_server *server, struct str principal)
{
    const struct ended_streams *kept = server->ended_streams;
    const struct keeper *keeper = principal.len ? map_get(&kept->keepers, principal) : NULL;

    return !principal.len ? kept->lost_bytes : keeper ? keeper->pile.lost_bytes : 0;
}

void ended_streams_remove(struct mcp_stream *stream)
{
    struct ended_streams *kept = stream->session->server->ended_streams;
    struct ended_entry *link = &stream->kept;

    if (!is_kept(stream))
        return;
    list_remove(&link->by_age);
    list_remove(&link->of_session);
    list_remove(&link->of_keeper);
    count(kept, stream, false, false);
    if (link->lost)
        count(kept, stream, false, true);
    keeper_drop(kept, link->keeper);
}

void ended_streams_sweep(struct mcp_server *server, int64_t now)
{
    LIST_EACH (at, &server->ended_streams->by_age) {
        struct mcp_stream *stream = LIST_OF(at, struct mcp_stream, kept.by_age);
        if (stream->kept.until_ms > now)
            break;
        /* A stream that is lost has its time again and again, for as long as results are kept. */
        int64_t keep_ms = engine_store(server->opts.engine)->keep_ms;
        if (!(stream->exchange || (stream->kept.lost && now - stream->kept.ended_ms < keep_ms))) {
            mcp_stream_destroy(stream);
            continue;
        }
        stream->kept.until_ms = now + MCP_STREAM_KEEP_MS;
        list_remove(&stream->kept.by_age);
        list_append(&server->ended_streams->by_age, &stream->kept.by_age);
    }
}
