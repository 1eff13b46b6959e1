/*
 * base/mem: the heap, for long-lived objects.
 *
 * Running out of memory ends the process with a message: the store has everything that was
 * promised, and a half-alive process helps nobody. Reaching a *limit* (an arena's cap, a buffer's
 * limit) is different: that is an error that the caller is told of.
 */
#ifndef NOD_BASE_MEM_H
#define NOD_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_realloc(void *old, size_t size) __attribute__((returns_nonnull));
void mem_free(void *p);
/*
 * The same if the size is known with which it was asked for (or one that is not larger): then it
 * need not be found out.
 */
void mem_free_sized(void *p, size_t size);

/* A zeroed object of the type. */
#define MEM_NEW(type) ((type *)mem_zalloc(sizeof(type)))
/* Frees an object that MEM_NEW has made, through a pointer of its own type. */
#define MEM_DELETE(p) mem_free_sized((p), sizeof(*(p)))

#endif
