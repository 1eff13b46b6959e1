/*
 * json/schema_ref: what $ref, $id, $anchor and similar keywords point to.
 *
 * Every node knows the URI its references are relative to. A reference is made absolute, cut at its
 * fragment, and looked up among the resources of this one document; the fragment is an anchor or a
 * JSON pointer. A pointer may reach a place that no keyword calls a subschema; it is compiled when
 * first reached. Nothing is ever fetched, and a reference that leads nowhere is a problem at
 * compile time.
 *
 * $dynamicRef is resolved like $ref: to the anchor of that name in its own resource, regardless of
 * the path that evaluation took.
 *
 * A node that comes back to itself without going deeper into the value would never end. Such a loop
 * is refused here, so that checking never has to look for one.
 */
#include "json/schema_inside.h"

#include "base/buf.h"

enum { URI_MOST = 4096 }; /* bytes of a URI in a schema */

/* --- URIs --- */

struct uri {
    struct str scheme; /* .at is NULL where the part is missing */
    struct str authority;
    struct str path;
    struct str query;
};

static bool scheme_char(char c, bool first)
{
    bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

    return letter || (!first && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.'));
}

static struct uri uri_split(struct str text)
{
    struct uri uri = { 0 };
    struct str rest;
    size_t n = 0;

    while (n < text.len && scheme_char(text.at[n], n == 0))
        n++;
    if (n && n < text.len && text.at[n] == ':') {
        uri.scheme = str_n(text.at, n);
        text = str_skip(text, n + 1);
    }
    if (str_cut(text, '?', &text, &rest))
        uri.query = rest.at ? rest : STR("");
    if (str_starts(text, STR("//"))) {
        text = str_skip(text, 2);
        n = 0;
        while (n < text.len && text.at[n] != '/')
            n++;
        uri.authority = str_n(text.at, n);
        text = str_skip(text, n);
    }
    uri.path = text;
    return uri;
}

static bool segment_is(struct str path, size_t at, struct str segment)
{
    struct str here = str_skip(path, at);

    return str_starts(here, segment) && (here.len == segment.len || here.at[segment.len] == '/');
}

/* RFC 3986, 5.2.4, in place: "." segments vanish, and ".." segments remove the one before them. */
static struct str without_dots(struct arena *arena, struct str path)
{
    char *out = arena_alloc_aligned(arena, path.len + 1, 1);
    size_t len = 0;

    if (!out)
        return STR_NONE;
    for (size_t i = 0; i < path.len;) {
        bool slash = path.at[i] == '/';
        size_t name = i + (slash ? 1 : 0);
        size_t end = name;
        while (end < path.len && path.at[end] != '/')
            end++;
        if (segment_is(path, name, STR("..")) || segment_is(path, name, STR("."))) {
            bool up = end - name == 2;
            while (up && len > 0 && out[len - 1] != '/')
                len--;
            if (up && len > 0)
                len--;
            if (end == path.len)
                out[len++] = '/';
        } else {
            memcpy(out + len, path.at + i, end - i);
            len += end - i;
        }
        i = end;
    }
    return str_n(out, len);
}

static struct str merge_paths(struct arena *arena, const struct uri *base, struct str path)
{
    size_t keep = base->path.len;

    if (base->authority.at && keep == 0)
        return arena_fmt(arena, "/" STR_FMT, STR_ARG(path));
    while (keep > 0 && base->path.at[keep - 1] != '/')
        keep--;
    return arena_fmt(arena, STR_FMT STR_FMT, (int)keep, base->path.at, STR_ARG(path));
}

/* RFC 3986, section 5.2. */
static struct str uri_resolve(struct arena *arena, struct str base_text, struct str ref_text)
{
    struct str dropped;
    if (base_text.len > URI_MOST || ref_text.len > URI_MOST)
        return STR_NONE;
    str_cut(ref_text, '#', &ref_text, &dropped);
    struct uri base = uri_split(base_text);
    struct uri uri = uri_split(ref_text);

    if (!uri.scheme.at) {
        uri.scheme = base.scheme;
        if (!uri.authority.at) {
            uri.authority = base.authority;
            if (uri.path.len == 0) {
                uri.path = base.path;
                uri.query = uri.query.at ? uri.query : base.query;
            } else if (uri.path.at[0] != '/') {
                uri.path = merge_paths(arena, &base, uri.path);
            }
        }
    }
    if (uri.path.len && uri.path.at[0] == '/')
        uri.path = without_dots(arena, uri.path);
    return arena_fmt(arena, STR_FMT "%s%s" STR_FMT STR_FMT "%s" STR_FMT, STR_ARG(uri.scheme),
                     uri.scheme.at ? ":" : "", uri.authority.at ? "//" : "", STR_ARG(uri.authority),
                     STR_ARG(uri.path), uri.query.at ? "?" : "", STR_ARG(uri.query));
}

/* --- what can be pointed to --- */

static bool anchor_name_fits(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.at[i];
        bool letter = ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-' || c == '.')))
            return false;
    }
    return name.len > 0;
}

