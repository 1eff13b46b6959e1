/* tests/unit/provider/form_build: from the fields of a form to JSON Schema. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "json/write.h"
#include "provider/form_build.h"
#include "../runner.h"

static struct arena arena;
static struct buf out;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 20);
    buf_init(&out, 1 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_finish(&arena);
    buf_finish(&out);
    return 0;
}

static void expect(const nod_form *form, const char *schema)
{
    struct str why = STR_NONE;
    struct json *built = form_build(form, &arena, &why);

    if (!built)
        fail_msg("refused: " STR_FMT, STR_ARG(why));
    buf_clear(&out);
    assert_true(json_write(&out, built));
    buf_add_char(&out, '\0');
    assert_string_equal(out.at, schema);
}

static void expect_refused(const nod_form *form, const char *part)
{
    struct str why = STR_NONE;

    assert_null(form_build(form, &arena, &why));
    if (str_find(why, str_of(part)) < 0)
        fail_msg("\"" STR_FMT "\" does not say \"%s\"", STR_ARG(why), part);
}

#define PROPERTY(json) "{\"type\":\"object\",\"properties\":{\"f\":" json "},\"required\":[]}"

static void an_empty_form_is_an_object_without_properties(void **state)
{
    nod_form none = { sizeof(nod_field), NULL, 0 };
    (void)state;

    expect(&none, "{\"type\":\"object\",\"properties\":{},\"required\":[]}");
}

static void every_kind_has_its_type_and_its_bounds(void **state)
{
    (void)state;
    expect(NOD_FORM(NOD_TEXT("f", .title = "T", .description = "D", NOD_MIN(1), NOD_MAX(9),
                             .format = "email", .pattern = "^a")),
           PROPERTY("{\"type\":\"string\",\"title\":\"T\",\"description\":\"D\",\"minLength\":1,"
                    "\"maxLength\":9,\"format\":\"email\",\"pattern\":\"^a\"}"));
    expect(NOD_FORM(NOD_NUMBER("f", NOD_MIN(-0.5), NOD_MAX(1e21))),
           PROPERTY("{\"type\":\"number\",\"minimum\":-0.5,\"maximum\":1e+21}"));
    expect(NOD_FORM(NOD_INT("f", NOD_MIN(18))), PROPERTY("{\"type\":\"integer\",\"minimum\":18}"));
    expect(NOD_FORM(NOD_BOOL("f")), PROPERTY("{\"type\":\"boolean\"}"));
}

static void a_bound_of_zero_is_a_bound_and_no_bound_is_none(void **state)
{
    (void)state;
    expect(NOD_FORM(NOD_INT("f", NOD_MIN(0))), PROPERTY("{\"type\":\"integer\",\"minimum\":0}"));
    expect(NOD_FORM(NOD_NUMBER("f", NOD_MAX(0))), PROPERTY("{\"type\":\"number\",\"maximum\":0}"));
    expect(NOD_FORM(NOD_INT("f")), PROPERTY("{\"type\":\"integer\"}"));
}

static void a_bound_that_was_filled_in_by_half_is_refused(void **state)
{
    nod_field field = { .name = "f", .kind = NOD_FIELD_INT, .min_value = 5 };
    nod_form form = { sizeof(field), &field, 1 };
    (void)state;

    expect_refused(&form, "say NOD_MIN(5)");
    field = (nod_field){ .name = "f", .kind = NOD_FIELD_INT, .max_value = 5 };
    expect_refused(&form, "has_max");
}

static void a_hint_goes_with_a_pattern_and_not_into_a_listing(void **state)
{
    const nod_form *form = NOD_FORM(NOD_TEXT("f", .pattern = "^T-", .hint = "T-1"));
    struct str why = STR_NONE;
    (void)state;

    expect(form, PROPERTY("{\"type\":\"string\",\"pattern\":\"^T-\",\"patternHint\":\"T-1\"}"));
    assert_null(
        json_pointer(form_build_plain(form, &arena, &why), STR("/properties/f/patternHint")));
    expect_refused(NOD_FORM(NOD_TEXT("f", .hint = "T-1")), "no pattern");
}

static void required_fields_are_listed_in_order(void **state)
{
    (void)state;
    expect(NOD_FORM(NOD_BOOL("b", .required = true), NOD_TEXT("t"), NOD_INT("a", .required = true)),
           "{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"boolean\"},\"t\":{\"type\":"
           "\"string\"},"
           "\"a\":{\"type\":\"integer\"}},\"required\":[\"b\",\"a\"]}");
}

static void options_without_titles_are_an_enum_and_with_titles_are_not(void **state)
{
    (void)state;
    expect(NOD_FORM(NOD_CHOICE("f", NOD_OPTIONS({ "s" }, { "l" }))),
           PROPERTY("{\"type\":\"string\",\"enum\":[\"s\",\"l\"]}"));
    expect(NOD_FORM(NOD_CHOICE("f", NOD_OPTIONS({ "s", "Small" }, { "l" }))),
           PROPERTY("{\"type\":\"string\",\"oneOf\":[{\"const\":\"s\",\"title\":\"Small\"},"
                    "{\"const\":\"l\",\"title\":\"l\"}]}"));
    expect(
        NOD_FORM(NOD_CHOICES("f", NOD_OPTIONS({ "a" }, { "b" }), NOD_MIN(1), NOD_MAX(2))),
        PROPERTY(
            "{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"items\":{\"enum\":[\"a\",\"b\"],"
            "\"type\":\"string\"}}"));
    expect(
        NOD_FORM(NOD_CHOICES("f", NOD_OPTIONS({ "a", "A" }))),
        PROPERTY("{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"a\",\"title\":\"A\"}]}}"));
}

static void a_preset_becomes_a_default_of_the_right_type(void **state)
{
    (void)state;
    expect(NOD_FORM(NOD_TEXT("f", .preset = "12")),
           PROPERTY("{\"type\":\"string\",\"default\":\"12\"}"));
    expect(NOD_FORM(NOD_INT("f", .preset = "12")),
           PROPERTY("{\"type\":\"integer\",\"default\":12}"));
    expect(NOD_FORM(NOD_NUMBER("f", .preset = "1.50")),
           PROPERTY("{\"type\":\"number\",\"default\":1.50}"));
    expect(NOD_FORM(NOD_BOOL("f", .preset = "false")),
           PROPERTY("{\"type\":\"boolean\",\"default\":false}"));
    expect(NOD_FORM(NOD_CHOICE("f", NOD_OPTIONS({ "a" }), .preset = "a")),
           PROPERTY("{\"type\":\"string\",\"enum\":[\"a\"],\"default\":\"a\"}"));
    expect(NOD_FORM(NOD_CHOICES("f", NOD_OPTIONS({ "a" }, { "b" }), .preset = "[\"b\"]")),
           PROPERTY("{\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\"],\"type\":\"string\"},"
                    "\"default\":[\"b\"]}"));
}

static void a_preset_of_another_type_is_refused(void **state)
{
    (void)state;
    expect_refused(NOD_FORM(NOD_INT("f", .preset = "1.5")), "not a whole number");
    expect_refused(NOD_FORM(NOD_INT("f", .preset = "12 apples")), "not a number");
    expect_refused(NOD_FORM(NOD_NUMBER("f", .preset = "\"1\"")), "not a number");
    expect_refused(NOD_FORM(NOD_BOOL("f", .preset = "yes")), "neither true nor false");
    expect_refused(NOD_FORM(NOD_CHOICE("f", NOD_OPTIONS({ "a" }), .preset = "b")),
                   "not one of its options");
    expect_refused(NOD_FORM(NOD_CHOICES("f", NOD_OPTIONS({ "a" }), .preset = "a")), "JSON array");
    expect_refused(NOD_FORM(NOD_CHOICES("f", NOD_OPTIONS({ "a" }), .preset = "[\"a\",1]")),
                   "among its options");
}

static void bounds_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    expect_refused(NOD_FORM(NOD_TEXT("f", NOD_MIN(-1))), "length bound");
    expect_refused(NOD_FORM(NOD_TEXT("f", NOD_MAX(1.5))), "length bound");
    expect_refused(NOD_FORM(NOD_INT("f", NOD_MIN(2), NOD_MAX(1))), "above its upper");
    expect_refused(NOD_FORM(NOD_NUMBER("f", NOD_MIN(NAN))), "finite");
    expect_refused(NOD_FORM(NOD_BOOL("f", NOD_MIN(1))), "does not take");
    expect_refused(NOD_FORM(NOD_INT("f", .options = NOD_OPTIONS({ "1" }))), "say NOD_MIN");
}

static void fields_must_be_named_once_and_be_of_a_known_kind(void **state)
{
    (void)state;
    expect_refused(NOD_FORM(NOD_TEXT("")), "no name");
    expect_refused(NOD_FORM(NOD_TEXT(NULL)), "no name");
    expect_refused(NOD_FORM(NOD_TEXT("f"), NOD_INT("f")), "twice");
    expect_refused(NOD_FORM({ .name = "f", .kind = (nod_field_kind)77 }), "does not know");
    expect_refused(NOD_FORM(NOD_CHOICE("f", NULL)), "no options");
    expect_refused(NOD_FORM(NOD_CHOICE("f", NOD_OPTIONS({ "a" }, { "a" }))), "same option twice");
    expect_refused(NOD_FORM(NOD_INT("f", .format = "email")), "not a text");
}

static void a_form_of_an_older_header_is_read_with_its_own_field_size(void **state)
{
    struct old_field { /* the members up to `required` */
        const char *name;
        nod_field_kind kind;
        const nod_option *options;
        const char *title;
        const char *description;
        bool required;
    } old[] = { { .name = "a", .kind = NOD_FIELD_INT, .required = true },
                { .name = "b", .title = "B" } };
    nod_form form = { sizeof(old[0]), (const nod_field *)(const void *)old, 2 };
    (void)state;

    expect(&form, "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},"
                  "\"b\":{\"type\":\"string\",\"title\":\"B\"}},\"required\":[\"a\"]}");
}

