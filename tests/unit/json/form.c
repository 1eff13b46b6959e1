/* tests/unit/json/form: which schemas are forms, what each revision is sent, and what asks for a
 * secret.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/buf.h"
#include "json/form.h"
#include "json/write.h"
#include "../runner.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static struct arena arena;
static struct schema_problems problems;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 32 * 1024 * 1024);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_finish(&arena);
    return 0;
}

static struct json *parsed(struct str text)
{
    struct json_error error = { 0 };
    struct json *v = json_parse(&arena, text, NULL, &error);

    if (!v)
        fail_msg("not JSON: " STR_FMT ": %s", STR_ARG(text), error.what);
    return v;
}

/* A form with one field, "a". */
static struct json *one_field(const char *field)
{
    return parsed(arena_fmt(&arena, "{\"type\":\"object\",\"properties\":{\"a\":%s}}", field));
}

/* --- what is a form --- */

static const struct {
    const char *field;
    int since; /* the first revision that knows it */
} fields[] = {
    { "{\"type\":\"string\"}", FORM_2025_06_18 },
    { "{\"type\":\"string\",\"title\":\"T\",\"description\":\"D\",\"minLength\":1,"
      "\"maxLength\":9}",
      FORM_2025_06_18 },
    { "{\"type\":\"string\",\"format\":\"email\"}", FORM_2025_06_18 },
    { "{\"type\":\"string\",\"format\":\"uri\"}", FORM_2025_06_18 },
    { "{\"type\":\"string\",\"format\":\"date\"}", FORM_2025_06_18 },
    { "{\"type\":\"string\",\"format\":\"date-time\"}", FORM_2025_06_18 },
    { "{\"type\":\"string\",\"pattern\":\"^a\"}", FORM_2025_06_18 },
    { "{\"type\":\"string\",\"default\":\"x\"}", FORM_2025_11_25 },
    { "{\"type\":\"number\",\"minimum\":0.5,\"maximum\":1.5}", FORM_2025_06_18 },
    { "{\"type\":\"integer\",\"minimum\":0,\"maximum\":10}", FORM_2025_06_18 },
    { "{\"type\":\"integer\",\"default\":3}", FORM_2025_11_25 },
    { "{\"type\":\"boolean\",\"default\":true}", FORM_2025_06_18 },
    { "{\"type\":\"string\",\"enum\":[\"x\",\"y\"]}", FORM_2025_06_18 },
    { "{\"type\":\"string\",\"enum\":[\"x\",\"y\"],\"enumNames\":[\"X\",\"Y\"]}", FORM_2025_06_18 },
    { "{\"type\":\"string\",\"enum\":[\"x\",\"y\"],\"default\":\"y\"}", FORM_2025_11_25 },
    { "{\"type\":\"string\",\"oneOf\":[{\"const\":\"x\",\"title\":\"X\"}]}", FORM_2025_11_25 },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"x\",\"y\"]},\"minItems\":1,"
      "\"maxItems\":2,\"default\":[\"x\"]}",
      FORM_2025_11_25 },
    { "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"x\",\"title\":\"X\"}]}}",
      FORM_2025_11_25 },
};

static void a_field_is_known_from_its_revision_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(fields); i++) {
        for (int revision = FORM_2025_06_18; revision <= FORM_2026_07_28; revision++) {
            nod_status status = form_check(one_field(fields[i].field), (enum form_revision)revision,
                                           &arena, &problems);
            nod_status wanted = revision >= fields[i].since ? NOD_OK : NOD_E_BAD_SCHEMA;
            if (status != wanted)
                fail_msg("%s in revision %d: " STR_FMT " " STR_FMT, fields[i].field, revision,
                         STR_ARG(problems.at[0].path), STR_ARG(problems.at[0].message));
        }
    }
}

