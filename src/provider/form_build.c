/*
 * provider/form_build: a nod_form as JSON Schema.
 *
 * Each kind of field has a row in a table: its type, its bounds and how the text of its preset is
 * read. Options with titles become oneOf (anyOf in a multiple choice) of const and title; options
 * without titles become an enum, as MCP demands.
 *
 * Holds always: a schema that is returned has a property for every field, in the order of the form,
 * and each default is valid for its own property's type and options. A program built against an
 * older header has smaller fields: members that they lack count as unset.
 */
#include "provider/form_build.h"

#include <math.h>

#include "json/schema.h"
#include "provider/handler.h"

struct builder {
    struct arena *arena;
    struct str why;
    bool plain; /* only what JSON Schema knows */
};

struct field_kind {
    const char *type;
    const char *least; /* the keywords of .min and .max */
    const char *most;
    bool counts; /* the bounds are lengths: whole and not negative */
    bool options;
    bool text; /* .format and .pattern make sense */
    struct json *(*preset)(struct builder *b, const nod_field *field);
};

static struct json *field_problem(struct builder *b, const char *field, const char *problem)
{
    struct str name = text_clean(b->arena, str_of(field));

    b->why = arena_fmt(b->arena, "the field \"" STR_FMT "\" %s", STR_ARG(name), problem);
    if (!b->why.at)
        b->why = STR("the form is too large");
    return NULL;
}

/* Given, and nothing to be seen of it. */
static bool is_blank(const char *text)
{
    return text && str_blank(str_of(text));
}

/* What an answer has to name must be sent byte for byte. What people read is sent with U+FFFD in
 * place of bad bytes: see set_text. */
static bool is_utf8(struct builder *b, const char *text)
{
    return !text || text_clean(b->arena, str_of(text)).at == text;
}

static bool options_have(const nod_option *options, struct str value)
{
    for (; options && options->value; options++)
        if (str_eq(str_of(options->value), value))
            return true;
    return false;
}

/* --- presets --- */

static struct json *preset_text(struct builder *b, const nod_field *field)
{
    return json_new_str(b->arena, str_of(field->preset));
}

static struct json *preset_number(struct builder *b, const nod_field *field)
{
    struct json *value =
        json_parse(b->arena, arena_str(b->arena, str_of(field->preset)), NULL, NULL);

    if (!json_is(value, JSON_NUMBER))
        return field_problem(b, field->name, "has a preset that is not a number");
    return json_copy(b->arena, value);
}

static struct json *preset_int(struct builder *b, const nod_field *field)
{
    struct json *value = preset_number(b, field);
    int64_t whole;

    if (value && !json_i64(value, &whole))
        return field_problem(b, field->name, "has a preset that is not a whole number");
    return value;
}

static struct json *preset_bool(struct builder *b, const nod_field *field)
{
    struct str text = str_of(field->preset);

    if (!str_eq(text, STR("true")) && !str_eq(text, STR("false")))
        return field_problem(b, field->name, "has a preset that is neither true nor false");
    return json_new_bool(b->arena, str_eq(text, STR("true")));
}

static struct json *preset_choice(struct builder *b, const nod_field *field)
{
    if (!options_have(field->options, str_of(field->preset)))
        return field_problem(b, field->name, "has a preset that is not one of its options");
    return json_new_str(b->arena, str_of(field->preset));
}

static struct json *preset_choices(struct builder *b, const nod_field *field)
{
    struct json *value =
        json_parse(b->arena, arena_str(b->arena, str_of(field->preset)), NULL, NULL);

    if (!json_is(value, JSON_ARRAY))
        return field_problem(b, field->name, "has a preset that is not a JSON array");
    JSON_EACH (item, value) {
        if (!json_is(item, JSON_STRING) || !options_have(field->options, item->text))
            return field_problem(b, field->name, "has a preset that is not among its options");
    }
    return json_copy(b->arena, value);
}

static const struct field_kind field_kinds[] = {
    [NOD_FIELD_TEXT] = { "string", "minLength", "maxLength", true, false, true, preset_text },
    [NOD_FIELD_NUMBER] = { "number", "minimum", "maximum", false, false, false, preset_number },
    [NOD_FIELD_INT] = { "integer", "minimum", "maximum", false, false, false, preset_int },
    [NOD_FIELD_BOOL] = { "boolean", NULL, NULL, false, false, false, preset_bool },
    [NOD_FIELD_CHOICE] = { "string", NULL, NULL, false, true, false, preset_choice },
    [NOD_FIELD_CHOICES] = { "array", "minItems", "maxItems", true, true, false, preset_choices },
};

