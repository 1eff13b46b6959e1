/*
 * store/record_codec: see record_codec.h.
 *
 * A writer adds the fields of a record to a body, one after the other. A reader takes them in the
 * same order. If a reader meets something wrong, it returns nothing from then on, and reports it
 * once at the end (`bad`). The order of the fields is the format: another order is another
 * CODEC_VERSION.
 *
 * Holds always: a reader never looks beyond its bytes, and never makes room for more entries than
 * its bytes can hold.
 */
#include "store/record_codec.h"

#include <stdio.h>

#include "base/log.h"
#include "crypto/inner_seal.h"
#include "json/write.h"

enum { FLAG_PLAIN = 0, FLAG_SEALED = 1 };
/* After the flags of an ask: the role of its approver, the turn it began with, which page of ours
 * it has, and whether it is listed. */
enum {
    ASK_APPROVER_BIT = 3,
    ASK_TURN_BIT = 7,
    ASK_PAGE_BIT = 10,
    ASK_LISTED_BIT = 13,
    ASK_INNER_BIT = 15
};
_Static_assert(ASK_APPROVERS << ASK_APPROVER_BIT == 1 << ASK_TURN_BIT &&
                   ASK_TURNS << ASK_TURN_BIT == 1 << ASK_PAGE_BIT &&
                   ASK_PAGES << ASK_PAGE_BIT == 1 << ASK_LISTED_BIT,
               "they do not overlap");
/*
 * Whether an ask is listed: enum ask_listed, and how it was written by nods that did not say it.
 * They counted turns of another plan than ours, so past the first turn it is taken as listed:
 * better that than lost. In the first it is not; what is not listed there can be read by older
 * nodes.
 */
enum { CODE_UNSAID = NOT_LISTED, CODE_NOT_LISTED = ASK_LISTINGS - 1 };
/* The end of an entry: flags, and after ENTRY_NOTED a text. */
enum { ENTRY_SENSITIVE = 1, ENTRY_NOTED = 2, ENTRY_FLAGS_END = 4 };

enum {
    VARINT_MAX = 10,  /* bytes of a number */
    ENTRY_LEAST = 41, /* bytes: no entry is shorter */
};

/* Also the name that is bound into a sealed record. */
static const char *const kind_names[] = {
    [CODEC_CALL] = "call",       [CODEC_ASK] = "ask",       [CODEC_ANSWER] = "answer",
    [CODEC_ENTRIES] = "entries", [CODEC_RESULT] = "result", [CODEC_VALUE] = "value",
};

/* --- writing --- */

