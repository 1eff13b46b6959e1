/*
 * json/form_many: several choices as one text, for a client that knows no multi-select.
 *
 * Revision 2025-06-18 has no multi-select. Its clients are sent a text field instead, whose
 * description names the choices. What was typed becomes an array again before it is checked: the
 * parts between commas, without the spaces around them. A part that is the value of a choice, or
 * else its title, is that choice. Any other part stays as it was typed, and the check against the
 * schema refuses it. A choice may contain commas: the longest that fits wins.
 *
 * Holds always: both the check and the handler see an array, as in every other revision.
 */
#include "json/form_many.h"

#include "base/buf.h"

enum {
    FORM_MANY_TEXT_MAX = 256 << 10, /* bytes of a description that names the choices */
    FORM_MANY_PARTS_MAX = 512, /* parts of a text; the rest is one more part, which is no choice */
};

/* --- choices --- */

static const struct json *choices_of(const struct json *field)
{
    const struct json *items = json_get(field, STR("items"));
    const struct json *titled = json_get(items, STR("anyOf"));

    return titled ? titled : json_get(items, STR("enum"));
}

static struct str choice_value(const struct json *choice)
{
    return json_is(choice, JSON_STRING) ? choice->text : json_get_str(choice, STR("const"));
}

static struct str choice_title(const struct json *choice)
{
    return json_is(choice, JSON_STRING) ? STR_NONE : json_get_str(choice, STR("title"));
}

/* --- what is sent --- */

static void say_bounds(struct buf *text, const struct json *field)
{
    int64_t least = 0, most = 0;
    bool has_least = json_i64(json_get(field, STR("minItems")), &least) && least > 0;
    bool has_most = json_i64(json_get(field, STR("maxItems")), &most);

    if (has_least && has_most && least == most)
        buf_fmt(text, "exactly %lld", (long long)least);
    else if (has_least && has_most)
        buf_fmt(text, "%lld to %lld", (long long)least, (long long)most);
    else if (has_least)
        buf_fmt(text, "at least %lld", (long long)least);
    else if (has_most)
        buf_fmt(text, "at most %lld", (long long)most);
    else
        buf_add(text, STR("any"));
}

static void say_choices(struct buf *text, const struct json *field)
{
    struct str author = json_get_str(field, STR("description"));
    bool first = true;

    if (author.len) {
        buf_add(text, author);
        buf_add(text, STR("\n"));
    }
    buf_add(text, STR("Separate your choices with commas; choose "));
    say_bounds(text, field);
    buf_add(text, STR(" of: "));
    JSON_EACH (choice, choices_of(field)) {
        struct str title = choice_title(choice);
        buf_add(text, first ? STR("") : STR(", "));
        buf_add(text, choice_value(choice));
        if (title.len && !str_eq(title, choice_value(choice)))
            buf_fmt(text, " (" STR_FMT ")", STR_ARG(title));
        first = false;
    }
}

struct json *form_many_as_text(const struct json *field, struct arena *arena)
{
    struct json *out = json_new_object(arena);
    const struct json *title = json_get(field, STR("title"));
    struct buf text;

    json_set(arena, out, STR("type"), json_new_str(arena, STR("string")));
    if (title)
        json_set(arena, out, STR("title"), json_copy(arena, title));
    buf_init(&text, FORM_MANY_TEXT_MAX);
    say_choices(&text, field);
    bool fits = !text.overflow;
    if (fits)
        json_set(arena, out, STR("description"), json_new_str(arena, buf_str(&text)));
    buf_finish(&text);
    return fits ? out : NULL;
}

/* --- what comes back --- */

/* Does `text` begin with `choice`, followed by a comma or the end? */
static bool begins_with(struct str text, struct str choice)
{
    if (!choice.len || !str_starts(text, choice))
        return false;
    struct str rest = str_trim(str_skip(text, choice.len));
    return rest.len == 0 || rest.at[0] == ',';
}

/* The value that `text` begins with, and the length of its name; otherwise the part that was
 * typed. */
static struct str next_part(const struct json *choices, struct str text, size_t *len)
{
    struct str found = STR_NONE, part, rest;

    *len = 0;
    JSON_EACH (choice, choices) {
        struct str value = choice_value(choice);
        if (value.len > *len && begins_with(text, value)) {
            found = value;
            *len = value.len;
        }
    }
    JSON_EACH (choice, choices) {
        struct str title = choice_title(choice);
        if (title.len > *len && begins_with(text, title)) {
            found = choice_value(choice);
            *len = title.len;
        }
    }
    if (*len)
        return found;
    if (!str_cut(text, ',', &part, &rest))
        part = text;
    *len = part.len;
    return str_trim(part);
}

static struct json *parts_of(const struct json *field, struct str text, struct arena *arena)
{
    struct json *out = json_new_array(arena);
    size_t len;

    for (text = str_trim(text); text.len && !arena->exhausted; text = str_trim(text)) {
        struct str part = text;
        if (out->count < FORM_MANY_PARTS_MAX)
            part = next_part(choices_of(field), text, &len);
        else
            len = text.len;
        if (part.len)
            json_push(out, json_new_str(arena, part));
        text = str_trim(str_skip(text, len));
        if (text.len) /* the comma */
            text = str_skip(text, 1);
    }
    return out;
}

/* Nothing was typed into a field that may be left empty, and an empty array would not fit. */
static bool left_out(const struct json *schema, const struct json *field, const struct json *parts)
{
    int64_t least = 0;

    json_i64(json_get(field, STR("minItems")), &least);
    return parts->count == 0 && least > 0 &&
           !json_has_str(json_get(schema, STR("required")), field->key);
}

static bool was_text(const struct json *schema, const struct json *member,
                     const struct json **field)
{
    *field = json_get(json_get(schema, STR("properties")), member->key);
    return json_is(member, JSON_STRING) && str_eq(json_get_str(*field, STR("type")), STR("array"));
}

const struct json *form_many_from_text(const struct json *schema, const struct json *content,
                                       struct arena *arena)
{
    const struct json *field;
    bool any = false;

    if (!json_is(content, JSON_OBJECT))
        return content;
    JSON_EACH (member, content)
        any |= was_text(schema, member, &field);
    if (!any)
        return content;
    struct json *out = json_new_object(arena);
    JSON_EACH (member, content) {
        if (!was_text(schema, member, &field)) {
            json_set(arena, out, member->key, json_copy(arena, member));
            continue;
        }
        struct json *parts = parts_of(field, member->text, arena);
        if (parts && !left_out(schema, field, parts))
            json_set(arena, out, member->key, parts);
    }
    return out;
}
