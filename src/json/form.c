/*
 * json/form: which schemas are forms, and what each protocol revision takes.
 *
 * Two tables decide: which kinds of field there are, and which keywords a kind has since which
 * revision. Both were taken from schema.ts of the revisions. form_check walks a schema with the
 * tables and refuses what is not in them, at the path of the offending keyword. form_for_revision
 * walks it again and writes only what the revision knows.
 *
 * Beyond the types of schema.ts a form must make sense: bounds in order, choices that differ,
 * defaults that fit, required names that exist. `pattern` and its hint are taken from the author,
 * used on the server, and never sent, since no revision knows them.
 */
#include "json/form.h"

#include "json/form_many.h"
#include "json/schema_inside.h"

enum form_kind { FORM_TEXT, FORM_NUMBER, FORM_BOOLEAN, FORM_CHOICE, FORM_TITLED, FORM_MANY };

#define BIT(kind) (1u << (kind))

enum {
    ALL_KINDS = (1u << (FORM_MANY + 1)) - 1,
    NEVER_SENT = FORM_2026_07_28 + 1, /* known to form_check, but never sent */
    ANY_TYPE = JSON_OBJECT + 1,       /* whether it fits is checked against the whole field */
};

struct form {
    enum form_revision revision;
    struct arena *arena;
    struct schema_problems *problems;
};

__attribute__((format(printf, 3, 4))) static bool refuse(struct form *form,
                                                         const struct place *path,
                                                         const char *format, ...)
{
    va_list args;

    if (form->problems->count == SCHEMA_PROBLEMS_MAX)
        return false;
    va_start(args, format);
    struct str message = arena_vfmt(form->arena, format, args);
    va_end(args);
    problem_add(form->problems, form->arena, path, message);
    return false;
}

static bool expect(struct form *form, const struct place *path, const struct json *value,
                   enum json_type type)
{
    const struct json wanted = { .type = (uint8_t)type };

    return json_is(value, type) || refuse(form, path, "expected %s, got %s",
                                          json_type_name(&wanted), json_type_name(value));
}

/* --- values of keywords --- */

/* A text that people read in place of another: a blank one would hide it. */
static bool value_is_shown(struct form *form, const struct place *path, const struct json *value)
{
    return !str_blank(value->text) ||
           refuse(form, path, "is blank: leave it out, or say something");
}

static bool value_is_count(struct form *form, const struct place *path, const struct json *value)
{
    int64_t n;

    return (json_i64(value, &n) && n >= 0) ||
           refuse(form, path, "must be a whole number, at least 0");
}

static bool value_is_format(struct form *form, const struct place *path, const struct json *value)
{
    static const char *const formats[] = { "email", "uri", "date", "date-time", NULL };

    return str_among(value->text, formats) ||
           refuse(form, path, "must be \"email\", \"uri\", \"date\" or \"date-time\"");
}

/* --- choices --- */

/* The value of one choice: the string itself, or the const of a titled one. */
typedef struct str choice_fn(struct form *form, const struct place *path,
                             const struct json *choice);

static struct str choice_plain(struct form *form, const struct place *path,
                               const struct json *choice)
{
    expect(form, path, choice, JSON_STRING);
    return json_str(choice);
}

static struct str choice_titled(struct form *form, const struct place *path,
                                const struct json *choice)
{
    bool fine = expect(form, path, choice, JSON_OBJECT);

    JSON_EACH (member, fine ? choice : NULL) {
        struct place here = place_key(path, member->key);
        if (!str_eq(member->key, STR("const")) && !str_eq(member->key, STR("title")))
            fine = refuse(form, &here, "is not a keyword of a titled choice");
        else
            fine = expect(form, &here, member, JSON_STRING) && fine;
    }
    if (fine && (!json_get(choice, STR("const")) || !json_get(choice, STR("title"))))
        fine = refuse(form, path, "must have a const and a title");
    return fine ? json_get_str(choice, STR("const")) : STR_NONE;
}