static void put_number(struct buf *out, uint64_t n)
{
    char bytes[VARINT_MAX];
    size_t len = 0;

    do {
        bytes[len++] = (char)((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
        n >>= 7;
    } while (n);
    buf_add(out, str_n(bytes, len));
}

/* Small negative numbers are short too. */
static void put_signed(struct buf *out, int64_t n)
{
    put_number(out, (uint64_t)n << 1 ^ (uint64_t)(n < 0 ? -1 : 0));
}

static void put_text(struct buf *out, struct str s)
{
    put_number(out, s.len);
    buf_add(out, s);
}

/* Texts that came later to the end of a record, one after the other. Records without them are as
 * they were before, so older nodes can read them. */
static void put_last(struct buf *out, struct str first, struct str second)
{
    if (first.len || second.len)
        put_text(out, first);
    if (second.len)
        put_text(out, second);
}

static nod_status add_sealed(struct codec *codec, enum codec_kind kind, struct str scope,
                             struct str id, struct str body, struct buf *out)
{
    struct str bound[] = { str_of(kind_names[kind]), scope, id };

    return seal_bytes(codec->ring, &(struct seal_for){ STR("record"), scope, bound, 3 }, body, out);
}

/* Turns the body into a record, appended to `out`, and frees the body. */
static nod_status body_done(struct codec *codec, enum codec_kind kind, struct str scope,
                            struct str id, struct buf *body, struct buf *out)
{
    size_t before = out->len;
    nod_status status = NOD_E_LIMIT;

    if (!body->overflow && scope.len <= CODEC_SCOPE_MAX) {
        char head[] = { CODEC_VERSION, (char)kind, codec->ring ? FLAG_SEALED : FLAG_PLAIN };
        buf_add(out, str_n(head, sizeof(head)));
        put_text(out, scope);
        if (codec->ring)
            status = add_sealed(codec, kind, scope, id, buf_str(body), out);
        else
            status = buf_add(out, buf_str(body)) ? NOD_OK : NOD_E_LIMIT;
        if (out->overflow)
            status = NOD_E_LIMIT;
    }
    if (status != NOD_OK)
        out->len = before;
    buf_finish(body);
    return status;
}

nod_status codec_write_call(struct codec *codec, const struct call_record *call, struct buf *out)
{
    struct buf body;

    buf_init(&body, CODEC_RECORD_MAX);
    put_text(&body, call->principal);
    put_number(&body, call->kind);
    put_text(&body, call->target);
    put_text(&body, call->args);
    put_text(&body, call->uri);
    put_text(&body, call->caller);
    put_signed(&body, call->version); /* older records had a time here, for which they were kept */
    put_last(&body, call->client, call->meta);
    return body_done(codec, CODEC_CALL, call->scope, call->id, &body, out);
}

static unsigned listed_code(const struct ask_record *ask)
{
    return ask->listed == NOT_LISTED && ask->turn ? CODE_NOT_LISTED : (unsigned)ask->listed;
}

static enum ask_listed listed_of(unsigned code, unsigned turn)
{
    if (code == CODE_UNSAID)
        return turn ? LISTED : NOT_LISTED;
    return code == CODE_NOT_LISTED ? NOT_LISTED : (enum ask_listed)code;
}

nod_status codec_write_ask(struct codec *codec, const struct ask_record *ask, struct buf *out)
{
    struct buf body;

    buf_init(&body, CODEC_RECORD_MAX);
    put_text(&body, ask->call_id);
    put_text(&body, ask->key);
    put_text(&body, ask->principal);
    put_number(&body, ask->kind);
    /* An older node does not know approvers, turns past the first, pages, or what is listed: it
     * refuses such a record, so nobody can answer there. */
    put_number(&body, (ask->consent ? 1u : 0u) | (ask->sensitive ? 2u : 0u) |
                          (ask->wait_done ? 4u : 0u) | ask->approver << ASK_APPROVER_BIT |
                          ask->turn << ASK_TURN_BIT | (unsigned)ask->page << ASK_PAGE_BIT |
                          listed_code(ask) << ASK_LISTED_BIT |
                          (ask->inner ? 1u << ASK_INNER_BIT : 0u));
    put_text(&body, ask->target);
    put_text(&body, ask->message);
    put_text(&body, ask->detail);
    put_text(&body, ask->url);
    buf_add(&body, str_n((const char *)ask->digest, DIGEST_BYTES));
    put_signed(&body, ask->ttl_ms);
    put_signed(&body, ask->attempts);
    put_signed(&body, ask->attempt);
    put_number(&body, ask->seq);
    put_last(&body, ask->remember, STR_NONE);
    return body_done(codec, CODEC_ASK, ask->scope, ask->id, &body, out);
}

nod_status codec_write_answer(struct codec *codec, const struct ask_record *ask, struct buf *out)
{
    struct buf body;

    buf_init(&body, CODEC_RECORD_MAX);
    put_number(&body, ask->state);
    put_text(&body, ask->content);
    put_text(&body, ask->by);
    put_signed(&body, ask->ended_ms);
    put_last(&body, ask->note, STR_NONE);
    return body_done(codec, CODEC_ANSWER, ask->scope, ask->id, &body, out);
}

nod_status codec_write_entries(struct codec *codec, struct str scope, struct str call_id,
                               const struct entry *entries, size_t count, struct buf *out)
{
    struct buf body;

    if (count > CODEC_ENTRIES_MAX)
        return NOD_E_LIMIT;
    buf_init(&body, CODEC_RECORD_MAX);
    put_number(&body, count);
    for (size_t i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        put_number(&body, entry->class);
        put_text(&body, entry->key);
        buf_add(&body, str_n((const char *)entry->digest, DIGEST_BYTES));
        put_number(&body, entry->state);
        put_signed(&body, entry->status);
        put_signed(&body, entry->number);
        put_text(&body, entry->ask_id);
        put_text(&body, entry->content);
        put_text(&body, entry->by);
        buf_add_char(&body, (char)((entry->sensitive ? ENTRY_SENSITIVE : 0) |
                                   (entry->note.len ? ENTRY_NOTED : 0)));
        if (entry->note.len)
            put_text(&body, entry->note);
    }
    return body_done(codec, CODEC_ENTRIES, scope, call_id, &body, out);
}

nod_status codec_write_text(struct codec *codec, enum codec_kind kind, struct str scope,
                            struct str id, struct str text, struct buf *out)
{
    struct buf body;

    buf_init(&body, CODEC_RECORD_MAX);
    put_text(&body, text);
    return body_done(codec, kind, scope, id, &body, out);
}

/* --- reading --- */

struct reader {
    struct str rest;
    bool bad;
};

static void reader_spoil(struct reader *reader)
{
    reader->bad = true;
    reader->rest = STR_NONE;
}

static uint64_t get_number(struct reader *reader)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < VARINT_MAX && i < reader->rest.len; i++) {
        uint64_t byte = (unsigned char)reader->rest.at[i];
        if (i == VARINT_MAX - 1 && byte > 1)
            break; /* more than 64 bits */
        n |= (byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        reader->rest = str_skip(reader->rest, i + 1);
        return n;
    }
    reader_spoil(reader);
    return 0;
}

static int64_t get_signed(struct reader *reader)
{
    uint64_t n = get_number(reader);

    return (int64_t)(n >> 1 ^ (n & 1 ? UINT64_MAX : 0));
}

/* A number that has to be less than `end`. */
static unsigned get_below(struct reader *reader, unsigned end)
{
    uint64_t n = get_number(reader);

    if (n < end)
        return (unsigned)n;
    reader_spoil(reader);
    return 0;
}

static int get_int(struct reader *reader)
{
    int64_t n = get_signed(reader);

    if (n >= INT32_MIN && n <= INT32_MAX)
        return (int)n;
    reader_spoil(reader);
    return 0;
}

static struct str get_bytes(struct reader *reader, uint64_t len)
{
    if (len > reader->rest.len) {
        reader_spoil(reader);
        return STR_NONE;
    }
    struct str s = str_n(reader->rest.at, (size_t)len);
    reader->rest = str_skip(reader->rest, (size_t)len);
    return s;
}

static struct str get_text(struct reader *reader)
{
    return get_bytes(reader, get_number(reader));
}

static struct str get_last(struct reader *reader)
{
    return reader->rest.len ? get_text(reader) : STR_NONE;
}

static void get_digest(struct reader *reader, unsigned char *digest)
{
    struct str s = get_bytes(reader, DIGEST_BYTES);

    if (s.len == DIGEST_BYTES)
        memcpy(digest, s.at, DIGEST_BYTES);
}

static bool told_before(struct codec *codec, const char *record, struct str id)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a; only a log line depends on it */
    size_t most = codec->told_count < CODEC_TOLD_MOST ? codec->told_count : CODEC_TOLD_MOST;

    for (; *record; record++)
        hash = (hash ^ (unsigned char)*record) * 1099511628211u;
    for (size_t i = 0; i < id.len; i++)
        hash = (hash ^ (unsigned char)id.at[i]) * 1099511628211u;
    for (size_t i = 0; i < most; i++)
        if (codec->told[i] == hash)
            return true;
    codec->told[codec->told_count++ % CODEC_TOLD_MOST] = hash;
    return false;
}

