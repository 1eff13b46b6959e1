/*
 * mcp/state: writing, sealing, opening and reading a requestState.
 *
 * The plain form: a version byte, a form byte (whole or handle), then numbers as base-128 varints,
 * texts with their length in front, digests as they are. Nothing may follow the last field.
 *
 * Holds always: reading never allocates for more items than the bytes at hand could hold, so a
 * short text cannot ask for much memory.
 */
#include "mcp/state.h"

#include "crypto/digest.h"

enum {
    FORM_VERSION = 1,
    FORM_WHOLE = 0,
    FORM_HANDLE = 1,
    VARINT_MAX = 10,
    ENTRY_BYTES_MIN = 8,    /* class, key, state, status, number, id, content, by */
    ENTRY_IS_SENSITIVE = 8, /* with the class */
    ASK_BYTES_MIN = DIGEST_BYTES + 11,
};

/* --- writing ------------------------------------------------------------------------------------
 */

static void put_u64(struct buf *out, uint64_t n)
{
    while (n >= 0x80) {
        buf_add_char(out, (char)(n | 0x80));
        n >>= 7;
    }
    buf_add_char(out, (char)n);
}

/* Small magnitudes are short, whatever their sign. */
static void put_i64(struct buf *out, int64_t n)
{
    put_u64(out, (uint64_t)n << 1 ^ (n < 0 ? UINT64_MAX : 0));
}

static void put_str(struct buf *out, struct str s)
{
    put_u64(out, s.len);
    buf_add(out, s);
}

static void put_digest(struct buf *out, const unsigned char digest[DIGEST_BYTES])
{
    buf_add(out, str_n((const char *)digest, DIGEST_BYTES));
}

static void put_entry(struct buf *out, const struct entry *entry)
{
    put_u64(out, (uint64_t)entry->class | (entry->sensitive ? ENTRY_IS_SENSITIVE : 0));
    put_str(out, entry->key);
    if (entry->class == ENTRY_ASK)
        put_digest(out, entry->digest);
    put_u64(out, entry->state);
    put_i64(out, entry->status);
    put_i64(out, entry->number);
    put_str(out, entry->ask_id);
    put_str(out, entry->content);
    put_str(out, entry->by);
}

static void put_ask(struct buf *out, const struct ask_record *ask)
{
    put_str(out, ask->id);
    put_str(out, ask->key);
    put_u64(out, ask->kind);
    put_u64(out,
            (unsigned)ask->consent | (unsigned)ask->sensitive << 1 | (unsigned)ask->wait_done << 2);
    put_str(out, ask->message);
    put_str(out, ask->detail);
    put_str(out, ask->url);
    put_digest(out, ask->digest);
    put_i64(out, ask->ttl_ms);
    put_i64(out, ask->asked_ms);
    put_i64(out, ask->expires_ms);
    put_u64(out, (uint64_t)ask->attempts);
    put_u64(out, (uint64_t)ask->attempt);
}

bool state_write(struct buf *out, const struct state *state)
{
    buf_add_char(out, FORM_VERSION);
    buf_add_char(out, state->handle.len ? FORM_HANDLE : FORM_WHOLE);
    put_i64(out, state->expires_ms);
    if (state->handle.len) {
        put_str(out, state->handle);
        return !out->overflow;
    }
    put_str(out, state->call_id);
    put_u64(out, state->round);
    put_u64(out, state->notices);
    put_u64(out, state->entry_count);
    for (size_t i = 0; i < state->entry_count; i++)
        put_entry(out, &state->entries[i]);
    put_u64(out, state->ask_count);
    for (size_t i = 0; i < state->ask_count; i++)
        put_ask(out, &state->asks[i]);
    return !out->overflow;
}

/* --- reading ------------------------------------------------------------------------------------
 */

struct reader {
    struct str rest;
    bool bad;
};

static uint64_t take_u64(struct reader *r)
{
    uint64_t n = 0;

    for (size_t i = 0; i < VARINT_MAX && i < r->rest.len; i++) {
        uint64_t byte = (unsigned char)r->rest.at[i];
        if (i == VARINT_MAX - 1 && byte > 1)
            break;
        n |= (byte & 0x7F) << (7 * i);
        if (byte & 0x80)
            continue;
        if (byte == 0 && i > 0)
            break; /* one number has one form */
        r->rest = str_skip(r->rest, i + 1);
        return n;
    }
    r->bad = true;
    r->rest = STR_NONE;
    return 0;
}

static int64_t take_i64(struct reader *r)
{
    uint64_t n = take_u64(r);

    return (int64_t)(n >> 1 ^ (n & 1 ? UINT64_MAX : 0));
}

static uint64_t take_upto(struct reader *r, uint64_t most)
{
    uint64_t n = take_u64(r);

    r->bad |= n > most;
    return n > most ? 0 : n;
}

static struct str take_str(struct reader *r)
{
    uint64_t len = take_upto(r, r->rest.len);
    struct str s = str_n(r->rest.at, (size_t)len);

    if (len > r->rest.len) { /* the length itself was the last of the bytes */
        r->bad = true;
        return STR_NONE;
    }
    r->rest = str_skip(r->rest, s.len);
    return s;
}

static void take_digest(struct reader *r, unsigned char out[DIGEST_BYTES])
{
    if (r->rest.len < DIGEST_BYTES) {
        r->bad = true;
        r->rest = STR_NONE;
        return;
    }
    memcpy(out, r->rest.at, DIGEST_BYTES);
    r->rest = str_skip(r->rest, DIGEST_BYTES);
}

