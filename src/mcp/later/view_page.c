/*
 * mcp/later/view_page: the view as a resource, and the tools that are listed with it.
 *
 * The view is one HTML file, with its script and its style in it: web/view.html and what it is made
 * of, put together when nod is built. It needs nothing from anywhere else, and its CSP says so.
 */
#include "mcp/later/view_inside.h"

#include "mcp/shared/server_inside.h"

#include "view_file.h" /* view_file, made by scripts/embed-web */

enum {
    VIEW_LISTING_MAX = 8 << 20, /* memory of a listing while its view is added */
    VIEW_PAGE_MAX = 1 << 20,    /* bytes of the resource */
};

/* --- the resource --- */

void view_page_make(struct views *views)
{
    struct json_writer w;

    buf_init(&views->html, VIEW_PAGE_MAX);
    json_writer_init(&w, &views->html);
    jw_object(&w);
    jw_key(&w, STR("contents"));
    jw_array(&w);
    jw_object(&w);
    jw_key_str(&w, STR("uri"), VIEW_URI);
    jw_key_str(&w, STR("mimeType"), STR(VIEW_MIME));
    jw_key_str(&w, STR("text"), view_file);
    jw_key(&w, STR("_meta"));
    jw_raw(&w, STR("{\"ui\":{\"csp\":{\"connectDomains\":[],\"resourceDomains\":[],"
                   "\"frameDomains\":[],\"baseUriDomains\":[]},\"prefersBorder\":true}}"));
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
}

static void view_page_start(struct own_tool *tool, struct run *run)
{
    const struct views *views = tool->data;

    run_done(run, NOD_OK, buf_str(&views->html));
}

const struct own_tool_ops view_page_ops = { .start = view_page_start, .released = view_released };

/* --- listings --- */

static void write_ui(struct json_writer *w, const struct json *ui, struct str uri)
{
    jw_object(w);
    JSON_EACH (member, ui)
        if (!str_eq(member->key, STR("resourceUri")))
            jw_key_value(w, member->key, member);
    jw_key_str(w, STR("resourceUri"), uri);
    jw_end(w);
}

static void write_meta(struct json_writer *w, const struct json *meta, struct str uri)
{
    jw_object(w);
    JSON_EACH (member, meta)
        if (!str_eq(member->key, STR("ui")))
            jw_key_value(w, member->key, member);
    jw_key(w, STR("ui"));
    write_ui(w, json_get(meta, STR("ui")), uri);
    jw_end(w);
}

struct str views_listing(struct arena *arena, const struct target *target, unsigned can,
                         struct str descriptor)
{
    struct str uri = views_ask(target, can) ? VIEW_URI : STR_NONE;
    struct json_writer w;
    struct arena tree;
    struct buf out;

    if (can & CLIENT_CAN_VIEW && target->view.len)
        uri = target->view;
    if (!uri.len)
        return descriptor;
    arena_init(&tree, VIEW_LISTING_MAX);
    buf_init(&out, VIEW_LISTING_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    const struct json *listing = json_parse(&tree, descriptor, NULL, NULL);
    JSON_EACH (member, listing)
        if (!str_eq(member->key, STR("_meta")))
            jw_key_value(&w, member->key, member);
    jw_key(&w, STR("_meta"));
    write_meta(&w, json_get(listing, STR("_meta")), uri);
    jw_end(&w);
    if (listing && json_writer_done(&w))
        descriptor = arena_str(arena, buf_str(&out));
    buf_finish(&out);
    arena_finish(&tree);
    return descriptor;
}

/* --- pending results --- */

void views_write_meta(struct json_writer *w, const struct call *call)
{
    const struct target *target = call_target(call);

    jw_key(w, STR("ui"));
    write_ui(w, NULL, target->view.len ? target->view : VIEW_URI);
    jw_key(w, STR("nod"));
    jw_object(w);
    jw_key_str(w, STR("callId"), call_id(call));
    jw_end(w);
}