void codec_tell(struct codec *codec, const char *record, struct str id, const char *why)
{
    codec->why = why;
    if (!codec->store || (codec->again && told_before(codec, record, id)))
        return;
    LOG_ERROR("a record in the store was refused", LOG_CSTR("store", codec->store),
              LOG_CSTR("record", record), LOG_STR("id", id), LOG_CSTR("why", why));
}

static nod_status codec_refuse(struct codec *codec, nod_status status, enum codec_kind kind,
                               struct str id, const char *why)
{
    codec_tell(codec, kind_names[kind], id, why);
    return status;
}

/* Removes the head. The rest is the body, sealed or not. */
static nod_status open_head(struct codec *codec, enum codec_kind kind, struct str id,
                            struct str bytes, struct str *scope, bool *sealed,
                            struct reader *reader)
{
    *reader = (struct reader){ .rest = bytes };
    *scope = STR_NONE;
    *sealed = false;
    if (bytes.len < 3)
        return codec_refuse(codec, NOD_E_PARSE, kind, id, "it is not a record: too short");
    unsigned char version = (unsigned char)bytes.at[0];
    if (version > CODEC_VERSION)
        return codec_refuse(codec, NOD_E_PARSE, kind, id,
                            "it was written by a newer nod; run that, or restore an older store");
    if (version != CODEC_VERSION || bytes.at[1] != (char)kind ||
        (unsigned char)bytes.at[2] > FLAG_SEALED)
        return codec_refuse(codec, NOD_E_PARSE, kind, id, "it is not a record of this kind");
    *sealed = bytes.at[2] == FLAG_SEALED;
    reader->rest = str_skip(bytes, 3);
    *scope = get_text(reader);
    if (reader->bad || scope->len > CODEC_SCOPE_MAX)
        return codec_refuse(codec, NOD_E_PARSE, kind, id, "it is damaged: its scope");
    return NOD_OK;
}

