/*
 * net/remote_stream: the events of a running server, as they come.
 *
 * The stream has a connection of its own, so that requests can be sent while it is open. It is read
 * only within remote_hear, which also waits for a file (the keyboard), so a command needs neither a
 * thread nor a loop. A server that says nothing for a while, not even that it is there, is given
 * up: the stream is over, and the caller may listen again from the last event.
 */
#include <stdio.h>

#include "base/mem.h"
#include "net/remote_inside.h"

enum {
    REMOTE_LINE_MAX = 16 << 20, /* bytes of a line, and of the data of an event */
    REMOTE_SILENCE_S = 60,      /* time without a byte; a server sends some every 15 s */
    REMOTE_ID_MAX = 256,        /* bytes of an event's id */
    REMOTE_EVENT_MAX = 64,      /* bytes of an event's name */
};

struct remote_stream {
    const struct remote *remote;
    CURLM *multi;
    CURL *easy;
    struct curl_slist *headers;
    remote_told_fn *told;
    void *data;
    struct buf line, text;
    char event[REMOTE_EVENT_MAX];
    char id[REMOTE_ID_MAX];
    char error[CURL_ERROR_SIZE];
    CURLcode result;
    bool over;
};

/* --- lines --- */

static void set_text(char *place, size_t room, struct str value)
{
    snprintf(place, room, STR_FMT, (int)(value.len < room ? value.len : room - 1), value.at);
}

static void take_field(struct remote_stream *stream, struct str name, struct str value)
{
    if (str_starts(value, STR(" ")))
        value = str_skip(value, 1);
    if (str_eq(name, STR("event"))) {
        set_text(stream->event, sizeof(stream->event), value);
    } else if (str_eq(name, STR("id"))) {
        set_text(stream->id, sizeof(stream->id), value);
    } else if (str_eq(name, STR("data"))) {
        if (stream->text.len)
            buf_add_char(&stream->text, '\n');
        buf_add(&stream->text, value);
    }
}

static void take_line(struct remote_stream *stream, struct str line)
{
    struct str name, value = STR_NONE;

    if (str_ends(line, STR("\r")))
        line.len--;
    if (line.len) {
        str_cut(line, ':', &name, &value);
        take_field(stream, name, value);
        return;
    }
    if (stream->event[0] && !stream->text.overflow)
        stream->told(stream->data, str_of(stream->event), buf_str(&stream->text));
    stream->event[0] = '\0';
    buf_clear(&stream->text);
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *data)
{
    struct remote_stream *stream = data;
    struct str rest = str_n(bytes, size * count), line;

    while (str_cut(rest, '\n', &line, &rest)) {
        if (!buf_add(&stream->line, line))
            return 0;
        take_line(stream, buf_str(&stream->line));
        buf_clear(&stream->line);
    }
    return buf_add(&stream->line, line) ? size * count : 0;
}

/* --- the connection --- */

static bool add_header(struct remote_stream *stream, const char *line)
{
    struct curl_slist *longer = curl_slist_append(stream->headers, line);

    if (longer)
        stream->headers = longer;
    return longer != NULL;
}

static bool set_headers(struct remote_stream *stream, const struct remote *remote, struct str last)
{
    char line[REMOTE_HEADER_MAX];
    bool fine = add_header(stream, "Accept: text/event-stream");

    for (const struct curl_slist *one = remote->headers; one && fine; one = one->next)
        if (!str_starts(str_of(one->data), STR("Accept:")) &&
            !str_starts(str_of(one->data), STR("Content-Type:")))
            fine = add_header(stream, one->data);
    if (last.len && fine) {
        snprintf(line, sizeof(line), "Last-Event-ID: " STR_FMT, STR_ARG(last));
        fine = add_header(stream, line);
    }
    return fine;
}

static bool set_up(struct remote_stream *stream, const struct remote *remote, const char *path,
                   struct str last)
{
    char url[REMOTE_URL_MAX + REMOTE_URL_MAX];
    CURL *easy = stream->easy = curl_easy_duphandle(remote->easy);
    bool fine = easy && set_headers(stream, remote, last) &&
                snprintf(url, sizeof(url), "%s%s", remote->base, path) < (int)sizeof(url);

    stream->multi = curl_multi_init();
#define SET(option, value) (fine = fine && curl_easy_setopt(easy, (option), (value)) == CURLE_OK)
    SET(CURLOPT_URL, url);
    SET(CURLOPT_HTTPGET, 1L);
    SET(CURLOPT_CUSTOMREQUEST, NULL);
    SET(CURLOPT_HTTPHEADER, stream->headers);
    SET(CURLOPT_ERRORBUFFER, stream->error);
    SET(CURLOPT_TIMEOUT_MS, 0L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)REMOTE_MS);
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, (long)REMOTE_SILENCE_S);
    SET(CURLOPT_WRITEFUNCTION, take_bytes);
    SET(CURLOPT_WRITEDATA, stream);
#undef SET
    return fine && stream->multi && curl_multi_add_handle(stream->multi, easy) == CURLM_OK;
}

struct remote_stream *remote_listen(struct remote *remote, const char *path, struct str last,
                                    remote_told_fn *told, void *data)
{
    struct remote_stream *stream = MEM_NEW(struct remote_stream);

    stream->remote = remote;
    stream->told = told;
    stream->data = data;
    buf_init(&stream->line, REMOTE_LINE_MAX);
    buf_init(&stream->text, REMOTE_LINE_MAX);
    set_text(stream->id, sizeof(stream->id), last);
    if (!set_up(stream, remote, path, last)) {
        stream->result = CURLE_OUT_OF_MEMORY;
        stream->over = true;
    }
    return stream;
}

void remote_hang_up(struct remote_stream *stream)
{
    if (!stream)
        return;
    if (stream->easy && stream->multi)
        curl_multi_remove_handle(stream->multi, stream->easy);
    curl_easy_cleanup(stream->easy);
    curl_multi_cleanup(stream->multi);
    curl_slist_free_all(stream->headers);
    buf_finish(&stream->line);
    buf_finish(&stream->text);
    mem_free(stream);
}

static void go_on(struct remote_stream *stream)
{
    int running = 0, left;
    CURLMsg *message;

    if (curl_multi_perform(stream->multi, &running) != CURLM_OK)
        stream->over = true;
    while ((message = curl_multi_info_read(stream->multi, &left)))
        if (message->msg == CURLMSG_DONE) {
            stream->result = message->data.result;
            stream->over = true;
        }
}

unsigned remote_hear(struct remote_stream *stream, int file, int ms)
{
    struct curl_waitfd extra = { .fd = file, .events = CURL_WAIT_POLLIN };
    unsigned heard = 0;

    if (!stream->over)
        go_on(stream);
    if (stream->multi) /* without a stream it still waits for the file */
        curl_multi_poll(stream->multi, &extra, file >= 0 ? 1 : 0, ms, NULL);
    if (!stream->over)
        go_on(stream);
    if (extra.revents)
        heard |= REMOTE_READABLE;
    return stream->over ? heard | REMOTE_OVER : heard;
}

int remote_status(const struct remote_stream *stream, char why[REMOTE_WHY_MAX])
{
    long status = 0;

    if (stream->easy)
        curl_easy_getinfo(stream->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status || !stream->easy)
        snprintf(why, REMOTE_WHY_MAX, "%.*s has closed the connection", REMOTE_WHY_MAX / 2,
                 stream->remote->named);
    else
        remote_explain(stream->remote, stream->easy, stream->result, stream->error, why);
    return (int)status;
}

struct str remote_last(const struct remote_stream *stream)
{
    return str_of(stream->id);
}
