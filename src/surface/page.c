/*
 * surface/page: see page.h.
 *
 * GET /, /ask/{id}, /history, /grants, /secrets and /accounts are the same page: which part of
 * it is shown is decided by its script, from the address, and so is whether somebody is led to
 * /login, where people with tokens sign in. What may be loaded, and by whom a page is seen, is the
 * front door's business (front/pages.c).
 *
 * A page has places such as {name}, which are filled in. What is filled in comes from outside and
 * is written as text (page_text.c).
 */
#include "surface/page.h"

#include "surface/inbox_inside.h"

struct web_file {
    struct str name;
    struct str text;
};

#include "web_files.h" /* web_files, made by scripts/embed-web */

static const struct web_file *file_named(struct str name)
{
    for (size_t i = 0; i < sizeof(web_files) / sizeof(web_files[0]); i++)
        if (str_eq(web_files[i].name, name))
            return &web_files[i];
    return NULL;
}

/* --- places --- */

static struct str value_of(const struct place *places, size_t count, struct str name)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(places[i].name, name))
            return places[i].text;
    return STR_NONE;
}

void page_fill(struct buf *page, struct str file, const struct place *places, size_t count)
{
    struct str text = file_named(file)->text, before, rest, name;

    while (str_cut(text, '{', &before, &rest) && str_cut(rest, '}', &name, &text)) {
        buf_add(page, before);
        buf_add(page, value_of(places, count, name));
    }
    buf_add(page, text);
}

void page_reply(struct http_exchange *exchange, int status, struct str file,
                const struct place *places, size_t count)
{
    struct buf page;

    buf_init(&page, PAGE_MAX);
    page_fill(&page, file, places, count);
    http_reply_lines(exchange, status, STR(PAGE_HTML), buf_str(&page));
    buf_finish(&page);
}

struct str page_as_text(struct arena *arena, struct str text, size_t limit)
{
    struct buf html;

    buf_init(&html, PAGE_MAX);
    page_text(&html, text, limit);
    struct str copy = arena_str(arena, buf_str(&html));
    buf_finish(&html);
    return copy;
}

static struct str as_text(struct arena *arena, struct str text)
{
    return page_as_text(arena, text, PAGE_TITLE_MAX);
}

/* A sentence of ours as HTML: what is between backticks is code. */
static struct str as_sentence(struct arena *arena, struct str text)
{
    struct str part, html = STR_NONE;
    bool code = false, more;

    do {
        more = str_cut(text, '`', &part, &text);
        html = arena_fmt(arena, STR_FMT "%s" STR_FMT "%s", STR_ARG(html), code ? "<code>" : "",
                         STR_ARG(as_text(arena, part)), code ? "</code>" : "");
        code = !code;
    } while (more);
    return html;
}

static struct str title_of(const struct inbox *inbox, struct arena *arena)
{
    const struct inbox_opts *opts = &inbox->opts;

    return as_text(arena, opts->title.len ? opts->title : opts->name);
}

struct str page_base(const struct front *front, struct arena *arena)
{
    struct str link = front_link(front, STR("/"), arena), host, path;
    ptrdiff_t at = str_find(link, STR("://"));

    if (at < 0 || !str_cut(str_skip(link, (size_t)at + 3), '/', &host, &path) || !path.len)
        return STR_NONE;
    return arena_fmt(arena, "/" STR_FMT, (int)(path.len - 1), path.at);
}

struct str page_assets(const struct front *front, struct arena *arena)
{
    return arena_fmt(arena, STR_FMT "/assets/" STR_FMT, STR_ARG(page_base(front, arena)),
                     STR_ARG(front_salt(front)));
}

/* --- the page --- */

static struct str how_to_connect(const struct inbox *inbox, struct arena *arena)
{
    struct str link = front_link(inbox->opts.front, STR("/mcp"), arena);

    if (inbox->opts.on_stdio)
        return STR("The MCP client that has started this server is connected: let it call a tool "
                   "that asks.");
    return arena_fmt(arena,
                     "Connect an MCP client to <code>" STR_FMT
                     "</code>, and let it call a tool that asks.",
                     STR_ARG(as_text(arena, link)));
}

static void page_serve(const struct front_request *request, void *data)
{
    const struct inbox *inbox = data;
    struct arena arena;

    arena_init(&arena, PAGE_MAX);
    struct str title = title_of(inbox, &arena);
    const struct place places[] = {
        { STR("base"), page_base(inbox->opts.front, &arena) },
        { STR("assets"), page_assets(inbox->opts.front, &arena) },
        { STR("title"), title },
        { STR("name"), title },
        { STR("connect"), how_to_connect(inbox, &arena) },
    };
    page_reply(request->exchange, 200, STR("shell.html"), places,
               sizeof(places) / sizeof(places[0]));
    arena_finish(&arena);
}

/* --- who is refused --- */