static void name_keep(char to[CODEC_FOREIGN_NAME], struct str name)
{
    bool fits = name.len < CODEC_FOREIGN_NAME && (!name.len || !memchr(name.at, '\0', name.len));

    snprintf(to, CODEC_FOREIGN_NAME, STR_FMT, STR_ARG(fits && name.len ? name : STR("")));
}

void foreign_keep(struct foreign_record *foreign, const char *key, enum codec_kind kind,
                  struct str id, struct str scope)
{
    if (foreign->key[0])
        return;
    snprintf(foreign->key, sizeof(foreign->key), "%s", key);
    foreign->kind = kind;
    name_keep(foreign->id, id);
    name_keep(foreign->scope, scope);
}

/* Sealed, and not with a secret of the ring. */
static bool is_foreign(struct codec *codec, enum codec_kind kind, struct str id, struct str scope,
                       struct str body)
{
    char key[SEAL_KEY_TEXT];

    if (!seal_key(body, key) || keyring_has(codec->ring, key))
        return false;
    foreign_keep(&codec->foreign, key, kind, id, scope);
    codec->lacked = true;
    return true;
}

/* Logged once, because the store looks again whether it is still there. */
static nod_status refuse_foreign(struct codec *codec, enum codec_kind kind, struct str id)
{
    bool again = codec->again;

    codec->again = true;
    codec_refuse(codec, NOD_E_REFUSED, kind, id,
                 codec->ring
                     ? "it was sealed with a secret that is not set"
                     : "it is sealed, and no secret is set: set the one it was written with");
    codec->again = again;
    return NOD_E_REFUSED;
}

bool codec_key(struct str bytes, char key[SEAL_KEY_TEXT], bool *plain)
{
    struct reader reader = { .rest = str_skip(bytes, bytes.len < 3 ? bytes.len : 3) };

    key[0] = '\0';
    *plain = bytes.len >= 3 && bytes.at[2] == FLAG_PLAIN;
    if (bytes.len < 3 || bytes.at[2] != FLAG_SEALED)
        return false;
    get_text(&reader); /* the scope */
    return seal_key(reader.rest, key);
}

static nod_status unseal(struct codec *codec, enum codec_kind kind, struct str id, struct str scope,
                         struct arena *arena, struct str *body)
{
    struct str bound[] = { str_of(kind_names[kind]), scope, id };
    struct str sealed = *body;

