/*
 * json/fold: see fold.h.
 *
 * Holds always: the output is at most twice as long as what was read of the input. A character is
 * written in at most the bytes it was read from, with at most one space before it.
 */
#include "json/fold.h"

#include "json/utf8.h"

/* --- single characters --- */

/* Small Latin letters of U+00C0 to U+024F and U+1E00 to U+1EFF without their accents. */
static const char accented_c0[] =
    "aaaaaaaceeeeiiiidnooooo.ouuuuy.saaaaaaaceeeeiiiidnooooo.ouuuuytyaaaaaacc"
    "ccccccddddeeeeeeeeeegggggggghh.hiiiiiiiiiiiijjkkkllllllllllnnnnnn..noooo"
    "oooorrrrrrsssssssstttt..uuuuuuuuuuuuwwyyyzzzzzzs...............e..f....."
    "........oo.............uu...................dddlllnnnaaiioouuuuuuuuuu.aa"
    "aa....ggkkoooo..jdddgg..nnaa....aaaaeeeeiiiioooorrrruuuusstt..hh......aa"
    "eeooooooooyy............................";
static const char accented_1e00[] =
    "aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmmmmmmnnnn"
    "nnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvvwwwwwwwwwwxxxxyy"
    "zzzzzzhtwyas....aaaaaaaaaaaaaaaaaaaaaaaaeeeeeeeeeeeeeeeeiiiioooooooooooo"
    "oooooooooooouuuuuuuuuuuuuuyyyyyyyy......";

struct alike {
    uint32_t from;
    char to;
};

/* Styled letters: they are Latin whatever is around them. */
static const struct alike styled[] = {
    { 0x0251, 'a' }, { 0x0261, 'g' }, { 0x0262, 'g' }, { 0x026A, 'i' }, { 0x0274, 'n' },
    { 0x0280, 'r' }, { 0x028F, 'y' }, { 0x0299, 'b' }, { 0x029C, 'h' }, { 0x029F, 'l' },
    { 0x1D00, 'a' }, { 0x1D04, 'c' }, { 0x1D05, 'd' }, { 0x1D07, 'e' }, { 0x1D0A, 'j' },
    { 0x1D0B, 'k' }, { 0x1D0D, 'm' }, { 0x1D0F, 'o' }, { 0x1D18, 'p' }, { 0x1D1B, 't' },
    { 0x1D1C, 'u' }, { 0x1D20, 'v' }, { 0x1D21, 'w' }, { 0x1D22, 'z' }, { 0xA730, 'f' },
    { 0xA731, 's' },
};

/* Small letters of other scripts that look like Latin ones. */
static const struct alike lookalikes[] = {
    { 0x03B1, 'a' }, { 0x03B5, 'e' }, { 0x03B7, 'n' }, { 0x03B9, 'i' }, { 0x03BA, 'k' },
    { 0x03BD, 'v' }, { 0x03BF, 'o' }, { 0x03C1, 'p' }, { 0x03C2, 's' }, { 0x03C4, 't' },
    { 0x03C5, 'u' }, { 0x03C7, 'x' }, { 0x03C9, 'w' }, { 0x03F2, 'c' }, { 0x03F3, 'j' },
    { 0x0430, 'a' }, { 0x0432, 'b' }, { 0x0435, 'e' }, { 0x043A, 'k' }, { 0x043C, 'm' },
    { 0x043D, 'h' }, { 0x043E, 'o' }, { 0x0440, 'p' }, { 0x0441, 'c' }, { 0x0442, 't' },
    { 0x0443, 'y' }, { 0x0445, 'x' }, { 0x0455, 's' }, { 0x0456, 'i' }, { 0x0457, 'i' },
    { 0x0458, 'j' }, { 0x04BB, 'h' }, { 0x04CF, 'l' }, { 0x0501, 'd' }, { 0x051B, 'q' },
    { 0x051D, 'w' }, { 0x0585, 'o' }, { 0x057D, 'u' }, { 0x0578, 'n' }, { 0x0570, 'h' },
};

/* Capitals that look like another letter than their small form. */
static const struct alike capitals[] = {
    { 0x0392, 'b' }, { 0x0396, 'z' }, { 0x0397, 'h' }, { 0x039C, 'm' },
    { 0x039D, 'n' }, { 0x03A5, 'y' }, { 0x0413, 'r' }, { 0x041D, 'h' },
};

