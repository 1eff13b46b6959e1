/*
 * mcp/era2026/request_state: writes, seals, opens and reads a requestState.
 *
 * The plain form is a version byte, a form byte (stored or portable), then numbers as base-128
 * varints, texts with their length in front, and digests as they are. Nothing may follow the last
 * field.
 *
 * Holds always: reading never allocates memory for more items than the remaining bytes could hold,
 * so a short text cannot ask for much memory.
 */
#include "mcp/era2026/request_state.h"

#include "base/mem.h"
#include "core/roles.h"
#include "core/tool_name.h"
#include "crypto/digest.h"

enum {
    FORM_VERSION = 3,
    FORM_STORED = 0,
    FORM_PORTABLE = 1,
    VARINT_MAX = 10,
    VARINT_MORE = 0x80, /* set in every byte of a number but the last */
    ENTRY_NUMBERS = 8,  /* class, key, state, status, number, id, content, by */
    ASK_NUMBERS = 12,   /* id, key, kind, flags, message, detail, url, three times, attempts */
    HEAD_NUMBERS = 10,  /* version, form, expiry, target, id, store, notices, two counts; and meta's
                           length */
    ENTRY_IS_SENSITIVE = 8, /* with the class */
    ENTRY_BYTES_MIN = ENTRY_NUMBERS,
    ASK_BYTES_MIN = DIGEST_BYTES + 11,
    OFFER_BYTES_MIN = ID_LEN + 2, /* id, attempt */
    HEAD_BYTES_MAX =
        DIGEST_BYTES + HEAD_NUMBERS * VARINT_MAX, /* besides its texts, as for the next two */
    ENTRY_BYTES_MAX = DIGEST_BYTES + ENTRY_NUMBERS * VARINT_MAX,
    ASK_APPROVER_BIT = 3, /* after the flags of an ask: the role of its approver */
    ASK_PAGE_BIT = 7,     /* and after that which page of ours it has */
    ASK_BYTES_MAX = DIGEST_BYTES + ASK_NUMBERS * VARINT_MAX,
};

/*
 * --- writing ---
 *
 * Each function returns where it ended. state_most has made sure that there is room.
 */

static char *put_u64(char *at, uint64_t n)
{
    for (; n >= VARINT_MORE; n >>= 7)
        *at++ = (char)(n | VARINT_MORE);
    *at++ = (char)n;
    return at;
}

/* Small magnitudes are short, whatever their sign. */
static char *put_i64(char *at, int64_t n)
{
    return put_u64(at, (uint64_t)n << 1 ^ (n < 0 ? UINT64_MAX : 0));
}

static char *put_str(char *at, struct str s)
{
    at = put_u64(at, s.len);
    if (s.len)
        memcpy(at, s.at, s.len);
    return at + s.len;
}

static char *put_digest(char *at, const unsigned char digest[DIGEST_BYTES])
{
    memcpy(at, digest, DIGEST_BYTES);
    return at + DIGEST_BYTES;
}

static char *put_entry(char *at, const struct entry *entry)
{
    at = put_u64(at, (uint64_t)entry->class | (entry->sensitive ? ENTRY_IS_SENSITIVE : 0));
    at = put_str(at, entry->key);
    if (entry->class == ENTRY_ASK)
        at = put_digest(at, entry->digest);
    at = put_u64(at, entry->state);
    at = put_i64(at, entry->status);
    at = put_i64(at, entry->number);
    at = put_str(at, entry->ask_id);
    at = put_str(at, entry->content);
    return put_str(at, entry->by);
}

static char *put_ask(char *at, const struct ask_record *ask)
{
    at = put_str(at, ask->id);
    at = put_str(at, ask->key);
    at = put_u64(at, ask->kind);
    at = put_u64(at, (unsigned)ask->consent | (unsigned)ask->sensitive << 1 |
                         (unsigned)ask->wait_done << 2 | ask->approver << ASK_APPROVER_BIT |
                         (unsigned)ask->page << ASK_PAGE_BIT);
    at = put_str(at, ask->message);
    at = put_str(at, ask->detail);
    at = put_str(at, ask->url);
    at = put_digest(at, ask->digest);
    at = put_i64(at, ask->ttl_ms);
    at = put_i64(at, ask->asked_ms);
    at = put_i64(at, ask->expires_ms);
    at = put_u64(at, (uint64_t)ask->attempts);
    return put_u64(at, (uint64_t)ask->attempt);
}