static bool register_anchor(struct compiler *c, struct node *node, struct str keyword)
{
    const struct json *value = json_get(node->source, keyword);
    const struct place *place = value ? compile_place(c, node->place, keyword, 0) : NULL;

    if (!value)
        return true;
    if (!json_is(value, JSON_STRING) || !anchor_name_fits(value->text))
        return compile_problem(c, place, "must be a name of letters, digits, - _ and .");
    struct str key =
        arena_fmt(c->arena, STR_FMT "#" STR_FMT, STR_ARG(node->base), STR_ARG(value->text));
    struct node *there = map_get(&c->anchors, key);
    if (there && there != node)
        return compile_problem(c, place, "is the name of another subschema already");
    return map_set(&c->anchors, key, node) || compile_problem(c, place, "is one name too many");
}

static bool register_id(struct compiler *c, struct node *node)
{
    const struct json *id = json_get(node->source, STR("$id"));
    struct str before;
    struct str fragment;

    if (!id)
        return true;
    const struct place *place = compile_place(c, node->place, STR("$id"), 0);
    if (!json_is(id, JSON_STRING))
        return compile_problem(c, place, "expected a string, got %s", json_type_name(id));
    if (str_cut(id->text, '#', &before, &fragment) && fragment.len > 0)
        return compile_problem(c, place, "must not have a fragment");
    node->base = uri_resolve(c->arena, node->base, id->text);
    node->resource = node->source;
    if (!node->base.at)
        return compile_problem(c, place, "is longer than %d bytes", URI_MOST);
    struct node *there = map_get(&c->resources, node->base);
    if (there && there != node)
        return compile_problem(c, place, "is the address of another subschema already");
    return map_set(&c->resources, node->base, node) ||
           compile_problem(c, place, "is one address too many");
}

bool ref_register(struct compiler *c, struct node *node)
{
    return register_id(c, node) && register_anchor(c, node, STR("$anchor")) &&
           register_anchor(c, node, STR("$dynamicAnchor"));
}

/* --- following a reference --- */

static struct str percent_decoded(struct arena *arena, struct str text)
{
    char *out = arena_alloc_aligned(arena, text.len + 1, 1);
    size_t len = 0;

