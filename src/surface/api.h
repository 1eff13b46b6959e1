/*
 * surface/api: what all routes below /api have in common.
 *
 * Errors are application/problem+json (RFC 9457). Times are RFC 3339 with milliseconds, in UTC.
 */
#ifndef NOD_SURFACE_API_H
#define NOD_SURFACE_API_H

#include "base/arena.h"
#include "base/buf.h"
#include "core/record.h"
#include "front/front.h"
#include "json/write.h"

enum {
    API_PARAMS_MAX = 16,        /* parameters of a query */
    API_PROBLEM_MAX = 64 << 10, /* bytes of a problem */
    API_NAME_SHOWN = 64,        /* bytes of an unknown parameter that a problem names */
    API_PAGE_MAX = 200,         /* rows of one page of a list */
    API_PAGE_USUAL = 50,        /* rows of a page, if nobody says otherwise */
};

/* A whole reply. `detail` says what to do. */
void api_problem(struct http_exchange *exchange, int status, struct str detail);
/* The same with further members, which more(w, data) writes. */
void api_problem_with(struct http_exchange *exchange, int status, struct str detail,
                      void (*more)(struct json_writer *w, void *data), void *data);
/* 422 with errors: [{path, message}], which is JSON. */
void api_invalid(struct http_exchange *exchange, struct str detail, struct str errors);

/* Is the body JSON? If not, it was answered with 415. */
bool api_is_json(const struct front_request *request);

/* The reply 200 of a writer that is done; if it failed, 500. Finishes the buffer. */
void api_reply(struct http_exchange *exchange, const struct json_writer *w, struct buf *body);

/* Null if the text is empty. */
void api_key_str_or_null(struct json_writer *w, struct str key, struct str text);
/* As jw_key_time writes it; null if it is 0. */
void api_key_time_or_null(struct json_writer *w, struct str key, int64_t ms);
/* RFC 3339, with any offset. False: it is not. */
bool api_time_read(struct str text, int64_t *ms);

/* Begins the member "answer": how the ask ended, by whom, where and when. */
void api_write_answer(struct json_writer *w, const struct ask_record *ask);
/* The word for a kind of question. */
struct str api_kind(enum ask_kind kind);

struct api_param {
    struct str name;
    struct str value; /* empty if it was not given */
    bool given;
};

/* Decodes a value of a query: + is a space. False: it is badly encoded, or has a NUL. */
bool api_decode(struct arena *arena, struct str from, struct str *to);

/* The parameter `limit`: how much is on a page. False: it is not a number from 1 to 200. */
bool api_limit(const struct api_param *param, size_t *limit);

/*
 * Reads the query into the parameters, decoded, in the arena. False: it was answered with 400,
 * because a parameter is unknown, occurs twice or is badly encoded.
 */
bool api_query(const struct front_request *request, struct arena *arena, struct api_param *params,
               size_t count);

#endif