static char *put_state(char *at, const struct state *state)
{
    bool portable = state->store.len == 0;

    *at++ = FORM_VERSION;
    *at++ = portable ? FORM_PORTABLE : FORM_STORED;
    at = put_i64(at, state->expires_ms);
    at = put_digest(at, state->version);
    at = put_str(at, state->target);
    at = put_str(at, state->call_id);
    if (portable) {
        at = put_u64(at, state->notices);
        at = put_u64(at, state->entry_count);
        for (size_t i = 0; i < state->entry_count; i++)
            at = put_entry(at, &state->entries[i]);
    } else {
        at = put_str(at, state->store);
    }
    at = put_u64(at, state->ask_count);
    for (size_t i = 0; i < state->ask_count; i++) {
        const struct ask_record *ask = &state->asks[i];
        /* a store has the question: then this is the offer of it that the client was shown */
        at = portable ? put_ask(at, ask) : put_u64(put_str(at, ask->id), (uint64_t)ask->attempt);
    }
    /* it came later: a state without it is as it was before */
    return portable && state->meta.len ? put_str(at, state->meta) : at;
}

/* An upper bound of its length: its texts, and every number at its longest. */
static size_t state_most(const struct state *state)
{
    size_t most = HEAD_BYTES_MAX + state->target.len + state->store.len + state->call_id.len +
                  state->meta.len + state->entry_count * ENTRY_BYTES_MAX +
                  state->ask_count * ASK_BYTES_MAX;

    for (size_t i = 0; i < state->entry_count; i++) {
        const struct entry *entry = &state->entries[i];
        most += entry->key.len + entry->ask_id.len + entry->content.len + entry->by.len;
    }
    for (size_t i = 0; i < state->ask_count; i++) {
        const struct ask_record *ask = &state->asks[i];
        most += ask->id.len + ask->key.len + ask->message.len + ask->detail.len + ask->url.len;
    }
    return most;
}

bool state_write(struct buf *out, const struct state *state)
{
    size_t most = state_most(state);

    if (!out->overflow && most <= out->limit - out->len) {
        char *at = buf_reserve(out, most);
        out->len += (size_t)(put_state(at, state) - at);
        return true;
    }
    /* The bound does not fit into the buffer: only writing it tells whether the state does. */
    char *aside = mem_alloc(most);
    size_t len = (size_t)(put_state(aside, state) - aside);
    bool fits = buf_add(out, str_n(aside, len));
    explicit_bzero(aside, len);
    mem_free(aside);
    return fits;
}

/* --- reading --- */

struct reader {
    const char *at, *end; /* equal once the input is bad */
    bool bad;
};

static uint64_t take_nothing(struct reader *r)
{
    r->bad = true;
    r->at = r->end;
    return 0;
}

/* A number of more than one byte, or an invalid one. */
static __attribute__((noinline)) uint64_t take_long(struct reader *r)
{
    const char *at = r->at;
    uint64_t n = 0;

    for (unsigned shift = 0; at < r->end && shift < 64; shift += 7) {
        uint64_t byte = (unsigned char)*at++;
        n |= (byte & (VARINT_MORE - 1)) << shift;
        if (byte & VARINT_MORE)
            continue;
        if (byte == 0 || (byte > 1 && shift == 63))
            break; /* each number has one form, and at most 64 bits */
        r->at = at;
        return n;
    }
    return take_nothing(r);
}

static inline uint64_t take_u64(struct reader *r)
{
    if (r->at < r->end && (unsigned char)*r->at < VARINT_MORE)
        return (unsigned char)*r->at++;
    return take_long(r);
}

static int64_t take_i64(struct reader *r)
{
    uint64_t n = take_u64(r);

    return (int64_t)(n >> 1 ^ (n & 1 ? UINT64_MAX : 0));
}

static uint64_t take_upto(struct reader *r, uint64_t most)
{
    uint64_t n = take_u64(r);

    return n > most ? take_nothing(r) : n;
}

static __attribute__((noinline)) struct str take_str(struct reader *r)
{
    uint64_t len = take_u64(r);

    if (len > (size_t)(r->end - r->at)) {
        take_nothing(r);
        return STR_NONE;
    }
    r->at += len;
    return str_n(r->at - len, (size_t)len);
}