static bool check_choices(struct form *form, const struct place *path, const struct json *value,
                          choice_fn *choice)
{
    static char present;
    struct map seen;
    size_t before = form->problems->count;
    size_t index = 0;

    if (!expect(form, path, value, JSON_ARRAY))
        return false;
    if (value->count == 0)
        return refuse(form, path, "must have at least one choice");
    if (value->count > FORM_CHOICES_MOST)
        return refuse(form, path, "has more than %d choices", FORM_CHOICES_MOST);
    map_init(&seen, FORM_CHOICES_MOST);
    JSON_EACH (item, value) {
        struct place here = place_index(path, index++);
        struct str text = choice(form, &here, item);
        if (text.at && map_get(&seen, text))
            refuse(form, &here, "occurs twice");
        else if (text.at)
            map_set(&seen, text, &present);
    }
    map_finish(&seen);
    return form->problems->count == before;
}

static bool value_is_choices(struct form *form, const struct place *path, const struct json *value)
{
    return check_choices(form, path, value, choice_plain);
}

static bool value_is_titled(struct form *form, const struct place *path, const struct json *value)
{
    return check_choices(form, path, value, choice_titled);
}

static bool value_is_names(struct form *form, const struct place *path, const struct json *value)
{
    bool fine = true;
    size_t index = 0;

    JSON_EACH (item, value) {
        struct place here = place_index(path, index++);
        fine = expect(form, &here, item, JSON_STRING) && fine;
    }
    return fine;
}

/* { type: "string", enum: [...] } or { anyOf: [{ const, title }, ...] }, and nothing else. */
static bool value_is_items(struct form *form, const struct place *path, const struct json *value)
{
    bool titled = json_get(value, STR("anyOf")) != NULL;
    bool fine = true;

    JSON_EACH (member, value) {
        struct place here = place_key(path, member->key);
        if (titled && str_eq(member->key, STR("anyOf")))
            fine = check_choices(form, &here, member, choice_titled) && fine;
        else if (!titled && str_eq(member->key, STR("enum")))
            fine = check_choices(form, &here, member, choice_plain) && fine;
        else if (titled || !str_eq(member->key, STR("type")))
            fine = refuse(form, &here, "is not a keyword of the items of a form field");
        else if (!str_eq(json_str(member), STR("string")))
            fine =
                refuse(form, &here, "must be \"string\": a form asks for a list of choices only");
    }
    if (fine && !titled && (!json_get(value, STR("enum")) || !json_get(value, STR("type"))))
        fine = refuse(form, path, "must have a type and an enum, or an anyOf of titled choices");
    return fine;
}

/* --- the table of keywords --- */

struct form_keyword {
    struct str name;
    unsigned kinds;
    int since; /* enum form_revision, or NEVER_SENT */
    int type;  /* enum json_type, or ANY_TYPE */
    /* of a value of that type; NULL: any fits */
    bool (*fits)(struct form *form, const struct place *path, const struct json *value);
};

static const struct form_keyword keywords[] = {
    { STR_INIT("type"), ALL_KINDS, FORM_2025_06_18, JSON_STRING, NULL },
    { STR_INIT("title"), ALL_KINDS, FORM_2025_06_18, JSON_STRING, value_is_shown },
    { STR_INIT("description"), ALL_KINDS, FORM_2025_06_18, JSON_STRING, NULL },
    { STR_INIT("minLength"), BIT(FORM_TEXT), FORM_2025_06_18, JSON_NUMBER, value_is_count },
    { STR_INIT("maxLength"), BIT(FORM_TEXT), FORM_2025_06_18, JSON_NUMBER, value_is_count },
    { STR_INIT("format"), BIT(FORM_TEXT), FORM_2025_06_18, JSON_STRING, value_is_format },
    { STR_INIT("pattern"), BIT(FORM_TEXT), NEVER_SENT, JSON_STRING, NULL },
    { STR_INIT(SCHEMA_HINT), BIT(FORM_TEXT), NEVER_SENT, JSON_STRING, value_is_shown },
    { STR_INIT("minimum"), BIT(FORM_NUMBER), FORM_2025_06_18, JSON_NUMBER, NULL },
    { STR_INIT("maximum"), BIT(FORM_NUMBER), FORM_2025_06_18, JSON_NUMBER, NULL },
    { STR_INIT("enum"), BIT(FORM_CHOICE), FORM_2025_06_18, JSON_ARRAY, value_is_choices },
    { STR_INIT("enumNames"), BIT(FORM_CHOICE), FORM_2025_06_18, JSON_ARRAY, value_is_names },
    { STR_INIT("oneOf"), BIT(FORM_TITLED), FORM_2025_11_25, JSON_ARRAY, value_is_titled },
    { STR_INIT("items"), BIT(FORM_MANY), FORM_2025_11_25, JSON_OBJECT, value_is_items },
    { STR_INIT("minItems"), BIT(FORM_MANY), FORM_2025_11_25, JSON_NUMBER, value_is_count },
    { STR_INIT("maxItems"), BIT(FORM_MANY), FORM_2025_11_25, JSON_NUMBER, value_is_count },
    { STR_INIT("default"), BIT(FORM_BOOLEAN), FORM_2025_06_18, ANY_TYPE, NULL },
    { STR_INIT("default"), ALL_KINDS & ~BIT(FORM_BOOLEAN), FORM_2025_11_25, ANY_TYPE, NULL },
};