    if (seal_open_bytes(codec->ring, &(struct seal_for){ STR("record"), scope, bound, 3 }, sealed,
                        arena, body) == NOD_OK)
        return NOD_OK;
    if (is_foreign(codec, kind, id, scope, sealed))
        return refuse_foreign(codec, kind, id);
    return codec_refuse(codec, NOD_E_REFUSED, kind, id,
                        "its seal does not fit: it was changed, or moved from another record");
}

static nod_status refuse_plain(struct codec *codec, enum codec_kind kind, struct str id)
{
    return codec_refuse(
        codec, NOD_E_REFUSED, kind, id,
        "it is not sealed, and a secret is set: somebody else wrote it, or it is older "
        "than the secret");
}

/* Checks the head and opens the body. *scope is what it was written for. */
static nod_status open_body(struct codec *codec, enum codec_kind kind, struct str id,
                            struct str bytes, struct arena *arena, struct str *scope,
                            struct reader *reader)
{
    bool sealed;
    nod_status status = open_head(codec, kind, id, bytes, scope, &sealed, reader);

    if (status != NOD_OK)
        return status;
    if (!sealed && codec->ring)
        return refuse_plain(codec, kind, id);
    if (sealed && !codec->ring) {
        is_foreign(codec, kind, id, *scope, reader->rest);
        return refuse_foreign(codec, kind, id);
    }
    return sealed ? unseal(codec, kind, id, *scope, arena, &reader->rest) : NOD_OK;
}

static nod_status close_body(struct codec *codec, enum codec_kind kind, struct str id,
                             const struct reader *reader)
{
    if (reader->bad || reader->rest.len)
        return codec_refuse(codec, NOD_E_PARSE, kind, id, "it is damaged: its body");
    return NOD_OK;
}

nod_status codec_read_call(struct codec *codec, struct str id, struct str bytes,
                           struct arena *arena, struct call_record *out)
{
    struct reader reader;
    nod_status status = open_body(codec, CODEC_CALL, id, bytes, arena, &out->scope, &reader);

    if (status != NOD_OK)
        return status;
    out->id = id;
    out->principal = get_text(&reader);
    out->kind = (enum target_kind)get_below(&reader, TARGET_PROMPT + 1);
    out->target = get_text(&reader);
    out->args = get_text(&reader);
    out->uri = get_text(&reader);
    out->caller = get_text(&reader);
    out->version = get_signed(&reader);
    if (out->version < CALL_VERSION_LEAST)
        out->version = 0;
    out->client = get_last(&reader);
    out->meta = get_last(&reader);
    return close_body(codec, CODEC_CALL, id, &reader);
}

nod_status codec_read_ask(struct codec *codec, struct str id, struct str bytes, struct arena *arena,
                          struct ask_record *out)
{
    struct reader reader;
    nod_status status = open_body(codec, CODEC_ASK, id, bytes, arena, &out->scope, &reader);

    if (status != NOD_OK)
        return status;
    out->id = id;
    out->call_id = get_text(&reader);
    out->key = get_text(&reader);
    out->principal = get_text(&reader);
    out->kind = (enum ask_kind)get_below(&reader, ASK_KINDS);
    unsigned flags = get_below(&reader, 2u << ASK_INNER_BIT);
    out->consent = flags & 1;
    out->sensitive = flags & 2;
    out->wait_done = flags & 4;
    out->approver = flags >> ASK_APPROVER_BIT & (ASK_APPROVERS - 1);
    out->turn = (uint8_t)(flags >> ASK_TURN_BIT & (ASK_TURNS - 1));
    out->page = (enum ask_page)(flags >> ASK_PAGE_BIT & (ASK_PAGES - 1));
    out->listed = listed_of(flags >> ASK_LISTED_BIT & (ASK_LISTINGS - 1), out->turn);
    out->inner = flags >> ASK_INNER_BIT;
    out->target = get_text(&reader);
    out->message = get_text(&reader);
    out->detail = get_text(&reader);
    out->url = get_text(&reader);
    get_digest(&reader, out->digest);
    out->ttl_ms = get_signed(&reader);
    out->attempts = get_int(&reader);
    out->attempt = get_int(&reader);
    out->seq = get_number(&reader);
    out->remember = get_last(&reader);
    return close_body(codec, CODEC_ASK, id, &reader);
}