/* Letters that are written in several forms: Greek vowels with tonos; Cyrillic io and short i;
 * Arabic alef with madda, hamza above and below, alef maksura, Farsi yeh, keheh, heh goal. */
static const struct {
    uint16_t from, to;
} variants[] = {
    { 0x03AC, 0x03B1 }, { 0x03AD, 0x03B5 }, { 0x03AE, 0x03B7 }, { 0x03AF, 0x03B9 },
    { 0x03CC, 0x03BF }, { 0x03CD, 0x03C5 }, { 0x03CE, 0x03C9 }, { 0x0451, 0x0435 },
    { 0x0439, 0x0438 }, { 0x0622, 0x0627 }, { 0x0623, 0x0627 }, { 0x0625, 0x0627 },
    { 0x0649, 0x064A }, { 0x06CC, 0x064A }, { 0x06A9, 0x0643 }, { 0x06C1, 0x0647 },
};

static char alike(const struct alike *table, size_t count, uint32_t c)
{
    for (size_t i = 0; i < count; i++)
        if (table[i].from == c)
            return table[i].to;
    return 0;
}

#define ALIKE(table, c) alike(table, sizeof(table) / sizeof((table)[0]), c)

static bool between(uint32_t c, uint32_t low, uint32_t high)
{
    return c >= low && c <= high;
}

/* Shown as nothing, or only as a mark on the letter before: accents, vowel points, joiners. */
static bool is_invisible(uint32_t c)
{
    return c == 0x00AD || c == 0x034F || c == 0x061C || c == 0x0640 || c == 0x0670 || c == 0x093C ||
           c == 0x115F || c == 0x1160 || c == 0x180E || c == 0x3164 || c == 0xFEFF ||
           between(c, 0x0300, 0x036F) || between(c, 0x064B, 0x0652) || between(c, 0x17B4, 0x17B5) ||
           between(c, 0x1AB0, 0x1AFF) || between(c, 0x1DC0, 0x1DFF) || between(c, 0x200B, 0x200F) ||
           between(c, 0x202A, 0x202E) || between(c, 0x2060, 0x206F) || between(c, 0x20D0, 0x20FF) ||
           between(c, 0xFE00, 0xFE0F) || between(c, 0xFE20, 0xFE2F) || between(c, 0xE0000, 0xE0FFF);
}

/* Full-width, mathematical, circled and small-capital forms as ASCII, with their case. */
static uint32_t unstyled(uint32_t c)
{
    enum { STYLE_LETTERS = 52, STYLE_DIGITS = 10 };

    if (between(c, 0xFF01, 0xFF5E))
        return c - 0xFF01 + '!';
    if (between(c, 0x1D400, 0x1D6A3)) {
        uint32_t at = (c - 0x1D400) % STYLE_LETTERS;
        return at < 26 ? 'A' + at : 'a' + at - 26;
    }
    if (between(c, 0x1D7CE, 0x1D7FF))
        return '0' + (c - 0x1D7CE) % STYLE_DIGITS;
    if (between(c, 0x24B6, 0x24CF))
        return c - 0x24B6 + 'A';
    if (between(c, 0x24D0, 0x24E9))
        return c - 0x24D0 + 'a';
    if (between(c, 0x1F130, 0x1F149))
        return c - 0x1F130 + 'A';
    char plain = ALIKE(styled, c);
    return plain ? (uint32_t)plain : c;
}

static bool is_capital(uint32_t c)
{
    if (between(c, 0x0100, 0x0137) || between(c, 0x014A, 0x0177) || between(c, 0x1E00, 0x1EFF))
        return c % 2 == 0;
    if (between(c, 0x0139, 0x0148) || between(c, 0x0179, 0x017E))
        return c % 2 == 1;
    return between(c, 'A', 'Z') || (between(c, 0xC0, 0xDE) && c != 0xD7) ||
           between(c, 0x0391, 0x03A9) || between(c, 0x0400, 0x042F);
}

static uint32_t small(uint32_t c)
{
    if (between(c, 'A', 'Z') || between(c, 0x0391, 0x03A9) || between(c, 0x0410, 0x042F))
        return c + 0x20;
    if (between(c, 0x0400, 0x040F))
        return c + 0x50;
    return c == 0x04C0 ? 0x04CF : c;
}

