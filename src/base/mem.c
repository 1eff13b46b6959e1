/* base/mem: see mem.h; the one place that decides what out of memory means. */
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ZERO_BY_HAND_MAX = 1024 }; /* bytes that mem_zalloc clears itself */

static void out_of_memory(size_t size)
{
    fprintf(
        stderr,
        "nod: out of memory (asked for %zu bytes); give the process more, or lower its limits\n",
        size);
    abort();
}

void *mem_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);

    if (!p)
        out_of_memory(size);
    return p;
}

/*
 * Most objects are small and short-lived: malloc hands those out from a cache of the thread, which
 * calloc of the GNU library goes past. A large piece comes zeroed from the kernel, by calloc.
 */
void *mem_zalloc(size_t size)
{
    if (size <= ZERO_BY_HAND_MAX) {
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
    void *p = realloc(old, size ? size : 1);

    if (!p)
        out_of_memory(size);
    return p;
}

void mem_free(void *p)
{
    free(p);
}