nod_status codec_read_answer(struct codec *codec, struct str bytes, struct arena *arena,
                             struct ask_record *out)
{
    struct reader reader;
    struct str scope;
    nod_status status = open_body(codec, CODEC_ANSWER, out->id, bytes, arena, &scope, &reader);

    if (status != NOD_OK)
        return status;
    if (!str_eq(scope, out->scope))
        return codec_refuse(codec, NOD_E_REFUSED, CODEC_ANSWER, out->id, "it is of another scope");
    out->state = (enum ask_state)get_below(&reader, ASK_INVALID + 1);
    out->content = get_text(&reader);
    out->by = get_text(&reader);
    out->ended_ms = get_signed(&reader);
    out->note = get_last(&reader);
    return close_body(codec, CODEC_ANSWER, out->id, &reader);
}

static void get_entry(struct reader *reader, struct entry *entry)
{
    *entry = (struct entry){ .class = (enum entry_class)get_below(reader, ENTRY_RANDOM + 1) };
    entry->key = get_text(reader);
    get_digest(reader, entry->digest);
    entry->state = (enum ask_state)get_below(reader, ASK_INVALID + 1);
    entry->status = (nod_status)get_int(reader);
    entry->number = get_signed(reader);
    entry->ask_id = get_text(reader);
    entry->content = get_text(reader);
    entry->by = get_text(reader);
    unsigned flags = get_below(reader, ENTRY_FLAGS_END);
    entry->sensitive = flags & ENTRY_SENSITIVE;
    entry->note = flags & ENTRY_NOTED ? get_text(reader) : STR_NONE;
}

nod_status codec_read_entries(struct codec *codec, struct str call_id, struct str bytes,
                              struct arena *arena, struct entry **entries, size_t *count)
{
    struct reader reader;
    struct str scope;
    nod_status status = open_body(codec, CODEC_ENTRIES, call_id, bytes, arena, &scope, &reader);

    *entries = NULL;
    *count = 0;
    if (status != NOD_OK)
        return status;
    uint64_t most = get_number(&reader);
    if (most > CODEC_ENTRIES_MAX || most > reader.rest.len / ENTRY_LEAST)
        return codec_refuse(codec, NOD_E_PARSE, CODEC_ENTRIES, call_id,
                            "it is damaged: its length");
    struct entry *made = most ? arena_zalloc(arena, (size_t)most * sizeof(*made)) : NULL;
    if (most && !made)
        return codec_refuse(codec, NOD_E_LIMIT, CODEC_ENTRIES, call_id,
                            "it is too large to be read");
    for (size_t i = 0; i < most && !reader.bad; i++)
        get_entry(&reader, &made[i]);
    status = close_body(codec, CODEC_ENTRIES, call_id, &reader);
    if (status == NOD_OK) {
        *entries = made;
        *count = (size_t)most;
    }
    return status;
}

/* The scope must be the one that is asked for. */
nod_status codec_read_text(struct codec *codec, enum codec_kind kind, struct str scope,
                           struct str id, struct str bytes, struct arena *arena, struct str *text)
{
    struct reader reader;
    struct str written;
    nod_status status = open_body(codec, kind, id, bytes, arena, &written, &reader);

    *text = STR_NONE;
    if (status != NOD_OK)
        return status;
    if (!str_eq(written, scope))
        return codec_refuse(codec, NOD_E_REFUSED, kind, id, "it is of another scope");
    *text = get_text(&reader);
    return close_body(codec, kind, id, &reader);
}

struct codec_part *codec_parts_add(struct codec_parts *parts, struct arena *arena)
{
    struct codec_part *part = ARENA_NEW(arena, struct codec_part);

