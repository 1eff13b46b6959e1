/*
 * host/settings_file: settings files, read strictly.
 *
 *     ; a comment has a line of its own, after ; or #
 *     [section]
 *     key = value
 *
 * inih takes the lines apart; what it would let pass is refused here. A section that occurs twice,
 * a key outside of a section, a line that is neither, a value that is empty or goes on in the next
 * line: each is an error that names its line. settings_parse stops there: what it gives are
 * sections with their keys, as they stand in the file (host/config puts several files together).
 * Whoever knows the keys of a section has settings_section_give look at them: a key that is not
 * known, or one that occurs twice, is an error that says what is known instead. So a word that was
 * spelled wrongly never goes unnoticed. In the name of a key - and _ are the same.
 *
 * Holds always: nothing is given out of a text with an error in its lines, and nothing after the
 * first error in its keys; a value is given as it stands in the file, without the spaces around it.
 */
#ifndef NOD_HOST_SETTINGS_FILE_H
#define NOD_HOST_SETTINGS_FILE_H

#include <stdio.h>

#include "base/arena.h"
#include "base/str.h"

enum {
    SETTINGS_FILE_MAX = 256 * 1024, /* bytes of a file */
    SETTINGS_LINE_MAX = 4096,       /* bytes of a line, where the library can be told so */
    SETTINGS_NAME_MAX = 48,         /* bytes of the name of a section or of a key */
    SETTINGS_KEYS_MAX = 64,         /* keys that are known in one section */
    SETTINGS_SECTIONS_MAX = 256,    /* sections of a file */
    SETTINGS_VALUES_MAX = 4096,     /* keys of a file, in all its sections */
    SETTINGS_PROBLEM_MAX = 2048,    /* bytes of what is wrong */
};

/* A key, and where it stands. */
struct config_value {
    struct str key, value; /* each with a NUL behind it */
    const char *file;
    int line;
};

struct config_section {
    struct str
        kind; /* "plugin" of [plugin NAME]; empty in a file whose sections are all of a kind */
    struct str name; /* what stands behind it, or all of it */
    const char *file;
    int line;
    /* Where it says whether a plugin has to be there; NULL: nowhere. */
    const struct config_value *required_at;
    bool required; /* it has to be there */
    const struct config_value *values;
    size_t count;
};

/* A section in messages: "[plugin github]". */
#define SECTION_FMT "[" STR_FMT "%s" STR_FMT "]"
#define SECTION_ARG(section)                                                                       \
    STR_ARG((section)->kind), (section)->kind.len && (section)->name.len ? " " : "",               \
        STR_ARG((section)->name)

struct settings_reader {
    /* A section begins. Gives the names of its keys, NULL at the end, which must be constant; or
     * NULL, and *why says what is wrong with it. */
    const char *const *(*section)(void *data, struct str name, const char **why);
    /* One of its keys, by its place among the names. False: *why says what is wrong with the
     * value. */
    bool (*key)(void *data, size_t which, const struct config_value *value, const char **why);
    /* The section is complete. False: *why says what is wrong with it, and *which, if it is set,
     * with which key. May be NULL. */
    bool (*end)(void *data, size_t *which, const char **why);
    /* A key that is not known: a sentence about it, or NULL; then the known ones are named. May be
     * NULL. */
    const char *(*unknown)(void *data, const char *name);
    void *data;
};

/* Text and places live as long as the arena; `file` is kept as it is. False: `problem` says what is
 * wrong, after "FILE:LINE: ". */
bool settings_parse(const char *file, struct str text, struct arena *arena,
                    const struct config_section **sections, size_t *count,
                    char problem[SETTINGS_PROBLEM_MAX]);
/* Gives the keys of a section to whoever knows them. False: as above. */
bool settings_section_give(const struct config_section *section,
                           const struct settings_reader *reader,
                           char problem[SETTINGS_PROBLEM_MAX]);
/* Both, for every section of a text. */
bool settings_read(const char *file, struct str text, const struct settings_reader *reader,
                   char problem[SETTINGS_PROBLEM_MAX]);
/* The same of the file itself. */
bool settings_read_file(const char *file, const struct settings_reader *reader,
                        char problem[SETTINGS_PROBLEM_MAX]);

/* The bytes of a file that was opened (NULL: it was not, and errno says why), to be freed. NULL:
 * `problem` says why not. It closes the file. */
char *settings_text(const char *file, FILE *stream, size_t *len,
                    char problem[SETTINGS_PROBLEM_MAX]);
/* Is it the same key? */
bool settings_same_key(struct str a, struct str b);
/* Says what is wrong at a place of a file. Always false. */
bool settings_problem(char problem[SETTINGS_PROBLEM_MAX], const char *file, int line,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
