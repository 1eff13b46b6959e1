/*
 * base/mem: see mem.h; the one place that decides what out of memory means.
 *
 * A server with many clients gives back many objects of one size in a row, and makes as many a
 * moment later. The C library keeps seven of a size at hand; past that it merges pieces and cuts
 * them anew, each time. So small pieces that are given back are kept here, by size and for each
 * thread by itself. They stay pieces of malloc: free() takes them as well.
 *
 * Holds always: what is kept is bounded (SPARES_MAX), and is given back when its thread ends. Under
 * a sanitizer nothing is kept, so that it sees every piece come and go.
 */
#include "base/mem.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPARE_LEAST = 24, /* bytes of the smallest pieces, as the C library makes them */
    SPARE_STEP = 16,
    SPARE_SIZES = 64,
    SPARE_MOST = SPARE_LEAST + SPARE_STEP * (SPARE_SIZES - 1), /* bytes of the largest ones */
    SPARES_MAX = 128,                                          /* pieces of one size */
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEM_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEM_WATCHED 1
#endif
#endif

static void out_of_memory(size_t size)
{
    fprintf(
        stderr,
        "nod: out of memory (asked for %zu bytes); give the process more, or lower its limits\n",
        size);
    abort();
}

/* --- spares --------------------------------------------------------------------------------- */

#ifdef MEM_WATCHED

static void *spare_take(size_t size)
{
    (void)size;
    return NULL;
}

static bool spare_keep(void *p)
{
    (void)p;
    return false;
}

#else

struct spare {
    struct spare *next;
};

static _Thread_local struct {
    struct spare *first[SPARE_SIZES];
    unsigned char count[SPARE_SIZES];
    bool noted; /* for spares_free */
} spares;

static pthread_key_t spares_key;

static void spares_free(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < SPARE_SIZES; i++) {
        while (spares.first[i]) {
            struct spare *spare = spares.first[i];
            spares.first[i] = spare->next;
            free(spare);
        }
        spares.count[i] = SPARES_MAX; /* whatever else the thread still gives back goes at once */
    }
}

__attribute__((constructor)) static void spares_init(void)
{
    if (pthread_key_create(&spares_key, spares_free) != 0)
        out_of_memory(0);
}

/* A piece of at least that many bytes, or NULL. */
static void *spare_take(size_t size)
{
    size_t at = size <= SPARE_LEAST ? 0 : (size - SPARE_LEAST + SPARE_STEP - 1) / SPARE_STEP;
    struct spare *spare = at < SPARE_SIZES ? spares.first[at] : NULL;

    if (!spare)
        return NULL;
    spares.first[at] = spare->next;
    spares.count[at]--;
    return spare;
}

static bool spare_keep(void *p)
{
    size_t size = malloc_usable_size(p);
    size_t at = (size - SPARE_LEAST) / SPARE_STEP;
    struct spare *spare = p;

    if (size < SPARE_LEAST || size >= SPARE_MOST + SPARE_STEP || spares.count[at] >= SPARES_MAX)
        return false;
    if (!spares.noted) {
        spares.noted = true;
        if (pthread_setspecific(spares_key, &spares) != 0)
            return false;
    }
    spare->next = spares.first[at];
    spares.first[at] = spare;
    spares.count[at]++;
    return true;
}

#endif

/* --- pieces --------------------------------------------------------------------------------- */

void *mem_alloc(size_t size)
{
    void *p = spare_take(size);

    if (!p)
        p = malloc(size ? size : 1);
    if (!p)
        out_of_memory(size);
    return p;
}

/* A large piece comes zeroed from the kernel, by calloc; a small one is cleared here. */
void *mem_zalloc(size_t size)
{
    if (size <= SPARE_MOST) {
        void *small = mem_alloc(size);
        return memset(small, 0, size);
    }
    void *p = calloc(1, size);

    if (!p)
        out_of_memory(size);
    return p;
}

void *mem_realloc(void *old, size_t size)
{
    void *p = old ? realloc(old, size ? size : 1) : mem_alloc(size);

    if (!p)
        out_of_memory(size);
    return p;
}

void mem_free(void *p)
{
    if (p && !spare_keep(p))
        free(p);
}
