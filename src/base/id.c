/*
 * base/id: a small thread-local pool of kernel randomness, so that an id or a nonce is not a system
 * call.
 *
 * A forked child forgets the pool: otherwise it and its parent would give out the same ids.
 */
#include "base/id.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum {
    POOL = 4096, /* bytes that are fetched at once */
    POOL_PIECE_MAX =
        16, /* an id, a nonce; what is longer, a key, comes from the kernel by itself */
    ID_BYTES = 16,
};

static _Thread_local unsigned char pool[POOL];
static _Thread_local size_t left;

static void pool_forget(void)
{
    left = 0;
}

__attribute__((constructor)) static void pool_init(void)
{
    pthread_atfork(NULL, NULL, pool_forget);
}

static void kernel_bytes(void *out, size_t len)
{
    char *to = out;

    while (len > 0) {
        ssize_t got = getrandom(to, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            fprintf(stderr, "nod: the kernel gives no random bytes (getrandom)\n");
            abort();
        }
        to += got;
        len -= (size_t)got;
    }
}

void random_bytes(void *out, size_t len)
{
    if (len > POOL_PIECE_MAX) {
        kernel_bytes(out, len);
        return;
    }
    if (left < len) {
        kernel_bytes(pool, sizeof(pool));
        left = sizeof(pool);
    }
    left -= len;
    memcpy(out, pool + left, len);
    memset(pool + left, 0, len); /* what was given out stays nowhere else */
}

void id_random(struct id *id)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char raw[ID_BYTES + 2] = { 0 };
    char text[ID_LEN + 2];

    random_bytes(raw, ID_BYTES);
    for (size_t i = 0, o = 0; i < ID_BYTES; i += 3, o += 4) {
        unsigned bits = (unsigned)raw[i] << 16 | (unsigned)raw[i + 1] << 8 | raw[i + 2];
        text[o] = digits[bits >> 18];
        text[o + 1] = digits[bits >> 12 & 63];
        text[o + 2] = digits[bits >> 6 & 63];
        text[o + 3] = digits[bits & 63];
    }
    memcpy(id->text, text, ID_LEN); /* the last two digits are of bytes that are not there */
    id->text[ID_LEN] = '\0';
}
