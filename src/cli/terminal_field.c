/*
 * cli/terminal_field: one field of a form, from what was typed to a value.
 *
 * A form is a flat object (json/form.h). What was typed becomes a value of the field's own type and
 * is checked by the same code, against the same schema, as on the server; the server checks it all
 * again. A number goes out digit for digit as it was typed. A time without a zone is one of the
 * terminal's zone, and goes out with its offset.
 */
#include <inttypes.h>
#include <time.h>

#include "cli/terminal_safe.h"
#include "cli/terminal.h"
#include "json/form.h"

enum {
    FIELD_NUMBER_MAX = 400,   /* bytes of a number that is typed */
    FIELD_CHOICES_MAX = 2000, /* bytes of the choices after a wrong one */
    FIELD_TIME_MAX = 32,      /* bytes of a time without a zone, with its NUL */
};

struct field *fields_of(struct arena *arena, const struct json *schema, size_t *count)
{
    const struct json *properties = json_get(schema, STR("properties"));
    size_t room = json_is(properties, JSON_OBJECT) ? properties->count : 0;
    struct field *fields = room ? arena_zalloc(arena, room * sizeof(*fields)) : NULL;

    *count = 0;
    JSON_EACH (property, fields ? properties : NULL) {
        struct str title = json_get_str(property, STR("title"));
        fields[(*count)++] = (struct field){
            .name = property->key,
            .title = title.len ? title : property->key,
            .schema = property,
            .required = json_has_str(json_get(schema, STR("required")), property->key),
        };
    }
    return fields;
}

static bool is_type(const struct field *field, struct str type)
{
    return str_eq(json_get_str(field->schema, STR("type")), type);
}

bool field_is_box(const struct field *field)
{
    return field->required && is_type(field, STR("boolean"));
}

bool field_is_many(const struct field *field)
{
    return is_type(field, STR("array"));
}

size_t field_choices(const struct field *field, struct field_choice *out, size_t room)
{
    const struct json *at =
        field_is_many(field) ? json_get(field->schema, STR("items")) : field->schema;
    const struct json *titled = json_get(at, STR("oneOf"));
    const struct json *names = json_get(at, STR("enumNames"));
    size_t count = 0;

    if (!titled)
        titled = json_get(at, STR("anyOf"));
    JSON_EACH (one, titled ? titled : json_get(at, STR("enum"))) {
        struct field_choice choice = { .value = json_str(one), .title = json_str(one) };
        if (titled) {
            choice.value = json_get_str(one, STR("const"));
            choice.title = json_get_str(one, STR("title"));
        } else if (json_at(names, count)) {
            choice.title = json_str(json_at(names, count));
        }
        if (!choice.title.len)
            choice.title = choice.value;
        if (out && count < room)
            out[count] = choice;
        count++;
    }
    return count < FORM_CHOICES_MOST ? count : FORM_CHOICES_MOST;
}

bool field_is_numbered(const struct field *field)
{
    struct field_choice choices[FORM_CHOICES_MOST];
    size_t count = field_choices(field, choices, FORM_CHOICES_MOST);
    uint64_t number;

    for (size_t i = 0; i < count; i++)
        if (str_to_u64(choices[i].value, &number) || str_to_u64(choices[i].title, &number))
            return false;
    return true;
}

/* --- what is expected --- */

static void bounds(FILE *out, const struct field *field, struct str low, struct str high,
                   const char *unit)
{
    const struct json *least = json_get(field->schema, low);
    const struct json *most = json_get(field->schema, high);

    bool from = json_is(least, JSON_NUMBER), to = json_is(most, JSON_NUMBER);

    if (from && str_eq(low, STR("minLength")) && str_eq(least->text, STR("1")))
        from = false; /* what is empty is no answer */
    if (!from && !to)
        return;
    fputs(from && to ? ", " : from ? ", at least " : ", at most ", out);
    if (from)
        safe_text(out, least->text, 0);
    if (from && to)
        fputs(" to ", out);
    if (to)
        safe_text(out, most->text, 0);
    bool one = to && str_eq(high, STR("maxLength")) && str_eq(most->text, STR("1"));
    fputs(one ? " character" : unit, out);
}

/* "s (Small), l (Large)": what is typed, and what it means. */
static void add_choices(struct buf *out, const struct field *field)
{
    struct field_choice choices[FORM_CHOICES_MOST];
    size_t count = field_choices(field, choices, FORM_CHOICES_MOST);

    for (size_t i = 0; i < count; i++) {
        buf_add(out, i ? STR(", ") : STR_NONE);
        buf_add(out, choices[i].value);
        if (!str_eq(choices[i].title, choices[i].value))
            buf_fmt(out, " (" STR_FMT ")", STR_ARG(choices[i].title));
    }
}