/* Removes the accent, and maps letters that are written in several forms to one. */
static uint32_t bare(uint32_t c)
{
    char letter = '.';

    if (between(c, 0xC0, 0x24F))
        letter = accented_c0[c - 0xC0];
    else if (between(c, 0x1E00, 0x1EFF))
        letter = accented_1e00[c - 0x1E00];
    if (letter != '.')
        return (uint32_t)letter;
    for (size_t i = 0; c >= 0x0300 && i < sizeof(variants) / sizeof(variants[0]); i++)
        if (variants[i].from == c)
            return variants[i].to;
    return c;
}

static uint32_t letter_of_digit(uint32_t c)
{
    static const char from[] = "0134578@$!", to[] = "oieastbasi";
    const char *at = c > 0 && c < 0x80 ? strchr(from, (int)c) : NULL;

    return at ? (uint32_t)to[at - from] : c;
}

static bool is_digit(uint32_t c)
{
    return between(c, '0', '9');
}

/* Letters and digits of any script. Everything else separates words. */
static bool is_inside(uint32_t c)
{
    if (c < 0x80)
        return is_digit(c) || between(c | 0x20, 'a', 'z');
    return c >= 0xAA && c != 0xAB && c != 0xB7 && c != 0xBB && c != 0xBF && c != 0xD7 &&
           c != 0xF7 && c != 0x060C && c != 0x061B && c != 0x061F && c != 0x06D4 && c != 0x0964 &&
           c != 0x0965 && c != 0x30FB && !between(c, 0x2000, 0x206F) &&
           !between(c, 0x2190, 0x2BFF) && !between(c, 0x3000, 0x3020) &&
           !between(c, 0xFF01, 0xFF0F) && !between(c, 0xFF1A, 0xFF20) &&
           !between(c, 0x1F300, 0x1FAFF);
}

/* --- texts --- */

/* The next character. A byte that begins none stands for itself. */
static uint32_t next_char(struct str *s)
{
    unsigned char first = (unsigned char)s->at[0];
    size_t more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0;
    uint32_t c = first & (more == 3 ? 0x07u : more == 2 ? 0x0Fu : more == 1 ? 0x1Fu : 0xFFu);

    if (more >= s->len)
        more = 0;
    for (size_t i = 1; i <= more; i++)
        c = c << 6 | ((unsigned char)s->at[i] & 0x3Fu);
    *s = str_skip(*s, more + 1);
    return c;
}

static void put_space(struct folded *out)
{
    if (out->len == 0 || out->text[out->len - 1] != ' ')
        out->text[out->len++] = ' ';
}

static uint32_t peek_char(struct str s)
{
    while (s.len) {
        uint32_t c = next_char(&s);
        if (!is_invisible(c))
            return unstyled(c);
    }
    return ' ';
}

/* --- letters that are written in pieces --- */

enum {
    HANGUL_SYLLABLES = 0xAC00,
    HANGUL_LEADS = 0x1100,
    HANGUL_VOWELS = 0x1161,
    HANGUL_TAILS = 0x11A7,
    HANGUL_VOWEL_COUNT = 21,
    HANGUL_TAIL_COUNT = 28,
    KANA_VOICED = 0x3099,
    KANA_HALF_VOICED = 0x309A,
};

/* Half-width kana, U+FF66 to U+FF9D, as U+30xx. */
static const unsigned char half_width[] = {
    0xF2, 0xA1, 0xA3, 0xA5, 0xA7, 0xA9, 0xE3, 0xE5, 0xE7, 0xC3, 0xFC, 0xA2, 0xA4, 0xA6,
    0xA8, 0xAA, 0xAB, 0xAD, 0xAF, 0xB1, 0xB3, 0xB5, 0xB7, 0xB9, 0xBB, 0xBD, 0xBF, 0xC1,
    0xC4, 0xC6, 0xC8, 0xCA, 0xCB, 0xCC, 0xCD, 0xCE, 0xCF, 0xD2, 0xD5, 0xD8, 0xDB, 0xDE,
    0xDF, 0xE0, 0xE1, 0xE2, 0xE4, 0xE6, 0xE8, 0xE9, 0xEA, 0xEB, 0xEC, 0xED, 0xEF, 0xF3,
};

