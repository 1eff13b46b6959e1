/*
 * json/canonical: trees as the text that digests are made of.
 *
 * Members are sorted by UTF-16 code units and strings have their shortest escapes, so that two
 * documents that differ in order and spacing alone have one text. Numbers are written as ECMAScript
 * does, or, in the exact form, as they were written.
 */
#include "json/write.h"

#include "base/mem.h"
#include "json/members.h"
#include "json/number.h"

static void value(struct json_writer *w, const struct json *v, bool exact)
{
    if (json_is(v, JSON_OBJECT)) {
        const struct json **members = members_sorted(v);

        jw_object(w);
        for (uint32_t i = 0; i < v->count && !w->failed; i++) {
            jw_key(w, members[i]->key);
            value(w, members[i], exact);
        }
        jw_end(w);
        mem_free(members);
    } else if (json_is(v, JSON_ARRAY)) {
        jw_array(w);
        for (const struct json *item = v->first; item && !w->failed; item = item->next)
            value(w, item, exact);
        jw_end(w);
    } else if (json_is(v, JSON_NUMBER)) {
        struct number_text text;

        jw_raw(w, !exact && number_canonical(v->text, &text) ? number_str(&text) : v->text);
    } else if (json_is(v, JSON_STRING)) {
        jw_str(w, v->text);
    } else {
        jw_value(w, v);
    }
}

static bool sorted(struct buf *out, const struct json *v, bool exact)
{
    struct json_writer w;

    json_writer_init(&w, out);
    value(&w, v, exact);
    return json_writer_done(&w);
}

bool json_write_canonical(struct buf *out, const struct json *v)
{
    return sorted(out, v, false);
}

bool json_write_exact(struct buf *out, const struct json *v)
{
    return sorted(out, v, true);
}
