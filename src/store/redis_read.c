/*
 * store/redis: turns values into records.
 *
 * Whatever a server sends, reading is bounded and linear: a call's hash is put into a map once, and
 * everything else is looked up there. What is kept unsealed beside a record (states, times) is
 * trusted only so far: an answer whose sealed state differs from the state beside it is refused,
 * and so is a person's answer without its record.
 */
#include "store/claim_rules.h"
#include "store/redis_inside.h"

enum {
    META_FIELDS = 6,
    ATTEMPT_DIGITS_MOST = 6,
    DIGITS_MOST = 20,
    ITEMS_MOST = 1 << 16,
    FIELD_MAX = 32
};

static nod_status damaged(struct codec *codec, struct str id, const char *why)
{
    codec_tell(codec, "call", id, why);
    return NOD_E_PARSE;
}

/* --- asks --- */

/* "state asked expires ended took sensitive token attempt via"; older ones end with the token. */
static bool read_meta(struct str meta, struct ask_record *out)
{
    int64_t numbers[META_FIELDS];

    for (size_t i = 0; i < META_FIELDS; i++) {
        struct str field;
        if (!str_cut(meta, ' ', &field, &meta) || field.len > DIGITS_MOST ||
            !str_to_i64(field, &numbers[i]))
            return false;
    }
    if (numbers[0] < ASK_PENDING || numbers[0] > ASK_INVALID)
        return false;
    out->state = (enum ask_state)numbers[0];
    out->asked_ms = numbers[1];
    out->expires_ms = numbers[2];
    out->ended_ms = numbers[3];
    struct str token, attempt;
    int64_t offer = 0;
    if (!str_cut(meta, ' ', &token, &meta))
        return true;
    if (!str_cut(meta, ' ', &attempt, &out->via) || attempt.len > ATTEMPT_DIGITS_MOST ||
        !str_to_i64(attempt, &offer) || !claim_via_is_plain(out->via))
        return false;
    out->attempt = (int)offer;
    return true;
}

/* Ends that no answer has brought about. */
static bool ends_alone(enum ask_state state)
{
    return state == ASK_PENDING || state == ASK_EXPIRED || state == ASK_WITHDRAWN;
}

nod_status redis_read_ask(struct codec *codec, struct str id, const struct redis_value *meta,
                          const struct redis_value *record, const struct redis_value *answer,
                          struct arena *arena, struct ask_record *out)
{
    struct ask_record beside = { 0 };

    *out = (struct ask_record){ 0 };
    if (meta->type == REDIS_IS_NIL)
        return NOD_E_NOT_FOUND;
    if (!read_meta(redis_text(meta), &beside))
        return damaged(codec, id, "it is damaged: its state");
    nod_status status = codec_read_ask(codec, id, redis_text(record), arena, out);
    bool answered = answer->type == REDIS_IS_TEXT && answer->text.len;
    if (status == NOD_OK && answered)
        status = codec_read_answer(codec, answer->text, arena, out);
    if (status != NOD_OK)
        return status;
    if (answered ? out->state != beside.state : !ends_alone(beside.state)) {
        damaged(codec, id, "its state is not the one of its answer");
        return NOD_E_REFUSED;
    }
    if (!answered && beside.state != ASK_PENDING)
        out->by = STR("nod");
    out->state = beside.state;
    out->asked_ms = beside.asked_ms;
    out->expires_ms = beside.expires_ms;
    out->ended_ms = beside.ended_ms;
    out->via = beside.via;
    claim_came_read(out);
    if (beside.attempt > 0)
        out->attempt = beside.attempt;
    return NOD_OK;
}

/* --- a call's hash --- */

struct fields {
    struct map map; /* field -> struct redis_value */
};

static void fields_init(struct fields *fields, const struct redis_value *pairs)
{
    map_init(&fields->map, pairs->count / 2 + 1);
    for (size_t i = 0; i + 1 < pairs->count; i += 2)
        map_set(&fields->map, redis_text(&pairs->items[i]), &pairs->items[i + 1]);
}

static const struct redis_value *field(const struct fields *fields, struct str name)
{
    static const struct redis_value nil = { .type = REDIS_IS_NIL };
    const struct redis_value *value = map_get(&fields->map, name);

    return value ? value : &nil;
}

static const struct redis_value *ask_field(const struct fields *fields, char letter, struct str id)
{
    char name[FIELD_MAX];

    if (id.len != ID_LEN)
        return field(fields, STR_NONE);
    name[0] = letter;
    memcpy(name + 1, id.at, ID_LEN);
    return field(fields, str_n(name, ID_LEN + 1));
}

