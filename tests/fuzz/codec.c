/*
 * tests/fuzz/codec: arbitrary bytes as every kind of record. What can be read must read the same
 * after it was written again. With a keyring nothing that was not sealed may be read.
 */
#include <stdint.h>
#include <stdlib.h>

#include "store/record_codec.h"
#include "target.h"

enum { ARENA_CAP = 64 << 20 };

static void must(bool truth)
{
    if (!truth)
        abort();
}

static struct keyring *ring(void)
{
    static const struct str secret = STR_INIT("0123456789abcdef0123456789abcdef");
    static struct keyring *made;
    const char *why;

    if (!made)
        must(keyring_create(&secret, 1, &made, &why) == NOD_OK);
    return made;
}

static const struct str id = STR_INIT("0123456789abcdefghijkl");

static void call_again(struct codec *codec, struct str bytes, struct arena *arena)
{
    struct call_record first = { 0 }, second = { 0 };
    struct buf out;

    if (codec_read_call(codec, id, bytes, arena, &first) != NOD_OK)
        return;
    buf_init(&out, CODEC_RECORD_MAX);
    must(codec_write_call(codec, &first, &out) == NOD_OK);
    must(codec_read_call(codec, id, buf_str(&out), arena, &second) == NOD_OK);
    must(str_eq(first.args, second.args) && str_eq(first.scope, second.scope) &&
         first.kind == second.kind);
    buf_finish(&out);
}

static void ask_again(struct codec *codec, struct str bytes, struct arena *arena)
{
    struct ask_record first = { 0 }, second = { 0 };
    struct buf out;

    if (codec_read_ask(codec, id, bytes, arena, &first) != NOD_OK)
        return;
    buf_init(&out, CODEC_RECORD_MAX);
    must(codec_write_ask(codec, &first, &out) == NOD_OK);
    must(codec_read_ask(codec, id, buf_str(&out), arena, &second) == NOD_OK);
    must(str_eq(first.message, second.message) && first.ttl_ms == second.ttl_ms &&
         first.sensitive == second.sensitive && first.seq == second.seq);
    buf_finish(&out);
}

static void entries_again(struct codec *codec, struct str bytes, struct arena *arena)
{
    struct entry *first, *second;
    size_t count, again;
    struct buf out;

    if (codec_read_entries(codec, id, bytes, arena, &first, &count) != NOD_OK)
        return;
    buf_init(&out, CODEC_RECORD_MAX);
    must(codec_write_entries(codec, STR("s"), id, first, count, &out) == NOD_OK);
    must(codec_read_entries(codec, id, buf_str(&out), arena, &second, &again) == NOD_OK);
    must(count == again);
    for (size_t i = 0; i < count; i++)
        must(first[i].class == second[i].class && str_eq(first[i].content, second[i].content) &&
             first[i].number == second[i].number);
    buf_finish(&out);
}

static void read_all(struct codec *codec, struct str bytes, struct arena *arena)
{
    struct ask_record ask = { .id = id };
    struct str text;

    call_again(codec, bytes, arena);
    ask_again(codec, bytes, arena);
    entries_again(codec, bytes, arena);
    (void)codec_read_answer(codec, bytes, arena, &ask);
    (void)codec_read_text(codec, CODEC_RESULT, STR("s"), id, bytes, arena, &text);
    (void)codec_read_text(codec, CODEC_VALUE, STR("s"), id, bytes, arena, &text);
}

static void nothing_opens(struct codec *codec, struct str bytes, struct arena *arena)
{
    struct call_record call = { 0 };
    struct ask_record ask = { 0 };
    struct entry *entries;
    size_t count;

    must(codec_read_call(codec, id, bytes, arena, &call) != NOD_OK);
    must(codec_read_ask(codec, id, bytes, arena, &ask) != NOD_OK);
    must(codec_read_entries(codec, id, bytes, arena, &entries, &count) != NOD_OK);
}

FUZZ_TARGET(codec)
{
    struct str bytes = str_n((const char *)data, size);
    struct arena arena;

    arena_init(&arena, ARENA_CAP);
    read_all(&(struct codec){ 0 }, bytes, &arena);
    nothing_opens(&(struct codec){ .ring = ring() }, bytes, &arena);
    arena_finish(&arena);
    return 0;
}
