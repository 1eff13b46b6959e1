/*
 * json/parse: text into a tree, in one pass.
 *
 * There is no recursion and no stack: a container that is still open keeps a pointer to the one
 * around it in its `next`, which it does not need before it has a right neighbour. Strings without
 * escapes, and all numbers, are slices of the text; only strings with escapes are copied.
 *
 * The parser rarely checks for the end of the text. A whole array or object ends with its bracket,
 * and nothing but the end of a container goes past a bracket. So everything except strings,
 * numbers, words and white space finds a byte that stops it, and the end has to be checked only
 * after a closing bracket. A text that ends otherwise is malformed: it is read from a copy with a
 * NUL at its end, to say where.
 *
 * Holds always: time is linear in the text (including the search for duplicates, whatever the names
 * are). The tree is in the arena, one struct json for each value. The table that finds duplicates
 * in a large object is temporary heap memory, at most half of what the arena holds.
 *
 * It does not convert numbers, and checks nothing of them but their grammar.
 */
#include "base/map.h"
#include "base/mem.h"
#include "json/utf8.h"
#include "json/value.h"

/*
 * The position in the text is not in here: it is passed from function to function and back (NULL:
 * failed), so that it stays in a register.
 */
struct parser {
    const char *end;
    const char *begin;
    const char *closed; /* after the bracket that ends the text, but for white space */
    struct json *spare; /* room for values in the arena's newest block */
    struct json *spare_end;
    struct arena *arena;
    size_t lines; /* line ends so far, outside of strings */
    uint32_t depth;
    uint32_t max_depth;
    size_t values_left; /* how many there may still be, beside the spare ones */
    bool refuse_duplicates;
    struct json **table; /* scratch for duplicates, kept from object to object */
    size_t table_room;
    struct json_error error;
};

/* The first error stays. Always returns NULL, so that it can be returned. */
static const char *__attribute__((cold, noinline))
fail_with(struct parser *p, nod_status status, const char *at, const char *what)
{
    if (!p->error.what)
        p->error = (struct json_error){ status, (size_t)(at - p->begin), what };
    return NULL;
}

static const char *__attribute__((cold, noinline))
fail(struct parser *p, const char *at, const char *what)
{
    return fail_with(p, NOD_E_PARSE, at, what);
}

static const char *__attribute__((cold, noinline)) fail_memory(struct parser *p, const char *at)
{
    return fail_with(p, NOD_E_LIMIT, at,
                     p->values_left ? "the document needs more memory than is allowed for it"
                                    : "the document has more values than are allowed for it");
}

static const char *__attribute__((noinline)) skip_space_slow(struct parser *p, const char *at)
{
    for (; at < p->end; at++) {
        if (*at == '\n' || *at == '\r')
            p->lines++;
        else if (*at != ' ' && *at != '\t')
            break;
    }
    return at;
}

/* There is a byte at `at`, or the NUL of the copy. */
static inline const char *skip_space(struct parser *p, const char *at)
{
    return (unsigned char)*at <= ' ' ? skip_space_slow(p, at) : at;
}

/* The same if the text may end here. */
static inline const char *skip_space_outside(struct parser *p, const char *at)
{
    return at == p->end ? at : skip_space(p, at);
}

/* --- memory --- */

static void spare_return(struct parser *p)
{
    if (p->spare) {
        p->arena->next = (char *)p->spare;
        p->values_left += (size_t)(p->spare_end - p->spare);
    }
    p->spare = p->spare_end = NULL;
}

/* One value from a block that may be new, and as many spare ones as fit after it. */
static struct json *__attribute__((noinline)) spare_fill(struct parser *p)
{
    spare_return(p);
    struct json *v = p->values_left ? arena_alloc(p->arena, sizeof(*v)) : NULL;
    if (!v)
        return NULL;
    p->values_left--;
    p->spare = v + 1;
    if (p->arena->next == (char *)p->spare) {
        size_t fit = (size_t)(p->arena->end - p->arena->next) / sizeof(*v);
        if (fit > p->values_left)
            fit = p->values_left;
        p->spare_end = p->spare + fit;
        p->values_left -= fit;
    } else {
        p->spare = NULL;
    }
    return v;
}

/* Not zeroed. */
static inline struct json *value_new(struct parser *p)
{
    struct json *v = p->spare;

    if (v == p->spare_end)
        return spare_fill(p);
    p->spare = v + 1;
    ARENA_GIVE(v, sizeof(*v));
    return v;
}