static uint32_t full_width(uint32_t c)
{
    if (between(c, 0xFF66, 0xFF9D))
        return 0x3000u + half_width[c - 0xFF66];
    if (c == 0xFF9E)
        return KANA_VOICED;
    return c == 0xFF9F ? KANA_HALF_VOICED : c;
}

/* What `c` and the following piece `next` are together; 0: they are two letters. */
static uint32_t composed(uint32_t c, uint32_t next)
{
    bool plain_kana = between(c, 0x30AB, 0x30C2) ? (c - 0x30AB) % 2 == 0
                                                 : between(c, 0x30C4, 0x30C8) && c % 2 == 0;

    if (between(c, HANGUL_LEADS, 0x1112) && between(next, HANGUL_VOWELS, 0x1175))
        return HANGUL_SYLLABLES +
               ((c - HANGUL_LEADS) * HANGUL_VOWEL_COUNT + next - HANGUL_VOWELS) * HANGUL_TAIL_COUNT;
    if (between(c, HANGUL_SYLLABLES, 0xD7A3) && (c - HANGUL_SYLLABLES) % HANGUL_TAIL_COUNT == 0 &&
        between(next, HANGUL_TAILS + 1, 0x11C2))
        return c + next - HANGUL_TAILS;
    if (next == KANA_VOICED && (plain_kana || (between(c, 0x30CF, 0x30DB) && c % 3 == 0)))
        return c + 1;
    if (next == KANA_HALF_VOICED && between(c, 0x30CF, 0x30DB) && c % 3 == 0)
        return c + 2;
    return 0;
}

/* The next letter with all its pieces. */
static uint32_t next_letter(struct str *s)
{
    uint32_t c = full_width(next_char(s));

    while (s->len) {
        struct str rest = *s;
        uint32_t whole = composed(c, full_width(next_char(&rest)));
        if (!whole)
            break;
        c = whole;
        *s = rest;
    }
    return c;
}

enum { LATIN_END = 0x250, HAN_BEGIN = 0x2E80 };

/* Between `was` and `is`: Latin and Chinese, aB, ABc before B, a1, 1a. */
static bool word_begins(uint32_t was, uint32_t is, uint32_t next)
{
    if (!is_inside(was))
        return true;
    if (is_digit(was) != is_digit(is))
        return true;
    if ((was < LATIN_END && is >= HAN_BEGIN) || (was >= HAN_BEGIN && is < LATIN_END))
        return true;
    if (!is_capital(is))
        return false;
    bool script_ends = (is < LATIN_END) != (next < LATIN_END); /* "CVV" before a Chinese word */
    return !is_capital(was) ||
           (is_inside(next) && !is_capital(next) && !is_digit(next) && !script_ends);
}

void fold(struct folded *out, struct str text, enum fold_how how)
{
    struct str rest = str_n(text.at, text.len < FOLD_TEXT_MAX ? text.len : FOLD_TEXT_MAX);
    uint32_t was = ' ';

    out->len = 0;
    put_space(out);
    while (rest.len) {
        size_t left = rest.len;
        uint32_t c = next_letter(&rest);
        if (is_invisible(c))
            continue;
        c = unstyled(c);
        if (how == FOLD_DIGITS && letter_of_digit(c) != c)
            c = letter_of_digit(c) - (is_capital(was) && is_capital(peek_char(rest)) ? 0x20 : 0);
        if (!is_inside(c)) {
            put_space(out);
            was = ' ';
            continue;
        }
        if (word_begins(was, c, peek_char(rest)))
            put_space(out);
        was = c;
        c = bare(small(c));
        char latin = how == FOLD_PLAIN ? 0 : ALIKE(capitals, was);
        if (!latin && how != FOLD_PLAIN)
            latin = ALIKE(lookalikes, c);
        if (left - rest.len == 1 && c >= 0x80) /* not UTF-8: it must not become longer */
            c = '?';
        out->len =
            (size_t)(utf8_put(out->text + out->len, latin ? (uint32_t)latin : c) - out->text);
    }
    put_space(out);
}

struct str folded_str(const struct folded *folded)
{
    return str_n(folded->text, folded->len);
}

void fold_dense(struct folded *out, const struct folded *in)
{
    out->len = 0;
    for (size_t i = 0; i < in->len; i++)
        if (in->text[i] != ' ')
            out->text[out->len++] = in->text[i];
}