static const struct form_keyword *keyword_find(struct str name, enum form_kind kind)
{
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
        if (str_eq(name, keywords[i].name) && (keywords[i].kinds & BIT(kind)))
            return &keywords[i];
    return NULL;
}

static bool kind_of(const struct json *field, enum form_kind *kind)
{
    static const struct {
        struct str type;
        enum form_kind kind;
    } kinds[] = {
        { STR_INIT("string"), FORM_TEXT },    { STR_INIT("number"), FORM_NUMBER },
        { STR_INIT("integer"), FORM_NUMBER }, { STR_INIT("boolean"), FORM_BOOLEAN },
        { STR_INIT("array"), FORM_MANY },
    };
    struct str type = json_get_str(field, STR("type"));

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!str_eq(type, kinds[i].type))
            continue;
        *kind = kinds[i].kind;
        if (*kind == FORM_TEXT && json_get(field, STR("enum")))
            *kind = FORM_CHOICE;
        else if (*kind == FORM_TEXT && json_get(field, STR("oneOf")))
            *kind = FORM_TITLED;
        return true;
    }
    return false;
}

/* --- a field --- */

static bool check_keywords(struct form *form, const struct place *path, const struct json *field,
                           enum form_kind kind)
{
    bool fine = true;

    JSON_EACH (member, field) {
        struct place here = place_key(path, member->key);
        const struct form_keyword *keyword = keyword_find(member->key, kind);
        if (!keyword)
            fine = refuse(form, &here, "is not a keyword of this kind of form field");
        else if (keyword->since != NEVER_SENT && keyword->since > (int)form->revision)
            fine = refuse(form, &here, "is not known to this protocol revision");
        else if (keyword->type != ANY_TYPE &&
                 !expect(form, &here, member, (enum json_type)keyword->type))
            fine = false;
        else if (keyword->fits)
            fine = keyword->fits(form, &here, member) && fine;
    }
    return fine;
}

static bool check_order(struct form *form, const struct place *path, const struct json *field)
{
    static const struct {
        struct str low;
        struct str high;
    } pairs[] = {
        { STR_INIT("minLength"), STR_INIT("maxLength") },
        { STR_INIT("minimum"), STR_INIT("maximum") },
        { STR_INIT("minItems"), STR_INIT("maxItems") },
    };

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const struct json *low = json_get(field, pairs[i].low);
        const struct json *high = json_get(field, pairs[i].high);
        struct place here = { .up = path, .key = pairs[i].low };
        if (low && high && json_number_cmp(low, high) > 0)
            return refuse(form, &here, "must not be more than " STR_FMT, STR_ARG(pairs[i].high));
    }
    return true;
}

/* Not more choices asked for than there are, and as many names as choices. */
static bool check_numbers_of_choices(struct form *form, const struct place *path,
                                     const struct json *field)
{
    const struct json *names = json_get(field, STR("enumNames"));
    const struct json *items = json_get(field, STR("items"));
    const struct json *any = json_get(items, STR("anyOf"));
    const struct json *choices = any ? any : json_get(items, STR("enum"));
    struct place here = { .up = path, .key = STR("enumNames") };
    int64_t least = 0;

    if (names && names->count != json_get(field, STR("enum"))->count)
        return refuse(form, &here, "must have as many names as enum has choices");
    here.key = STR("minItems");
    if (choices && json_i64(json_get(field, STR("minItems")), &least) && least > choices->count)
        return refuse(form, &here, "asks for more choices than there are");
    return true;
}