static void a_field_size_that_no_header_had_is_refused(void **state)
{
    nod_field field = NOD_TEXT("a");
    nod_form form = { 4, &field, 1 };
    (void)state;

    expect_refused(&form, "field_size");
}

/* Calls that wait know their questions by digests of these bytes, also after an upgrade. */
static void the_text_of_a_form_stays_as_it_is(void **state)
{
    const nod_option plain[] = { { "a", NULL }, { "b\"", NULL }, { NULL, NULL } };
    const nod_option titled[] = { { "a", "A" }, { "b", NULL }, { NULL, NULL } };
    struct str why = STR_NONE;
    struct str text =
        form_text(NOD_FORM(NOD_TEXT("t", .title = "T", .description = "D", .format = "email",
                                    .preset = "x", NOD_MIN(1), NOD_MAX(20)),
                           NOD_TEXT("p", .pattern = "^T-\\d+$", .hint = "T-1", .required = true),
                           NOD_NUMBER("n", NOD_MIN(0.1), .preset = "1.50"),
                           NOD_CHOICE("c", plain, .preset = "a"), NOD_CHOICE("d", titled),
                           NOD_CHOICES("e", plain, NOD_MIN(1)), NOD_CHOICES("f", titled)),
                  &arena, &why);

    (void)state;
    assert_string_equal(
        text.at,
        "{\"type\":\"object\",\"properties\":{"
        "\"t\":{\"type\":\"string\",\"title\":\"T\",\"description\":\"D\",\"minLength\":1,"
        "\"maxLength\":20,\"format\":\"email\",\"default\":\"x\"},"
        "\"p\":{\"type\":\"string\",\"pattern\":\"^T-\\\\d+$\",\"patternHint\":\"T-1\"},"
        "\"n\":{\"type\":\"number\",\"minimum\":0.1,\"default\":1.50},"
        "\"c\":{\"type\":\"string\",\"enum\":[\"a\",\"b\\\"\"],\"default\":\"a\"},"
        "\"d\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"a\",\"title\":\"A\"},"
        "{\"const\":\"b\",\"title\":\"b\"}]},"
        "\"e\":{\"type\":\"array\",\"minItems\":1,"
        "\"items\":{\"enum\":[\"a\",\"b\\\"\"],\"type\":\"string\"}},"
        "\"f\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"a\",\"title\":\"A\"},"
        "{\"const\":\"b\",\"title\":\"b\"}]}}},\"required\":[\"p\"]}");
}

