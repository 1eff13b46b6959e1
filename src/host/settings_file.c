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
#include <string.h>

#include "base/mem.h"
#include "base/similar.h"
#include "json/utf8.h"

enum { SETTINGS_ARENA_MAX = 4 << 20 }; /* bytes of a file, taken apart */

struct reading {
    const char *file;
    char *problem;
    struct arena *arena;
    struct str rest; /* of the text */
    int line;
    bool failed;
    struct config_section *sections;
    size_t section_count;
    struct config_value *values; /* of all sections, one behind the other */
    size_t value_count;
};

static bool wrong_here(struct reading *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void problem_at(char *problem, const char *file, int line, const char *format, va_list args)
    __attribute__((format(printf, 4, 0)));

static void problem_at(char *problem, const char *file, int line, const char *format, va_list args)
{
    int used = snprintf(problem, SETTINGS_PROBLEM_MAX, "%s:%d: ", file, line);

    if (used >= 0 && used < SETTINGS_PROBLEM_MAX)
        vsnprintf(problem + used, SETTINGS_PROBLEM_MAX - (size_t)used, format, args);
}

bool settings_problem(char problem[SETTINGS_PROBLEM_MAX], const char *file, int line,
                      const char *format, ...)
{
    va_list args;

    va_start(args, format);
    problem_at(problem, file, line, format, args);
    va_end(args);
    return false;
}

/* In the line that is read. The first problem stays; always false. */
static bool wrong_here(struct reading *r, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (!r->failed)
        problem_at(r->problem, r->file, r->line, format, args);
    va_end(args);
    r->failed = true;
    return false;
}

bool settings_same_key(struct str a, struct str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if ((a.at[i] == '_' ? '-' : a.at[i]) != (b.at[i] == '_' ? '-' : b.at[i]))
            return false;
    return true;
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

static bool begin_section(struct reading *r, struct str line)
{
    struct str name = str_n(line.at + 1, line.len - 1);

    if (line.at[line.len - 1] != ']')
        return wrong_here(r, "a section is [NAME], with nothing behind it");
    name.len--;
    if (!name.len || name.len > SETTINGS_NAME_MAX || memchr(name.at, ']', name.len) ||
        memchr(name.at, '[', name.len) || str_trim(name).len != name.len)
        return wrong_here(r, "a section has a name of 1 to %d characters, and no spaces around it",
                          SETTINGS_NAME_MAX);
    for (size_t i = 0; i < r->section_count; i++)
        if (str_eq(r->sections[i].name, name))
            return wrong_here(r, "[" STR_FMT "] is there twice: put all of it into one",
                              STR_ARG(name));
    if (r->section_count == SETTINGS_SECTIONS_MAX)
        return wrong_here(r, "there are more than %d sections", SETTINGS_SECTIONS_MAX);
    r->sections[r->section_count++] = (struct config_section){ .name = arena_str(r->arena, name),
                                                               .file = r->file,
                                                               .line = r->line };
    return true;
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
        return wrong_here(r, "this is neither [NAME], nor key = value, nor a comment");
    name = str_trim(name);
    value = str_trim(value);
    if (!name.len || name.len > SETTINGS_NAME_MAX || memchr(name.at, ':', name.len))
        return wrong_here(r, "the name of a key has 1 to %d characters, and no colon",
                          SETTINGS_NAME_MAX);
    if (!r->section_count)
        return wrong_here(r, STR_FMT " stands in no section: put it below the line with its [NAME]",
                          STR_ARG(name));
    if (!value.len)
        return wrong_here(r, STR_FMT " has no value", STR_ARG(name));
    for (size_t i = 0; i + 1 < value.len; i++)
        if (str_is_blank_(value.at[i]) && is_comment(value.at[i + 1]))
            return wrong_here(r, "a comment has a line of its own");
    return !is_comment(value.at[0]) || wrong_here(r, "a comment has a line of its own");
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
        wrong_here(r, "this line has bytes that are not text (UTF-8)");
        return NULL;
    }
    line = str_trim(line); /* inih takes a line that begins with a space for more of the last one */
    if (!line.len || is_comment(line.at[0]))
        line = STR_NONE;
    else if (line.at[0] == '[' ? !begin_section(r, line) : !check_key(r, line))
        return NULL;
    if (line.len + 2 > (size_t)room) {
        wrong_here(r, "this line is longer than %d bytes", room - 2);
        return NULL;
    }
    if (line.len)
        memcpy(out, line.at, line.len);
    out[line.len] = '\n';
    out[line.len + 1] = '\0';
    return out;
}

/* --- the keys, as inih has read them --- */

static int on_key(void *data, const char *section, const char *name, const char *value)
{
    struct reading *r = data;
    struct config_section *in = r->section_count ? &r->sections[r->section_count - 1] : NULL;

    if (r->failed || !in || !str_eq(str_of(section), in->name))
        return 0;
    if (r->value_count == SETTINGS_VALUES_MAX)
        return wrong_here(r, "there are more than %d keys in this file", SETTINGS_VALUES_MAX);
    r->values[r->value_count++] =
        (struct config_value){ .key = arena_str(r->arena, str_of(name)),
                               .value = arena_str(r->arena, str_of(value)),
                               .file = r->file,
                               .line = r->line };
    in->count++;
    return 1;
}

/* Into the arena, each section with its own values. */
static bool hand_over(struct reading *r, const struct config_section **sections, size_t *count)
{
    struct config_value *values = arena_zalloc(r->arena, (r->value_count + 1) * sizeof(*r->values));
    struct config_section *out =
        arena_zalloc(r->arena, (r->section_count + 1) * sizeof(*r->sections));

    if (!values || !out || r->arena->exhausted)
        return wrong_here(r, "there is more in this file than %zu KiB have room for",
                          r->arena->cap >> 10);
    memcpy(values, r->values, r->value_count * sizeof(*values));
    memcpy(out, r->sections, r->section_count * sizeof(*out));
    for (size_t i = 0; i < r->section_count; i++) {
        out[i].values = values;
        values += out[i].count;
    }
    *sections = out;
    *count = r->section_count;
    return true;
}

bool settings_parse(const char *file, struct str text, struct arena *arena,
                    const struct config_section **sections, size_t *count,
                    char problem[SETTINGS_PROBLEM_MAX])
{
    struct reading r = { .file = file, .problem = problem, .arena = arena, .rest = text };

    problem[0] = '\0';
    if (text.len > SETTINGS_FILE_MAX) {
        snprintf(problem, SETTINGS_PROBLEM_MAX, "%s: the file is larger than %d bytes", file,
                 SETTINGS_FILE_MAX);
        return false;
    }
    if (str_starts(r.rest, STR("\xef\xbb\xbf"))) /* some editors begin with a mark of UTF-8 */
        r.rest = str_skip(r.rest, 3);
    r.sections = mem_alloc(SETTINGS_SECTIONS_MAX * sizeof(*r.sections));
    r.values = mem_alloc(SETTINGS_VALUES_MAX * sizeof(*r.values));
#ifdef NOD_INI_MAX_LINE /* the library has it as a variable; elsewhere it was decided when built   \
                         */
    int line_before = ini_max_line;
    ini_max_line = SETTINGS_LINE_MAX;
#endif
    int status = ini_parse_stream(next_line, &r, on_key, &r);
#ifdef NOD_INI_MAX_LINE
    ini_max_line = line_before;
#endif
    if (status != 0 && !r.failed) {
        r.line = status > 0 ? status : r.line;
        wrong_here(&r, "this line cannot be read");
    }
    bool fine = !r.failed && hand_over(&r, sections, count);
    mem_free(r.values);
    mem_free(r.sections);
    return fine;
}

/* --- the keys, to whoever knows them --- */

static bool unknown_key(const struct config_section *section, const struct config_value *value,
                        const char *const *keys, const struct settings_reader *reader,
                        char *problem)
{
    const char *why = reader->unknown ? reader->unknown(reader->data, value->key.at) : NULL;
    struct similar similar = { .to = value->key };
    char known[SETTINGS_PROBLEM_MAX / 2];
    size_t used = 0;

    if (why)
        return settings_problem(problem, value->file, value->line, SECTION_FMT ": %s",
                                SECTION_ARG(section), why);
    known[0] = '\0';
    for (size_t i = 0; keys[i] && used < sizeof(known); i++) {
        used +=
            (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", keys[i]);
        similar_try(&similar, keys[i]);
    }
    return settings_problem(
        problem, value->file, value->line,
        SECTION_FMT ": " STR_FMT " is not a key that is known here%s%s%s; those are %s",
        SECTION_ARG(section), STR_ARG(value->key), similar.meant ? " (did you mean " : "",
        similar.meant ? similar.meant : "", similar.meant ? "?)" : "", known);
}

bool settings_section_give(const struct config_section *section,
                           const struct settings_reader *reader, char problem[SETTINGS_PROBLEM_MAX])
{
    const struct config_value *given[SETTINGS_KEYS_MAX] = { NULL };
    const char *why = "there is no such section";
    const char *const *keys = reader->section(reader->data, section->name, &why);
    size_t which = 0;

    problem[0] = '\0';
    if (!keys)
        return settings_problem(problem, section->file, section->line, SECTION_FMT ": %s",
                                SECTION_ARG(section), why);
    for (size_t i = 0; i < section->count; i++) {
        const struct config_value *value = &section->values[i];
        for (which = 0; keys[which] && !settings_same_key(str_of(keys[which]), value->key);)
            which++;
        if (!keys[which] || which >= SETTINGS_KEYS_MAX)
            return unknown_key(section, value, keys, reader, problem);
        if (given[which])
            return settings_problem(problem, value->file, value->line,
                                    STR_FMT " is there twice in " SECTION_FMT
                                            ": take one of them out",
                                    STR_ARG(value->key), SECTION_ARG(section));
        given[which] = value;
        why = "it does not fit";
        if (!reader->key(reader->data, which, value, &why))
            return settings_problem(problem, value->file, value->line, STR_FMT ": %s",
                                    STR_ARG(value->key), why);
    }
    why = "it cannot be used";
    which = SETTINGS_KEYS_MAX;
    if (!reader->end || reader->end(reader->data, &which, &why))
        return true;
    const struct config_value *part = which < SETTINGS_KEYS_MAX ? given[which] : NULL;
    return settings_problem(problem, part ? part->file : section->file,
                            part ? part->line : section->line, SECTION_FMT ": %s",
                            SECTION_ARG(section), why);
}

/* --- a whole text --- */

bool settings_read(const char *file, struct str text, const struct settings_reader *reader,
                   char problem[SETTINGS_PROBLEM_MAX])
{
    const struct config_section *sections = NULL;
    struct arena arena;
    size_t count = 0;

    arena_init(&arena, SETTINGS_ARENA_MAX);
    bool fine = settings_parse(file, text, &arena, &sections, &count, problem);
    for (size_t i = 0; fine && i < count; i++)
        fine = settings_section_give(&sections[i], reader, problem);
    arena_finish(&arena);
    return fine;
}

char *settings_text(const char *file, FILE *stream, size_t *len, char problem[SETTINGS_PROBLEM_MAX])
{
    int error = errno;
    char *text = mem_alloc((size_t)SETTINGS_FILE_MAX + 1);

    *len = stream ? fread(text, 1, (size_t)SETTINGS_FILE_MAX + 1, stream) : 0;
    bool fine = stream && !ferror(stream);
    if (stream)
        error = errno;
    if (stream)
        fclose(stream);
    if (fine)
        return text;
    snprintf(problem, SETTINGS_PROBLEM_MAX, "%s: the file cannot be read: %s", file,
             strerror(error));
    mem_free(text);
    return NULL;
}

bool settings_read_file(const char *file, const struct settings_reader *reader,
                        char problem[SETTINGS_PROBLEM_MAX])
{
    size_t len;
    char *text = settings_text(file, fopen(file, "re"), &len, problem);
    bool fine = text && settings_read(file, str_n(text, len), reader, problem);

    mem_free(text);
    return fine;
}