/* Compiles the field as a schema of its own: this also finds patterns that do not compile. */
static bool check_default(struct form *form, const struct place *path, const struct json *field)
{
    const struct json *value = json_get(field, STR("default"));
    const struct schema_opts opts = { .assert_formats = true,
                                      .getter_numbers = true,
                                      .distinct_items = true };
    struct place here = { .up = path, .key = STR("default") };
    struct schema_problems problems;
    bool fine = true;

    if (!value && !json_get(field, STR("pattern")))
        return true;
    struct schema *schema = schema_compile(field, &opts, form->arena, &problems);
    if (!schema) {
        here.key = str_skip(problems.at[0].path, 1);
        return refuse(form, here.key.len ? &here : path, STR_FMT, STR_ARG(problems.at[0].message));
    }
    if (value && schema_check(schema, value, form->arena, &problems) != NOD_OK)
        fine = refuse(form, &here, "does not fit the field: " STR_FMT,
                      STR_ARG(problems.at[0].message));
    const struct json *hint = json_get(field, STR(SCHEMA_HINT));
    here.key = STR(SCHEMA_HINT);
    if (hint && schema_check(schema, hint, form->arena, &problems) != NOD_OK)
        fine = refuse(form, &here, "does not fit the field: give an example that does");
    schema_destroy(schema);
    return fine;
}

static bool check_field(struct form *form, const struct place *path, const struct json *field)
{
    struct place type = place_key(path, STR("type")), hint = place_key(path, STR(SCHEMA_HINT));
    enum form_kind kind;

    if (!expect(form, path, field, JSON_OBJECT))
        return false;
    if (!kind_of(field, &kind))
        return refuse(form, json_get(field, STR("type")) ? &type : path,
                      "must be of type string, number, integer, boolean or array of choices");
    if (kind == FORM_MANY && form->revision < FORM_2025_11_25)
        return refuse(form, &type,
                      "asks for several choices, which this protocol revision does "
                      "not know");
    if (kind == FORM_MANY && !json_get(field, STR("items")))
        return refuse(form, path, "must have items: a form asks for a list of choices only");
    if (!check_keywords(form, path, field, kind) || !check_order(form, path, field) ||
        !check_numbers_of_choices(form, path, field))
        return false;
    if (json_get(field, hint.key) && !json_get(field, STR("pattern")))
        return refuse(form, &hint, "goes with a pattern, and there is none");
    return check_default(form, path, field);
}

/* --- the whole --- */

static void check_fields(struct form *form, const struct json *properties)
{
    struct place path = { .key = STR("properties") };

    if (!expect(form, &path, properties, JSON_OBJECT))
        return;
    if (properties->count > FORM_FIELDS_MOST) {
        refuse(form, &path, "has more than %d fields", FORM_FIELDS_MOST);
        return;
    }
    JSON_EACH (field, properties) {
        struct place here = place_key(&path, field->key);
        check_field(form, &here, field);
    }
}

static void check_required(struct form *form, const struct json *schema)
{
    const struct json *required = json_get(schema, STR("required"));
    const struct json *properties = json_get(schema, STR("properties"));
    struct place path = { .key = STR("required") };
    size_t index = 0;

    if (!required || !expect(form, &path, required, JSON_ARRAY))
        return;
    if (required->count > FORM_FIELDS_MOST) {
        refuse(form, &path, "has more than %d names", FORM_FIELDS_MOST);
        return;
    }
    JSON_EACH (name, required) {
        struct place here = place_index(&path, index++);
        if (!expect(form, &here, name, JSON_STRING))
            continue;
        if (!json_get(properties, name->text))
            refuse(form, &here, "names a field that is not among the properties");
        JSON_EACH (earlier, required) {
            if (earlier == name)
                break;
            if (json_equal(earlier, name)) {
                refuse(form, &here, "names the same field twice");
                break;
            }
        }
    }
}