static const struct {
    const char *field;
    const char *path; /* below /properties/a */
} refused[] = {
    { "7", "" },
    { "true", "" },
    { "{}", "" },
    { "{\"type\":\"null\"}", "/type" },
    { "{\"type\":\"object\"}", "/type" },
    { "{\"type\":[\"string\"]}", "/type" },
    { "{\"type\":\"object\",\"properties\":{}}", "/type" },
    { "{\"type\":\"array\"}", "" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}", "/items/type" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", "/items" },
    { "{\"type\":\"array\",\"items\":{\"enum\":[\"x\"]}}", "/items" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"x\"],\"minLength\":1}}",
      "/items/minLength" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"anyOf\":[{\"const\":\"x\",\"title\":"
      "\"X\"}]}}",
      "/items/type" },
    { "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":1,\"title\":\"X\"}]}}",
      "/items/anyOf/0/const" },
    { "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"x\"}]}}", "/items/anyOf/0" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"x\"]},\"uniqueItems\":true}",
      "/uniqueItems" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"x\"]},\"minItems\":2}",
      "/minItems" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"x\",\"y\"]},\"minItems\":2,"
      "\"maxItems\":1}",
      "/minItems" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"x\"]},\"default\":[\"z\"]}",
      "/default" },
    { "{\"type\":\"string\",\"$ref\":\"#\"}", "/$ref" },
    { "{\"type\":\"string\",\"format\":\"password\"}", "/format" },
    { "{\"type\":\"string\",\"format\":\"uuid\"}", "/format" },
    { "{\"type\":\"string\",\"minimum\":1}", "/minimum" },
    { "{\"type\":\"string\",\"minLength\":-1}", "/minLength" },
    { "{\"type\":\"string\",\"minLength\":\"1\"}", "/minLength" },
    { "{\"type\":\"string\",\"minLength\":3,\"maxLength\":2}", "/minLength" },
    { "{\"type\":\"string\",\"pattern\":\"(\"}", "/pattern" },
    { "{\"type\":\"string\",\"title\":1}", "/title" },
    { "{\"type\":\"string\",\"default\":1}", "/default" },
    { "{\"type\":\"string\",\"format\":\"date\",\"default\":\"tomorrow\"}", "/default" },
    { "{\"type\":\"string\",\"pattern\":\"^a\",\"default\":\"b\"}", "/default" },
    { "{\"type\":\"integer\",\"default\":1.5}", "/default" },
    { "{\"type\":\"integer\",\"minimum\":5,\"default\":1}", "/default" },
    { "{\"type\":\"number\",\"minimum\":2,\"maximum\":1}", "/minimum" },
    { "{\"type\":\"number\",\"exclusiveMinimum\":2}", "/exclusiveMinimum" },
    { "{\"type\":\"number\",\"enum\":[1]}", "/enum" },
    { "{\"type\":\"boolean\",\"default\":\"true\"}", "/default" },
    { "{\"type\":\"string\",\"enum\":[]}", "/enum" },
    { "{\"type\":\"string\",\"enum\":[\"x\",1]}", "/enum/1" },
    { "{\"type\":\"string\",\"enum\":[\"x\",\"x\"]}", "/enum/1" },
    { "{\"type\":\"string\",\"enum\":[\"x\"],\"minLength\":1}", "/minLength" },
    { "{\"type\":\"string\",\"enum\":[\"x\",\"y\"],\"enumNames\":[\"X\"]}", "/enumNames" },
    { "{\"type\":\"string\",\"enum\":[\"x\"],\"enumNames\":[1]}", "/enumNames/0" },
    { "{\"type\":\"string\",\"enumNames\":[\"X\"]}", "/enumNames" },
    { "{\"type\":\"string\",\"enum\":[\"x\"],\"oneOf\":[{\"const\":\"x\",\"title\":\"X\"}]}",
      "/oneOf" },
    { "{\"type\":\"string\",\"oneOf\":[{\"const\":\"x\",\"title\":\"X\",\"description\":\"\"}]}",
      "/oneOf/0/description" },
    { "{\"type\":\"string\",\"oneOf\":[{\"const\":\"x\",\"title\":\"X\"},{\"const\":\"x\","
      "\"title\":\"Y\"}]}",
      "/oneOf/1" },
    { "{\"type\":\"string\",\"enum\":[\"x\"],\"default\":\"z\"}", "/default" },
};

