/*
 * tests/fuzz/target: where a fuzz target begins.
 *
 * FUZZ_TARGET(json) opens the function that is given `data` and `size`. With -Dfuzz=true it is what
 * libFuzzer calls; otherwise one program has all targets, and `replay json FOLDER` replays a
 * corpus.
 */
#ifndef NOD_TESTS_FUZZ_TARGET_H
#define NOD_TESTS_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

typedef int fuzz_fn(const uint8_t *data, size_t size);

#ifdef NOD_LIBFUZZER
fuzz_fn LLVMFuzzerTestOneInput;

#define FUZZ_TARGET(word) int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
#else
struct fuzz_target {
    const char *name;
    fuzz_fn *run;
    const struct fuzz_target *next;
};

void fuzz_target_add(struct fuzz_target *target);

#define FUZZ_TARGET(word)                                                                          \
    static fuzz_fn fuzz_##word;                                                                    \
    __attribute__((constructor)) static void fuzz_add_##word(void)                                 \
    {                                                                                              \
        static struct fuzz_target target = { #word, fuzz_##word, NULL };                           \
        fuzz_target_add(&target);                                                                  \
    }                                                                                              \
    static int fuzz_##word(const uint8_t *data, size_t size)
#endif

#endif