/* What a text is called. A format that is not known here is named as it is. */
static struct str format_words(struct str format)
{
    static const struct {
        struct str format, words;
    } all[] = {
        { STR_INIT("email"), STR_INIT("an e-mail address") },
        { STR_INIT("uri"), STR_INIT("an address, such as https://example.com/") },
        { STR_INIT("date"), STR_INIT("a date, such as 2026-11-16") },
        { STR_INIT("date-time"),
          STR_INIT("date and time, such as 2026-11-16 12:03 in your time zone, or "
                   "2026-11-16T12:03:00Z") },
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (str_eq(format, all[i].format))
            return all[i].words;
    return format.len ? format : STR("a text");
}

void field_hint(FILE *out, const struct field *field, bool listed)
{
    struct str format = json_get_str(field->schema, STR("format"));
    struct str about = json_get_str(field->schema, STR("description"));
    struct str like = json_get_str(field->schema, STR(SCHEMA_HINT));

    if (field_choices(field, NULL, 0)) {
        struct buf choices;

        fputs(field_is_many(field) ? "any of " : "one of ", out);
        buf_init(&choices, TERMINAL_TREE_MAX);
        add_choices(&choices, field);
        safe_text(out, listed ? STR("these") : buf_str(&choices), 0);
        buf_finish(&choices);
        bounds(out, field, STR("minItems"), STR("maxItems"), " of them");
    } else if (is_type(field, STR("boolean"))) {
        fputs("yes or no", out);
    } else if (is_type(field, STR("integer")) || is_type(field, STR("number"))) {
        fputs(is_type(field, STR("integer")) ? "a whole number" : "a number", out);
        bounds(out, field, STR("minimum"), STR("maximum"), "");
    } else {
        safe_text(out, format_words(format), 0);
        bounds(out, field, STR("minLength"), STR("maxLength"), " characters");
    }
    if (like.len) {
        fputs(", like ", out);
        safe_text(out, like, 0);
    }
    fputs(field->required ? ", required" : ", optional", out);
    if (about.len) {
        fputs(" (", out);
        safe_text(out, about, 0);
        fputc(')', out);
    }
}

/* --- presets --- */

const struct json *field_preset(const struct field *field)
{
    const struct json *preset = json_get(field->schema, STR("default"));

    return preset && preset->type != JSON_NULL && preset->type != JSON_OBJECT ? preset : NULL;
}

void field_show(FILE *out, const struct json *value)
{
    switch (value->type) {
    case JSON_BOOL:
        fputs(value->truth ? "yes" : "no", out);
        break;
    case JSON_ARRAY:
        JSON_EACH (one, value) {
            if (one != value->first)
                fputs(", ", out);
            safe_text(out, json_str(one), 0);
        }
        break;
    default:
        safe_text(out, value->text, 0);
    }
}

bool field_is_left_out(const struct field *field, struct str typed)
{
    return str_eq(typed, STR("-")) && field_preset(field) && !field->required;
}

/* --- values --- */

static bool is_word(struct str typed, struct str a, struct str b, struct str c)
{
    return str_eq_nocase(typed, a) || str_eq_nocase(typed, b) || str_eq_nocase(typed, c);
}

/* The value of a choice, by its number, its value or its title; as typed if it is none. */
static struct str choice_of(const struct field *field, struct str typed)
{
    struct field_choice choices[FORM_CHOICES_MOST];
    size_t count = field_choices(field, choices, FORM_CHOICES_MOST);
    uint64_t number;

    for (size_t i = 0; i < count; i++)
        if (str_eq(typed, choices[i].value))
            return choices[i].value;
    for (size_t i = 0; i < count; i++)
        if (str_eq_nocase(typed, choices[i].title))
            return choices[i].value;
    if (field_is_numbered(field) && str_to_u64(typed, &number) && number && number <= count)
        return choices[number - 1].value;
    return typed;
}

static struct json *many_of(struct arena *arena, const struct field *field, struct str typed)
{
    struct json *list = json_new_array(arena);
    bool more = !str_blank(typed);