static void what_is_no_form_field_is_refused_at_its_keyword(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        nod_status status =
            form_check(one_field(refused[i].field), FORM_2026_07_28, &arena, &problems);
        struct str wanted = arena_fmt(&arena, "/properties/a%s", refused[i].path);
        if (status != NOD_E_BAD_SCHEMA || !str_eq(problems.at[0].path, wanted))
            fail_msg("%s gives %d at " STR_FMT, refused[i].field, status,
                     STR_ARG(status ? problems.at[0].path : STR_NONE));
        assert_true(problems.at[0].message.len > 0);
    }
}

static const struct {
    const char *form;
    const char *path; /* NULL: a form */
} tops[] = {
    { "{\"type\":\"object\",\"properties\":{}}", NULL },
    { "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
      "\"properties\":{}}",
      NULL },
    { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"boolean\"}},\"required\":[\"a\"]}",
      NULL },
    { "[]", "" },
    { "true", "" },
    { "{\"properties\":{}}", "/type" },
    { "{\"type\":\"string\",\"properties\":{}}", "/type" },
    { "{\"type\":\"object\"}", "/properties" },
    { "{\"type\":\"object\",\"properties\":[]}", "/properties" },
    { "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
      "/additionalProperties" },
    { "{\"type\":\"object\",\"properties\":{},\"title\":\"T\"}", "/title" },
    { "{\"type\":\"object\",\"properties\":{},\"$schema\":1}", "/$schema" },
    { "{\"type\":\"object\",\"properties\":{},\"required\":\"a\"}", "/required" },
    { "{\"type\":\"object\",\"properties\":{},\"required\":[\"a\"]}", "/required/0" },
    { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\","
      "\"a\"]}",
      "/required/1" },
    { "{\"type\":\"object\",\"properties\":{\"x/y\":{\"type\":\"nope\"}}}",
      "/properties/x~1y/type" },
};

static void the_top_of_a_form_is_a_flat_object_and_nothing_more(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(tops); i++) {
        nod_status status =
            form_check(parsed(str_of(tops[i].form)), FORM_2026_07_28, &arena, &problems);
        bool right = tops[i].path ? status == NOD_E_BAD_SCHEMA &&
                                        str_eq(problems.at[0].path, str_of(tops[i].path))
                                  : status == NOD_OK;
        if (!right)
            fail_msg("%s gives %d at " STR_FMT, tops[i].form, status,
                     STR_ARG(status ? problems.at[0].path : STR_NONE));
    }
    assert_int_equal(form_check(parsed(str_of(tops[1].form)), FORM_2025_06_18, &arena, &problems),
                     NOD_E_BAD_SCHEMA);
}

static void a_form_has_only_so_many_fields_and_choices(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_add(&text, STR("{\"type\":\"object\",\"properties\":{"));
    for (int i = 0; i <= FORM_FIELDS_MOST; i++)
        buf_fmt(&text, "%s\"f%d\":{\"type\":\"boolean\"}", i ? "," : "", i);
    buf_add(&text, STR("}}"));
    assert_int_equal(form_check(parsed(buf_str(&text)), FORM_2026_07_28, &arena, &problems),
                     NOD_E_BAD_SCHEMA);
    assert_true(str_eq(problems.at[0].path, STR("/properties")));

    buf_clear(&text);
    buf_add(&text,
            STR("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"enum\":["));
    for (int i = 0; i <= FORM_CHOICES_MOST; i++)
        buf_fmt(&text, "%s\"c%d\"", i ? "," : "", i);
    buf_add(&text, STR("]}}}"));
    assert_int_equal(form_check(parsed(buf_str(&text)), FORM_2026_07_28, &arena, &problems),
                     NOD_E_BAD_SCHEMA);
    assert_true(str_eq(problems.at[0].path, STR("/properties/a/enum")));
    buf_finish(&text);
}

/* --- for the wire --- */

