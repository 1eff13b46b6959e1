/*
 * core/pages: the pages of this server that a question can be answered on, for URL mode.
 *
 * A page is a row here, and the file surface/hosted_NAME.c (surface/hosted.h). The row says its
 * value of enum ask_page, NAME, and what an answer on it brings (enum page_brings). Numbers are
 * stored: a new page is the last row.
 */
#ifndef NOD_CORE_PAGES_H
#define NOD_CORE_PAGES_H

/* What somebody who accepts on such a page gives to the tool. */
enum page_brings {
    PAGE_BRINGS_NOTHING = 1, /* the answer has no content */
    PAGE_BRINGS_FORM,        /* ask_record.detail is a schema, and the answer's content fits it */
    PAGE_BRINGS_ANYTHING,    /* an object that nobody has asked for by name */
};

/* clang-format off */
#define PAGE_ROWS(ROW)                                                                             \
    ROW(PAGE_FORM,    form,    PAGE_BRINGS_FORM)     /* detail is its schema */                    \
    ROW(PAGE_SECRET,  secret,  PAGE_BRINGS_NOTHING)  /* the secret is stored, and is no answer */  \
    ROW(PAGE_FOREIGN, foreign, PAGE_BRINGS_ANYTHING) /* the page of somebody else, which sends     \
                                the person back with a query, the content. detail: {"url": ...} */ \
    ROW(PAGE_CONNECT, connect, PAGE_BRINGS_NOTHING)  /* leads to an authorization server */
/* clang-format on */

/* ASK_URL: the page that the person is sent to. What it shows is in ask_record.detail. */
#define ROW(page, name, brings) page,
enum ask_page {
    PAGE_NONE, /* a page that is not ours: ask_record.url is what the author gave */
    PAGE_ROWS(ROW) ASK_PAGES_KNOWN, /* how many there are */
    ASK_PAGES = 8                   /* ask_record.page is always less than this */
} __attribute__((packed));
#undef ROW
_Static_assert(ASK_PAGES_KNOWN <= ASK_PAGES, "a record has so many bits for its page");

enum page_brings ask_page_brings(enum ask_page page);

#endif