static void take_digest(struct reader *r, unsigned char out[DIGEST_BYTES])
{
    if (r->end - r->at < DIGEST_BYTES) {
        take_nothing(r);
        return;
    }
    memcpy(out, r->at, DIGEST_BYTES);
    r->at += DIGEST_BYTES;
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

    r->bad |= count > (size_t)(r->end - r->at) / bytes_min;
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
    uint64_t flags = take_upto(r, (ASK_PAGES << ASK_PAGE_BIT) - 1);
    ask->consent = flags & 1;
    ask->sensitive = flags & 2;
    ask->wait_done = flags & 4;
    ask->approver = (unsigned)(flags >> ASK_APPROVER_BIT & (ASK_APPROVERS - 1));
    ask->page = (enum ask_page)(flags >> ASK_PAGE_BIT);
    r->bad |= ask->approver > ROLES_ALL;
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

/* Zeroed memory. NULL: there are no items, or no room. */
static void *take_room(struct reader *r, struct arena *arena, size_t count, size_t size)
{
    void *items = count ? arena_zalloc(arena, count * size) : NULL;

    r->bad |= count && !items;
    return items;
}

bool state_read(struct str plain, struct arena *arena, struct state *out)
{
    struct reader r = { .at = plain.at, .end = plain.len ? plain.at + plain.len : plain.at };

    *out = (struct state){ 0 };
    uint64_t version = take_upto(&r, FORM_VERSION), form = take_upto(&r, FORM_PORTABLE);
    if (r.bad || version != FORM_VERSION)
        return false;
    out->expires_ms = take_i64(&r);
    take_digest(&r, out->version);
    out->target = take_str(&r);
    out->call_id = take_id(&r);
    bool portable = form == FORM_PORTABLE;
    if (portable) {
        out->notices = (uint32_t)take_upto(&r, UINT32_MAX);
        out->entry_count = take_count(&r, STATE_ENTRIES_MAX, ENTRY_BYTES_MIN);
        struct entry *entries = take_room(&r, arena, out->entry_count, sizeof(*entries));
        out->entries = entries;
        for (size_t i = 0; !r.bad && i < out->entry_count; i++)
            take_entry(&r, &entries[i]);
    } else {
        out->store = take_str(&r);
        r.bad |= out->store.len == 0 || out->store.len > STATE_STORE_MAX;
    }
    out->ask_count = take_count(&r, STATE_ASKS_MAX, portable ? ASK_BYTES_MIN : OFFER_BYTES_MIN);
    struct ask_record *asks = take_room(&r, arena, out->ask_count, sizeof(*asks));
    out->asks = asks;
    for (size_t i = 0; !r.bad && i < out->ask_count; i++) {
        if (portable) {
            take_ask(&r, &asks[i]);
            continue;
        }
        asks[i].id = take_id(&r);
        asks[i].attempt = (int)take_upto(&r, INT32_MAX);
    }
    if (portable && !r.bad && r.at < r.end) {
        out->meta = take_str(&r);
        r.bad |= out->meta.len == 0;
    }
    return !r.bad && r.at == r.end;
}

/* --- sealing --- */

enum { BOUND_PARTS = 4 };

/* The target is looked at when the state is open. `parts` is room for what the result points to. */
static struct seal_for seal_of(const struct state_bound *bound, struct str parts[BOUND_PARTS])
{
    parts[0] = bound->principal;
    parts[1] = bound->method;
    parts[2] = bound->args;
    parts[3] = bound->uri;
    return (struct seal_for){ .purpose = STR("requestState"),
                              .bound = parts,
                              .bound_count = BOUND_PARTS };
}

nod_status state_seal(struct keyring *ring, const struct state_bound *bound, struct str plain,
                      struct buf *out)
{
    struct str parts[BOUND_PARTS];
    struct seal_for what = seal_of(bound, parts);

    return seal_text(ring, &what, plain, out);
}

static bool is_target(const struct state_bound *bound, const struct state *state)
{
    return bound->as_shown ? tool_name_is_of(bound->target, state->target)
                           : str_eq(bound->target, state->target);
}

nod_status state_open(struct keyring *ring, const struct state_bound *bound, struct str text,
                      size_t text_max, int64_t now_ms, struct arena *arena, struct state *out)
{
    struct str parts[BOUND_PARTS], plain;
    struct seal_for what = seal_of(bound, parts);

    *out = (struct state){ 0 };
    if (text.len > text_max || seal_open_text(ring, &what, text, arena, &plain) != NOD_OK)
        return NOD_E_REFUSED;
    if (state_read(plain, arena, out) && is_target(bound, out) && out->expires_ms > now_ms)
        return NOD_OK;
    *out = (struct state){ 0 };
    return NOD_E_REFUSED;
}

bool state_is_foreign(const struct keyring *ring, struct str text)
{
    char key[SEAL_KEY_TEXT];

    return seal_text_key(text, key) && !keyring_has(ring, key);
}