    if (!part)
        return NULL;
    if (parts->last)
        parts->last->next = part;
    else
        parts->first = part;
    parts->last = part;
    return part;
}

nod_status codec_parts_join(const struct codec_parts *parts, struct arena *arena,
                            struct call_record *call)
{
    size_t count = 0, at = 0;

    for (const struct codec_part *part = parts->first; part; part = part->next)
        count += part->count;
    struct entry *all = count ? arena_alloc(arena, count * sizeof(*all)) : NULL;
    if (count && !all)
        return NOD_E_LIMIT;
    for (const struct codec_part *part = parts->first; part; at += part->count, part = part->next)
        if (part->count)
            memcpy(all + at, part->entries, part->count * sizeof(*all));
    call->entries = all;
    call->entry_count = count;
    return NOD_OK;
}

struct entry codec_entry_of(const struct ask_record *ask)
{
    struct entry entry = { .class = ENTRY_ASK,
                           .key = ask->key,
                           .state = ask->state,
                           .number = ask->ttl_ms,
                           .ask_id = ask->id,
                           .content = ask->content,
                           .by = ask->by,
                           .note = ask->note,
                           .sensitive = ask->sensitive };

    memcpy(entry.digest, ask->digest, DIGEST_BYTES);
    return entry;
}

/* A value inside of a small record that was sealed before the store was given it, with the same
 * secret as the record (crypto/inner_seal.h): the record with that value under the newest secret.
 * NOD_OK without anything in `out`: there is no such value. */
static nod_status reseal_inner(struct codec *codec, struct str kind, struct str key,
                               struct str body, struct arena *arena, struct buf *out)
{
    struct reader reader = { .rest = body };
    struct str text = get_text(&reader);
    struct json *record = str_find(text, STR("\"" INNER_SEAL_MEMBER "\"")) >= 0
                              ? json_parse(arena, text, NULL, NULL)
                              : NULL;
    struct str sealed = json_get_str(record, STR(INNER_SEAL_MEMBER));
    struct hidden value;
    struct buf inner, again;

    if (!sealed.len)
        return NOD_OK;
    if (inner_open(codec->ring, kind, key, sealed, &value) != NOD_OK)
        return NOD_E_REFUSED;
    buf_init(&inner, CODEC_RECORD_MAX);
    buf_init(&again, CODEC_RECORD_MAX);
    nod_status status = inner_seal(codec->ring, kind, key, hidden_str(&value), &inner);
    hidden_wipe(&value);
    json_set(arena, record, STR(INNER_SEAL_MEMBER), json_new_str(arena, buf_str(&inner)));
    if (status == NOD_OK && json_write(&again, record) && !arena->exhausted)
        put_text(out, buf_str(&again));
    else
        status = NOD_E_LIMIT;
    buf_finish(&inner);
    buf_finish(&again);
    return status;
}

nod_status codec_reseal(struct codec *codec, enum codec_kind kind, struct str id, struct str bytes,
                        bool plain, struct arena *arena, struct buf *out)
{
    struct reader reader;
    struct str scope;
    struct buf body;
    bool sealed;
    nod_status status = open_head(codec, kind, id, bytes, &scope, &sealed, &reader);

    if (status != NOD_OK)
        return status;
    if (!sealed && !plain)
        return refuse_plain(codec, kind, id);
    bool newest = sealed && seal_is_newest(codec->ring, reader.rest);
    if (sealed)
        status = unseal(codec, kind, id, scope, arena, &reader.rest);
    if (status != NOD_OK || newest)
        return status;
    buf_init(&body, CODEC_RECORD_MAX);
    if (kind == CODEC_VALUE)
        status = reseal_inner(codec, scope, id, reader.rest, arena, &body);
    if (status != NOD_OK) {
        buf_finish(&body);
        return codec_refuse(codec, status, kind, id,
                            "no secret opens the value that is sealed inside");
    }
    if (!body.len)
        buf_add(&body, reader.rest);
    return body_done(codec, kind, scope, id, &body, out);
}
