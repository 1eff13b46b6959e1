/*
 * provider/handler_text: text and memory of a run, and text that comes or goes as a C string.
 *
 * An author's strings end with a NUL and may hold any bytes. Inside nod, text is a slice of valid
 * UTF-8. This file converts between them. Invalid bytes become U+FFFD and do not end the call: a
 * file in an old encoding is still worth reading.
 */

#include "json/utf8.h"
#include "provider/form_build.h"
#include "provider/local_inside.h"

static const char replacement[] = "\xEF\xBF\xBD";

/* Nearly every text is. The bytes are checked eight at a time; the last eight may overlap. */
static bool is_ascii(struct str text)
{
    uint64_t word, seen = 0;
    size_t at = 0;

    for (; text.len - at >= sizeof(word); at += sizeof(word)) {
        memcpy(&word, text.at + at, sizeof(word));
        seen |= word;
    }
    if (at && at < text.len) {
        memcpy(&word, text.at + text.len - sizeof(word), sizeof(word));
        seen |= word;
        at = text.len;
    }
    for (; at < text.len; at++)
        seen |= (unsigned char)text.at[at];
    return !(seen & UTF8_EACH_BYTE(0x80));
}

struct str text_clean(struct arena *arena, struct str text)
{
    if (is_ascii(text))
        return text;
    size_t good = utf8_good(text), used = 0;

    if (good == text.len)
        return text;
    if (text.len > SIZE_MAX / 4)
        return STR_NONE;
    char *clean = arena_alloc_aligned(arena, text.len * 3 + 1, 1);
    if (!clean)
        return STR_NONE;
    for (;;) {
        memcpy(clean + used, text.at, good);
        used += good;
        text = str_skip(text, good);
        if (!text.len)
            break;
        memcpy(clean + used, replacement, sizeof(replacement) - 1);
        used += sizeof(replacement) - 1;
        text = str_skip(text, 1);
        good = utf8_good(text);
    }
    clean[used] = '\0';
    return str_n(clean, used);
}

struct str call_text(nod_call *call, const char *text)
{
    return text_clean(&call->run->arena, str_of(text));
}

const char *call_cstr(nod_call *call, struct str text)
{
    struct str copy = arena_str(&call->run->arena, text);

    return copy.at ? copy.at : "";
}

struct json *call_parse(nod_call *call, struct str text)
{
    struct arena *arena = &call->run->arena;
    const struct json *value = json_parse(arena, text, NULL, NULL);

    /* json_copy leaves nothing that points into the text */
    return value ? json_copy(arena, value) : NULL;
}

struct str call_json(nod_call *call, const struct json *value)
{
    struct buf out;

    buf_init(&out, HANDLER_TEXT_MAX);
    struct str text =
        json_write(&out, value) ? arena_str(&call->run->arena, buf_str(&out)) : STR_NONE;
    if (!text.at)
        call->run->arena.exhausted = true;
    buf_finish(&out);
    return text;
}

const char *call_what(const nod_call *call)
{
    static const char *const kinds[] = {
        [TARGET_TOOL] = "tool", [TARGET_RESOURCE] = "resource", [TARGET_PROMPT] = "prompt"
    };
    return kinds[call->run->target->kind];
}

struct str call_name(const nod_call *call)
{
    return call->run->target->name;
}

/* --- public --- */

const char *nod_fmt(nod_call *call, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct str text = arena_vfmt(&call->run->arena, format, args);
    va_end(args);
    return text.at ? text.at : "";
}

const char *nod_key(nod_call *call, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct str text = arena_vfmt(&call->run->arena, format, args);
    va_end(args);
    if (text.at && !text.len) /* without a key nod would make one, which is not this one */
        run_bug(call->run, "The %s " STR_FMT " calls nod_key, and it makes an empty key of '%s'",
                call_what(call), STR_ARG(call_name(call)), format);
    return text.at ? text.at : "";
}

void *nod_alloc(nod_call *call, size_t size)
{
    return arena_zalloc(&call->run->arena, size ? size : 1);
}

static const char *keep_text(struct arena *arena, const char *text)
{
    return text ? arena_str(arena, str_of(text)).at : NULL;
}

static const nod_option *keep_options(struct arena *arena, const nod_option *options)
{
    size_t count = 0;

    while (options && options[count].value)
        count++;
    nod_option *kept = options ? arena_zalloc(arena, (count + 1) * sizeof(*kept)) : NULL;
    for (size_t i = 0; kept && i < count; i++)
        kept[i] =
            (nod_option){ keep_text(arena, options[i].value), keep_text(arena, options[i].title) };
    return kept;
}

const nod_form *nod_form_keep(nod_call *call, const nod_form *form)
{
    static const nod_form unusable = { 0, NULL, 1 }; /* refused wherever it is used */
    struct arena *arena = &call->run->arena;

    if (!form || form->count > FORM_FIELDS_MAX || !form->fields || !form->field_size)
        return form && form->count ? &unusable : form;
    nod_form *kept = ARENA_NEW(arena, struct nod_form);
    nod_field *fields = arena_zalloc(arena, form->count * sizeof(*fields) + 1);
    if (!kept || !fields)
        return &unusable;
    for (size_t i = 0; i < form->count; i++) {
        nod_field room, *field = &fields[i];
        *field = *form_field(form, i, &room);
        field->name = keep_text(arena, field->name);
        field->options = keep_options(arena, field->options);
        field->title = keep_text(arena, field->title);
        field->description = keep_text(arena, field->description);
        field->format = keep_text(arena, field->format);
        field->pattern = keep_text(arena, field->pattern);
        field->preset = keep_text(arena, field->preset);
        field->hint = keep_text(arena, field->hint);
    }
    *kept = (nod_form){ sizeof(*fields), fields, form->count };
    return arena->exhausted ? &unusable : kept;
}

void nod_defer(nod_call *call, void (*fn)(void *data), void *data)
{
    struct defer *defer = fn ? ARENA_NEW(&call->run->arena, struct defer) : NULL;

    if (!fn)
        return;
    if (!defer) { /* no memory to keep it: it is called now, and the call ends */
        fn(data);
        return;
    }
    *defer = (struct defer){ call->defers, fn, data };
    call->defers = defer;
}
