/*
 * json/unseen: see unseen.h.
 */
#include "json/unseen.h"

#include <stddef.h>

#include "json/piles.h"

enum { WIDE_SPACE = 0x3000 };

bool unseen(uint32_t code)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {
        { 0x00, 0x1f },       /* control characters */
        { 0x7f, 0xa0 },       /* more of them, and the space that is wider than it seems */
        { 0xad, 0xad },       /* soft hyphen */
        { 0x34f, 0x34f },     /* grapheme joiner */
        { 0x61c, 0x61c },     /* direction, Arabic */
        { 0x115f, 0x1160 },   /* fillers, Hangul */
        { 0x1680, 0x1680 },   /* a space, Ogham */
        { 0x17b4, 0x17b5 },   /* vowels that are not drawn, Khmer */
        { 0x180b, 0x180f },   /* separators and selectors, Mongolian */
        { 0x2000, 0x200f },   /* spaces of many widths and of none, joiners, directions */
        { 0x2028, 0x202f },   /* line ends, directions, a narrow space */
        { 0x205f, 0x206f },   /* a mathematical space, operators, directions */
        { 0x2800, 0x2800 },   /* Braille without a dot */
        { 0x3164, 0x3164 },   /* filler, Hangul */
        { 0xd800, 0xdfff },   /* halves of a character */
        { 0xfe00, 0xfe0f },   /* variation selectors */
        { 0xfeff, 0xfeff },   /* byte order mark */
        { 0xffa0, 0xffa0 },   /* filler, Hangul */
        { 0xfff0, 0xfffc },   /* annotations, and what stands for an object */
        { 0x13430, 0x1343f }, /* joins of hieroglyphs */
        { 0x13441, 0x13442 }, /* blanks among them */
        { 0x16fe4, 0x16fe4 }, /* filler, Khitan */
        { 0x1bca0, 0x1bca3 }, /* shorthand format */
        { 0x1d159, 0x1d159 }, /* a note without a head, music */
        { 0x1d173, 0x1d17a }, /* beams and slurs, music */
        { 0xe0000, 0xe0fff }, /* tags, and more selectors */
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code >= ranges[i].from && code <= ranges[i].to)
            return true;
    return false;
}

/* Roughly: arrows, signs and emoji. */
static bool is_picture(uint32_t code)
{
    return !unseen(code) && ((code >= 0x2190 && code <= 0x2bff) || code >= 0x1f000);
}

/* Right behind a picture: one that chooses how it is drawn, then one that joins it to the next.
 * Anywhere else they are unseen. */
static bool is_part(struct unseen_place *place, uint32_t code)
{
    bool selects = code == 0xfe0e || code == 0xfe0f, joins = code == 0x200d;
    bool part = (selects || joins) && place->picture > (selects ? 1 : 0);

    place->picture = is_picture(code) ? 2 : selects && part ? 1 : 0;
    return part;
}

/* Chinese, Japanese and Korean, whose characters are as wide as that space. */
static bool is_wide(uint32_t code)
{
    return !unseen(code) &&
           ((code > WIDE_SPACE && code < 0xa000) || (code >= 0xac00 && code < 0xd7a4) ||
            (code >= 0xf900 && code < 0xfb00) || (code > 0xff00 && code < 0xffa0) ||
            (code >= 0x20000 && code < 0x40000));
}

bool unseen_blank(uint32_t before, uint32_t code)
{
    return code == WIDE_SPACE && !is_wide(before);
}

bool unseen_here(struct unseen_place *place, uint32_t code)
{
    if (code >= 0x20 && code < 0x7f) { /* most of what is shown, and never a mark */
        *place = (struct unseen_place){ .before = code };
        return false;
    }
    bool part = is_part(place, code);
    bool blank = unseen_blank(place->before, code);

    place->before = code;
    place->pile = code >= 0x300 && piles(code) ? place->pile + 1 : 0;
    return place->pile > PILES_MAX || blank || (unseen(code) && !part);
}

const char *unseen_name(uint32_t code)
{
    static const char names[][4] = { "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL",
                                     "BS",  "TAB", "LF",  "VT",  "FF",  "CR",  "SO",  "SI",
                                     "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB",
                                     "CAN", "EM",  "SUB", "ESC", "FS",  "GS",  "RS",  "US" };

    return code < sizeof(names) / sizeof(names[0]) ? names[code] : NULL;
}
