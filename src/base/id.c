/*
 * base/id: random ids, and ids that are counted after a random beginning of each thread.
 *
 * Each thread has a small pool of kernel randomness, so that an id or a nonce needs no system call.
 * A forked child forgets the pool and the count: otherwise it and its parent would give out the
 * same ids.
 */
#include "base/id.h"

#include <pthread.h>

#include "base/byte_order.h"
#include "base/os.h"

enum {
    POOL = 4096,         /* bytes that are fetched at once */
    POOL_PIECE_MAX = 16, /* an id, a nonce; longer ones (keys) come straight from the kernel */
    ID_BYTES = 16,
    UNIQUE_COUNTED = 11, /* letters that id_unique counts in; the others, 66 bits, are random */
};

static _Thread_local unsigned char pool[POOL];
static _Thread_local size_t left;
static _Thread_local struct id last; /* of id_unique; empty: none yet */

static void pool_forget(void)
{
    left = 0;
    last = (struct id){ 0 };
}

__attribute__((constructor)) static void pool_init(void)
{
    pthread_atfork(NULL, NULL, pool_forget);
}

/* The next bytes of the pool, at most POOL_PIECE_MAX. Nothing else keeps what was given out: the
 * caller clears it. */
static unsigned char *pool_next(size_t len)
{
    if (left < len) {
        os_random(pool, sizeof(pool));
        left = sizeof(pool);
    }
    left -= len;
    return pool + left;
}

void random_bytes(void *out, size_t len)
{
    if (len > POOL_PIECE_MAX) {
        os_random(out, len);
        return;
    }
    unsigned char *from = pool_next(len);
    memcpy(out, from, len);
    memset(from, 0, len);
}

/* --- letters: eight at a time, one in each byte of a word --- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Spreads the low 48 bits, six to a byte: first halves, then quarters, then eighths. */
static uint64_t spread(uint64_t bits)
{
    bits = (bits & UINT64_C(0xFFFFFF000000)) << 8 | (bits & UINT64_C(0xFFFFFF));
    bits = (bits & UINT64_C(0x00FFF00000FFF000)) << 4 | (bits & UINT64_C(0x00000FFF00000FFF));
    return (bits & UINT64_C(0x0FC00FC00FC00FC0)) << 2 | (bits & UINT64_C(0x003F003F003F003F));
}

/* 1 in each byte that is at least `least`. Bytes of `six` are less than 64, so nothing carries. */
static uint64_t reach(uint64_t six, uint64_t least)
{
    return (six + EACH(128 - least)) >> 7 & EACH(1);
}

/*
 * The base64url letters for six bits in each byte: from 'A', with a jump from 'Z' to 'a', from 'z'
 * to '0', from '9' to '-' and from '-' to '_'. In the end each byte of the sum is a letter: what a
 * jump back borrows from the next byte was added to that byte by the same sum.
 */
static uint64_t letters_of(uint64_t six)
{
    return six + EACH('A') + reach(six, 26) * ('a' - 'Z' - 1) - reach(six, 52) * ('z' + 1 - '0') -
           reach(six, 62) * ('9' + 1 - '-') + reach(six, 63) * ('_' - '-' - 1);
}

/* Eight letters, the first from the highest bits. */
static void letters_put(char *to, uint64_t bits)
{
    uint64_t word = order_be64(letters_of(spread(bits)));

    memcpy(to, &word, sizeof(word));
}

static uint64_t word_at(const unsigned char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
    return order_be64(word);
}

void id_random(struct id *id)
{
    unsigned char *raw = pool_next(ID_BYTES);
    uint64_t first = word_at(raw), second = word_at(raw + 8);
    char text[24];

    letters_put(text, first >> 16);
    letters_put(text + 8, (first & 0xFFFF) << 32 | second >> 32);
    letters_put(text + 16, (second & 0xFFFFFFFF) << 16); /* the last two letters carry no bits */
    memcpy(id->text, text, ID_LEN);
    id->text[ID_LEN] = '\0';
    memset(raw, 0, ID_BYTES);
}

static char letter_after(char letter)
{
    switch (letter) {
    case 'Z':
        return 'a';
    case 'z':
        return '0';
    case '9':
        return '-';
    case '-':
        return '_';
    case '_':
        return 'A';
    default:
        return (char)(letter + 1);
    }
}

/* Counts in letters: after the last letter, the one before it moves on. */
void id_unique(struct id *id)
{
    size_t at = ID_LEN;

    if (!last.text[0])
        id_random(&last);
    do {
        at--;
        last.text[at] = letter_after(last.text[at]);
    } while (last.text[at] == 'A' && at > ID_LEN - UNIQUE_COUNTED);
    *id = last;
}
