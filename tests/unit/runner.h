/*
 * tests/unit/runner: one program for all the subjects of a module.
 *
 * A subject is a file of tests. SUBJECT(life) stands where the file would have its main, and
 * `unit-core life` runs it, in a process of its own as ever; further arguments are the subject's,
 * and so is argv[0], its name. Without a subject the program lists those it has.
 */
#ifndef NOD_TESTS_UNIT_RUNNER_H
#define NOD_TESTS_UNIT_RUNNER_H

#include <stdbool.h>
#include <stddef.h>

/* For what must happen: nothing takes that long when all is well, on a machine however busy. See
 * tests/patience.js. */
enum { PATIENCE_MS = 120000 };

typedef int subject_main(int argc, char **argv);

struct subject {
    const char *name;
    subject_main *main;
    const struct subject *next;
};

void subject_add(struct subject *subject);

/* Makes a folder of its own for what a test writes, in TMPDIR: scripts/test has that in memory. */
bool scratch_make(char *folder, size_t size);

#define SUBJECT(word)                                                                              \
    static subject_main subject_##word;                                                            \
    __attribute__((constructor)) static void subject_add_##word(void)                              \
    {                                                                                              \
        static struct subject subject = { #word, subject_##word, 0 };                              \
        subject_add(&subject);                                                                     \
    }                                                                                              \
    static int subject_##word(__attribute__((unused)) int argc, __attribute__((unused)) char **argv)

#endif
