/*
 * cli/terminal_safe: see terminal_safe.h.
 */
#include "cli/terminal_safe.h"

#include <langinfo.h>
#include <locale.h>
#include <wchar.h>

#include "json/piles.h"
#include "json/unseen.h"
#include "json/utf8.h"

enum {
    SAFE_MARK_MAX = 16, /* bytes of a mark */
    SAFE_DOTS = 3,      /* columns of what stands for the rest of a line */
};

static bool is_utf8_terminal;

void safe_setup(void)
{
    setlocale(LC_CTYPE, "");
    is_utf8_terminal = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* One character, or a byte that is none. */
struct piece {
    size_t len;
    uint32_t code;
    bool broken;
    bool piled; /* on as many others that take no column as one character has at most */
    bool blank; /* a space that is not seen where it stands */
};

static struct piece piece_at(const char *at, const char *end, uint32_t *before)
{
    size_t len = (unsigned char)*at < 0x80 ? 1 : utf8_sequence(at, end);

    if (!len)
        return (struct piece){ .len = 1, .code = *before = (unsigned char)*at, .broken = true };
    uint32_t code = utf8_code(at, len);
    bool blank = unseen_blank(*before, code);
    *before = code;
    return (struct piece){ .len = len, .code = code, .blank = blank };
}

static bool needs_mark(struct piece piece)
{
    if (piece.code >= ' ' && piece.code <= '~')
        return false;
    return piece.broken || piece.piled || piece.blank || !is_utf8_terminal || unseen(piece.code) ||
           wcwidth((wchar_t)piece.code) < 0;
}

/* How many columns it takes; `out` NULL: it is only measured. */
static size_t draw(FILE *out, const char *at, struct piece piece)
{
    char mark[SAFE_MARK_MAX];

    if (!needs_mark(piece)) {
        if (out)
            fwrite(at, 1, piece.len, out);
        return piece.code < 0x80 ? 1 : (size_t)wcwidth((wchar_t)piece.code);
    }
    snprintf(mark, sizeof(mark), piece.broken ? "<0x%02X>" : "<U+%04X>", (unsigned)piece.code);
    if (out)
        fputs(mark, out);
    return strlen(mark);
}

/* Draws as much as fits into so many columns. *fits: that was all of it. */
static size_t draw_within(FILE *out, struct str text, size_t columns, bool *fits)
{
    const char *at = text.at, *end = text.at + text.len;
    size_t used = 0, pile = 0;
    uint32_t before = 0;

    while (at < end) {
        struct piece piece = piece_at(at, end, &before);
        size_t more = draw(NULL, at, piece);
        pile = more ? 0 : pile + 1;
        if (pile > PILES_MAX) {
            pile = PILES_MAX;
            piece.piled = true;
            more = draw(NULL, at, piece);
        }
        if (columns && used + more > columns)
            break;
        used += draw(out, at, piece);
        at += piece.len;
    }
    *fits = at == end;
    return used;
}

size_t safe_text(FILE *out, struct str text, size_t columns)
{
    bool fits = true;

    if (!text.len)
        return 0;
    if (columns)
        draw_within(NULL, text, columns, &fits);
    if (fits)
        return draw_within(out, text, columns, &fits);
    if (columns <= SAFE_DOTS)
        return 0;
    size_t used = columns == SAFE_DOTS ? 0 : draw_within(out, text, columns - SAFE_DOTS, &fits);
    fputs("...", out);
    return used + SAFE_DOTS;
}

void safe_cell(FILE *out, struct str text, size_t columns)
{
    for (size_t used = safe_text(out, text, columns); used < columns; used++)
        fputc(' ', out);
}

void safe_block(FILE *out, struct str text, const char *margin)
{
    struct str line;
    bool more = true;

    while (more) {
        more = str_cut(text, '\n', &line, &text);
        fputs(margin, out);
        safe_text(out, line, 0);
        fputc('\n', out);
    }
}

void safe_json(FILE *out, struct str json)
{
    const char *at = json.at, *end = json.at + json.len;
    uint32_t before = 0;

    while (at < end) {
        struct piece piece = piece_at(at, end, &before);
        if (piece.code < 0x7f || !needs_mark(piece))
            fwrite(at, 1, piece.len, out);
        else if (piece.code < 0x10000)
            fprintf(out, "\\u%04x", (unsigned)piece.code);
        else
            fprintf(out, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (piece.code >> 10)),
                    (unsigned)(0xdc00 + (piece.code & 0x3ff)));
        at += piece.len;
    }
}
