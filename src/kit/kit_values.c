/*
 * kit/kit_values: what the person of a test has given for good: secrets, and connected accounts.
 *
 * A handler gets them as it does from a server (core/need.h). They are there by the word of the
 * test (nod_test_secret, nod_test_credential), or because a question for one was accepted in the
 * script, and they outlive a crash.
 */
#include "base/mem.h"
#include "core/secret.h"
#include "kit/kit.h"

#define KIT_SECRET     SECRET_KIND
#define KIT_CREDENTIAL "credential"

static struct kit_value *value_of(nod_test *test, const char *source, struct str principal,
                                  struct str name)
{
    for (size_t i = 0; i < test->value_count; i++) {
        struct kit_value *value = &test->values[i];
        if (strcmp(value->source, source) == 0 && str_eq(str_of(value->name), name) &&
            str_eq(str_of(value->principal), principal))
            return value;
    }
    return NULL;
}

/* `value` empty: there is none any more. */
static void set(nod_test *test, const char *source, struct str name, struct str value)
{
    struct str principal = str_of(test->as);
    struct kit_value *there = value_of(test, source, principal, name);

    if (!there && test->value_count == KIT_VALUES_MAX) {
        kit_fail(test, NULL, 0, "a test has at most %d secrets and accounts", KIT_VALUES_MAX);
        return;
    }
    if (!there) {
        there = &test->values[test->value_count++];
        *there = (struct kit_value){ .source = source,
                                     .principal = str_dup(principal),
                                     .name = str_dup(name) };
    }
    mem_free(there->value);
    there->value = value.len ? str_dup(value) : NULL;
}

void nod_test_secret(nod_test *test, const char *name, const char *value)
{
    if (secret_name_ok(str_of(name)))
        set(test, KIT_SECRET, str_of(name), str_of(value));
    else
        kit_fail(test, NULL, 0, "nod_test_secret takes names as nod_secret does: '%s'",
                 name ? name : "");
}

void nod_test_credential(nod_test *test, const char *service, const char *token)
{
    if (service && service[0])
        set(test, KIT_CREDENTIAL, str_of(service), str_of(token));
    else
        kit_fail(test, NULL, 0, "nod_test_credential takes the name of a service");
}

/* --- given on a page --- */

/* What a test says in the content of an answer on such a page, whose value a handler then gets by
 * the name that the question has. */
static const struct given {
    enum ask_page page;
    const char *member, *name, *source;
} givens[] = { { PAGE_SECRET, "secret", "name", KIT_SECRET },
               { PAGE_CONNECT, "token", "service", KIT_CREDENTIAL } };

bool kit_values_given(nod_test *test, const struct ask_record *ask, const struct json *content)
{
    const struct given *given = givens, *end = givens + sizeof(givens) / sizeof(givens[0]);

    while (given < end && given->page != ask->page)
        given++;
    if (given == end)
        return true;
    struct str value = json_get_str(content, str_of(given->member));
    if (!value.len) {
        kit_fail(test, NULL, 0,
                 "the question \"" STR_FMT "\" is accepted with the content {\"%s\":\"...\"}",
                 STR_ARG(ask->message), given->member);
        return false;
    }
    const struct json *detail = json_parse(&test->said, ask->detail, NULL, NULL);
    set(test, given->source, json_get_str(detail, str_of(given->name)), value);
    return true;
}

/* --- for handlers --- */

static void fetch(nod_test *test, const char *source, struct need *need)
{
    const struct kit_value *value = value_of(test, source, need->principal, need->spec.name);

    if (value && value->value)
        need_done(need, NOD_OK, str_of(value->value), STR_NONE);
    else
        need_done(need, NOD_E_NOT_FOUND, STR_NONE, STR_NONE);
}

static void secret_fetch(struct need_source *source, struct need *need)
{
    fetch((nod_test *)(void *)((char *)source - offsetof(nod_test, secrets)), KIT_SECRET, need);
}

static void credential_fetch(struct need_source *source, struct need *need)
{
    fetch((nod_test *)(void *)((char *)source - offsetof(nod_test, credentials)), KIT_CREDENTIAL,
          need);
}

void kit_values_open(nod_test *test)
{
    test->secrets = (struct need_source){ .name = KIT_SECRET, .fetch = secret_fetch };
    test->credentials = (struct need_source){ .name = KIT_CREDENTIAL, .fetch = credential_fetch };
    engine_add_need_source(test->server->engine, &test->secrets);
    engine_add_need_source(test->server->engine, &test->credentials);
}

void kit_values_forget(nod_test *test)
{
    while (test->value_count) {
        struct kit_value *value = &test->values[--test->value_count];
        mem_free(value->principal);
        mem_free(value->name);
        mem_free(value->value);
        *value = (struct kit_value){ 0 };
    }
}
