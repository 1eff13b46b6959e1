/*
 * front/routes: see routes.h.
 *
 * The table is small, and searched from its first route to a literal one that serves the request,
 * or to the last. The endpoint of the protocol is among the first.
 *
 * Holds always: of two routes that fit a path and a method, one is more literal than the other,
 * because the table never has two of the same shape.
 */
#include "front/routes.h"

#include "base/mem.h"
#include "base/percent.h"

enum { ROUTES_TEXT_MAX = ROUTES_MAX * (ROUTES_PATTERN_MAX + 1024) };

enum kind { LITERAL, VARIABLE, REST }; /* in the order of preference */

struct segment {
    enum kind kind;
    struct str text; /* literal bytes, or the variable's name */
};

struct entry {
    struct route route; /* first: a route of the table is its entry */
    struct segment segments[ROUTES_SEGMENTS_MAX];
    size_t count;
    bool literal; /* it has no variables */
};

/* What a path that fits begins with: the pattern up to its first variable. */
struct lead {
    struct str text;
    bool whole; /* it is all of the pattern */
};

struct routes {
    struct arena arena;
    struct entry *entries[ROUTES_MAX];
    struct lead leads[ROUTES_MAX]; /* of the entries: a search passes all of them, and few more */
    size_t count;
};

static const struct str get = STR_INIT("GET");
static const struct str head = STR_INIT("HEAD");

struct routes *routes_create(void)
{
    struct routes *routes = MEM_NEW(struct routes);

    arena_init(&routes->arena, ROUTES_TEXT_MAX);
    return routes;
}

void routes_destroy(struct routes *routes)
{
    if (!routes)
        return;
    arena_finish(&routes->arena);
    mem_free(routes);
}

/* --- patterns --- */

static bool is_name(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!((text.at[i] >= 'a' && text.at[i] <= 'z') || text.at[i] == '_'))
            return false;
    return text.len > 0;
}

static bool read_segment(struct str text, bool last, struct segment *segment)
{
    struct str dots = STR("...");

    *segment = (struct segment){ LITERAL, text };
    if (!text.len || text.at[0] != '{') {
        for (size_t i = 0; i < text.len; i++)
            if (text.at[i] <= ' ' || text.at[i] > '~' || strchr("{}%?#", text.at[i]))
                return false;
        return true;
    }
    if (text.at[text.len - 1] != '}')
        return false;
    segment->kind = VARIABLE;
    segment->text = str_n(text.at + 1, text.len - 2);
    if (str_ends(segment->text, dots)) {
        segment->kind = REST;
        segment->text.len -= dots.len;
    }
    return is_name(segment->text) && (last || segment->kind != REST);
}

static bool named_before(const struct entry *entry, struct str name)
{
    for (size_t i = 0; i < entry->count; i++)
        if (entry->segments[i].kind != LITERAL && str_eq(entry->segments[i].text, name))
            return true;
    return false;
}

static bool read_pattern(struct entry *entry)
{
    struct str rest = entry->route.pattern;
    size_t vars = 0;
    bool more = true;

    if (!rest.len || rest.len > ROUTES_PATTERN_MAX || rest.at[0] != '/')
        return false;
    rest = str_skip(rest, 1);
    while (more) {
        struct str text;
        struct segment segment;
        more = str_cut(rest, '/', &text, &rest);
        if (entry->count == ROUTES_SEGMENTS_MAX || !read_segment(text, !more, &segment))
            return false;
        if (segment.kind != LITERAL && named_before(entry, segment.text))
            return false;
        vars += segment.kind != LITERAL;
        entry->segments[entry->count++] = segment;
    }
    entry->literal = vars == 0;
    return vars <= ROUTES_VARS_MAX;
}

static bool same_shape(const struct entry *a, const struct entry *b)
{
    if (a->count != b->count || !str_eq(a->route.method, b->route.method))
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->segments[i].kind != b->segments[i].kind ||
            (a->segments[i].kind == LITERAL && !str_eq(a->segments[i].text, b->segments[i].text)))
            return false;
    return true;
}

static bool is_method(struct str method)
{
    for (size_t i = 0; i < method.len; i++)
        if (method.at[i] < 'A' || method.at[i] > 'Z')
            return false;
    return method.len > 0 && method.len <= ROUTES_METHOD_MAX;
}

