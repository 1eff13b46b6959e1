/*
 * json/schema_pattern: ECMA-262 expressions on PCRE2, with a bound on every match.
 *
 * JSON Schema's patterns are ECMA-262 in Unicode mode. Most of it means the same to PCRE2. The rest
 * is rewritten before compiling (\s, \v, [ in a class, surrogate pairs, long property names) or
 * refused (escapes and groups that only Perl knows), so that no pattern silently means something
 * else here.
 *
 * PCRE2's own match limit starts again at every position of the subject. So patterns are compiled
 * with automatic callouts, and one count over the whole match ends it: PATTERN_STEPS_MOST, or what
 * is left of the check's work. PCRE2 itself limits the heap that backtracking takes. The
 * interpreter is used, never the JIT, since callouts and limits are exact there.
 *
 * A compiled pattern is constant and may be used by several threads; the matcher belongs to one
 * check.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/schema_inside.h"

enum {
    PATTERN_TEXT_MOST = 8 * 1024, /* bytes of a regular expression */
    PATTERN_PARENS_MOST = 100,    /* nested groups of a regular expression */
    PATTERN_HEAP_KIB = 8 * 1024,
    PATTERN_DEPTH_MOST = 50000,           /* depth of backtracking of one match */
    PATTERN_STEPS_MOST = 2 * 1000 * 1000, /* steps of one match; past it the match ends */
    PATTERN_BYTES_A_STEP = 512,           /* bytes that a step may look at for one unit of work */
};

/* ECMA-262's white space and line terminators, and everything else, as members of a class. */
#define SPACE_RANGES                                                                               \
    "\\t-\\r \\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{2028}\\u{2029}\\u{202f}\\u{205f}\\u{3000}"     \
    "\\u{feff}"
#define NOT_SPACE_RANGES                                                                           \
    "\\x00-\\x08\\x0e-\\x1f!-\\u{9f}\\u{a1}-\\u{167f}\\u{1681}-\\u{1fff}\\u{200b}-\\u{2027}"       \
    "\\u{202a}-\\u{202e}\\u{2030}-\\u{205e}\\u{2060}-\\u{2fff}\\u{3001}-\\u{d7ff}"                 \
    "\\u{e000}-\\u{fefe}\\u{ff00}-\\u{10ffff}"

struct property {
    struct str name;
    const char *known_as;
};

/* General categories by the long names that PCRE2 does not know. */
static const struct property properties[] = {
    { STR_INIT("Letter"), "L" },
    { STR_INIT("Cased_Letter"), "L&" },
    { STR_INIT("LC"), "L&" },
    { STR_INIT("Uppercase_Letter"), "Lu" },
    { STR_INIT("Lowercase_Letter"), "Ll" },
    { STR_INIT("Titlecase_Letter"), "Lt" },
    { STR_INIT("Modifier_Letter"), "Lm" },
    { STR_INIT("Other_Letter"), "Lo" },
    { STR_INIT("Mark"), "M" },
    { STR_INIT("Combining_Mark"), "M" },
    { STR_INIT("Nonspacing_Mark"), "Mn" },
    { STR_INIT("Spacing_Mark"), "Mc" },
    { STR_INIT("Enclosing_Mark"), "Me" },
    { STR_INIT("Number"), "N" },
    { STR_INIT("Decimal_Number"), "Nd" },
    { STR_INIT("digit"), "Nd" },
    { STR_INIT("Letter_Number"), "Nl" },
    { STR_INIT("Other_Number"), "No" },
    { STR_INIT("Punctuation"), "P" },
    { STR_INIT("punct"), "P" },
    { STR_INIT("Connector_Punctuation"), "Pc" },
    { STR_INIT("Dash_Punctuation"), "Pd" },
    { STR_INIT("Open_Punctuation"), "Ps" },
    { STR_INIT("Close_Punctuation"), "Pe" },
    { STR_INIT("Initial_Punctuation"), "Pi" },
    { STR_INIT("Final_Punctuation"), "Pf" },
    { STR_INIT("Other_Punctuation"), "Po" },
    { STR_INIT("Symbol"), "S" },
    { STR_INIT("Math_Symbol"), "Sm" },
    { STR_INIT("Currency_Symbol"), "Sc" },
    { STR_INIT("Modifier_Symbol"), "Sk" },
    { STR_INIT("Other_Symbol"), "So" },
    { STR_INIT("Separator"), "Z" },
    { STR_INIT("Space_Separator"), "Zs" },
    { STR_INIT("Line_Separator"), "Zl" },
    { STR_INIT("Paragraph_Separator"), "Zp" },
    { STR_INIT("Other"), "C" },
    { STR_INIT("Control"), "Cc" },
    { STR_INIT("cntrl"), "Cc" },
    { STR_INIT("Format"), "Cf" },
    { STR_INIT("Surrogate"), "Cs" },
    { STR_INIT("Private_Use"), "Co" },
    { STR_INIT("Unassigned"), "Cn" },
};

