/*
 * host/settings_file: settings files, read strictly.
 *
 *     ; a comment has a line of its own, after ; or #
 *     [section]
 *     key = value
 *
 * inih takes the lines apart; what it would let pass is refused here. A key that is not known, one
 * that occurs twice, a section that occurs twice, a key outside of a section, a line that is
 * neither, a value that is empty or goes on in the next line: each is an error that names its line
 * and says what is known instead. So a word that was spelled wrongly never goes unnoticed.
 *
 * Holds always: nothing is given out after the first error, and a value is given as it stands in
 * the file, without the spaces around it.
 */
#ifndef NOD_HOST_SETTINGS_FILE_H
#define NOD_HOST_SETTINGS_FILE_H

#include "base/str.h"

enum {
    SETTINGS_FILE_MAX = 256 * 1024, /* bytes of a file */
    SETTINGS_LINE_MAX = 4096,       /* bytes of a line, where the library can be told so */
    SETTINGS_NAME_MAX = 48,         /* bytes of the name of a section or of a key */
    SETTINGS_KEYS_MAX = 64,         /* keys that are known in one section */
    SETTINGS_SECTIONS_MAX = 256,    /* sections of a file */
    SETTINGS_PROBLEM_MAX = 1024,    /* bytes of what is wrong */
};

struct settings_reader {
    /* A section begins. Gives the names of its keys, NULL at the end, which must be constant; or
     * NULL, and *why says what is wrong with it. */
    const char *const *(*section)(void *data, struct str name, const char **why);
    /* One of its keys, by its place among the names. False: *why says what is wrong with the
     * value. */
    bool (*key)(void *data, size_t which, struct str value, const char **why);
    /* The section is complete. False: *why says what is wrong with it, and *which, if it is set,
     * with which key. May be NULL. */
    bool (*end)(void *data, size_t *which, const char **why);
    /* A key that is not known: a sentence about it, or NULL; then the known ones are named. May be
     * NULL. */
    const char *(*unknown)(void *data, const char *name);
    void *data;
};

/* False: `problem` says what is wrong, after "FILE:LINE: ". `file` is only for that. */
bool settings_read(const char *file, struct str text, const struct settings_reader *reader,
                   char problem[SETTINGS_PROBLEM_MAX]);
/* The same of the file itself. */
bool settings_read_file(const char *file, const struct settings_reader *reader,
                        char problem[SETTINGS_PROBLEM_MAX]);

#endif