    for (size_t i = 0; out && i < text.len; i++) {
        int high = text.at[i] == '%' && i + 2 < text.len ? hex_digit(text.at[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(text.at[i + 2]) : -1;
        out[len++] = low >= 0 ? (char)(high * 16 + low) : text.at[i];
        i += low >= 0 ? 2 : 0;
    }
    return str_n(out, len);
}

static struct str pointer_token(struct arena *arena, struct str token)
{
    char *out = arena_alloc_aligned(arena, token.len + 1, 1);
    size_t len = 0;

    for (size_t i = 0; out && i < token.len; i++) {
        char c = token.at[i];
        if (c == '~' && i + 1 < token.len && (token.at[i + 1] == '0' || token.at[i + 1] == '1'))
            c = token.at[++i] == '0' ? '~' : '/';
        out[len++] = c;
    }
    return str_n(out, len);
}

static const struct json *step_into(const struct json *at, struct str token)
{
    uint64_t index = 0;

    if (json_is(at, JSON_ARRAY))
        return str_to_u64(token, &index) ? json_at(at, index) : NULL;
    return json_get(at, token);
}

/* Follows the pointer, keeping the base of the innermost subschema on the way. */
static struct node *follow_pointer(struct compiler *c, struct node *from, struct str pointer)
{
    const struct json *at = from->source;
    const struct place *place = from->place;
    struct node *inner = from;

    for (size_t i = 0; i < pointer.len && at;) {
        size_t end = i + 1;
        while (end < pointer.len && pointer.at[end] != '/')
            end++;
        struct str token = pointer_token(c->arena, str_n(pointer.at + i + 1, end - i - 1));
        at = step_into(at, token);
        place = compile_place(c, place, token, 0);
        struct node *known = compile_known(c, at);
        inner = known ? known : inner;
        i = end;
    }
    if (at && inner->source == at)
        return inner;
    if (!json_is(at, JSON_OBJECT) && !json_is(at, JSON_BOOL))
        return NULL;
    return compile_node(c, at, place, inner->base, inner->resource);
}

static struct node *follow(struct compiler *c, const struct reference *ref)
{
    struct str before;
    struct str fragment = STR_NONE;
    struct str uri = uri_resolve(c->arena, ref->node->base, ref->text);
    struct node *resource = uri.at ? map_get(&c->resources, uri) : NULL;

    if (!resource)
        return NULL;
    if (!str_cut(ref->text, '#', &before, &fragment) || fragment.len == 0)
        return resource;
    fragment = percent_decoded(c->arena, fragment);
    if (fragment.len && fragment.at[0] == '/')
        return follow_pointer(c, resource, fragment);
    struct str key = arena_fmt(c->arena, STR_FMT "#" STR_FMT, STR_ARG(uri), STR_ARG(fragment));
    return map_get(&c->anchors, key);
}

bool ref_resolve_all(struct compiler *c)
{
    while (c->references && !c->failed) {
        struct reference *ref = c->references;
        c->references = ref->next; /* compiling a target may add more references */
        *ref->to = follow(c, ref);
        if (!*ref->to && !c->failed)
            compile_problem(c, compile_place(c, ref->node->place, str_of(ref->keyword), 0),
                            "refers to " STR_FMT ", which is nowhere in this schema",
                            STR_ARG(ref->text));
    }
    return !c->failed;
}

/* --- loops --- */

enum { UNSEEN, ON_THE_WAY, DONE };

static bool visit(struct compiler *c, struct node *node, uint32_t depth);

static bool visit_all(struct compiler *c, const struct nodes *nodes, uint32_t depth)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (!visit(c, nodes->at[i], depth))
            return false;
    return true;
}

/* Every keyword that looks at the same value again. */
static bool visit_in_place(struct compiler *c, struct node *node, uint32_t depth)
{
    const struct logic_rules *logic = node->logic;
    const struct object_rules *object = node->object;

    for (size_t i = 0; object && i < object->names_count; i++)
        if (!visit(c, object->names[i]->dependent, depth))
            return false;
    return !logic || (visit(c, logic->ref, depth) && visit(c, logic->dynamic_ref, depth) &&
                      visit(c, logic->not_, depth) && visit(c, logic->if_, depth) &&
                      visit(c, logic->then_, depth) && visit(c, logic->else_, depth) &&
                      visit_all(c, &logic->all_of, depth) && visit_all(c, &logic->any_of, depth) &&
                      visit_all(c, &logic->one_of, depth));
}

static bool visit(struct compiler *c, struct node *node, uint32_t depth)
{
    if (!node || node->visiting == DONE)
        return true;
    if (node->visiting == ON_THE_WAY)
        return compile_problem(c, node->place,
                               "refers to itself without going deeper into the value");
    if (depth > SCHEMA_DEPTH_MOST)
        return compile_problem(c, node->place, "is behind more than %d references",
                               SCHEMA_DEPTH_MOST);
    node->visiting = ON_THE_WAY;
    bool fine = visit_in_place(c, node, depth + 1);
    node->visiting = DONE;
    return fine;
}

bool ref_refuse_loops(struct compiler *c, struct node *root)
{
    size_t at = 0;

    if (!visit(c, root, 0))
        return false;
    for (struct node *node; (node = map_next(&c->by_source, &at));)
        if (!visit(c, node, 0))
            return false;
    return true;
}
