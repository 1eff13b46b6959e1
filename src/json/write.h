/*
 * json/write: JSON text into a buffer.
 *
 * The writer cannot write invalid JSON. A call out of place (a value without a key in an object, an
 * end without a begin), text that is not UTF-8, a double that is not finite, or more depth than
 * JSON_WRITE_DEPTH sets `failed`; nothing more is written, and json_writer_done returns false. So
 * it does past the buffer's own limit.
 */
#ifndef NOD_JSON_WRITE_H
#define NOD_JSON_WRITE_H

#include "base/buf.h"
#include "json/value.h"

enum { JSON_WRITE_DEPTH = 128 };

/* What may come next. */
enum json_place { JSON_PLACE_VALUE, JSON_PLACE_KEY, JSON_PLACE_NONE, JSON_PLACE_FAILED };

struct json_writer {
    struct buf *out;
    uint64_t object_bits[JSON_WRITE_DEPTH / 64]; /* per level: is it an object */
    uint8_t depth;
    uint8_t place; /* enum json_place */
    uint8_t after; /* what follows a value on this level */
    bool need_comma;
    bool failed;
};

void json_writer_init(struct json_writer *w, struct buf *out);
/* True: exactly one whole value was written, and nothing failed or overflowed. */
bool json_writer_done(const struct json_writer *w);

void jw_object(struct json_writer *w);
void jw_end(struct json_writer *w); /* of the innermost object or array */
void jw_array(struct json_writer *w);
/*
 * Opens several objects at once. `text` is a literal: what jw_object, jw_key and the values between
 * them would have written, up to the colon after the last key, whose value comes next. Not checked.
 */
void jw_open(struct json_writer *w, struct str text, unsigned objects);
/* Ends so many objects, each the innermost. */
void jw_close(struct json_writer *w, unsigned objects);
void jw_i64(struct json_writer *w, int64_t n);
void jw_double(struct json_writer *w, double d);
void jw_bool(struct json_writer *w, bool truth);
void jw_null(struct json_writer *w);
/* Text of any bytes, escaped if necessary. Text that is not UTF-8 fails. */
void jw_any_key_(struct json_writer *w, struct str key);
void jw_any_str_(struct json_writer *w, struct str s);
/*
 * Text that is known to be plain (ASCII without quotes, backslashes and control characters), such
 * as base64url or hexadecimal. Not checked again.
 */
void jw_plain_key(struct json_writer *w, struct str key);
void jw_plain_str(struct json_writer *w, struct str s);

/* The bytes that are not plain, except NUL, which ends the list. */
#define JW_ODD_                                                                                    \
    "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16"     \
    "\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\"\\\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b"     \
    "\x8c\x8d\x8e\x8f\x90\x91\x92\x93\x94\x95\x96\x97\x98\x99\x9a\x9b\x9c\x9d\x9e\x9f\xa0\xa1"     \
    "\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xaf\xb0\xb1\xb2\xb3\xb4\xb5\xb6\xb7"     \
    "\xb8\xb9\xba\xbb\xbc\xbd\xbe\xbf\xc0\xc1\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xcb\xcc\xcd"     \
    "\xce\xcf\xd0\xd1\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xdb\xdc\xdd\xde\xdf\xe0\xe1\xe2\xe3"     \
    "\xe4\xe5\xe6\xe7\xe8\xe9\xea\xeb\xec\xed\xee\xef\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9"     \
    "\xfa\xfb\xfc\xfd\xfe\xff"

/*
 * Nearly all keys, and many texts, are literals, which the compiler can look into. If it has seen
 * that one is plain, nobody looks for escapes when it is written. These functions are small enough
 * to be always inlined; otherwise it would not see that.
 */
#define JW_INLINE static inline __attribute__((always_inline))

JW_INLINE bool jw_seen_plain_(struct str s)
{
    return __builtin_constant_p(s.len) && __builtin_constant_p(strcspn(s.at, JW_ODD_)) &&
           s.len <= strcspn(s.at, JW_ODD_);
}

JW_INLINE void jw_key(struct json_writer *w, struct str key)
{
    if (jw_seen_plain_(key))
        jw_plain_key(w, key);
    else
        jw_any_key_(w, key);
}

JW_INLINE void jw_str(struct json_writer *w, struct str s)
{
    if (jw_seen_plain_(s))
        jw_plain_str(w, s);
    else
        jw_any_str_(w, s);
}

/* A tree; NULL writes null. Values with raw bytes are written as those. */
void jw_value(struct json_writer *w, const struct json *v);
/* Text that is known to be one valid JSON value (from a parser or a writer). Not checked again. */
void jw_raw(struct json_writer *w, struct str json);

/* A key with its value. */
JW_INLINE void jw_key_str(struct json_writer *w, struct str key, struct str s)
{
    jw_key(w, key);
    jw_str(w, s);
}

/* A wall time in milliseconds, as text: "2026-07-28T09:30:00.250Z". */
void jw_key_time(struct json_writer *w, struct str key, int64_t ms);

JW_INLINE void jw_key_i64(struct json_writer *w, struct str key, int64_t n)
{
    jw_key(w, key);
    jw_i64(w, n);
}

JW_INLINE void jw_key_bool(struct json_writer *w, struct str key, bool truth)
{
    jw_key(w, key);
    jw_bool(w, truth);
}

JW_INLINE void jw_key_value(struct json_writer *w, struct str key, const struct json *v)
{
    jw_key(w, key);
    jw_value(w, v);
}

JW_INLINE void jw_key_raw(struct json_writer *w, struct str key, struct str json)
{
    jw_key(w, key);
    jw_raw(w, json);
}

/* A whole tree as text. False past the buffer's limit. */
bool json_write(struct buf *out, const struct json *v);

/* RFC 8785 canonical form: the input of digests. Fails (false) only past the limit. */
bool json_write_canonical(struct buf *out, const struct json *v);
/* The same, but with every number as it was written: 0 and -0, 1 and 1.0 differ. */
bool json_write_exact(struct buf *out, const struct json *v);

#endif
