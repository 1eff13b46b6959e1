/*
 * cli/terminal_feed: what comes and goes, as it does.
 *
 * The feed is the server's stream of events. If it breaks it is taken up again after the last
 * event, for as long as the server takes the credential; so a restart of the server is a pause.
 * `nod inbox watch` writes a line for everything that is told; the live list (terminal_live) looks
 * at the list anew.
 */
#include "base/clock.h"
#include "cli/command.h"
#include "cli/terminal_safe.h"
#include "cli/terminal.h"

enum { FEED_AGAIN_MS = 1000 }; /* before a lost server is tried again */

/* --- the feed --- */

static void feed_told(void *data, struct str event, struct str text)
{
    struct feed *feed = data;
    struct arena arena;

    feed->state = FEED_LIVE;
    feed->was_live = true;
    if (str_eq(event, STR("reset"))) {
        feed->reset = true;
        return;
    }
    arena_init(&arena, TERMINAL_TREE_MAX);
    const struct json *json =
        json_parse(&arena, text, &(struct json_opts){ .max_depth = JSON_DEPTH_MAX }, NULL);
    if (json && str_eq(event, STR("changes")))
        feed->changed(feed->data, json);
    arena_finish(&arena);
}

static void feed_listen(struct feed *feed, struct str last)
{
    feed->stream =
        remote_listen(feed->terminal->visit->remote, "/api/events", last, feed_told, feed);
}

void feed_open(struct feed *feed)
{
    feed->state = FEED_CONNECTING;
    feed_listen(feed, STR_NONE);
}

void feed_close(struct feed *feed)
{
    remote_hang_up(feed->stream);
}

bool feed_wait(struct feed *feed, int file, int ms)
{
    unsigned heard = remote_hear(feed->stream, file, ms);

    if (heard & REMOTE_OVER) {
        int64_t now = clock_mono(clock_system());

        if (feed->state != FEED_LOST || !feed->again_ms) {
            int status = remote_status(feed->stream, feed->why);
            feed->state = status >= 400 && status < 500 ? FEED_REFUSED : FEED_LOST;
            feed->status = status;
            feed->again_ms = now + FEED_AGAIN_MS;
        } else if (now >= feed->again_ms) {
            struct remote_stream *old = feed->stream;
            feed->again_ms = 0;
            feed_listen(feed, remote_last(old));
            remote_hang_up(old);
        }
    }
    return heard & REMOTE_READABLE;
}

int feed_refused(const struct feed *feed)
{
    fprintf(stderr, "nod inbox: the server says %d: %s\n", feed->status,
            feed->status == 404 ? "it has no inbox, or it is not a nod server"
                                : "this credential does not count here");
    return feed->status == 404 ? COMMAND_FAILED : TERMINAL_REFUSED;
}

/* --- nod inbox watch --- */

struct watch {
    struct terminal *terminal;
    struct feed feed;
};

static void tell(const struct terminal *terminal, const char *mark, const struct json *item)
{
    if (terminal->json) {
        printf("{\"event\":\"%s\",\"item\":", mark[0] == '+' ? "pending" : "ended");
        draw_json_in(item);
        puts("}");
    } else {
        fputs(mark, terminal->out);
        draw_row(terminal, item, 0);
        fputc('\n', terminal->out);
    }
}

static void watch_changed(void *data, const struct json *changes)
{
    const struct watch *watch = data;

    JSON_EACH (item, json_get(changes, STR("pending")))
        tell(watch->terminal, "+ ", item);
    JSON_EACH (item, json_get(changes, STR("ended")))
        tell(watch->terminal, "- ", item);
    JSON_EACH (id, json_get(changes, STR("gone"))) {
        if (watch->terminal->json) {
            fputs("{\"event\":\"gone\",\"id\":", stdout);
            draw_json_in(id);
            puts("}");
        } else {
            fputs("- ", watch->terminal->out);
            safe_text(watch->terminal->out, json_str(id), 0);
            fputc('\n', watch->terminal->out);
        }
    }
    fflush(stdout);
}

static void watch_item(void *data, const struct json *item)
{
    const struct watch *watch = data;

    tell(watch->terminal, "+ ", item);
}

int watch_inbox(struct terminal *terminal)
{
    struct watch watch = { .terminal = terminal };
    struct feed *feed = &watch.feed;
    bool said = false;
    int code = COMMAND_FINE;

    feed->terminal = terminal;
    feed->changed = watch_changed;
    feed->data = &watch;
    feed_open(feed);
    while (code == COMMAND_FINE && !ferror(stdout)) {
        feed_wait(feed, -1, FEED_AGAIN_MS);
        if (feed->reset) {
            /* The server has said that it is not known what was missed: everything that waits. */
            bool more;
            feed->reset = false;
            if (terminal->json)
                puts("{\"event\":\"reset\"}");
            request_waiting(terminal, false, watch_item, &watch, &more);
            fflush(stdout);
        }
        if (feed->state == FEED_REFUSED)
            code = feed_refused(feed);
        bool lost = feed->state == FEED_LOST && feed->again_ms;
        if (lost && !said) {
            fputs("nod inbox: not connected: ", stderr);
            safe_text(stderr, str_of(feed->why), 0);
            fputc('\n', stderr);
        }
        if (lost && !feed->was_live)
            code = COMMAND_FAILED;
        said = lost || (said && feed->state == FEED_LOST);
    }
    feed_close(feed);
    return code;
}