static nod_status read_ask_in(struct codec *codec, const struct fields *fields, struct str id,
                              struct arena *arena, struct ask_record *out)
{
    return redis_read_ask(codec, id, ask_field(fields, 'm', id), ask_field(fields, 'q', id),
                          ask_field(fields, 'a', id), arena, out);
}

/* --- the head --- */

struct head {
    enum call_state state;
    uint64_t epoch;
    int64_t pending;
    int64_t items; /* of the journal */
    int64_t keep_until_ms;
    int64_t opened_ms;
    uint32_t notices;
    bool handed;
    struct str asks; /* ids, one after the other */
    struct str node;
    struct deaths deaths;
};

enum {
    HEAD_STATE,
    HEAD_EPOCH,
    HEAD_PENDING,
    HEAD_ITEMS,
    HEAD_KEEP = 6,
    HEAD_OPENED,
    HEAD_NOTICES,
    HEAD_HANDED,
    HEAD_NUMBERS
};

static const int64_t no_time_ms = 1000000000000; /* anything less is not a time but a duration */

static bool read_head(struct str text, struct head *out)
{
    int64_t numbers[HEAD_NUMBERS];

    *out = (struct head){ 0 };
    for (size_t i = 0; i < HEAD_NUMBERS; i++) {
        struct str field;
        if (!str_cut(text, ' ', &field, &text) || !str_to_i64(field, &numbers[i]) || numbers[i] < 0)
            return false;
    }
    if (numbers[HEAD_STATE] > CALL_STORED_CANCELLED || numbers[HEAD_ITEMS] > ITEMS_MOST)
        return false;
    out->state = (enum call_state)numbers[HEAD_STATE];
    out->epoch = (uint64_t)numbers[HEAD_EPOCH];
    out->pending = numbers[HEAD_PENDING];
    out->items = numbers[HEAD_ITEMS];
    out->opened_ms = numbers[HEAD_OPENED];
    out->keep_until_ms = numbers[HEAD_KEEP];
    if (out->keep_until_ms && out->keep_until_ms < no_time_ms) /* an older record */
        out->keep_until_ms += out->opened_ms;
    out->notices = (uint32_t)numbers[HEAD_NOTICES];
    out->handed = numbers[HEAD_HANDED];
    struct str skipped, deaths;
    int64_t packed;
    if (!str_cut(text, ' ', &skipped, &text) || !str_cut(text, ' ', &out->asks, &text))
        return false;
    bool lines = str_cut(text, '\n', &skipped, &text) && str_cut(text, '\n', &out->node, &text);
    if (lines && str_cut(text, '\n', &skipped, &deaths) && str_to_i64(deaths, &packed))
        out->deaths = deaths_unpack((uint64_t)packed);
    return true;
}

bool redis_read_beside(struct str text, struct call_record *call, size_t *pending)
{
    struct head head;

    if (!read_head(text, &head))
        return false;
    call->state = head.state;
    call->epoch = head.epoch;
    call->opened_ms = head.opened_ms;
    call->handed = head.handed;
    call->node = head.node;
    call->deaths = head.deaths;
    *pending = (size_t)head.pending;
    return true;
}

/* --- the journal --- */

static nod_status read_item(struct codec *codec, const struct fields *fields, struct str call,
                            struct str item, struct arena *arena, struct codec_part *part)
{
    if (!item.len || item.at[0] != '@')
        return codec_read_entries(codec, call, item, arena, &part->entries, &part->count);
    struct ask_record ask;
    nod_status status =
        read_ask_in(codec, fields, arena_str(arena, str_skip(item, 1)), arena, &ask);
    if (status == NOD_E_NOT_FOUND || (status == NOD_OK && ask.state == ASK_PENDING))
        return damaged(codec, call, "its journal names an ask that has not ended");
    part->entries = ARENA_NEW(arena, struct entry);
    if (status != NOD_OK || !part->entries)
        return status != NOD_OK ? status : NOD_E_LIMIT;
    part->entries[0] = codec_entry_of(&ask);
    part->count = 1;
    return NOD_OK;
}

static struct str item_name(char name[FIELD_MAX], int64_t at)
{
    size_t len = 0, digits = 0;
    char turned[DIGITS_MOST];

