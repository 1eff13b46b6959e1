/*
 * base/id: a small thread-local pool of kernel randomness, so that an id is not a system call.
 *
 * A forked child forgets the pool: otherwise it and its parent would give out the same ids.
 */
#include "base/id.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

enum { POOL = 512, ID_BYTES = 16 };

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

void random_bytes(void *out, size_t len)
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

void id_random(struct id *id)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    unsigned char raw[ID_BYTES + 2] = { 0 };

    if (left < ID_BYTES) {
        random_bytes(pool, sizeof(pool));
        left = sizeof(pool);
    }
    left -= ID_BYTES;
    memcpy(raw, pool + left, ID_BYTES);
    memset(pool + left, 0, ID_BYTES); /* what was given out stays nowhere else */

    for (size_t i = 0, o = 0; o < ID_LEN; i += 3) {
        unsigned bits = (unsigned)raw[i] << 16 | (unsigned)raw[i + 1] << 8 | raw[i + 2];
        for (int shift = 18; shift >= 0 && o < ID_LEN; shift -= 6)
            id->text[o++] = digits[bits >> shift & 63];
    }
    id->text[ID_LEN] = '\0';
}