/* --- strings --- */

static bool hex4(const char *at, const char *end, uint32_t *out)
{
    uint32_t n = 0;

    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return false;
        n = n * 16 + (uint32_t)digit;
    }
    *out = n;
    return true;
}

/* `at` is after "\u". A pair of surrogates is one code point; a lone one is an error. */
static const char *read_unicode_escape(struct parser *p, const char *at, const char *end, char **to)
{
    const char *escape = at - 2;
    uint32_t code;
    uint32_t low;

    if (!hex4(at, end, &code))
        return fail(p, escape, "expected four hexadecimal digits in an escape");
    at += 4;
    if (code >= 0xDC00 && code <= 0xDFFF)
        return fail(p, escape, "an escape of half a surrogate pair");
    if (code >= 0xD800 && code <= 0xDBFF) {
        if (end - at < 6 || at[0] != '\\' || at[1] != 'u' || !hex4(at + 2, end, &low) ||
            low < 0xDC00 || low > 0xDFFF)
            return fail(p, escape, "an escape of half a surrogate pair");
        at += 6;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    *to = utf8_put(*to, code);
    return at;
}

/* `at` is on the backslash. */
static const char *read_escape(struct parser *p, const char *at, const char *end, char **to)
{
    static const char meaning[128] = {
        ['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
        ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t',
    };
    unsigned char c = (unsigned char)at[1]; /* string_end has checked that it is there */

    if (c == 'u')
        return read_unicode_escape(p, at + 2, end, to);
    if (c >= sizeof(meaning) || !meaning[c])
        return fail(p, at, "not an escape that JSON knows");
    *(*to)++ = meaning[c];
    return at + 2;
}

/* Goes to the closing quote, or returns NULL. Everything but escapes is checked. */
static const char *string_end(struct parser *p, const char *at, bool *escaped)
{
    for (;; at = utf8_plain(at, p->end)) {
        if (at == p->end)
            return fail(p, at, "the text ends within a string");
        unsigned char c = (unsigned char)*at;
        if (c == '"')
            return at;
        if (c == '\\') {
            *escaped = true;
            if (p->end - at < 2)
                return fail(p, p->end, "the text ends within a string");
            at += 2;
            if ((unsigned char)at[-1] >= 0x80)
                return fail(p, at - 2, "not an escape that JSON knows");
        } else if (c < 0x20) {
            return fail(p, at, "a control character in a string must be escaped");
        } else {
            size_t len = utf8_sequence(at, p->end);
            if (!len)
                return fail(p, at, "a string that is not valid UTF-8");
            at += len;
        }
    }
}

static bool unescape(struct parser *p, struct str from, struct str *out)
{
    const char *at = from.at;
    const char *end = from.at + from.len;

    spare_return(p);
    char *begin = arena_alloc_aligned(p->arena, from.len, 1); /* never longer than its escapes */
    char *to = begin;
    if (!begin)
        return fail_memory(p, at);
    while (at < end) {
        if (*at == '\\') { /* escapes often follow each other */
            if (!(at = read_escape(p, at, end, &to)))
                return false;
            continue;
        }
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        size_t run = (size_t)((slash ? slash : end) - at);
        memcpy(to, at, run);
        to += run;
        at += run;
    }
    *out = str_n(begin, (size_t)(to - begin));
    return true;
}

/* A string that begins at `begin`, after its quote, and is not only plain bytes from `at` on. */
static const char *__attribute__((noinline))
read_odd_string(struct parser *p, const char *begin, const char *at, struct str *out, bool *plain)
{
    bool escaped = false;
    const char *end = string_end(p, at, &escaped);

    if (!end)
        return NULL;
    *out = str_n(begin, (size_t)(end - begin));
    *plain = !escaped;
    if (escaped && !unescape(p, *out, out))
        return NULL;
    return end + 1;
}

/* From the opening quote to after the closing one. */
static inline const char *read_string(struct parser *p, const char *at, struct str *out,
                                      bool *plain)
{
    const char *begin = at + 1;
    const char *end = utf8_plain(begin, p->end);

    if (end == p->end || *end != '"')
        return read_odd_string(p, begin, end, out, plain);
    *out = str_n(begin, (size_t)(end - begin));
    *plain = true;
    return end + 1;
}

/* --- other scalars --- */

static inline const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

static inline const char *read_number(struct parser *p, const char *begin, struct json *v)
{
    const char *end = p->end;
    const char *at = begin + (*begin == '-');
    const char *digits = at;

    at = skip_digits(at, end);
    if (at == digits)
        return fail(p, at, "expected a digit");
    if (*digits == '0' && at - digits > 1)
        return fail(p, digits, "a number must not begin with a zero");
    if (at < end && *at == '.') {
        digits = at + 1;
        at = skip_digits(digits, end);
        if (at == digits)
            return fail(p, at, "expected a digit after the decimal point");
    }
    if (at < end && (*at | 0x20) == 'e') {
        digits = at + 1;
        if (digits < end && (*digits == '+' || *digits == '-'))
            digits++;
        at = skip_digits(digits, end);
        if (at == digits)
            return fail(p, at, "expected a digit in the exponent");
    }
    v->type = JSON_NUMBER;
    v->text = str_n(begin, (size_t)(at - begin));
    return at;
}

static inline const char *read_word(struct parser *p, const char *at, struct str word)
{
    if ((size_t)(p->end - at) < word.len || memcmp(at, word.at, word.len) != 0)
        return fail(p, at, "expected a value");
    return at + word.len;
}

/* --- duplicates --- */

/* Up to this many members are compared with each other. Larger objects get a hash table. */
enum { PAIRWISE_MAX = 16 };

static bool fail_duplicate(struct parser *p, const struct json *member)
{
    return fail(p, member->raw.at, "a member whose name is in the object already");
}

/*
 * A cheap mark of a name: only names with the same mark have to be compared. An empty name is
 * followed by its quote in the text, so there is always a byte to look at.
 */
static inline uint64_t name_mark(struct str key)
{
    return UINT64_C(1) << (((size_t)(unsigned char)key.at[0] * 5 + key.len) & 63);
}

static bool check_few(struct parser *p, const struct json *object)
{
    uint64_t marks = 0;

    JSON_EACH (member, object) {
        uint64_t mark = name_mark(member->key);
        if (marks & mark)
            for (const struct json *other = object->first; other != member; other = other->next)
                if (str_eq(other->key, member->key))
                    return fail_duplicate(p, member);
        marks |= mark;
    }
    return true;
}

/* The hash is keyed, so nobody can choose names that collide. */
static bool check_many(struct parser *p, const struct json *object)
{
    size_t room = 4 * PAIRWISE_MAX;

    while (room < (size_t)object->count * 2)
        room *= 2;
    if (room > p->table_room) {
        p->table = mem_realloc(p->table, room * sizeof(struct json *));
        p->table_room = room;
    }
    memset(p->table, 0, room * sizeof(struct json *));

    for (struct json *member = object->first; member; member = member->next) {
        size_t i = map_hash(member->key) & (room - 1);
        for (; p->table[i]; i = (i + 1) & (room - 1))
            if (str_eq(p->table[i]->key, member->key))
                return fail_duplicate(p, member);
        p->table[i] = member;
    }
    return true;
}

static inline bool check_names(struct parser *p, const struct json *object)
{
    if (!p->refuse_duplicates || object->type != JSON_OBJECT || object->count < 2)
        return true;
    return object->count <= PAIRWISE_MAX ? check_few(p, object) : check_many(p, object);
}

/* --- containers --- */

/* The innermost open container, the last of its children, and their number. */
struct nest {
    struct json *open;
    struct json *left;
    uint32_t count;
    char bracket; /* the bracket that closes it */
};

static const char *__attribute__((cold, noinline))
fail_behind(struct parser *p, const char *at, const struct json *open)
{
    if (open->type == JSON_OBJECT)
        return fail(p, at,
                    at == p->end ? "the text ends within an object"
                                 : "expected a comma or a closing brace");
    return fail(p, at,
                at == p->end ? "the text ends within an array"
                             : "expected a comma or a closing bracket");
}

static inline char bracket_of(const struct json *container)
{
    return container->type == JSON_OBJECT ? '}' : ']';
}

/* Sets everything that reading a value does not set in any case. */
static inline void value_clear(struct json *v)
{
    v->type = JSON_NULL;
    v->truth = v->lines = v->plain = false;
    v->count = 0;
    v->next = NULL;
}

/*
 * Until it is closed, `next` is the container around it and raw.len the line ends before it. What
 * is known of its children is stored in its own fields when it is closed, or while one of them is
 * open.
 */
static inline const char *container_open(struct parser *p, const char *at, struct json *v,
                                         struct nest *nest)
{
    if (p->depth == p->max_depth)
        return fail_with(p, NOD_E_LIMIT, at, "the document is nested too deeply");
    p->depth++;
    v->type = *at == '{' ? JSON_OBJECT : JSON_ARRAY;
    v->first = v->last = NULL;
    v->next = nest->open;
    v->raw = str_n(at, p->lines);
    if (nest->open)
        nest->open->count = nest->count;
    *nest = (struct nest){ .open = v, .bracket = bracket_of(v) };
    if ((unsigned char)*++at > ' ')
        return at;
    at = skip_space_slow(p, at);
    return at < p->end ? at : fail_behind(p, at, v);
}

static inline const char *container_close(struct parser *p, const char *at, struct nest *nest)
{
    struct json *v = nest->open;
    struct json *around = v->next;

    at++;
    p->depth--;
    v->last = nest->left;
    v->count = nest->count;
    v->lines = v->raw.len != p->lines;
    v->raw.len = (size_t)(at - v->raw.at);
    v->next = NULL;
    nest->open = around;
    nest->left = v;
    if (around) {
        nest->count = around->count;
        nest->bracket = bracket_of(around);
    }
    return check_names(p, v) ? at : NULL;
}

/* Most texts have no white space, so the expected byte is tried first. */
static inline const char *read_key(struct parser *p, const char *at, struct json *v)
{
    if (*at != '"') {
        at = skip_space(p, at);
        if (*at != '"')
            return fail(p, at, "expected a member name in double quotes");
    }
    at = read_string(p, at, &v->key, &v->plain);
    if (!at)
        return NULL;
    if (*at != ':') {
        at = skip_space(p, at);
        if (*at != ':')
            return fail(p, at, "expected a colon after the member name");
    }
    return at + 1;
}

/* Numbers and words, and what is neither. */
static const char *read_word_or_number(struct parser *p, const char *at, struct json *v)
{
    switch (*at) {
    case 't':
        v->type = JSON_BOOL;
        v->truth = true;
        return read_word(p, at, STR("true"));
    case 'f':
        v->type = JSON_BOOL;
        return read_word(p, at, STR("false"));
    case 'n':
        return read_word(p, at, STR("null"));
    case '-':
    case '0' ... '9':
        return read_number(p, at, v);
    default:
        return fail(p, at, "expected a value");
    }
}

/* Reads a scalar whole. */
static inline const char *read_scalar(struct parser *p, const char *at, struct json *v)
{
    const char *end;
    bool plain;

    if (*at == '"') {
        v->type = JSON_STRING;
        end = read_string(p, at, &v->text, &plain);
    } else {
        v->text = STR_NONE;
        end = read_word_or_number(p, at, v);
    }
    if (end)
        v->raw = str_n(at, (size_t)(end - at));
    return end;
}

static const char *__attribute__((cold, noinline)) fail_follows(struct parser *p, const char *at)
{
    return fail(p, at, "expected nothing after the value");
}

/* What follows a value: closes what is closed here, up to where the next value begins. */
static inline const char *read_behind(struct parser *p, const char *at, struct nest *nest)
{
    for (;;) {
        if (*at != ',' && *at != nest->bracket)
            at = skip_space(p, at);
        if (*at == ',')
            return at + 1;
        if (*at != nest->bracket)
            return fail_behind(p, at, nest->open);
        at = container_close(p, at, nest);
        if (!at || !nest->open)
            return at;
        if (at == p->closed)
            return fail_behind(p, p->end, nest->open);
    }
}

/* A value in the open container, with its key. *at moves to where the value begins. */
static inline struct json *item_begin(struct parser *p, const char **at, struct nest *nest)
{
    struct json *v = value_new(p);

    if (!v) {
        fail_memory(p, *at);
        return NULL;
    }
    value_clear(v);
    if (nest->left)
        nest->left->next = v;
    else
        nest->open->first = v;
    nest->left = v;
    nest->count++;
    if (nest->bracket != '}')
        v->key = STR_NONE;
    else if (!(*at = read_key(p, *at, v)))
        return NULL;
    *at = skip_space(p, *at);
    return v;
}

/* A whole container. `at` is on its bracket. */
static const char *read_container(struct parser *p, const char *at, struct json *root)
{
    struct nest nest = { 0 };

    at = container_open(p, at, root, &nest);
    if (at && *at == nest.bracket)
        return container_close(p, at, &nest);
    while (at) {
        struct json *v = item_begin(p, &at, &nest);
        if (!v)
            return NULL;
        if (*at != '{' && *at != '[') {
            at = read_scalar(p, at, v);
        } else {
            at = container_open(p, at, v, &nest);
            if (at && *at != nest.bracket)
                continue; /* nothing precedes its first child */
        }
        if (at)
            at = read_behind(p, at, &nest);
        if (!nest.open)
            break;
    }
    return at;
}

/* Only finds the error, whose position in the copy is the same as in the text. */
static const char *__attribute__((cold, noinline))
read_broken(struct parser *p, const char *at, struct json *root)
{
    size_t len = (size_t)(p->end - p->begin);
    size_t from = (size_t)(at - p->begin);
    char *copy = mem_alloc(len + 1);

    memcpy(copy, p->begin, len);
    copy[len] = '\0';
    p->begin = copy;
    p->end = copy + len;
    p->closed = NULL;
    at = read_container(p, copy + from, root);
    if (at)
        fail_follows(p, skip_space_slow(p, at));
    mem_free(copy);
    return NULL;
}

static const char *read_root(struct parser *p, const char *at, struct json *root)
{
    if (at == p->end)
        return fail(p, at, "expected a value");
    if (*at != '{' && *at != '[')
        return read_scalar(p, at, root);
    p->closed = p->end;
    while (p->closed[-1] == ' ' || p->closed[-1] == '\t' || p->closed[-1] == '\n' ||
           p->closed[-1] == '\r')
        p->closed--;
    if (p->closed[-1] == '}' || p->closed[-1] == ']')
        return read_container(p, at, root);
    return read_broken(p, at, root);
}

static struct json *read_document(struct parser *p)
{
    const char *at = p->begin;

    if (p->end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0) {
        fail(p, at, "the text begins with a byte order mark");
        return NULL;
    }
    struct json *root = value_new(p);
    if (!root) {
        fail_memory(p, at);
        return NULL;
    }
    value_clear(root);
    root->key = STR_NONE;
    at = read_root(p, skip_space_outside(p, at), root);
    if (!at)
        return NULL;
    at = skip_space_outside(p, at);
    if (at < p->end) {
        fail_follows(p, at);
        return NULL;
    }
    return root;
}

static uint32_t depth_of(const struct json_opts *opts)
{
    uint32_t wanted = opts && opts->max_depth ? opts->max_depth : JSON_DEPTH_DEFAULT;

    return wanted < JSON_DEPTH_MAX ? wanted : JSON_DEPTH_MAX;
}

/* Most tools are called without arguments, so "{}" is read again and again. */
static struct json *read_nothing(struct arena *arena, struct str text)
{
    if (text.len != 2 || text.at[0] != '{' || text.at[1] != '}')
        return NULL;
    struct json *v = arena_alloc(arena, sizeof(*v));
    if (v)
        *v = (struct json){ .type = JSON_OBJECT, .raw = text };
    return v;
}

static struct json *parse_text(struct arena *arena, struct str text, const struct json_opts *opts,
                               struct json_error *error)
{
    if (text.len == 0)
        text = STR("");

    struct parser p = {
        .begin = text.at,
        .end = text.at + text.len,
        .arena = arena,
        .max_depth = depth_of(opts),
        .values_left = opts && opts->max_values ? opts->max_values : SIZE_MAX,
        .refuse_duplicates = opts && opts->refuse_duplicates,
    };
    struct json *root = NULL;

    if (text.len > UINT32_MAX) /* children are counted in 32 bits */
        fail_with(&p, NOD_E_LIMIT, p.begin, "the text is larger than 4 GiB");
    else
        root = read_document(&p);
    spare_return(&p);
    mem_free(p.table);
    if (error)
        *error = p.error;
    return root;
}

struct json *json_parse(struct arena *arena, struct str text, const struct json_opts *opts,
                        struct json_error *error)
{
    struct json *nothing = read_nothing(arena, text);

    if (!nothing)
        return parse_text(arena, text, opts, error);
    if (error)
        *error = (struct json_error){ 0 };
    return nothing;
}