    while (more) {
        struct str one, rest = STR_NONE;
        more = str_cut(typed, ',', &one, &rest);
        json_push(list, json_new_str(arena, choice_of(field, str_trim(one))));
        typed = rest;
    }
    return list;
}

/* "2026-11-16 12:03" as RFC 3339 has it; what is no time here, or has a zone, as it was typed. */
static struct str time_of(struct arena *arena, struct str typed)
{
    static const char *const forms[] = { "%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
                                         "%Y-%m-%dT%H:%M:%S" };
    char text[FIELD_TIME_MAX], zone[8];

    for (size_t i = 0; typed.len < sizeof(text) && i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm given = { 0 };
        memcpy(text, typed.at, typed.len);
        text[typed.len] = '\0';
        const char *end = strptime(text, forms[i], &given);
        if (!end || *end)
            continue;
        struct tm at = given;
        at.tm_isdst = -1;
        if (mktime(&at) == (time_t)-1 || at.tm_mday != given.tm_mday ||
            at.tm_hour != given.tm_hour || at.tm_min != given.tm_min ||
            !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &at) ||
            strftime(zone, sizeof(zone), "%z", &at) != 5)
            break; /* no such day, or clocks were put forward then */
        return arena_fmt(arena, "%s%.3s:%s", text, zone, zone + 3);
    }
    return typed;
}

/* A value of the field's type if it can be one; otherwise the text, and the check says why not. */
static const struct json *value_of(struct arena *arena, const struct field *field, struct str typed)
{
    struct str trimmed = str_trim(typed);

    if (field_is_many(field))
        return many_of(arena, field, typed);
    if (field_choices(field, NULL, 0))
        return json_new_str(arena, choice_of(field, trimmed));
    if (is_type(field, STR("boolean")) && is_word(trimmed, STR("y"), STR("yes"), STR("true")))
        return json_new_bool(arena, true);
    if (is_type(field, STR("boolean")) && is_word(trimmed, STR("n"), STR("no"), STR("false")))
        return json_new_bool(arena, false);
    if ((is_type(field, STR("integer")) || is_type(field, STR("number"))) &&
        trimmed.len <= FIELD_NUMBER_MAX) {
        const struct json *number = json_parse(arena, arena_str(arena, trimmed), NULL, NULL);
        if (json_is(number, JSON_NUMBER))
            return number;
    }
    if (str_eq(json_get_str(field->schema, STR("format")), STR("date-time")))
        return json_new_str(arena, time_of(arena, trimmed));
    return json_new_str(arena, typed);
}

/* What does not fit, in the words of the prompts: a schema speaks of types and of values. */
static void say_why(const struct field *field, struct str problem, struct buf *why)
{
    struct buf choices;

    buf_init(&choices, FIELD_CHOICES_MAX);
    if (str_starts(problem, STR("expected ")) && is_type(field, STR("integer"))) {
        buf_add(why, STR("write a whole number, such as 42"));
    } else if (str_starts(problem, STR("expected ")) && is_type(field, STR("number"))) {
        buf_add(why, STR("write a number, such as 0.5"));
    } else if (str_starts(problem, STR("expected ")) && is_type(field, STR("boolean"))) {
        buf_add(why, STR("write yes or no"));
    } else if (str_starts(problem, STR("must be one of ")) && field_choices(field, NULL, 0)) {
        add_choices(&choices, field);
        buf_fmt(why, "choose from " STR_FMT "%s", STR_ARG(buf_str(&choices)),
                choices.overflow ? ", ..." : "");
    } else {
        buf_add(why, problem.len ? problem : STR("this does not fit"));
    }
    buf_finish(&choices);
}

/* As the server checks it. A schema that cannot be compiled checks nothing here. */
static bool is_fit(struct arena *arena, const struct field *field, const struct json *value,
                   struct buf *why)
{
    struct schema_problems problems = { 0 };
    struct schema *schema =
        schema_compile(field->schema,
                       &(struct schema_opts){
                           .assert_formats = true, .getter_numbers = true, .distinct_items = true },
                       arena, &problems);

    if (!schema)
        return true;
    problems.count = 0;
    nod_status status = schema_check(schema, value, arena, &problems);
    schema_destroy(schema);
    if (status != NOD_OK)
        say_why(field, problems.count ? problems.at[0].message : STR_NONE, why);
    return status == NOD_OK;
}

bool field_take(struct arena *arena, struct field *field, struct str typed, struct buf *why)
{
    const struct json *value = value_of(arena, field, typed);

    if (!value || !is_fit(arena, field, value, why))
        return false;
    field->value = value;
    return true;
}
