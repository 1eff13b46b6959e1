/*
 * provider/register_resource: resources and resource templates.
 *
 * A URI with a variable in braces is a template. Only level 1 of RFC 6570 is allowed, because only
 * that can be matched backwards: {name} alone, without operators.
 */
#include "provider/local_inside.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool has_scheme(struct str uri)
{
    size_t i = 0;

    while (i < uri.len &&
           (is_letter(uri.at[i]) ||
            (i > 0 && ((uri.at[i] >= '0' && uri.at[i] <= '9') || strchr("+-.", uri.at[i])))))
        i++;
    return i > 0 && i < uri.len && uri.at[i] == ':';
}

/* Do braces come in pairs around a name? *variables counts them. */
static bool template_fits(struct str uri, size_t *variables)
{
    bool inside = false;
    size_t name = 0;

    *variables = 0;
    for (size_t i = 0; i < uri.len; i++) {
        char c = uri.at[i];

        if (c <= ' ' || c == 0x7f)
            return false;
        if (c == '{') {
            if (inside)
                return false;
            inside = true;
            name = 0;
        } else if (c == '}') {
            if (!inside || name == 0)
                return false;
            inside = false;
            ++*variables;
        } else if (inside) {
            if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '_' && c != '.')
                return false;
            name++;
        }
    }
    return !inside;
}

static nod_status resource_check(const nod_resource *r, bool *is_template)
{
    struct str uri = str_of(r->uri);
    size_t variables;

    if (!r->uri || !has_scheme(uri) || uri.len > LOCAL_NAME_MAX)
        return register_refuse("resource", r->uri, NOD_E_USAGE,
                               "its uri must begin with a scheme and have at most %d bytes",
                               LOCAL_NAME_MAX);
    if (!template_fits(uri, &variables))
        return register_refuse("resource", r->uri, NOD_E_USAGE,
                               "its uri has white space, or braces that are not {name}");
    *is_template = variables > 0;
    if (!r->read)
        return register_refuse("resource", r->uri, NOD_E_USAGE, "it has no read handler");
    if (r->complete && !*is_template)
        return register_refuse("resource", r->uri, NOD_E_USAGE,
                               "it completes, but has no variable in its uri");
    return NOD_OK;
}

static bool write_descriptor(struct local_target *t, struct str name, bool titled)
{
    struct buf out;
    struct json_writer w;

    buf_init(&out, LOCAL_DESCRIPTOR_BYTES);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key_str(&w, t->base.is_template ? STR("uriTemplate") : STR("uri"), t->base.name);
    jw_key_str(&w, STR("name"), name);
    if (titled)
        jw_key_str(&w, STR("title"), t->base.title);
    register_key(&w, "description", t->description);
    register_key(&w, "mimeType", t->mime_type);
    return register_listing(t, &w, &out);
}

static bool resource_texts(struct local_target *t, const nod_resource *r)
{
    const char *shown = r->name ? r->name : r->uri;
    size_t max = LOCAL_TARGET_BYTES;
    struct str name;

    return register_text(t, "resource", r->uri, "uri", r->uri, max, &t->base.name) &&
           register_text(t, "resource", r->uri, "name", shown, max, &name) &&
           register_text(t, "resource", r->uri, "title", r->title ? r->title : shown, max,
                         &t->base.title) &&
           register_text(t, "resource", r->uri, "description", r->description, max,
                         &t->description) &&
           register_text(t, "resource", r->uri, "mime_type", r->mime_type, max, &t->mime_type) &&
           write_descriptor(t, name, r->title != NULL);
}

static struct local_target *resource_build(struct local *local, const void *table, size_t index,
                                           size_t row_size, nod_status *status)
{
    nod_resource r;
    bool is_template = false;

    register_row(&r, sizeof(r), table, index, row_size);
    *status = resource_check(&r, &is_template);
    if (*status != NOD_OK)
        return NULL;
    struct local_target *t = local_target_new(local, TARGET_RESOURCE);
    t->base.is_template = is_template;
    if (!resource_texts(t, &r) || !register_version(t, NULL, r.version)) {
        *status = NOD_E_USAGE;
        local_target_free(t);
        return NULL;
    }
    t->handler = r.read;
    t->complete = r.complete;
    t->blocking = r.blocking;
    t->data = r.data;
    t->base.subscribable = r.subscribable;
    t->base.completes = r.complete != NULL;
    t->base.timeout_ms = LOCAL_TIMEOUT_MS;
    t->base.portable = true;
    return t;
}

nod_status local_add_resources(struct local *local, const nod_resource *resources, size_t count,
                               size_t size)
{
    struct register_batch batch = { local, "resource", resource_build };

    return register_all(&batch, resources, count, size, offsetof(nod_resource, title));
}
