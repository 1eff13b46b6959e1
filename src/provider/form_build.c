/*
 * provider/form_build: a nod_form as JSON Schema.
 *
 * Each kind of field has a row in a table: its type, its bounds and how the text of its preset is
 * read. Options with titles become oneOf (anyOf in a multiple choice) of const and title; options
 * without titles become an enum, as MCP demands.
 *
 * The text is written as it goes, and no tree is built: a handler builds its forms on every run.
 *
 * Holds always: a schema that is returned has a property for every field, in the order of the form,
 * and each default is valid for its own property's type and options. A program built against an
 * older header has smaller fields: members that they lack count as unset.
 */
#include "provider/form_build.h"

#include <math.h>

#include "json/schema.h"
#include "json/write.h"
#include "provider/handler.h"

struct builder {
    struct arena *arena;
    struct json_writer w;
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

static bool field_problem(struct builder *b, const char *field, const char *problem)
{
    struct str name = text_clean(b->arena, str_of(field));

    b->why = arena_fmt(b->arena, "the field \"" STR_FMT "\" %s", STR_ARG(name), problem);
    if (!b->why.at)
        b->why = STR("the form is too large");
    return false;
}

static struct json *preset_problem(struct builder *b, const nod_field *field, const char *problem)
{
    field_problem(b, field->name, problem);
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
        return preset_problem(b, field, "has a preset that is not a number");
    return json_copy(b->arena, value);
}

static struct json *preset_int(struct builder *b, const nod_field *field)
{
    struct json *value = preset_number(b, field);
    int64_t whole;

    if (value && !json_i64(value, &whole))
        return preset_problem(b, field, "has a preset that is not a whole number");
    return value;
}

static struct json *preset_bool(struct builder *b, const nod_field *field)
{
    struct str text = str_of(field->preset);

    if (!str_eq(text, STR("true")) && !str_eq(text, STR("false")))
        return preset_problem(b, field, "has a preset that is neither true nor false");
    return json_new_bool(b->arena, str_eq(text, STR("true")));
}

static struct json *preset_choice(struct builder *b, const nod_field *field)
{
    if (!options_have(field->options, str_of(field->preset)))
        return preset_problem(b, field, "has a preset that is not one of its options");
    return json_new_str(b->arena, str_of(field->preset));
}

static struct json *preset_choices(struct builder *b, const nod_field *field)
{
    struct json *value =
        json_parse(b->arena, arena_str(b->arena, str_of(field->preset)), NULL, NULL);