static const struct {
    const char *field;
    const char *old; /* as 2025-06-18 takes it */
    const char *new; /* as the later ones do */
} sent[] = {
    { "{\"type\":\"string\",\"pattern\":\"^a\",\"minLength\":1,\"default\":\"ab\"}",
      "{\"type\":\"string\",\"minLength\":1}",
      "{\"type\":\"string\",\"minLength\":1,\"default\":\"ab\"}" },
    { "{\"type\":\"integer\",\"minimum\":1.0,\"default\":2}",
      "{\"type\":\"integer\",\"minimum\":1.0}",
      "{\"type\":\"integer\",\"minimum\":1.0,\"default\":2}" },
    { "{\"type\":\"boolean\",\"default\":true,\"title\":\"T\"}",
      "{\"type\":\"boolean\",\"default\":true,\"title\":\"T\"}",
      "{\"type\":\"boolean\",\"default\":true,\"title\":\"T\"}" },
    { "{\"type\":\"string\",\"oneOf\":[{\"const\":\"x\",\"title\":\"X\"},{\"const\":\"y\","
      "\"title\":"
      "\"Y\"}],\"default\":\"y\"}",
      "{\"type\":\"string\",\"enum\":[\"x\",\"y\"],\"enumNames\":[\"X\",\"Y\"]}",
      "{\"type\":\"string\",\"oneOf\":[{\"const\":\"x\",\"title\":\"X\"},{\"const\":\"y\","
      "\"title\":"
      "\"Y\"}],\"default\":\"y\"}" },
    { "{\"type\":\"string\",\"enum\":[\"x\"],\"enumNames\":[\"X\"]}",
      "{\"type\":\"string\",\"enum\":[\"x\"],\"enumNames\":[\"X\"]}",
      "{\"type\":\"string\",\"enum\":[\"x\"],\"enumNames\":[\"X\"]}" },
    { "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"x\"]},\"default\":[\"x\"]}",
      "{\"type\":\"string\",\"description\":\"Separate your choices with commas; choose any of: "
      "x\"}",
      "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"x\"]},\"default\":[\"x\"]}" },
    { "{\"type\":\"array\",\"title\":\"T\",\"description\":\"D\",\"minItems\":1,\"maxItems\":2,"
      "\"items\":{\"anyOf\":[{\"const\":\"x\",\"title\":\"X\"},{\"const\":\"y\",\"title\":\"Y, "
      "z\"}]}}",
      "{\"type\":\"string\",\"title\":\"T\",\"description\":\"D\\nSeparate your choices with "
      "commas; "
      "choose 1 to 2 of: x (X), y (Y, z)\"}",
      "{\"type\":\"array\",\"title\":\"T\",\"description\":\"D\",\"minItems\":1,\"maxItems\":2,"
      "\"items\":{\"anyOf\":[{\"const\":\"x\",\"title\":\"X\"},{\"const\":\"y\",\"title\":\"Y, "
      "z\"}]}}" },
};

static struct str written(const struct json *v)
{
    struct buf text;

    buf_init(&text, 1 << 16);
    assert_true(json_write(&text, v));
    struct str copy = arena_str(&arena, buf_str(&text));
    buf_finish(&text);
    return copy;
}

static void each_revision_is_sent_what_it_knows(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(sent); i++) {
        for (int revision = FORM_2025_06_18; revision <= FORM_2026_07_28; revision++) {
            const char *wanted = revision == FORM_2025_06_18 ? sent[i].old : sent[i].new;
            const struct json *form = one_field(sent[i].field);
            assert_int_equal(form_check(form, FORM_2026_07_28, &arena, &problems), NOD_OK);
            const struct json *out =
                form_for_revision(form, (enum form_revision)revision, &arena, &problems);
            struct str text = written(json_pointer(out, STR("/properties/a")));
            if (!str_eq(text, str_of(wanted)))
                fail_msg("%s for revision %d is " STR_FMT, sent[i].field, revision, STR_ARG(text));
            /* What was made for a revision is a form of that revision. */
            assert_int_equal(form_check(out, (enum form_revision)revision, &arena, &problems),
                             NOD_OK);
        }
    }
}