    do
        turned[digits++] = (char)('0' + at % 10);
    while ((at /= 10) > 0 && digits < DIGITS_MOST);
    name[len++] = 'j';
    while (digits)
        name[len++] = turned[--digits];
    return str_n(name, len);
}

static nod_status redis_read_journal(struct codec *codec, const struct fields *fields,
                                     int64_t items, struct arena *arena, struct call_record *call)
{
    struct codec_parts parts = { 0 };
    char name[FIELD_MAX];

    for (int64_t i = 0; i < items; i++) {
        struct codec_part *part = codec_parts_add(&parts, arena);
        if (!part)
            return NOD_E_LIMIT;
        nod_status status = read_item(codec, fields, call->id,
                                      redis_text(field(fields, item_name(name, i))), arena, part);
        if (status != NOD_OK)
            return status;
    }
    return codec_parts_join(&parts, arena, call);
}

/* --- calls --- */

static nod_status redis_read_fields(struct codec *codec, struct str id, const struct fields *fields,
                                    struct head *head, struct arena *arena, struct call_record *out)
{
    struct str result = redis_text(field(fields, STR("r")));
    nod_status status = codec_read_call(codec, id, redis_text(field(fields, STR("c"))), arena, out);

    if (status == NOD_OK && result.len)
        status = codec_read_text(codec, CODEC_RESULT, out->scope, id, result, arena, &out->result);
    if (status != NOD_OK)
        return status;
    if (!read_head(redis_text(field(fields, STR("x"))), head))
        return damaged(codec, id, "it is damaged: its state");
    out->state = head->state;
    out->epoch = head->epoch;
    out->notices = head->notices;
    out->opened_ms = head->opened_ms;
    out->keep_until_ms = head->keep_until_ms;
    out->handed = head->handed;
    out->node = arena_str(arena, head->node);
    out->deaths = head->deaths;
    out->forgotten = !result.len &&
                     (head->state == CALL_STORED_FINISHED || head->state == CALL_STORED_CANCELLED);
    return NOD_OK;
}

nod_status redis_read_call(struct codec *codec, struct str id, const struct redis_value *pairs,
                           bool journal, struct arena *arena, struct call_record *out)
{
    struct fields fields;
    struct head head;

    *out = (struct call_record){ 0 };
    if (pairs->type != REDIS_IS_LIST || pairs->count < 2)
        return NOD_E_NOT_FOUND;
    fields_init(&fields, pairs);
    nod_status status = redis_read_fields(codec, id, &fields, &head, arena, out);
    if (status == NOD_OK && journal)
        status = redis_read_journal(codec, &fields, head.items, arena, out);
    map_finish(&fields.map);
    return status;
}

uint64_t redis_epoch_of(const struct redis_value *pairs)
{
    struct fields fields;
    struct head head = { 0 };

    if (pairs->type != REDIS_IS_LIST)
        return 0;
    fields_init(&fields, pairs);
    read_head(redis_text(field(&fields, STR("x"))), &head);
    map_finish(&fields.map);
    return head.epoch;
}

nod_status redis_read_ask_of(struct codec *codec, const struct redis_value *pairs, struct str id,
                             struct arena *arena, struct ask_record *out)
{
    struct fields fields;

    if (pairs->type != REDIS_IS_LIST)
        return NOD_E_NOT_FOUND;
    fields_init(&fields, pairs);
    nod_status status = read_ask_in(codec, &fields, id, arena, out);
    map_finish(&fields.map);
    return status;
}

nod_status redis_read_asks(struct codec *codec, const struct redis_value *pairs,
                           struct arena *arena, size_t most, store_row_fn *row, void *data)
{
    struct fields fields;
    struct head head = { 0 };
    nod_status status = NOD_OK;

    if (pairs->type != REDIS_IS_LIST)
        return NOD_OK;
    fields_init(&fields, pairs);
    read_head(redis_text(field(&fields, STR("x"))), &head);
    struct str ids = head.asks;
    if (ids.len / ID_LEN > most)
        ids = str_skip(ids, ids.len - most * ID_LEN); /* the latest */
    for (; ids.len >= ID_LEN && most > 0; ids = str_skip(ids, ID_LEN)) {
        struct ask_record ask;
        status = read_ask_in(codec, &fields, str_n(ids.at, ID_LEN), arena, &ask);
        if (status != NOD_OK)
            break;
        row(data, &(struct store_row){ .ask = &ask });
        most--;
    }
    map_finish(&fields.map);
    return status;
}