/* --- the parts of a property --- */

static void set_str(struct builder *b, struct json *to, const char *key, const char *value)
{
    if (value)
        json_set(b->arena, to, str_of(key), json_new_str(b->arena, str_of(value)));
}

/* For people. */
static void set_text(struct builder *b, struct json *to, const char *key, const char *value)
{
    if (value)
        json_set(b->arena, to, str_of(key),
                 json_new_str(b->arena, text_clean(b->arena, str_of(value))));
}

static bool set_bound(struct builder *b, const nod_field *field, const struct field_kind *kind,
                      struct json *property, const char *key, double bound)
{
    if (!key) {
        field_problem(b, field->name, "has a bound, which its kind does not take");
        return false;
    }
    if (!isfinite(bound)) {
        field_problem(b, field->name, "has a bound that is not a finite number");
        return false;
    }
    if (kind->counts && (bound < 0 || bound > INT32_MAX || bound != floor(bound))) {
        field_problem(b, field->name, "has a length bound that is not a whole number from 0");
        return false;
    }
    json_set(b->arena, property, str_of(key), json_new_double(b->arena, bound));
    return true;
}

static bool set_bounds(struct builder *b, const nod_field *field, const struct field_kind *kind,
                       struct json *property)
{
    if ((!field->has_min && field->min_value != 0) || (!field->has_max && field->max_value != 0)) {
        field_problem(b, field->name, "has a bound without its has_min or has_max: say NOD_MIN(5)");
        return false;
    }
    if (field->has_min && field->has_max && field->min_value > field->max_value) {
        field_problem(b, field->name, "has a lower bound above its upper one");
        return false;
    }
    if (field->kind == NOD_FIELD_INT && field->has_min && field->has_max &&
        ceil(field->min_value) > floor(field->max_value)) {
        field_problem(b, field->name, "has bounds with no whole number between them");
        return false;
    }
    return (!field->has_min ||
            set_bound(b, field, kind, property, kind->least, field->min_value)) &&
           (!field->has_max || set_bound(b, field, kind, property, kind->most, field->max_value));
}

static bool options_fit(struct builder *b, const nod_field *field, bool *titled)
{
    size_t count = 0;

    *titled = false;
    for (const nod_option *o = field->options; o && o->value; o++) {
        if (++count > FORM_OPTIONS_MAX) {
            b->why = arena_fmt(b->arena, "the field \"%s\" has more than %d options", field->name,
                               FORM_OPTIONS_MAX);
            return false;
        }
        if (!is_utf8(b, o->value)) {
            field_problem(b, field->name, "has an option that is not UTF-8");
            return false;
        }
        if (is_blank(o->title)) {
            field_problem(b, field->name, "has an option with a blank title");
            return false;
        }
        if (options_have(o + 1, str_of(o->value))) {
            field_problem(b, field->name, "has the same option twice");
            return false;
        }
        *titled |= o->title != NULL;
    }
    if (!count)
        field_problem(b, field->name, "has no options to choose from");
    else if (field->has_min && field->min_value > (double)count)
        field_problem(b, field->name, "asks for more choices than it has options");
    else
        return true;
    return false;
}

/* enum, or const and title of each: on the property itself, or on the items of a multiple choice.
 */
static bool set_options(struct builder *b, const nod_field *field, struct json *to,
                        const char *titled_key)
{
    struct json *list = json_new_array(b->arena);
    bool titled;

    if (!options_fit(b, field, &titled))
        return false;
    for (const nod_option *o = field->options; o->value; o++) {
        if (!titled) {
            json_push(list, json_new_str(b->arena, str_of(o->value)));
            continue;
        }
        struct json *pair = json_new_object(b->arena);
        set_str(b, pair, "const", o->value);
        set_text(b, pair, "title", o->title ? o->title : o->value);
        json_push(list, pair);
    }
    json_set(b->arena, to, titled ? str_of(titled_key) : STR("enum"), list);
    return true;
}

static bool set_choices(struct builder *b, const nod_field *field, struct json *property)
{
    if (field->kind == NOD_FIELD_CHOICE)
        return set_options(b, field, property, "oneOf");

    struct json *items = json_new_object(b->arena);
    if (!set_options(b, field, items, "anyOf"))
        return false;
    if (json_get(items, STR("enum")))
        set_str(b, items, "type", "string");
    json_set(b->arena, property, STR("items"), items);
    return true;
}

static bool is_format(const char *text)
{
    static const char *const formats[] = { "email", "uri", "date", "date-time" };

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (strcmp(text, formats[i]) == 0)
            return true;
    return false;
}

