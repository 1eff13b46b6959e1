/*
 * provider/form_key: the bytes that a form is known by.
 *
 * Everything a schema is built from stands in them, each text behind its length, so two forms have
 * the same bytes exactly if they become the same schema for the same reason. Pointers do not: a
 * handler may change what stands behind them.
 */
#include "provider/form_build.h"

enum { NO_TEXT = 0xFF }; /* where a NULL is, and not an empty text */

struct flat {
    char *at;
    size_t room;
    bool full;
};

static void add(struct flat *flat, const void *bytes, size_t len)
{
    if (flat->full || len > flat->room) {
        flat->full = true;
        return;
    }
    memcpy(flat->at, bytes, len);
    flat->at += len;
    flat->room -= len;
}

static void add_text(struct flat *flat, const char *text)
{
    unsigned char none = NO_TEXT;
    size_t len = text ? strnlen(text, flat->room + 1) : 0;

    if (!text) {
        add(flat, &none, 1);
        return;
    }
    unsigned char head[3] = { 0, (unsigned char)(len >> 8), (unsigned char)len };
    add(flat, head, sizeof(head));
    add(flat, text, len);
}

static void add_bound(struct flat *flat, const nod_bound *bound)
{
    char set = bound->set ? 1 : 0;

    add(flat, &set, 1);
    if (bound->set)
        add(flat, &bound->value, sizeof(bound->value));
}

static void add_field(struct flat *flat, const nod_field *field)
{
    char kind = (char)field->kind, required = field->required ? 1 : 0;

    add_text(flat, field->name);
    add(flat, &kind, 1);
    add(flat, &required, 1);
    for (const nod_option *o = field->options; o && o->value && !flat->full; o++) {
        add_text(flat, o->value);
        add_text(flat, o->title);
    }
    add_text(flat, NULL);
    add_text(flat, field->title);
    add_text(flat, field->description);
    add_bound(flat, &field->min);
    add_bound(flat, &field->max);
    add_text(flat, field->format);
    add_text(flat, field->pattern);
    add_text(flat, field->preset);
}

struct str form_key(const nod_form *form, char out[FORM_KEY_MAX])
{
    struct flat flat = { .at = out, .room = FORM_KEY_MAX };

    if (!form_shape_fits(form))
        return STR_NONE;
    for (size_t i = 0; i < form->count && !flat.full; i++) {
        nod_field field;
        if (!form_field(form, i, &field))
            return STR_NONE;
        add_field(&flat, &field);
    }
    return flat.full ? STR_NONE : str_n(out, FORM_KEY_MAX - flat.room);
}