    if (!json_is(value, JSON_ARRAY))
        return preset_problem(b, field, "has a preset that is not a JSON array");
    JSON_EACH (item, value) {
        if (!json_is(item, JSON_STRING) || !options_have(field->options, item->text))
            return preset_problem(b, field, "has a preset that is not among its options");
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

/* `key` is plain, here and below: one of ours. */
static void put_str(struct builder *b, struct str key, const char *value)
{
    if (!value)
        return;
    jw_plain_key(&b->w, key);
    jw_str(&b->w, str_of(value));
}

/* For people. */
static void put_text(struct builder *b, struct str key, const char *value)
{
    if (!value)
        return;
    jw_plain_key(&b->w, key);
    jw_str(&b->w, text_clean(b->arena, str_of(value)));
}

static bool put_bound(struct builder *b, const nod_field *field, const struct field_kind *kind,
                      const char *key, double bound)
{
    if (!key)
        return field_problem(b, field->name, "has a bound, which its kind does not take");
    if (!isfinite(bound))
        return field_problem(b, field->name, "has a bound that is not a finite number");
    if (kind->counts && (bound < 0 || bound > INT32_MAX || bound != floor(bound)))
        return field_problem(b, field->name,
                             "has a length bound that is not a whole number from 0");
    jw_plain_key(&b->w, str_of(key));
    jw_value(&b->w, json_new_double(b->arena, bound));
    return true;
}

static bool put_bounds(struct builder *b, const nod_field *field, const struct field_kind *kind)
{
    if ((!field->has_min && field->min_value != 0) || (!field->has_max && field->max_value != 0))
        return field_problem(b, field->name,
                             "has a bound without its has_min or has_max: say NOD_MIN(5)");
    if (field->has_min && field->has_max && field->min_value > field->max_value)
        return field_problem(b, field->name, "has a lower bound above its upper one");
    if (field->kind == NOD_FIELD_INT && field->has_min && field->has_max &&
        ceil(field->min_value) > floor(field->max_value))
        return field_problem(b, field->name, "has bounds with no whole number between them");
    return (!field->has_min || put_bound(b, field, kind, kind->least, field->min_value)) &&
           (!field->has_max || put_bound(b, field, kind, kind->most, field->max_value));
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
        if (!is_utf8(b, o->value))
            return field_problem(b, field->name, "has an option that is not UTF-8");
        if (is_blank(o->title))
            return field_problem(b, field->name, "has an option with a blank title");
        if (options_have(o + 1, str_of(o->value)))
            return field_problem(b, field->name, "has the same option twice");
        *titled |= o->title != NULL;
    }
    if (!count)
        return field_problem(b, field->name, "has no options to choose from");
    if (field->has_min && field->min_value > (double)count)
        return field_problem(b, field->name, "asks for more choices than it has options");
    return true;
}

/* enum, or const and title of each: on the property itself, or on the items of a multiple choice.
 */
static bool put_options(struct builder *b, const nod_field *field, struct str titled_key,
                        bool *titled)
{
    if (!options_fit(b, field, titled))
        return false;
    jw_plain_key(&b->w, *titled ? titled_key : STR("enum"));
    jw_array(&b->w);
    for (const nod_option *o = field->options; o->value; o++) {
        if (!*titled) {
            jw_str(&b->w, str_of(o->value));
            continue;
        }
        jw_object(&b->w);
        put_str(b, STR("const"), o->value);
        put_text(b, STR("title"), o->title ? o->title : o->value);
        jw_end(&b->w);
    }
    jw_end(&b->w);
    return true;
}

static bool put_choices(struct builder *b, const nod_field *field)
{
    bool titled;

    if (field->kind == NOD_FIELD_CHOICE)
        return put_options(b, field, STR("oneOf"), &titled);
    jw_key(&b->w, STR("items"));
    jw_object(&b->w);
    if (!put_options(b, field, STR("anyOf"), &titled))
        return false;
    if (!titled)
        jw_key_str(&b->w, STR("type"), STR("string"));
    jw_end(&b->w);
    return true;
}

static bool put_property(struct builder *b, const nod_field *field)
{
    static const char *const formats[] = { "email", "uri", "date", "date-time", NULL };
    const struct field_kind *kind = &field_kinds[field->kind];

    jw_object(&b->w);
    put_str(b, STR("type"), kind->type);
    put_text(b, STR("title"), field->title);
    put_text(b, STR("description"), field->description);
    if (!put_bounds(b, field, kind))
        return false;
    if (!kind->options && field->options)
        return field_problem(
            b, field->name,
            "has options, which its kind does not take; if they were meant as bounds, "
            "say NOD_MIN and NOD_MAX");
    if (kind->options && !put_choices(b, field))
        return false;
    if (!kind->text && (field->format || field->pattern))
        return field_problem(b, field->name, "has a format or a pattern, but is not a text");
    if (field->format && !str_among(str_of(field->format), formats))
        return field_problem(b, field->name,
                             "has a format that is none of email, uri, date and date-time");
    put_str(b, STR("format"), field->format);
    put_str(b, STR("pattern"), field->pattern);
    if (is_blank(field->hint))
        return field_problem(b, field->name, "has a blank hint: leave it out, or say something");
    if (field->hint && !field->pattern)
        return field_problem(b, field->name, "has a hint, but no pattern that it could explain");
    if (!b->plain)
        put_text(b, STR(SCHEMA_HINT), field->hint);
    if (field->preset) {
        struct json *preset = kind->preset(b, field);
        if (!preset)
            return false;
        jw_key_value(&b->w, STR("default"), preset);
    }
    jw_end(&b->w);
    return true;
}

/* --- the form --- */

const nod_field *form_field(const nod_form *form, size_t index, nod_field *room)
{
    const char *at = (const char *)form->fields + index * form->field_size;

    if (form->field_size == sizeof(*room))
        return &form->fields[index];
    memset(room, 0, sizeof(*room));
    memcpy(room, at, form->field_size < sizeof(*room) ? form->field_size : sizeof(*room));
    return room;
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

static bool named_before(const nod_form *form, size_t index, const char *name)
{
    nod_field room;

    for (size_t i = 0; i < index; i++)
        if (strcmp(form_field(form, i, &room)->name, name) == 0)
            return true;
    return false;
}

static bool put_fields(struct builder *b, const nod_form *form)
{
    nod_field room;

    jw_key(&b->w, STR("properties"));
    jw_object(&b->w);
    for (size_t i = 0; i < form->count; i++) {
        const nod_field *field = form_field(form, i, &room);
        if (!field->name || !*field->name) {
            b->why = STR("a field of the form has no name");
            return false;
        }
        if ((size_t)field->kind >= sizeof(field_kinds) / sizeof(field_kinds[0]))
            return field_problem(b, field->name, "is of a kind that this version does not know");
        if (!is_utf8(b, field->name) || !is_utf8(b, field->pattern) || !is_utf8(b, field->preset))
            return field_problem(b, field->name,
                                 "has a name, a pattern or a preset that is not UTF-8");
        if (is_blank(field->title))
            return field_problem(b, field->name,
                                 "has a blank title: leave it out, or say something");
        jw_key(&b->w, str_of(field->name));
        if (!put_property(b, field))
            return false;
        if (named_before(form, i, field->name))
            return field_problem(b, field->name, "occurs twice");
    }
    jw_end(&b->w);
    jw_key(&b->w, STR("required"));
    jw_array(&b->w);
    for (size_t i = 0; i < form->count; i++) {
        const nod_field *field = form_field(form, i, &room);
        if (field->required)
            jw_str(&b->w, str_of(field->name));
    }
    jw_end(&b->w);
    return true;
}

static bool put_form(struct builder *b, const nod_form *form)
{
    if (!shape_check(b, form))
        return false;
    jw_object(&b->w);
    jw_key_str(&b->w, STR("type"), STR("object"));
    if (!put_fields(b, form))
        return false;
    jw_end(&b->w);
    return true;
}

static struct str form_write(const nod_form *form, bool plain, struct arena *arena, struct str *why)
{
    struct builder b = { .arena = arena, .why = STR("the form is too large"), .plain = plain };
    struct str text = STR_NONE;
    struct buf out;

    buf_init(&out, HANDLER_TEXT_MAX);
    json_writer_init(&b.w, &out);
    bool fits = put_form(&b, form);
    if (fits && json_writer_done(&b.w))
        text = arena_str(arena, buf_str(&out));
    if (fits && !text.at)
        arena->exhausted = true;
    if (arena->exhausted)
        text = STR_NONE;
    *why = b.why;
    buf_finish(&out);
    return text;
}

struct str form_text(const nod_form *form, struct arena *arena, struct str *why)
{
    return form_write(form, false, arena, why);
}

static struct json *build(const nod_form *form, bool plain, struct arena *arena, struct str *why)
{
    struct str text = form_write(form, plain, arena, why);

    return text.at ? json_parse(arena, text, NULL, NULL) : NULL;
}

struct json *form_build(const nod_form *form, struct arena *arena, struct str *why)
{
    return build(form, false, arena, why);
}

struct json *form_build_plain(const nod_form *form, struct arena *arena, struct str *why)
{
    return build(form, true, arena, why);
}

bool form_presets_fit(const struct json *form, struct arena *arena, struct str *why)
{
    static const struct schema_opts opts = { .assert_formats = true, .getter_numbers = true };

    JSON_EACH (property, json_get(form, STR("properties"))) {
        const struct json *preset = json_get(property, STR("default"));
        struct schema_problems problems = { 0 };
        struct schema *schema = preset ? schema_compile(property, &opts, arena, &problems) : NULL;
        bool fits = !schema || schema_check(schema, preset, arena, &problems) == NOD_OK;

        schema_destroy(schema);
        if (fits)
            continue;
        *why = arena_fmt(arena, "the preset of \"" STR_FMT "\" does not fit the field: it " STR_FMT,
                         STR_ARG(property->key),
                         STR_ARG(problems.count ? problems.at[0].message : STR("is not valid")));
        return false;
    }
    return true;
}
