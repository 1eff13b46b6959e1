/*
 * json/write: JSON text into a buffer.
 *
 * The writer cannot emit invalid JSON: a call out of place (a value without a key in an object, an
 * end without a begin), text that is not UTF-8, a double that is not finite, or more depth than
 * JSON_WRITE_DEPTH sets `failed`, and nothing more is written; json_writer_done says so. The
 * buffer's own limit counts as well.
 */
#ifndef NOD_JSON_WRITE_H
#define NOD_JSON_WRITE_H

#include "base/buf.h"
#include "json/value.h"

enum { JSON_WRITE_DEPTH = 128 };

struct json_writer {
    struct buf *out;
    uint64_t object_bits[JSON_WRITE_DEPTH / 64]; /* per level: is it an object */
    uint8_t depth;
    bool need_comma;
    bool have_key;
    bool whole; /* one top-level value has been written */
    bool failed;
};

void json_writer_init(struct json_writer *w, struct buf *out);
/* True when exactly one whole value was written and nothing failed or overflowed. */
bool json_writer_done(const struct json_writer *w);

void jw_object(struct json_writer *w);
void jw_end(struct json_writer *w); /* of the innermost object or array */
void jw_array(struct json_writer *w);
void jw_key(struct json_writer *w, struct str key);
void jw_str(struct json_writer *w, struct str s);
void jw_i64(struct json_writer *w, int64_t n);
void jw_u64(struct json_writer *w, uint64_t n);
void jw_double(struct json_writer *w, double d);
void jw_bool(struct json_writer *w, bool truth);
void jw_null(struct json_writer *w);
/* A tree; NULL writes null. Values with raw bytes are written by them. */
void jw_value(struct json_writer *w, const struct json *v);
/* Text that is known to be one valid JSON value (it came out of a parser or a writer). Not checked again. */
void jw_raw(struct json_writer *w, struct str json);

/* A key with its value, for short. */
void jw_key_str(struct json_writer *w, struct str key, struct str s);
void jw_key_i64(struct json_writer *w, struct str key, int64_t n);
void jw_key_bool(struct json_writer *w, struct str key, bool truth);
void jw_key_value(struct json_writer *w, struct str key, const struct json *v);
void jw_key_raw(struct json_writer *w, struct str key, struct str json);

/* A whole tree as text. False past the buffer's limit. */
bool json_write(struct buf *out, const struct json *v);

/* RFC 8785 canonical form: the input of digests. Fails (false) only past the limit. */
bool json_write_canonical(struct buf *out, const struct json *v);

#endif
