/*
 * tests/fuzz/state: opens a requestState.
 *
 * The first byte chooses what is attacked: the sealed text as it comes from a client; a text whose
 * seal is valid, so that the reader after it is reached; or the reader alone. What can be read is
 * written back, and must be the same bytes.
 */
#include <stdlib.h>

#include "mcp/era2026/request_state.h"
#include "target.h"

static const struct state_bound bound = { .principal = STR_INIT("p"),
                                          .method = STR_INIT("tools/call"),
                                          .target = STR_INIT("t") };

static struct keyring *ring_once(void)
{
    static struct keyring *ring;
    struct str secret = STR("a secret of at least thirty-two characters");
    const char *why;

    if (!ring && keyring_create(&secret, 1, &ring, &why) != NOD_OK)
        abort();
    return ring;
}

static void read_plain(struct str plain, struct arena *arena)
{
    struct state state;
    struct buf again;

    if (!state_read(plain, arena, &state))
        return;
    buf_init(&again, plain.len + 1);
    if (!state_write(&again, &state) || !str_eq(buf_str(&again), plain))
        abort();
    buf_finish(&again);
}

static void open_sealed(struct str plain, struct arena *arena)
{
    struct state state;
    struct buf text;

    buf_init(&text, STATE_PORTABLE_MAX);
    if (state_seal(ring_once(), &bound, plain, &text) == NOD_OK &&
        state_open(ring_once(), &bound, buf_str(&text), STATE_TEXT_MAX, 0, arena, &state) ==
            NOD_OK &&
        state.expires_ms <= 0)
        abort();
    buf_finish(&text);
}

FUZZ_TARGET(state)
{
    struct str rest = str_n((const char *)data + 1, size ? size - 1 : 0);
    struct arena arena;
    struct state state;

    if (size == 0)
        return 0;
    arena_init(&arena, STATE_ARENA_MAX);
    if (data[0] % 3 == 0) {
        if (state_open(ring_once(), &bound, rest, STATE_TEXT_MAX, 0, &arena, &state) == NOD_OK)
            abort(); /* nobody has the key */
    } else if (data[0] % 3 == 1) {
        open_sealed(rest, &arena);
    } else {
        read_plain(rest, &arena);
    }
    arena_finish(&arena);
    return 0;
}
