/*
 * base/mem: the heap, for long-lived objects.
 *
 * Running out of memory ends the process with a message: the store has everything that was
 * promised, and a half-alive process helps nobody. Running out of a *limit* (an arena's cap, a
 * buffer's limit) is different: that is an error the caller is told of.
 */
#ifndef NOD_BASE_MEM_H
#define NOD_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_realloc(void *old, size_t size) __attribute__((returns_nonnull));
void mem_free(void *p);

/* A zeroed object of the type. */
#define MEM_NEW(type) ((type *)mem_zalloc(sizeof(type)))

#endif