nod_status form_check(const struct json *schema, enum form_revision revision, struct arena *arena,
                      struct schema_problems *problems)
{
    struct form form = { .revision = revision, .arena = arena, .problems = problems };

    problems->count = 0;
    if (expect(&form, NULL, schema, JSON_OBJECT)) {
        JSON_EACH (member, schema) {
            struct place here = place_key(NULL, member->key);
            bool dialect = str_eq(member->key, STR("$schema"));
            if (dialect && form.revision >= FORM_2025_11_25)
                expect(&form, &here, member, JSON_STRING);
            else if (dialect)
                refuse(&form, &here, "is not known to this protocol revision");
            else if (!str_eq(member->key, STR("type")) && !str_eq(member->key, STR("properties")) &&
                     !str_eq(member->key, STR("required")))
                refuse(&form, &here, "is not a keyword at the top of a form");
        }
        struct place type = { .key = STR("type") };
        if (!str_eq(json_get_str(schema, STR("type")), STR("object")))
            refuse(&form, &type, "must be \"object\": a form is a flat object of fields");
        check_fields(&form, json_get(schema, STR("properties")));
        check_required(&form, schema);
    }
    return problems->count ? NOD_E_BAD_SCHEMA : NOD_OK;
}

/* --- for the wire --- */

/* oneOf [{ const, title }] as enum and enumNames, which is all that 2025-06-18 knows. */
static void take_down_titles(struct form *form, const struct json *one_of, struct json *out)
{
    struct json *values = json_new_array(form->arena);
    struct json *names = json_new_array(form->arena);

    JSON_EACH (choice, one_of) {
        json_push(values, json_new_str(form->arena, json_get_str(choice, STR("const"))));
        json_push(names, json_new_str(form->arena, json_get_str(choice, STR("title"))));
    }
    json_set(form->arena, out, STR("enum"), values);
    json_set(form->arena, out, STR("enumNames"), names);
}

static struct json *field_for(struct form *form, const struct place *path, const struct json *field)
{
    struct place type = { .up = path, .key = STR("type") };
    struct json *out = json_new_object(form->arena);
    enum form_kind kind;

    if (!kind_of(field, &kind)) {
        refuse(form, &type, "is not a kind of form field");
        return NULL;
    }
    if (kind == FORM_MANY && form->revision < FORM_2025_11_25) {
        struct json *text = form_many_as_text(field, form->arena);
        if (!text)
            refuse(form, path, "has choices that are too long to be named in a text");
        return text;
    }
    JSON_EACH (member, field) {
        const struct form_keyword *keyword = keyword_find(member->key, kind);
        bool known = keyword && keyword->since <= (int)form->revision;
        if (known)
            json_set(form->arena, out, member->key, json_copy(form->arena, member));
        else if (kind == FORM_TITLED && str_eq(member->key, STR("oneOf")))
            take_down_titles(form, member, out);
    }
    return out;
}

const struct json *form_read_back(const struct json *schema, enum form_revision revision,
                                  const struct json *content, struct arena *arena)
{
    return revision < FORM_2025_11_25 ? form_many_from_text(schema, content, arena) : content;
}

struct json *form_for_revision(const struct json *schema, enum form_revision revision,
                               struct arena *arena, struct schema_problems *problems)
{
    struct form form = { .revision = revision, .arena = arena, .problems = problems };
    const struct json *required = json_get(schema, STR("required"));
    struct place path = { .key = STR("properties") };
    struct json *out = json_new_object(arena);
    struct json *properties = json_new_object(arena);

    problems->count = 0;
    JSON_EACH (field, json_get(schema, STR("properties"))) {
        struct place here = place_key(&path, field->key);
        json_set_new(arena, properties, field->key, field_for(&form, &here, field));
    }
    json_set(arena, out, STR("type"), json_new_str(arena, STR("object")));
    json_set(arena, out, STR("properties"), properties);
    if (required && required->count)
        json_set(arena, out, STR("required"), json_copy(arena, required));
    if (arena->exhausted)
        refuse(&form, NULL, "is larger than a form may be");
    return problems->count ? NULL : out;
}
