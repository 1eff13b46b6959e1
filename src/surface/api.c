/*
 * surface/api: see api.h.
 *
 * The headers that protect a reply (no-store, nosniff, ...) are the front door's.
 */
#include "surface/api.h"

#include <time.h>

#include "base/percent.h"

#define API_JSON    "Content-Type: application/json\r\n"
#define API_PROBLEM "Content-Type: application/problem+json\r\n"

/* --- problems --- */

static struct str title_of(int status)
{
    switch (status) {
    case 400:
        return STR("Bad request");
    case 401:
        return STR("Not signed in");
    case 403:
        return STR("Not allowed");
    case 404:
        return STR("Not found");
    case 405:
        return STR("Wrong method");
    case 409:
        return STR("Already ended");
    case 413:
        return STR("Too large");
    case 415:
        return STR("Wrong media type");
    case 422:
        return STR("Does not fit");
    case 429:
    case 503:
        return STR("Try again later");
    default:
        return STR("Error");
    }
}

void api_problem_with(struct http_exchange *exchange, int status, struct str detail,
                      void (*more)(struct json_writer *w, void *data), void *data)
{
    struct json_writer w;
    struct buf body;

    buf_init(&body, API_PROBLEM_MAX);
    json_writer_init(&w, &body);
    jw_object(&w);
    jw_key_str(&w, STR("type"), STR("about:blank"));
    jw_key_str(&w, STR("title"), title_of(status));
    jw_key_i64(&w, STR("status"), status);
    jw_key_str(&w, STR("detail"), detail);
    if (more)
        more(&w, data);
    jw_end(&w);
    http_reply_lines(exchange, status,
                     status == 429 || status == 503 ? STR(API_PROBLEM HTTP_RETRY_LINE)
                                                    : STR(API_PROBLEM),
                     buf_str(&body));
    buf_finish(&body);
}

struct str api_kind(enum ask_kind kind)
{
    return kind == ASK_URL ? STR("url") : kind == ASK_APPROVAL ? STR("approval") : STR("form");
}

bool api_is_json(const struct front_request *request)
{
    struct str type = http_named(request->http, HTTP_NAME_CONTENT_TYPE), rest;

    str_cut(type, ';', &type, &rest);
    if (str_eq_nocase(str_trim(type), STR("application/json")))
        return true;
    api_problem(request->exchange, 415, STR("Send the answer as application/json."));
    return false;
}

void api_problem(struct http_exchange *exchange, int status, struct str detail)
{
    api_problem_with(exchange, status, detail, NULL, NULL);
}

static void write_errors(struct json_writer *w, void *data)
{
    jw_key_raw(w, STR("errors"), *(struct str *)data);
}

void api_invalid(struct http_exchange *exchange, struct str detail, struct str errors)
{
    api_problem_with(exchange, 422, detail, write_errors, &errors);
}

void api_reply(struct http_exchange *exchange, const struct json_writer *w, struct buf *body)
{
    if (json_writer_done(w))
        http_reply_lines(exchange, 200, STR(API_JSON), buf_str(body));
    else
        api_problem(exchange, 500, STR("The reply is larger than a reply may be."));
    buf_finish(body);
}

void api_key_str_or_null(struct json_writer *w, struct str key, struct str text)
{
    jw_key(w, key);
    if (text.len)
        jw_str(w, text);
    else
        jw_null(w);
}

void api_write_answer(struct json_writer *w, const struct ask_record *ask)
{
    jw_key(w, STR("answer"));
    jw_object(w);
    api_key_str_or_null(w, STR("action"), ask_action(ask->state)); /* null: nobody answered */
    jw_key_str(w, STR("by"), ask->by);
    jw_key_str(w, STR("via"), ask_via_shown(ask->via));
    jw_key_time(w, STR("at"), ask->ended_ms);
}

/* --- times --- */

void api_key_time_or_null(struct json_writer *w, struct str key, int64_t ms)
{
    if (ms) {
        jw_key_time(w, key, ms);
        return;
    }
    jw_key(w, key);
    jw_null(w);
}

/* So many digits at the beginning of *s, which is moved on. -1: they are not there. */
static int digits(struct str *s, size_t count)
{
    int n = 0;

    if (s->len < count)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (s->at[i] < '0' || s->at[i] > '9')
            return -1;
        n = n * 10 + (s->at[i] - '0');
    }
    *s = str_skip(*s, count);
    return n;
}

static bool skip_char(struct str *s, char upper)
{
    if (!s->len || (s->at[0] != upper && s->at[0] != (upper | 0x20)))
        return false;
    *s = str_skip(*s, 1);
    return true;
}