static struct json *property_build(struct builder *b, const nod_field *field)
{
    const struct field_kind *kind = &field_kinds[field->kind];
    struct json *property = json_new_object(b->arena);

    set_str(b, property, "type", kind->type);
    set_text(b, property, "title", field->title);
    set_text(b, property, "description", field->description);
    if (!set_bounds(b, field, kind, property))
        return NULL;
    if (!kind->options && field->options)
        return field_problem(
            b, field->name,
            "has options, which its kind does not take; if they were meant as bounds, "
            "say NOD_MIN and NOD_MAX");
    if (kind->options && !set_choices(b, field, property))
        return NULL;
    if (!kind->text && (field->format || field->pattern))
        return field_problem(b, field->name, "has a format or a pattern, but is not a text");
    if (field->format && !is_format(field->format))
        return field_problem(b, field->name,
                             "has a format that is none of email, uri, date and date-time");
    set_str(b, property, "format", field->format);
    set_str(b, property, "pattern", field->pattern);
    if (is_blank(field->hint))
        return field_problem(b, field->name, "has a blank hint: leave it out, or say something");
    if (field->hint && !field->pattern)
        return field_problem(b, field->name, "has a hint, but no pattern that it could explain");
    if (!b->plain)
        set_text(b, property, SCHEMA_HINT, field->hint);
    if (field->preset) {
        struct json *preset = kind->preset(b, field);
        if (!preset)
            return NULL;
        json_set(b->arena, property, STR("default"), preset);
    }
    return property;
}

/* --- the form --- */

/* Field `index`. A field of another version is converted to ours, in `room`. */
static const nod_field *form_field(const nod_form *form, size_t index, nod_field *room)
{
    const char *at = (const char *)form->fields + index * form->field_size;

    if (form->field_size == sizeof(*room))
        return &form->fields[index];
    memset(room, 0, sizeof(*room));
    memcpy(room, at, form->field_size < sizeof(*room) ? form->field_size : sizeof(*room));
    return room;
}

static bool field_check(struct builder *b, const nod_field *field)
{
    if (!field->name || !*field->name) {
        b->why = STR("a field of the form has no name");
        return false;
    }
    if ((size_t)field->kind >= sizeof(field_kinds) / sizeof(field_kinds[0])) {
        field_problem(b, field->name, "is of a kind that this version does not know");
        return false;
    }
    if (!is_utf8(b, field->name) || !is_utf8(b, field->pattern) || !is_utf8(b, field->preset)) {
        field_problem(b, field->name, "has a name, a pattern or a preset that is not UTF-8");
        return false;
    }
    if (is_blank(field->title)) {
        field_problem(b, field->name, "has a blank title: leave it out, or say something");
        return false;
    }
    return true;
}

static bool shape_check(struct builder *b, const nod_form *form)
{
    if (form->count > FORM_FIELDS_MAX) {
        b->why = arena_fmt(b->arena, "the form has %zu fields, and may have %d", form->count,
                           FORM_FIELDS_MAX);
        return false;
    }
    if (form->count == 0 || (form->fields && form->field_size >= offsetof(nod_field, options)))
        return true;
    b->why = STR("the form has a field_size that no version has");
    return false;
}

static struct json *build(const nod_form *form, bool plain, struct arena *arena, struct str *why)
{
    struct builder b = { arena, STR("the form is too large"), plain };
    struct json *schema = json_new_object(arena);
    struct json *properties = json_new_object(arena);
    struct json *required = json_new_array(arena);
    bool fits = shape_check(&b, form);

    set_str(&b, schema, "type", "object");
    for (size_t i = 0; fits && i < form->count; i++) {
        nod_field room;
        const nod_field *field = form_field(form, i, &room);
        struct json *property = field_check(&b, field) ? property_build(&b, field) : NULL;

        fits = property != NULL;
        if (fits && json_get(properties, str_of(field->name))) {
            field_problem(&b, field->name, "occurs twice");
            fits = false;
        }
        if (!fits)
            break;
        json_set_new(arena, properties, str_of(field->name), property);
        if (field->required)
            json_push(required, json_new_str(arena, str_of(field->name)));
    }
    json_set(arena, schema, STR("properties"), properties);
    json_set(arena, schema, STR("required"), required);
    if (fits && !arena->exhausted)
        return schema;
    *why = b.why;
    return NULL;
}

struct json *form_build(const nod_form *form, struct arena *arena, struct str *why)
{
    return build(form, false, arena, why);
}

struct json *form_build_plain(const nod_form *form, struct arena *arena, struct str *why)
{
    return build(form, true, arena, why);
}