static void a_form_past_the_arena_is_refused_and_not_cut(void **state)
{
    struct arena small;
    struct str why = STR_NONE;
    (void)state;

    arena_init(&small, 256);
    assert_null(form_build(NOD_FORM(NOD_TEXT("a", .title = "a long title that takes up room"),
                                    NOD_TEXT("b", .title = "a long title that takes up room"),
                                    NOD_TEXT("c", .title = "a long title that takes up room")),
                           &small, &why));
    assert_true(why.len > 0);
    arena_finish(&small);
}

SUBJECT(form_build)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_empty_form_is_an_object_without_properties, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(every_kind_has_its_type_and_its_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(the_text_of_a_form_stays_as_it_is, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hint_goes_with_a_pattern_and_not_into_a_listing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_bound_of_zero_is_a_bound_and_no_bound_is_none, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_bound_that_was_filled_in_by_half_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(required_fields_are_listed_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(options_without_titles_are_an_enum_and_with_titles_are_not,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_preset_becomes_a_default_of_the_right_type, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_preset_of_another_type_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(bounds_that_make_no_sense_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(fields_must_be_named_once_and_be_of_a_known_kind, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_form_of_an_older_header_is_read_with_its_own_field_size,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_field_size_that_no_header_had_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_form_past_the_arena_is_refused_and_not_cut, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
