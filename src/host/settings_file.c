/*
 * host/settings_file: see settings_file.h.
 *
 * inih asks for one line at a time (next_line) and tells of each key (on_key) before it asks for
 * the next. So the line that a key is from is the one that was given last, and next_line looks at
 * it first: it decides what kind of line it is, and hands on only what inih cannot misread.
 */
#include "host/settings_file.h"

#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "json/utf8.h"

struct reading {
    const struct settings_reader *reader;
    const char *file;
    char *problem;
    struct str rest; /* of the text */
    int line;
    bool failed;
    bool inside; /* a section has begun */
    int section_line;
    char section[SETTINGS_NAME_MAX + 1];
    const char *const *keys;
    uint64_t given;               /* bits: these keys of the section were given */
    int lines[SETTINGS_KEYS_MAX]; /* where */
    char (*sections)[SETTINGS_NAME_MAX + 1];
    size_t section_count;
};

_Static_assert(SETTINGS_KEYS_MAX <= 64, "a bit for each");

static bool wrong_at(struct reading *r, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The first problem stays. */
static bool wrong_at(struct reading *r, int line, const char *format, ...)
{
    va_list args;
    int used;

    if (r->failed)
        return false;
    r->failed = true;
    used = snprintf(r->problem, SETTINGS_PROBLEM_MAX, "%s:%d: ", r->file, line);
    if (used < 0 || used >= SETTINGS_PROBLEM_MAX)
        return false;
    va_start(args, format);
    vsnprintf(r->problem + used, SETTINGS_PROBLEM_MAX - (size_t)used, format, args);
    va_end(args);
    return false;
}

/* --- the lines, before inih sees them --- */

/* Control characters (but for tabs), and what is not UTF-8. */
static bool is_text(struct str line)
{
    const char *at = line.at, *end = line.at + line.len;

    while (at < end) {
        unsigned char c = (unsigned char)*at;
        if (c >= 0x80) {
            size_t n = utf8_sequence(at, end);
            if (!n)
                return false;
            at += n;
        } else if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return false;
        } else {
            at++;
        }
    }
    return true;
}

static bool end_section(struct reading *r)
{
    const char *why = "it cannot be used";
    size_t which = SETTINGS_KEYS_MAX;

    if (!r->inside || !r->reader->end || r->reader->end(r->reader->data, &which, &why))
        return true;
    bool known = which < SETTINGS_KEYS_MAX && r->given & UINT64_C(1) << which;
    return wrong_at(r, known ? r->lines[which] : r->section_line, "[%s]: %s", r->section, why);
}

static bool begin_section(struct reading *r, struct str line)
{
    const char *why = "there is no such section";
    struct str name = str_n(line.at + 1, line.len - 1);

    if (line.at[line.len - 1] != ']')
        return wrong_at(r, r->line, "a section is [NAME], with nothing behind it");
    name.len--;
    if (!name.len || name.len > SETTINGS_NAME_MAX || memchr(name.at, ']', name.len) ||
        memchr(name.at, '[', name.len) || str_trim(name).len != name.len)
        return wrong_at(r, r->line,
                        "a section has a name of 1 to %d characters, and no spaces around it",
                        SETTINGS_NAME_MAX);
    if (!end_section(r))
        return false;
    for (size_t i = 0; i < r->section_count; i++)
        if (str_eq(str_of(r->sections[i]), name))
            return wrong_at(r, r->line, "[" STR_FMT "] is there twice", STR_ARG(name));
    if (r->section_count == SETTINGS_SECTIONS_MAX)
        return wrong_at(r, r->line, "there are more than %d sections", SETTINGS_SECTIONS_MAX);
    snprintf(r->section, sizeof(r->section), STR_FMT, STR_ARG(name));
    memcpy(r->sections[r->section_count++], r->section, sizeof(r->section));
    r->inside = true;
    r->section_line = r->line;
    r->given = 0;
    r->keys = r->reader->section(r->reader->data, name, &why);
    return r->keys || wrong_at(r, r->line, "[%s]: %s", r->section, why);
}

static bool is_comment(char first)
{
    return first == ';' || first == '#';
}

/* "key = value", as inih will take it apart. */
static bool check_key(struct reading *r, struct str line)
{
    struct str name, value;

    if (!str_cut(line, '=', &name, &value))
        return wrong_at(r, r->line, "this is neither [NAME], nor key = value, nor a comment");
    name = str_trim(name);
    value = str_trim(value);
    if (!name.len || name.len > SETTINGS_NAME_MAX || memchr(name.at, ':', name.len))
        return wrong_at(r, r->line, "the name of a key has 1 to %d characters, and no colon",
                        SETTINGS_NAME_MAX);
    if (!r->inside)
        return wrong_at(r, r->line, STR_FMT " stands before the first section", STR_ARG(name));
    if (!value.len)
        return wrong_at(r, r->line, STR_FMT " has no value", STR_ARG(name));
    for (size_t i = 0; i + 1 < value.len; i++)
        if (str_is_blank_(value.at[i]) && is_comment(value.at[i + 1]))
            return wrong_at(r, r->line, "a comment has a line of its own");
    return !is_comment(value.at[0]) || wrong_at(r, r->line, "a comment has a line of its own");
}