struct pattern {
    pcre2_code *code;
    size_t bytes;
};

struct pattern_matcher {
    pcre2_match_context *context;
    pcre2_match_data *data;
    uint64_t steps_left;
    uint64_t step_cost;
};

/* --- from ECMA-262 to PCRE2 --- */

struct translation {
    struct str in;
    size_t at;
    struct buf out;
    bool in_class;
    bool after_quantifier; /* nothing but a single ? may follow */
    bool can_repeat;       /* a quantifier may follow */
    const char *why;
};

static char peek(const struct translation *t, size_t ahead)
{
    return t->at + ahead < t->in.len ? t->in.at[t->at + ahead] : '\0';
}

static bool refuse(struct translation *t, const char *why)
{
    t->why = why;
    return false;
}

static bool copy(struct translation *t, size_t n)
{
    bool fits = buf_add(&t->out, str_n(t->in.at + t->at, n));

    t->at += n;
    return fits || refuse(t, "is too long");
}

static bool put(struct translation *t, const char *text, size_t skip)
{
    t->at += skip;
    return buf_add(&t->out, str_of(text)) || refuse(t, "is too long");
}

/* The four digits of \uXXXX that begins `ahead` bytes from here, or -1. */
static int32_t unit_at(const struct translation *t, size_t ahead)
{
    int32_t unit = 0;

    if (peek(t, ahead) != '\\' || peek(t, ahead + 1) != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        int digit = hex_digit(peek(t, ahead + i));
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool translate_unicode(struct translation *t)
{
    if (peek(t, 2) == '{') {
        size_t n = 3;
        while (hex_digit(peek(t, n)) >= 0)
            n++;
        if (n == 3 || peek(t, n) != '}')
            return refuse(t, "has a \\u{ without hexadecimal digits and a closing brace");
        return copy(t, n + 1);
    }
    int32_t high = unit_at(t, 0);
    if (high < 0)
        return refuse(t, "has a \\u without four hexadecimal digits");
    int32_t low = high >= 0xd800 && high < 0xdc00 ? unit_at(t, 6) : -1;
    if (low >= 0xdc00 && low < 0xe000) {
        int32_t point = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        t->at += 12;
        return buf_fmt(&t->out, "\\u{%x}", (unsigned)point) || refuse(t, "is too long");
    }
    return copy(t, 6);
}

/* \p{...}: "gc=" off, and long names of categories made short. */
static bool translate_property(struct translation *t)
{
    static const struct str prefixes[] = { STR_INIT("General_Category="), STR_INIT("gc=") };
    struct str rest = str_skip(t->in, t->at + 2);
    struct str name;
    struct str after;

    if (rest.len == 0 || rest.at[0] != '{' || !str_cut(str_skip(rest, 1), '}', &name, &after))
        return refuse(t, "has a \\p without a name in braces");
    size_t whole = name.len + 4;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (str_starts(name, prefixes[i]))
            name = str_skip(name, prefixes[i].len);
    for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
        if (str_eq(name, properties[i].name))
            name = str_of(properties[i].known_as);
    bool fits = buf_fmt(&t->out, "\\%c{" STR_FMT "}", peek(t, 1), STR_ARG(name));
    t->at += whole;
    return fits || refuse(t, "is too long");
}

static bool is_letter(char c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

static bool translate_escape(struct translation *t)
{
    char c = peek(t, 1);

    switch (c) {
    case '\0':
        return refuse(t, "ends in a backslash");
    case 's':
        return put(t, t->in_class ? SPACE_RANGES : "[" SPACE_RANGES "]", 2);
    case 'S':
        return put(t, t->in_class ? NOT_SPACE_RANGES : "[^" SPACE_RANGES "]", 2);
    case 'v':
        return put(t, "\\x0b", 2);
    case 'p':
    case 'P':
        return translate_property(t);
    case 'u':
        return translate_unicode(t);
    case 'x':
        if (hex_digit(peek(t, 2)) < 0 || hex_digit(peek(t, 3)) < 0)
            return refuse(t, "has a \\x without two hexadecimal digits");
        return copy(t, 4);
    case 'c':
        if (!is_letter(peek(t, 2)) || peek(t, 2) == '_')
            return refuse(t, "has a \\c without a letter");
        return copy(t, 3);
    case '0':
        if (peek(t, 2) >= '0' && peek(t, 2) <= '9')
            return refuse(t, "has an octal escape, which ECMA-262 does not know");
        return put(t, "\\x00", 2);
    case 'b':
        return copy(t, 2);
    case 'B':
    case 'k':
        if (t->in_class)
            return refuse(t, "has an escape in a class that is not allowed there");
        return copy(t, 2);
    case 'd':
    case 'D':
    case 'w':
    case 'W':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return copy(t, 2);
    default:
        break;
    }
    if (c >= '1' && c <= '9')
        return t->in_class ? refuse(t, "has a back reference in a class") : copy(t, 2);
    if (is_letter(c) || (unsigned char)c >= 0x80)
        return refuse(t, "has an escape that ECMA-262 does not know");
    return copy(t, 2);
}

/* The group openings that both languages know, with the same meaning. */
static bool translate_group(struct translation *t)
{
    t->can_repeat = false;
    if (peek(t, 1) != '?')
        return copy(t, 1);
    switch (peek(t, 2)) {
    case ':':
    case '=':
    case '!':
        return copy(t, 3);
    case '<':
        if (peek(t, 3) == '=' || peek(t, 3) == '!' || is_letter(peek(t, 3)))
            return copy(t, 4);
        break;
    default:
        break;
    }
    return refuse(t, "has a group that ECMA-262 does not know");
}

/* The length of {n}, {n,} or {n,m} here. 0: the brace is an ordinary character. */
static size_t braces_len(const struct translation *t)
{
    size_t n = 1;

    while (peek(t, n) >= '0' && peek(t, n) <= '9')
        n++;
    if (n == 1)
        return 0;
    if (peek(t, n) == ',')
        n++;
    while (peek(t, n) >= '0' && peek(t, n) <= '9')
        n++;
    return peek(t, n) == '}' ? n + 1 : 0;
}

static bool translate_in_class(struct translation *t)
{
    switch (peek(t, 0)) {
    case '\\':
        return translate_escape(t);
    case '[': /* PCRE2 could take it for the start of [:alpha:] */
        return put(t, "\\[", 1);
    case ']':
        t->in_class = false;
        t->can_repeat = true;
        return copy(t, 1);
    default:
        return copy(t, 1);
    }
}

static bool translate_next(struct translation *t)
{
    char c = peek(t, 0);
    size_t braces = c == '{' ? braces_len(t) : 0;

    if (t->in_class)
        return translate_in_class(t);
    if (c == '*' || c == '+' || c == '?' || braces) {
        if (!t->can_repeat || t->after_quantifier)
            return refuse(t, "has nothing to repeat before a quantifier");
        if (!copy(t, braces ? braces : 1))
            return false;
        if (peek(t, 0) == '?' && !copy(t, 1))
            return false;
        t->after_quantifier = true;
        return true;
    }
    t->after_quantifier = false;
    t->can_repeat = true;
    switch (c) {
    case '\\':
        return translate_escape(t);
    case '(':
        return translate_group(t);
    case '[':
        t->in_class = true;
        return copy(t, peek(t, 1) == '^' ? 2 : 1);
    case '|':
    case '^':
    case '$':
        t->can_repeat = false;
        return copy(t, 1);
    default:
        return copy(t, 1);
    }
}

/* --- compiling --- */

enum {
    COMPILE_OPTIONS = PCRE2_UTF | PCRE2_ALT_BSUX | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS |
                      PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT,
};

static struct str compile_error_text(int code, struct arena *arena)
{
    PCRE2_UCHAR text[256];
    int len = pcre2_get_error_message(code, text, sizeof(text));

    return arena_fmt(arena, "is not a regular expression: %.*s", len > 0 ? len : 0,
                     (const char *)text);
}

static pcre2_code *code_of(struct str text, struct arena *arena, struct str *why)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_code *code = NULL;
    int error = PCRE2_ERROR_NOMEMORY;
    PCRE2_SIZE offset;

    if (context) {
        pcre2_set_compile_extra_options(context, PCRE2_EXTRA_ALT_BSUX);
        pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
        pcre2_set_parens_nest_limit(context, PATTERN_PARENS_MOST);
        code = pcre2_compile((PCRE2_SPTR)(text.len ? text.at : ""), text.len, COMPILE_OPTIONS,
                             &error, &offset, context);
        pcre2_compile_context_free(context);
    }
    if (!code)
        *why = compile_error_text(error, arena);
    return code;
}

struct pattern *pattern_compile(struct str text, struct arena *arena, struct str *why)
{
    struct translation t = { .in = text };
    struct pattern *pattern = NULL;
    pcre2_code *code = NULL;

    if (text.len > PATTERN_TEXT_MOST) {
        *why = arena_fmt(arena, "is longer than %d bytes", PATTERN_TEXT_MOST);
        return NULL;
    }
    buf_init(&t.out, 16 * PATTERN_TEXT_MOST);
    bool fine = true;
    while (fine && t.at < t.in.len)
        fine = translate_next(&t);
    if (!fine)
        *why = arena_fmt(arena, "is not a regular expression: it %s", t.why);
    else
        code = code_of(buf_str(&t.out), arena, why);
    buf_finish(&t.out);
    if (code) {
        pattern = MEM_NEW(struct pattern);
        pattern->code = code;
        pcre2_pattern_info(code, PCRE2_INFO_SIZE, &pattern->bytes);
    }
    return pattern;
}

void pattern_destroy(struct pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    mem_free(pattern);
}

size_t pattern_bytes(const struct pattern *pattern)
{
    return pattern->bytes + sizeof(*pattern);
}

/* --- matching --- */

static int count_step(pcre2_callout_block *block, void *data)
{
    struct pattern_matcher *matcher = data;

    (void)block;
    if (matcher->steps_left < matcher->step_cost) {
        matcher->steps_left = 0;
        return PCRE2_ERROR_MATCHLIMIT;
    }
    matcher->steps_left -= matcher->step_cost;
    return 0;
}

static struct pattern_matcher *matcher_create(void)
{
    struct pattern_matcher *matcher = MEM_NEW(struct pattern_matcher);

    matcher->context = pcre2_match_context_create(NULL);
    matcher->data = pcre2_match_data_create(1, NULL);
    if (matcher->context) {
        pcre2_set_callout(matcher->context, count_step, matcher);
        pcre2_set_heap_limit(matcher->context, PATTERN_HEAP_KIB);
        pcre2_set_depth_limit(matcher->context, PATTERN_DEPTH_MOST);
        pcre2_set_match_limit(matcher->context, PATTERN_STEPS_MOST);
    }
    return matcher;
}

void pattern_matcher_destroy(struct pattern_matcher *matcher)
{
    if (!matcher)
        return;
    pcre2_match_data_free(matcher->data);
    pcre2_match_context_free(matcher->context);
    mem_free(matcher);
}

enum pattern_result pattern_match(const struct pattern *pattern, struct pattern_matcher **matcher,
                                  struct str subject, uint64_t *work)
{
    struct pattern_matcher *m = *matcher ? *matcher : (*matcher = matcher_create());
    uint64_t budget = *work < PATTERN_STEPS_MOST ? *work : PATTERN_STEPS_MOST;

    if (!m->context || !m->data)
        return PATTERN_LIMIT;
    m->steps_left = budget;
    m->step_cost = 1 + subject.len / PATTERN_BYTES_A_STEP;
    int rc = pcre2_match(pattern->code, (PCRE2_SPTR)(subject.len ? subject.at : ""), subject.len, 0,
                         0, m->data, m->context);
    *work -= budget - m->steps_left;
    if (rc >= 0)
        return PATTERN_YES;
    return rc == PCRE2_ERROR_NOMATCH ? PATTERN_NO : PATTERN_LIMIT;
}