static bool read_fraction(struct str *s, int64_t *ms)
{
    int64_t unit = 100;
    size_t count = 0;

    *ms = 0;
    if (!s->len || s->at[0] != '.')
        return true;
    for (*s = str_skip(*s, 1); s->len && s->at[0] >= '0' && s->at[0] <= '9'; *s = str_skip(*s, 1)) {
        *ms += unit * (s->at[0] - '0');
        unit /= 10;
        count++;
    }
    return count > 0;
}

/* "Z", or "+02:00": how many minutes it is ahead of UTC. */
static bool read_offset(struct str *s, int *minutes)
{
    *minutes = 0;
    if (skip_char(s, 'Z'))
        return s->len == 0;
    if (!s->len || (s->at[0] != '+' && s->at[0] != '-'))
        return false;
    int sign = s->at[0] == '-' ? -1 : 1;
    *s = str_skip(*s, 1);
    int hours = digits(s, 2);
    if (hours < 0 || hours > 23 || !s->len || s->at[0] != ':')
        return false;
    *s = str_skip(*s, 1);
    int rest = digits(s, 2);
    *minutes = sign * (hours * 60 + rest);
    return rest >= 0 && rest <= 59 && s->len == 0;
}

bool api_time_read(struct str text, int64_t *ms)
{
    static const char between[] = { '-', '-', 'T', ':', ':' };
    static const int least[] = { 1, 1, 0, 0, 0 }, most[] = { 12, 31, 23, 59, 60 };
    int part[6], minutes;
    int64_t fraction;

    part[0] = digits(&text, 4);
    if (part[0] < 0)
        return false;
    for (size_t i = 1; i < 6; i++) {
        bool there = between[i - 1] == 'T' ? skip_char(&text, 'T')
                                           : text.len > 0 && text.at[0] == between[i - 1];
        if (there && between[i - 1] != 'T')
            text = str_skip(text, 1);
        part[i] = there ? digits(&text, 2) : -1;
        if (part[i] < least[i - 1] || part[i] > most[i - 1])
            return false;
    }
    if (!read_fraction(&text, &fraction) || !read_offset(&text, &minutes))
        return false;
    struct tm tm = { .tm_year = part[0] - 1900,
                     .tm_mon = part[1] - 1,
                     .tm_mday = part[2],
                     .tm_hour = part[3],
                     .tm_min = part[4],
                     .tm_sec = part[5] };
    *ms = ((int64_t)timegm(&tm) - (int64_t)minutes * 60) * 1000 + fraction;
    return true;
}

/* --- queries --- */

bool api_decode(struct arena *arena, struct str from, struct str *to)
{
    char *text = arena_alloc_aligned(arena, from.len + 1, 1);
    size_t len = 0;

    for (size_t i = 0; text && i < from.len; i++)
        text[i] = from.at[i] == '+' ? ' ' : from.at[i];
    bool fits = text && percent_decode(str_n(text, from.len), text, from.len + 1, &len);
    *to = str_n(text, len);
    return fits;
}

static struct api_param *param_named(struct api_param *params, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(params[i].name, name))
            return &params[i];
    return NULL;
}

bool api_query(const struct front_request *request, struct arena *arena, struct api_param *params,
               size_t count)
{
    struct str rest = request->http->query, pair, name, value;

    for (bool more = rest.len > 0; more;) {
        more = str_cut(rest, '&', &pair, &rest);
        if (!pair.len)
            continue;
        value = STR_NONE;
        str_cut(pair, '=', &name, &value);
        struct api_param *param = param_named(params, count, name);
        if (!param || param->given || !api_decode(arena, value, &param->value)) {
            /* The name as it came, which is ASCII: a request is (net/http1). */
            bool whole = name.len <= API_NAME_SHOWN;
            struct buf detail;

            buf_init(&detail, API_PROBLEM_MAX / 8);
            buf_fmt(&detail, "The parameter " STR_FMT "%s %s.",
                    whole ? (int)name.len : API_NAME_SHOWN, name.at, whole ? "" : "...",
                    param ? "occurs twice, or is badly encoded" : "is not known here");
            api_problem(request->exchange, 400, buf_str(&detail));
            buf_finish(&detail);
            return false;
        }
        param->given = true;
    }
    return true;
}

bool api_limit(const struct api_param *param, size_t *limit)
{
    int64_t wanted = API_PAGE_USUAL;

    if (param->given && (!str_to_i64(param->value, &wanted) || wanted < 1 || wanted > API_PAGE_MAX))
        return false;
    *limit = (size_t)wanted;
    return true;
}