#define MANY                                                                                       \
    "{\"type\":\"array\",\"minItems\":1,\"items\":{\"anyOf\":[{\"const\":\"x\",\"title\":\"X\"},"  \
    "{\"const\":\"y\",\"title\":\"Y, z\"},{\"const\":\"x, y\",\"title\":\"both\"}]}}"

/* What is typed for several choices, and what it means. */
static const struct {
    const char *typed, *read;
} typed[] = {
    { "{\"a\":\"x\"}", "{\"a\":[\"x\"]}" },
    { "{\"a\":\" y ,x, \"}", "{\"a\":[\"y\",\"x\"]}" },
    { "{\"a\":\"X,Y, z\"}", "{\"a\":[\"x\",\"y\"]}" },
    { "{\"a\":\"y, x, y\"}", "{\"a\":[\"y\",\"x, y\"]}" },
    { "{\"a\":\"xy, no such\"}", "{\"a\":[\"xy\",\"no such\"]}" },
    { "{\"a\":\"x y\",\"b\":1}", "{\"a\":[\"x y\"],\"b\":1}" },
    { "{\"a\":[\"x\"]}", "{\"a\":[\"x\"]}" },
    { "{\"a\":7}", "{\"a\":7}" },
    { "{\"a\":\"\",\"b\":true}", "{\"b\":true}" },
    { "{\"b\":\"x, y\"}", "{\"b\":\"x, y\"}" },
    { "\"x\"", "\"x\"" },
};

static void several_choices_are_read_from_a_text(void **state)
{
    const struct json *form = one_field(MANY);

    (void)state;
    for (size_t i = 0; i < COUNT(typed); i++) {
        const struct json *content = parsed(str_of(typed[i].typed));
        struct str read = written(form_read_back(form, FORM_2025_06_18, content, &arena));
        if (!str_eq(read, str_of(typed[i].read)))
            fail_msg("%s is read as " STR_FMT, typed[i].typed, STR_ARG(read));
        assert_ptr_equal(form_read_back(form, FORM_2025_11_25, content, &arena), content);
    }
}

/* Many parts cost no more than there can be choices. */
static void a_text_of_very_many_choices_is_bounded(void **state)
{
    struct buf text;

    (void)state;
    buf_init(&text, 1 << 20);
    buf_add(&text, STR("{\"a\":\""));
    for (int i = 0; i < 100000; i++)
        buf_add(&text, STR("x,"));
    buf_add(&text, STR("\"}"));
    const struct json *read =
        form_read_back(one_field(MANY), FORM_2025_06_18, parsed(buf_str(&text)), &arena);
    assert_true(json_get(read, STR("a"))->count <= 2 * FORM_CHOICES_MOST + 1);
    buf_finish(&text);
}

static void the_top_is_sent_with_type_properties_and_required_only(void **state)
{
    const struct json *form = parsed(
        STR("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"required\":[\"a\"],"
            "\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"boolean\"}}}"));

    (void)state;
    assert_true(str_eq(written(form_for_revision(form, FORM_2026_07_28, &arena, &problems)),
                       STR("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"boolean\"}},"
                           "\"required\":[\"a\"]}")));
}

/* --- secrets --- */

static const char *const secret_names[] = {
    "password",
    "Password",
    "userPassword",
    "user_password",
    "db-password",
    "dbpassword",
    "newPasswd",
    "PASSWORD",
    "passphrase",
    "pass phrase",
    "secret",
    "clientSecret",
    "client_secret",
    "CLIENT_SECRET",
    "api key",
    "apiKey",
    "APIKey",
    "api_key",
    "apikey",
    "x-api-key",
    "OPENAI_API_KEY",
    "token",
    "accessToken",
    "access token",
    "refresh_token",
    "githubToken",
    "GitHub tokens",
    "bearer",
    "private key",
    "privateKey",
    "ssh_private_key",
    "credential",
    "credentials",
    "pin",
    "PIN",
    "PIN code",
    "pinCode",
    "cvv",
    "CVV2",
    "cvc",
    "ssn",
    "SSN",
    "social security number",
    "credit card number",
    "creditCard",
    "card_number",
    "otp",
    "verification code",
    "seed phrase",
    "Your password, please",
    "Token for GitHub",
    "Passwort",
    "mot de passe",
    "contraseña",
    "password2",
    "aws_secret_access_key",
    "one-time code",
    "2fa code",
    "connectionString",
};

