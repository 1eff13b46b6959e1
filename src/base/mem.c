/*
 * base/mem: see mem.h; the one place that decides what out of memory means.
 *
 * A server with many clients frees many objects of one size in a row, and makes as many a moment
 * later. The C library keeps seven of each size; past that it merges pieces and splits them again
 * each time. So small pieces that are freed are kept here, by size and for each thread. They are
 * still pieces of malloc: free() takes them as well.
 *
 * Holds always: what is kept is bounded (SPARES_MAX), and freed when its thread ends. Under a
 * sanitizer nothing is kept, so that it sees every allocation and free, and a wrong size ends the
 * process.
 */
#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

enum {
    SPARE_STEP = 16, /* bytes between two sizes of pieces, as in the C library */
    SPARE_ODD = 8,   /* bytes of the first size: the C library uses the rest of a step itself */
    SPARE_SIZES = 81,
    SPARE_MOST = SPARE_STEP * (SPARE_SIZES - 1) + SPARE_ODD, /* bytes of the largest pieces */
    SPARES_MAX = 128,                                        /* pieces of one size */
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

/* --- spares --- */

#ifdef MEM_WATCHED

static void *spare_take(size_t size)
{
    (void)size;
    return NULL;
}

static bool spare_keep(void *p, size_t size)
{
    size_t has = os_piece_size(p);

    if (has && has < size) {
        fprintf(stderr, "nod: a piece of %zu bytes is given back as one of %zu\n", has, size);
        abort();
    }
    return false;
}

static void spares_note(void)
{
}

/* Its exact size. */
static size_t size_of(void *p)
{
    return os_piece_size(p);
}

static size_t piece_size(size_t size)
{
    return size ? size : 1;
}

#else

struct spare {
    struct spare *next;
};

struct spares {
    struct spare *first[SPARE_SIZES];
    unsigned char room[SPARE_SIZES]; /* for how many more */
};

/* Nothing to take, and no room to keep: for a thread before it has its own spares, and after. */
static struct spares not_yet, no_more;

/*
 * Only a pointer, in the TLS model of a program's own variables: finding it is one instruction
 * instead of a call. It is small enough to fit even if a library is loaded late.
 */
static _Thread_local struct spares *spares __attribute__((tls_model("initial-exec"))) = &not_yet;

static pthread_key_t spares_key;

static void spares_free(void *of_thread)
{
    struct spares *own = of_thread;

    spares = &no_more; /* what the thread frees from now on is freed at once */
    for (size_t i = 0; i < SPARE_SIZES; i++) {
        while (own->first[i]) {
            struct spare *spare = own->first[i];
            own->first[i] = spare->next;
            free(spare);
        }
    }
    free(own);
}

__attribute__((constructor)) static void spares_init(void)
{
    if (pthread_key_create(&spares_key, spares_free) != 0)
        out_of_memory(0);
}

/* The place of pieces that were asked for with this size: up to 8 bytes, up to 24, up to 40, ... */
static size_t place_of(size_t size)
{
    return (size + SPARE_STEP - SPARE_ODD - 1) / SPARE_STEP;
}

/* What the C library is asked for: all pieces of a place have the same size. */
static size_t piece_size(size_t size)
{
    return size <= SPARE_MOST ? place_of(size) * SPARE_STEP + SPARE_ODD : size;
}

/* A piece of at least that many bytes, or NULL. */
static void *spare_take(size_t size)
{
    if (size > SPARE_MOST)
        return NULL;
    struct spares *own = spares;
    size_t at = place_of(size);
    struct spare *spare = own->first[at];

    if (!spare)
        return NULL;
    own->first[at] = spare->next;
    own->room[at]++;
    return spare;
}

/* The first piece that a thread frees makes room for the following. */
static void spares_note(void)
{
    struct spares *own = spares == &not_yet ? calloc(1, sizeof(*own)) : NULL;

    if (!own)
        return;
    memset(own->room, SPARES_MAX, sizeof(own->room));
    if (pthread_setspecific(spares_key, own) == 0) {
        spares = own;
    } else {
        spares = &no_more;
        free(own);
    }
}

/* The piece was asked for with at least so many bytes. */
static bool spare_keep(void *p, size_t size)
{
    if (size > SPARE_MOST)
        return false;
    struct spares *own = spares;
    size_t at = place_of(size);
    struct spare *spare = p;

    if (own->room[at] == 0)
        return false;
    spare->next = own->first[at];
    own->first[at] = spare;
    own->room[at]--;
    return true;
}

/* The largest size with which this piece could have been asked for; SIZE_MAX: it is not one of
 * ours. */
static size_t size_of(void *p)
{
    size_t has = os_piece_size(p);

    return has < SPARE_ODD ? SIZE_MAX : has - (has - SPARE_ODD) % SPARE_STEP;
}

#endif

/* --- pieces --- */

/* Separate from mem_alloc, which then has nothing to save and restore if there is a spare. */
__attribute__((noinline)) static void *piece_make(size_t size)
{
    void *p = malloc(piece_size(size));

    if (!p)
        out_of_memory(size);
    return p;
}

void *mem_alloc(size_t size)
{
    void *spare = spare_take(size);

    return spare ? spare : piece_make(size);
}

/* A large piece comes zeroed from the kernel, through calloc; a small one is cleared here. */
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
    void *p = old ? realloc(old, piece_size(size)) : mem_alloc(size);

    if (!p)
        out_of_memory(size);
    return p;
}

void mem_free(void *p)
{
    if (p)
        mem_free_sized(p, size_of(p));
}

__attribute__((noinline)) static void piece_free(void *p)
{
    spares_note();
    free(p);
}

void mem_free_sized(void *p, size_t size)
{
    if (p && !spare_keep(p, size))
        piece_free(p);
}