/* inih's: like fgets. Comments and empty lines are given as empty ones. */
static char *next_line(char *out, int room, void *data)
{
    struct reading *r = data;

    if (r->failed || !r->rest.len || room < 2)
        return NULL;
    struct str line;
    if (!str_cut(r->rest, '\n', &line, &r->rest))
        r->rest = STR_NONE;
    r->line++;
    if (line.len && line.at[line.len - 1] == '\r')
        line.len--;
    if (!is_text(line)) {
        wrong_at(r, r->line, "this line has bytes that are not text (UTF-8)");
        return NULL;
    }
    line = str_trim(line); /* inih takes a line that begins with a space for more of the last one */
    if (!line.len || is_comment(line.at[0]))
        line = STR_NONE;
    else if (line.at[0] == '[' ? !begin_section(r, line) : !check_key(r, line))
        return NULL;
    if (line.len + 2 > (size_t)room) {
        wrong_at(r, r->line, "this line is longer than %d bytes", room - 2);
        return NULL;
    }
    if (line.len)
        memcpy(out, line.at, line.len);
    out[line.len] = '\n';
    out[line.len + 1] = '\0';
    return out;
}

/* --- the keys, as inih has read them --- */

static bool unknown_key(struct reading *r, const char *name)
{
    char known[SETTINGS_PROBLEM_MAX / 2];
    size_t used = 0;

    const char *why = r->reader->unknown ? r->reader->unknown(r->reader->data, name) : NULL;

    if (why)
        return wrong_at(r, r->line, "[%s]: %s", r->section, why);
    known[0] = '\0';
    for (size_t i = 0; r->keys[i] && used < sizeof(known); i++)
        used +=
            (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", r->keys[i]);
    return wrong_at(r, r->line, "[%s]: %s is not a key that is known here; those are %s",
                    r->section, name, known);
}

static int on_key(void *data, const char *section, const char *name, const char *value)
{
    struct reading *r = data;
    const char *why = "it does not fit";
    size_t which = 0;

    if (r->failed || strcmp(section, r->section) != 0)
        return 0;
    while (r->keys[which] && strcmp(r->keys[which], name) != 0)
        which++;
    if (!r->keys[which] || which >= SETTINGS_KEYS_MAX)
        return unknown_key(r, name);
    if (r->given & UINT64_C(1) << which)
        return wrong_at(r, r->line, "%s is there twice in [%s]", name, r->section);
    r->given |= UINT64_C(1) << which;
    r->lines[which] = r->line;
    if (r->reader->key(r->reader->data, which, str_of(value), &why))
        return 1;
    return wrong_at(r, r->line, "%s: %s", name, why);
}

/* --- reading --- */

bool settings_read(const char *file, struct str text, const struct settings_reader *reader,
                   char problem[SETTINGS_PROBLEM_MAX])
{
    struct reading r = { .reader = reader, .file = file, .problem = problem, .rest = text };

    problem[0] = '\0';
    if (text.len > SETTINGS_FILE_MAX) {
        snprintf(problem, SETTINGS_PROBLEM_MAX, "%s: the file is larger than %d bytes", file,
                 SETTINGS_FILE_MAX);
        return false;
    }
    if (str_starts(r.rest, STR("\xef\xbb\xbf"))) /* some editors begin with a mark of UTF-8 */
        r.rest = str_skip(r.rest, 3);
    r.sections = mem_zalloc((SETTINGS_NAME_MAX + 1) * (size_t)SETTINGS_SECTIONS_MAX);
#ifdef NOD_INI_MAX_LINE /* the library has it as a variable; elsewhere it was decided when built   \
                         */
    int line_before = ini_max_line;
    ini_max_line = SETTINGS_LINE_MAX;
#endif
    int status = ini_parse_stream(next_line, &r, on_key, &r);
#ifdef NOD_INI_MAX_LINE
    ini_max_line = line_before;
#endif
    if (status != 0 && !r.failed)
        wrong_at(&r, status > 0 ? status : r.line, "this line cannot be read");
    if (!r.failed)
        end_section(&r);
    mem_free(r.sections);
    return !r.failed;
}

bool settings_read_file(const char *file, const struct settings_reader *reader,
                        char problem[SETTINGS_PROBLEM_MAX])
{
    FILE *stream = fopen(file, "re");
    int error = errno;
    char *text = mem_alloc((size_t)SETTINGS_FILE_MAX + 1);
    size_t len = stream ? fread(text, 1, (size_t)SETTINGS_FILE_MAX + 1, stream) : 0;
    bool fine = stream && !ferror(stream);

    if (stream)
        error = errno;
    if (!fine)
        snprintf(problem, SETTINGS_PROBLEM_MAX, "%s: the file cannot be read: %s", file,
                 strerror(error));
    if (stream)
        fclose(stream);
    fine = fine && settings_read(file, str_n(text, len), reader, problem);
    mem_free(text);
    return fine;
}