static struct str take_id(struct reader *r)
{
    struct str id = take_str(r);

    r->bad |= id.len != ID_LEN;
    return id;
}

static size_t take_count(struct reader *r, uint64_t most, size_t bytes_min)
{
    uint64_t count = take_upto(r, most);

    r->bad |= count > r->rest.len / bytes_min;
    return r->bad ? 0 : (size_t)count;
}

static void take_entry(struct reader *r, struct entry *entry)
{
    uint64_t class = take_upto(r, ENTRY_RANDOM | ENTRY_IS_SENSITIVE);

    entry->sensitive = class & ENTRY_IS_SENSITIVE;
    class &= ~(uint64_t)ENTRY_IS_SENSITIVE;
    r->bad |= class > ENTRY_RANDOM;
    entry->class = (enum entry_class)(class > ENTRY_RANDOM ? 0 : class);
    entry->key = take_str(r);
    if (entry->class == ENTRY_ASK)
        take_digest(r, entry->digest);
    entry->state = (enum ask_state)take_upto(r, ASK_INVALID);
    int64_t status = take_i64(r);
    r->bad |= status > NOD_OK || status < NOD_E_FAILED;
    entry->status = r->bad ? NOD_OK : (nod_status)status;
    entry->number = take_i64(r);
    entry->ask_id = take_str(r);
    entry->content = take_str(r);
    entry->by = take_str(r);
}

static void take_ask(struct reader *r, struct ask_record *ask)
{
    ask->id = take_id(r);
    ask->key = take_str(r);
    ask->kind = (enum ask_kind)take_upto(r, ASK_ROOTS);
    uint64_t flags = take_upto(r, 7);
    ask->consent = flags & 1;
    ask->sensitive = flags & 2;
    ask->wait_done = flags & 4;
    ask->message = take_str(r);
    ask->detail = take_str(r);
    ask->url = take_str(r);
    take_digest(r, ask->digest);
    ask->ttl_ms = take_i64(r);
    ask->asked_ms = take_i64(r);
    ask->expires_ms = take_i64(r);
    ask->attempts = (int)take_upto(r, INT32_MAX);
    ask->attempt = (int)take_upto(r, INT32_MAX);
}

static void take_whole(struct reader *r, struct arena *arena, struct state *out)
{
    out->call_id = take_id(r);
    out->round = take_u64(r);
    out->notices = (uint32_t)take_upto(r, UINT32_MAX);
    out->entry_count = take_count(r, STATE_ENTRIES_MAX, ENTRY_BYTES_MIN);
    struct entry *entries = arena_zalloc(arena, (out->entry_count + 1) * sizeof(*entries));
    out->entries = entries;
    for (size_t i = 0; entries && !r->bad && i < out->entry_count; i++)
        take_entry(r, &entries[i]);
    out->ask_count = take_count(r, STATE_ASKS_MAX, ASK_BYTES_MIN);
    struct ask_record *asks = arena_zalloc(arena, (out->ask_count + 1) * sizeof(*asks));
    out->asks = asks;
    for (size_t i = 0; asks && !r->bad && i < out->ask_count; i++)
        take_ask(r, &asks[i]);
    r->bad |= !entries || !asks;
}

bool state_read(struct str plain, struct arena *arena, struct state *out)
{
    struct reader r = { .rest = plain };

    *out = (struct state){ 0 };
    uint64_t version = take_upto(&r, FORM_VERSION), form = take_upto(&r, FORM_HANDLE);
    out->expires_ms = take_i64(&r);
    if (r.bad || version != FORM_VERSION)
        return false;
    if (form == FORM_HANDLE)
        out->handle = take_id(&r);
    else
        take_whole(&r, arena, out);
    return !r.bad && r.rest.len == 0;
}

/* --- sealing ------------------------------------------------------------------------------------
 */

void state_bound_parts(const struct state_bound *bound, struct str parts[STATE_BOUND_PARTS])
{
    parts[0] = bound->principal;
    parts[1] = bound->method;
    parts[2] = bound->target;
    parts[3] = bound->version;
    parts[4] = bound->args;
    parts[5] = bound->uri;
}

static struct seal_for seal_of(const struct state_bound *bound, struct str parts[STATE_BOUND_PARTS])
{
    state_bound_parts(bound, parts);
    return (struct seal_for){ .purpose = STR("requestState"),
                              .bound = parts,
                              .bound_count = STATE_BOUND_PARTS };
}

nod_status state_seal(struct keyring *ring, const struct state_bound *bound, struct str plain,
                      struct buf *out)
{
    struct str parts[STATE_BOUND_PARTS];
    struct seal_for what = seal_of(bound, parts);

    return seal_text(ring, &what, plain, out);
}

nod_status state_open_plain(struct str plain, int64_t now_ms, struct arena *arena,
                            struct state *out)
{
    if (state_read(plain, arena, out) && out->expires_ms > now_ms)
        return NOD_OK;
    *out = (struct state){ 0 };
    return NOD_E_REFUSED;
}

nod_status state_open(struct keyring *ring, const struct state_bound *bound, struct str text,
                      size_t text_max, int64_t now_ms, struct arena *arena, struct state *out)
{
    struct str parts[STATE_BOUND_PARTS], plain;
    struct seal_for what = seal_of(bound, parts);

    *out = (struct state){ 0 };
    if (text.len > text_max || seal_open_text(ring, &what, text, arena, &plain) != NOD_OK)
        return NOD_E_REFUSED;
    return state_open_plain(plain, now_ms, arena, out);
}