/* What a person who is refused can do: the inbox, another sign-in, or the same again. */
static void refusal_draw(void *data, struct buf *body, int status, struct str why)
{
    const struct inbox *inbox = data;
    struct arena arena;

    arena_init(&arena, PAGE_MAX);
    struct str base = page_base(inbox->opts.front, &arena);
    struct str heading, ways;
    if (status == 404) {
        heading = STR("There is nothing here");
        ways = arena_fmt(&arena, "<a href=\"" STR_FMT "/\">To the inbox</a>", STR_ARG(base));
    } else if (status == 401 || status == 403) {
        heading = status == 401 ? STR("Please sign in") : STR("This is not open to you");
        ways = arena_fmt(&arena, "<a href=\"" STR_FMT "/login\">%s</a>", STR_ARG(base),
                         status == 401 ? "Sign in" : "Sign in as somebody else");
    } else {
        heading = STR("This did not work");
        ways = arena_fmt(&arena,
                         "<a href=\"\">Try again</a>, or <a href=\"" STR_FMT "/\">to the inbox</a>",
                         STR_ARG(base));
    }
    const struct place places[] = {
        { STR("assets"), page_assets(inbox->opts.front, &arena) },
        { STR("title"), title_of(inbox, &arena) },
        { STR("heading"), heading },
        { STR("why"), page_as_text(&arena, why, PAGE_WHY_MAX) },
        { STR("ways"), ways },
    };
    page_fill(body, STR("refused.html"), places, sizeof(places) / sizeof(places[0]));
    arena_finish(&arena);
}

/* The page of a one-time link: it says whose sign-in it is, before anybody is signed in. */
static void link_draw(void *data, struct buf *body, struct str whose)
{
    const struct inbox *inbox = data;
    struct arena arena;

    arena_init(&arena, PAGE_MAX);
    const struct place places[] = {
        { STR("assets"), page_assets(inbox->opts.front, &arena) },
        { STR("title"), title_of(inbox, &arena) },
        { STR("whose"), as_text(&arena, whose) },
    };
    page_fill(body, STR("link.html"), places, sizeof(places) / sizeof(places[0]));
    arena_finish(&arena);
}

static void login_serve(const struct front_request *request, void *data)
{
    const struct inbox *inbox = data;
    bool tokens = front_has_tokens(inbox->opts.front);
    struct arena arena;

    arena_init(&arena, PAGE_MAX);
    struct str title = title_of(inbox, &arena);
    const struct place places[] = {
        { STR("assets"), page_assets(inbox->opts.front, &arena) },
        { STR("title"), title },
        { STR("name"), title },
        { STR("with"), tokens ? STR_NONE : STR(" hidden") },
        { STR("without"), tokens ? STR(" hidden") : STR_NONE },
        { STR("how"), as_sentence(&arena, front_way_in(inbox->opts.front)) },
    };
    page_reply(request->exchange, 200, STR("login.html"), places,
               sizeof(places) / sizeof(places[0]));
    arena_finish(&arena);
}

/* The salt in the address is only for the browser: a page may come from one node, and what it loads
 * from another, which has another salt. */
static void asset_serve(const struct front_request *request, void *data)
{
    static const struct {
        struct str end, lines;
    } types[] = {
        { STR_INIT(".js"), STR_INIT("Content-Type: text/javascript; charset=utf-8\r\n") },
        { STR_INIT(".css"), STR_INIT("Content-Type: text/css; charset=utf-8\r\n") },
        { STR_INIT(".svg"), STR_INIT("Content-Type: image/svg+xml\r\n") },
    };
    const struct web_file *file = file_named(front_var(request, STR("file")));

    (void)data;
    for (size_t i = 0; file && i < sizeof(types) / sizeof(types[0]); i++) {
        if (!str_ends(file->name, types[i].end))
            continue;
        http_reply_lines(request->exchange, 200, types[i].lines, file->text);
        return;
    }
    api_problem(request->exchange, 404, STR("There is no such file."));
}

/* Browsers look here for the icon of what names none, such as the page that only reloads itself. */
static void icon_serve(const struct front_request *request, void *data)
{
    const struct web_file *file = file_named(STR("icon.svg"));

    (void)data;
    http_reply_lines(request->exchange, 200, STR("Content-Type: image/svg+xml\r\n"), file->text);
}

/* --- routes --- */

bool page_routes(struct inbox *inbox)
{
    static const struct {
        const char *path;
        void (*handle)(const struct front_request *request, void *data);
    } pages[] = {
        { "/", page_serve },
        { "/ask/{id}", page_serve },
        { "/history", page_serve },
        { "/grants", page_serve },
        { "/secrets", page_serve },
        { "/accounts", page_serve },
        { "/login", login_serve },
        { "/assets/{salt}/{file}", asset_serve },
        { "/favicon.ico", icon_serve },
    };
    struct front *front = inbox->opts.front;
    bool added = true;

    front_refuse_with(front, refusal_draw, inbox);
    front_links_with(front, link_draw, inbox);
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
        added &= front_route(front, &(struct route){ .method = STR("GET"),
                                                     .pattern = str_of(pages[i].path),
                                                     .anyone = true,
                                                     .page = true,
                                                     .handle = pages[i].handle,
                                                     .data = inbox });
    return added && (!inbox->opts.demo || page_try_routes(inbox));
}
