/*
 * provider/form_key: the bytes that a form is known by.
 *
 * Everything a schema is built from stands in them, each text behind its length, so two forms have
 * the same bytes exactly if they become the same schema for the same reason. Pointers do not: a
 * handler may change what stands behind them.
 */
#include "provider/form_build.h"

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
    enum { HEAD = 2 };
    size_t len = strnlen(text, flat->room + 1);

    if (flat->full || HEAD + len > flat->room) {
        flat->full = true;
        return;
    }
    flat->at[0] = (char)(len >> 8);
    flat->at[1] = (char)len;
    memcpy(flat->at + HEAD, text, len);
    flat->at += HEAD + len;
    flat->room -= HEAD + len;
}
_Static_assert(FORM_KEY_MAX < 1 << 16, "a length has two bytes");

static void add_option(struct flat *flat, const nod_option *option)
{
    char titled = option->title ? 1 : 0;

    add_text(flat, option->value);
    add(flat, &titled, 1);
    if (titled)
        add_text(flat, option->title);
}

static unsigned count_options(const nod_field *field)
{
    unsigned count = 0;

    while (field->options && field->options[count].value && count <= FORM_OPTIONS_MAX)
        count++;
    return count;
}

/* Which parts a field has is said first, so that what follows needs no word on what is missing. */
static void add_field(struct flat *flat, const nod_field *field)
{
    const char *texts[] = { field->title, field->description, field->format, field->pattern,
                            field->preset };
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
    unsigned options = count_options(field), has = 0;

    for (unsigned i = 0; i < TEXTS; i++)
        has |= (texts[i] ? 1u : 0u) << i;
    has |= (field->min.set ? 1u : 0u) << TEXTS | (field->max.set ? 2u : 0u) << TEXTS;
    unsigned char head[] = { (unsigned char)field->kind, field->required ? 1 : 0,
                             (unsigned char)has, (unsigned char)(options >> 8),
                             (unsigned char)options };
    add(flat, head, sizeof(head));
    add_text(flat, field->name);
    for (unsigned i = 0; i < options && !flat->full; i++)
        add_option(flat, &field->options[i]);
    for (unsigned i = 0; i < TEXTS; i++)
        if (texts[i])
            add_text(flat, texts[i]);
    if (field->min.set)
        add(flat, &field->min.value, sizeof(field->min.value));
    if (field->max.set)
        add(flat, &field->max.value, sizeof(field->max.value));
}

struct str form_key(const nod_form *form, char out[FORM_KEY_MAX])
{
    struct flat flat = { .at = out, .room = FORM_KEY_MAX };

    if (!form_shape_fits(form))
        return STR_NONE;
    for (size_t i = 0; i < form->count && !flat.full; i++) {
        nod_field room;
        const nod_field *field = form_field(form, i, &room);
        if (!field_known(field))
            return STR_NONE;
        add_field(&flat, field);
    }
    return flat.full ? STR_NONE : str_n(out, FORM_KEY_MAX - flat.room);
}
