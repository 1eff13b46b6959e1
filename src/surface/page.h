/*
 * surface/page: the inbox as a page in a browser.
 *
 * Its files are those of web/, embedded when nod is built. The page is the same for everybody and
 * says nothing of anybody: a browser that opens it brings its cookie at most, which alone opens
 * nothing. Its script is a client of the API like any other.
 */
#ifndef NOD_SURFACE_PAGE_H
#define NOD_SURFACE_PAGE_H

#include "base/buf.h"
#include "core/record.h"

struct front;
struct http_exchange;
struct inbox;

enum {
    PAGE_MAX = 1 << 20,   /* bytes of a page as it is sent */
    PAGE_TITLE_MAX = 200, /* bytes of a title or a name */
    PAGE_WHY_MAX = 2048,  /* bytes of why somebody is refused */
};

/* A place such as {name} in a file of web/, and what it is filled with: HTML. */
struct place {
    struct str name;
    struct str text;
};

/* Appends this file of web/, whose places are filled in. */
void page_fill(struct buf *page, struct str file, const struct place *places, size_t count);
#define PAGE_HTML "Content-Type: text/html; charset=utf-8\r\n" /* the header line of a page */
/* Answers with this file, whose places are filled in. */
void page_reply(struct http_exchange *exchange, int status, struct str file,
                const struct place *places, size_t count);
/* Text from outside as HTML, in the arena. At most `limit` bytes of it. */
struct str page_as_text(struct arena *arena, struct str text, size_t limit);
/* Where our paths begin, seen from the browser: the path of the public URL, without its slash. */
struct str page_base(const struct front *front, struct arena *arena);
/* Where the files of web/ are, seen from the browser. Nobody could know this address before the
 * server had started, so no cache has anything for it. */
struct str page_assets(const struct front *front, struct arena *arena);

/* False, logged: a route cannot be added. */
bool page_routes(struct inbox *inbox);

/* --- page_text.c --- */

/* Writes text from outside into a page: as text, whatever it is. What cannot be seen, or moves what
 * can, becomes a mark. At most `limit` bytes of it are written, and then an ellipsis. */
void page_text(struct buf *page, struct str text, size_t limit);

/* --- page_try.c --- */

/* With --demo: POST /api/try makes a call, so that something waits. */
bool page_try_routes(struct inbox *inbox);
/* Calls that have not ended are forgotten. After the engine is gone. */
void page_try_close(struct inbox *inbox);

#endif