bool routes_add(struct routes *routes, const struct route *route, const char **why)
{
    struct entry *entry = ARENA_NEW(&routes->arena, struct entry);
    struct str rest;

    if (!entry || routes->count == ROUTES_MAX) {
        *why = "there are too many routes";
        return false;
    }
    entry->route = *route;
    entry->route.method = arena_str(&routes->arena, route->method);
    entry->route.pattern = arena_str(&routes->arena, route->pattern);
    entry->route.endless |= route->upgrade.len > 0;
    *why = NULL;
    if (!is_method(route->method) || str_eq(route->method, head) || !route->handle)
        *why = "it needs a method in capitals that is not HEAD, and a handler";
    else if (route->anyone != (route->who == ROLES_NONE))
        *why = "it needs either roles in .who or, to be open to anyone, .anyone = true";
    else if (route->upgrade.len && !str_eq(route->method, get))
        *why = "only a GET changes to another protocol";
    else if (!read_pattern(entry))
        *why = "its pattern is not a path of literal segments, {name} and, last, {name...}";
    for (size_t i = 0; !*why && i < routes->count; i++)
        if (same_shape(routes->entries[i], entry))
            *why = "there is already one with that method and that path";
    if (*why)
        return false;
    struct lead *lead = &routes->leads[routes->count];
    lead->whole = !str_cut(entry->route.pattern, '{', &lead->text, &rest);
    routes->entries[routes->count++] = entry;
    return true;
}

/* --- finding --- */

/* The next segment of a path, without its slash. False: there is none left. */
static bool next_segment(struct str *rest, struct str *text)
{
    if (!rest->len)
        return false;
    struct str from = str_skip(*rest, 1); /* it begins with a slash */
    const char *slash = from.len ? memchr(from.at, '/', from.len) : NULL;
    *text = slash ? str_n(from.at, (size_t)(slash - from.at)) : from;
    *rest = str_skip(from, text->len);
    return true;
}

static bool leads_to(const struct lead *lead, struct str path)
{
    return lead->whole ? str_eq(path, lead->text) : str_starts(path, lead->text);
}

/* Of a path that begins as the pattern does. */
static bool fits(const struct entry *entry, struct str path)
{
    struct str rest = path, text;

    if (entry->literal)
        return true;
    for (size_t i = 0; i < entry->count; i++) {
        const struct segment *segment = &entry->segments[i];
        if (segment->kind == REST)
            return rest.len > 0;
        if (!next_segment(&rest, &text))
            return false;
        if (segment->kind == LITERAL ? !str_eq(segment->text, text) : !text.len)
            return false;
    }
    return !rest.len;
}

/* Which of two patterns that fit the same path is the more literal? */
static bool more_literal(const struct entry *a, const struct entry *b)
{
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (a->segments[i].kind != b->segments[i].kind)
            return a->segments[i].kind < b->segments[i].kind;
    return false;
}

static bool serves(const struct route *route, struct str method)
{
    return str_eq(route->method, method) ||
           (!route->endless && str_eq(method, head) && str_eq(route->method, get));
}

void routes_find(const struct routes *routes, struct str method, struct str path,
                 struct routes_found *found)
{
    const struct entry *best = NULL;

    *found = (struct routes_found){ 0 };
    for (size_t i = 0; i < routes->count && !(best && best->literal); i++) {
        if (!leads_to(&routes->leads[i], path) || !fits(routes->entries[i], path))
            continue;
        const struct entry *entry = routes->entries[i];
        if (!found->path)
            found->path = &entry->route;
        found->guarded |= !entry->route.anyone;
        if (serves(&entry->route, method) && (!best || more_literal(entry, best)))
            best = entry;
    }
    found->route = best ? &best->route : NULL;
}

static bool listed(struct str list, struct str method)
{
    bool more = list.len > 0;

    while (more) {
        struct str one;
        more = str_cut(list, ',', &one, &list);
        if (str_eq(str_trim(one), method))
            return true;
    }
    return false;
}

static void list_method(struct buf *out, struct str method)
{
    if (listed(buf_str(out), method))
        return;
    if (out->len)
        buf_add(out, STR(", "));
    buf_add(out, method);
}

void routes_allow(const struct routes *routes, struct str path, struct buf *out)
{
    buf_clear(out);
    for (size_t i = 0; i < routes->count; i++) {
        const struct route *route = &routes->entries[i]->route;
        if (!leads_to(&routes->leads[i], path) || !fits(routes->entries[i], path))
            continue;
        list_method(out, route->method);
        if (str_eq(route->method, get) && !route->endless)
            list_method(out, head);
    }
}

/* --- variables --- */

bool routes_vars(const struct route *route, struct str path, struct buf *text,
                 struct route_vars *vars)
{
    const struct entry *entry = (const struct entry *)(const void *)route;
    struct str rest = path, one;

    vars->count = 0;
    buf_clear(text);
    if (entry->literal)
        return true;
    if (!buf_reserve(text, path.len + 1))
        return false; /* decoding makes nothing longer, so from here on `text` does not move */
    for (size_t i = 0; i < entry->count; i++) {
        const struct segment *segment = &entry->segments[i];
        if (segment->kind == REST)
            one = str_skip(rest, 1);
        else if (!next_segment(&rest, &one))
            return false;
        if (segment->kind == LITERAL)
            continue;
        char *at = text->at + text->len;
        size_t len;
        if (!percent_decode(one, at, text->room - text->len, &len))
            return false;
        text->len += len;
        vars->at[vars->count++] = (struct route_var){ segment->text, str_n(at, len) };
    }
    return true;
}