static const char *const harmless_names[] = {
    "tokenize",
    "tokenizer",
    "keyboard",
    "secretary",
    "secretariat",
    "passwordless",
    "max tokens",
    "maxTokens",
    "max_tokens",
    "tokenCount",
    "token_limit",
    "nextPageToken",
    "pageToken",
    "password length",
    "passwordPolicy",
    "secretName",
    "secret_id",
    "apiKeyId",
    "api key name",
    "key",
    "publicKey",
    "primary key",
    "keyword",
    "pinned",
    "pin message",
    "spin",
    "opinion",
    "passenger",
    "passage",
    "compass",
    "card",
    "cardinality",
    "cardholder name",
    "account number",
    "description",
    "tokenSymbol",
    "price per token",
    "number of tokens",
    "credentialType",
    "private notes",
    "zip code",
    "postcode",
    "security level",
    "reason",
    "",
    "private key path",
    "email",
    "undisclosed",
    "bypass",
    "assn",
};

static bool asks(const char *key, const char *title, const char *more)
{
    struct json *form = json_new_object(&arena);
    struct json *properties = json_new_object(&arena);
    struct json *field = parsed(arena_fmt(&arena, "{\"type\":\"string\"%s}", more));
    struct str which = STR_NONE;

    if (title)
        json_set(&arena, field, STR("title"), json_new_str(&arena, str_of(title)));
    json_set(&arena, properties, STR("before"), parsed(STR("{\"type\":\"boolean\"}")));
    json_set(&arena, properties, str_of(key), field);
    json_set(&arena, form, STR("properties"), properties);
    bool found = form_asks_secret(form, STR_NONE, NULL, NULL, &which);
    if (found)
        assert_true(str_eq(which, str_of(key)));
    return found;
}

static void a_field_that_asks_for_a_secret_is_found_by_name_and_title(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(secret_names); i++) {
        if (!asks(secret_names[i], NULL, ""))
            fail_msg("not found by its name: %s", secret_names[i]);
        if (!asks("value", secret_names[i], ""))
            fail_msg("not found by its title: %s", secret_names[i]);
    }
    assert_true(asks("value", NULL, ",\"format\":\"password\""));
}

static void words_that_only_look_like_secrets_are_left_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(harmless_names); i++)
        if (asks(harmless_names[i], harmless_names[i], ""))
            fail_msg("wrongly found: %s", harmless_names[i]);
    assert_false(asks("reason", NULL, ",\"description\":\"Why the password was changed\""));
}

static void a_field_nothing_is_typed_into_asks_for_no_secret(void **state)
{
    struct str field;

    (void)state;
    assert_false(form_asks_secret(
        parsed(STR("{\"properties\":{\"resetPassword\":{\"type\":\"boolean\"},\"secret\":{\"type\":"
                   "\"string\",\"enum\":[\"keep\",\"rotate\"]}}}")),
        STR_NONE, NULL, NULL, &field));
    assert_false(form_asks_secret(NULL, STR_NONE, NULL, NULL, &field));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

SUBJECT(form)
{
    const struct CMUnitTest tests[] = {
        TEST(a_field_is_known_from_its_revision_on),
        TEST(what_is_no_form_field_is_refused_at_its_keyword),
        TEST(the_top_of_a_form_is_a_flat_object_and_nothing_more),
        TEST(a_form_has_only_so_many_fields_and_choices),
        TEST(each_revision_is_sent_what_it_knows),
        TEST(several_choices_are_read_from_a_text),
        TEST(a_text_of_very_many_choices_is_bounded),
        TEST(the_top_is_sent_with_type_properties_and_required_only),
        TEST(a_field_that_asks_for_a_secret_is_found_by_name_and_title),
        TEST(words_that_only_look_like_secrets_are_left_alone),
        TEST(a_field_nothing_is_typed_into_asks_for_no_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
