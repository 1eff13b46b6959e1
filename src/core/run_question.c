/*
 * core/run_question: may this question be asked, and can anybody be asked it?
 *
 * It is decided before anything is recorded: the form is one that a person may be shown, the texts
 * are not too long, there is a surface that can ask, and if it is answered on a page of this
 * server, its person can open that. Whoever wrote the handler reads what is wrong, and where.
 */
#include "base/log.h"
#include "core/record.h"
#include "core/run_inside.h"
#include "json/form.h"
#include "json/write.h"

const char *run_mode_name(enum ask_kind kind)
{
    static const char *const modes[] = { [ASK_FORM] = "form",
                                         [ASK_URL] = "url",
                                         [ASK_APPROVAL] = "form",
                                         [ASK_SAMPLE] = "sampling",
                                         [ASK_ROOTS] = "roots",
                                         [ASK_CALL] = "call" };
    return modes[kind];
}

static nod_status bad_schema(struct run *run, struct str path, struct str message)
{
    struct buf data;
    struct json_writer w;

    run_fail_fmt(run, NOD_E_BAD_SCHEMA,
                 "The form of tool " STR_FMT " cannot be asked: " STR_FMT "%s" STR_FMT,
                 STR_ARG(run->target->name), STR_ARG(path), path.len ? ": " : "", STR_ARG(message));
    buf_init(&data, RUN_DETAIL_MAX);
    json_writer_init(&w, &data);
    jw_object(&w);
    jw_key_str(&w, STR("path"), path);
    jw_key_str(&w, STR("message"), message);
    jw_end(&w);
    if (json_writer_done(&w))
        run->fault.error_data = arena_str(&run->arena, buf_str(&data));
    run->fault.request_error = true;
    buf_finish(&data);
    return NOD_E_BAD_SCHEMA;
}

/* The operator allows this tool to ask for this field, although it looks like a secret. */
static bool field_allowed(const void *data, struct str field)
{
    const struct run *run = data;

    for (const char *const *allowed = run->allowed_fields; allowed && *allowed; allowed++) {
        struct str rest = str_of(*allowed);
        if (!str_starts(rest, run->target->name))
            continue;
        rest = str_skip(rest, run->target->name.len);
        if (!str_starts(rest, STR(".")) || !str_eq(str_skip(rest, 1), field))
            continue;
        LOG_WARN("a field that looks like a secret is asked for, because the operator allows it",
                 LOG_STR("tool", run->target->name), LOG_STR("field", field));
        return true;
    }
    return false;
}

static nod_status check_form(struct run *run, struct str detail, struct str message)
{
    struct json_error error;
    struct schema_problems problems = { 0 };
    struct json *schema =
        json_parse(&run->arena, detail, &(struct json_opts){ .refuse_duplicates = true }, &error);
    struct str field;

    if (!schema)
        return bad_schema(
            run, STR(""),
            arena_fmt(&run->arena, "not JSON: %s at byte %zu", error.what, error.offset));
    if (form_check(schema, FORM_2026_07_28, &run->arena, &problems) != NOD_OK) {
        struct schema_problem none = { STR(""), STR("not a form") };
        struct schema_problem first = problems.count ? problems.at[0] : none;
        return bad_schema(run, first.path, first.message);
    }
    if (form_asks_secret(schema, message, field_allowed, run, &field))
        return bad_schema(
            run, arena_fmt(&run->arena, "/properties/" STR_FMT, STR_ARG(field)),
            arena_fmt(
                &run->arena,
                "asks for a secret, and secrets never go through a form: nod_secret asks for "
                "it on a page and stores it sealed (if it is none, an operator can allow it with "
                "--allow-field " STR_FMT "." STR_FMT ")",
                STR_ARG(run->target->name), STR_ARG(field)));
    return NOD_OK;
}

static nod_status too_long(struct run *run, const char *what, struct str text, int most)
{
    return run_fail_fmt(run, NOD_E_LIMIT,
                        "A question of " STR_FMT " has a %s of %zu bytes; it may have %d",
                        STR_ARG(run->target->name), what, text.len, most);
}

nod_status run_check_message(struct run *run, struct str detail, struct str message)
{
    if (str_blank(message))
        return run_fail_fmt(run, NOD_E_INVALID, "A question may not have a blank message");
    if (message.len > RUN_MESSAGE_MAX)
        return too_long(run, "message", message, RUN_MESSAGE_MAX);
    return detail.len ? check_form(run, detail, message) : NOD_OK;
}

static bool spec_is_consent(const struct run *run, const struct ask_spec *spec)
{
    struct question_kind question = { .kind = spec->kind,
                                      .consent = spec->consent,
                                      .gate = run->prefix.len,
                                      .page_waits = spec->wait_done };

    return question_is_consent(&question, run->target);
}

unsigned run_supports(const struct run *run, const struct ask_spec *spec)
{
    return spec_is_consent(run, spec) ? run->supports_consent : run->supports;
}

bool run_supports_kind(const struct run *run, enum ask_kind kind)
{
    return run_supports(run, &(struct ask_spec){ .kind = kind }) & 1u << kind;
}

static bool is_required(const struct json *schema, struct str key)
{
    JSON_EACH (name, json_get(schema, STR("required")))
        if (str_eq(json_str(name), key))
            return true;
    return false;
}

static void write_unticked(struct json_writer *w, const struct json *schema,
                           const struct json *fields)
{
    jw_object(w);
    JSON_EACH (field, fields) {
        bool preset = str_eq(json_get_str(field, STR("type")), STR("boolean")) &&
                      json_true(json_get(field, STR("default"))) && is_required(schema, field->key);
        if (!preset) {
            jw_key_value(w, field->key, field);
            continue;
        }
        jw_key(w, field->key);
        jw_object(w);
        JSON_EACH (member, field)
            if (!str_eq(member->key, STR("default")))
                jw_key_value(w, member->key, member);
        jw_end(w);
    }
    jw_end(w);
}

struct str run_form_unticked(struct run *run, const struct ask_spec *spec)
{
    struct question_kind question = { .kind = spec->kind,
                                      .consent = spec->consent,
                                      .gate = run->prefix.len };
    bool form = spec->kind == ASK_FORM || spec->kind == ASK_APPROVAL ||
                (spec->page && ask_page_brings(spec->page) == PAGE_BRINGS_FORM);
    const struct json *schema =
        form && question_is_consent(&question, run->target) &&
                str_find(spec->detail, STR("\"default\"")) >= 0
            ? json_parse(&run->arena, arena_str(&run->arena, spec->detail), NULL, NULL)
            : NULL;
    struct json_writer w;
    struct buf out;

    if (!json_is(schema, JSON_OBJECT))
        return arena_str(&run->arena, spec->detail);
    buf_init(&out, RUN_DETAIL_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    JSON_EACH (member, schema) {
        if (!str_eq(member->key, STR("properties")) || !json_is(member, JSON_OBJECT)) {
            jw_key_value(&w, member->key, member);
            continue;
        }
        jw_key(&w, member->key);
        write_unticked(&w, schema, member);
    }
    jw_end(&w);
    struct str done = arena_str(&run->arena, json_writer_done(&w) ? buf_str(&out) : spec->detail);
    buf_finish(&out);
    return done;
}

bool run_lacks_role(struct run *run, const struct ask_spec *spec)
{
    if (!spec_is_consent(run, spec) || !(run->lacks_role & 1u << spec->kind) ||
        run->supports_consent & 1u << spec->kind)
        return false;
    run_fail_fmt(run, NOD_E_NOT_SUPPORTED,
                 "Nobody can be asked: " CONSENT_NEEDS_ROLE ", which the token of '" STR_FMT
                 "' does not have, and there is no other way to ask; the operator gives roles in "
                 "the token file",
                 STR_ARG(run->principal));
    run->unasked = run->fault.message;
    return true;
}

static nod_status check_page(struct run *run, const struct ask_spec *spec)
{
    bool there = run->pages & 1u << spec->page;

    if (there && !run->pages_shut)
        return NOD_OK;
    if (there) {
        run_fail_fmt(run, NOD_E_NOT_SUPPORTED,
                     "This is answered on a page of this server, which '" STR_FMT
                     "' cannot open: no token of that name has the role answer, which the operator "
                     "gives in the token file",
                     STR_ARG(run->principal));
        if (!run->dry)
            LOG_WARN("a question has a page that its person cannot open, and is not asked: none of "
                     "their tokens has the role answer",
                     LOG_STR("principal", run->principal), LOG_STR("target", run->target->name));
    } else {
        run_fail_fmt(run, NOD_E_NOT_SUPPORTED,
                     "This server has no pages of its own, which belong to its inbox: the operator "
                     "has to serve HTTP, or --inbox beside stdio, and not with --no-inbox or "
                     "--portable-states");
    }
    run->unasked = run->fault.message;
    return NOD_E_NOT_SUPPORTED;
}

/* Where the digest of a question that was checked is kept. NULL: it is checked each time, because
 * its digest does not tell what is checked, or an operator allows fields, which is logged. */
static unsigned char *checked_place(const struct run *run, const struct ask_spec *spec,
                                    const unsigned char digest[DIGEST_BYTES])
{
    if (!run->checked || run->allowed_fields || spec->worded || spec->authored)
        return NULL;
    return run->checked->digests[digest[0] % QUESTIONS_CHECKED];
}

static nod_status check_form_once(struct run *run, const struct ask_spec *spec,
                                  const unsigned char digest[DIGEST_BYTES])
{
    unsigned char *place = checked_place(run, spec, digest);
    size_t authored = spec->authored ? spec->authored : spec->message.len;

    if (place && memcmp(place, digest, DIGEST_BYTES) == 0)
        return NOD_OK;
    NOD_TRY(check_form(run, spec->detail, str_n(spec->message.at, authored)));
    if (place)
        memcpy(place, digest, DIGEST_BYTES);
    return NOD_OK;
}

nod_status run_check_question(struct run *run, const struct ask_spec *spec,
                              const unsigned char digest[DIGEST_BYTES])
{
    unsigned able = run_supports(run, spec);

    if (spec->ttl_ms < 0 || spec->ttl_ms > RUN_TTL_MAX_MS)
        return run_fail_fmt(run, NOD_E_USAGE,
                            "A question's ttl_ms must be positive and at most %lld, got %lld",
                            (long long)RUN_TTL_MAX_MS, (long long)spec->ttl_ms);
    if (spec->attempts < 0)
        return run_fail_fmt(run, NOD_E_USAGE, "A question's attempts must be positive, got %d",
                            spec->attempts);
    if (spec->message.len > RUN_MESSAGE_MAX)
        return too_long(run, "message", spec->message, RUN_MESSAGE_MAX);
    if (spec->detail.len > RUN_DETAIL_MAX)
        return too_long(run, "schema", spec->detail, RUN_DETAIL_MAX);
    if (spec->url.len > RUN_URL_MAX)
        return too_long(run, "URL", spec->url, RUN_URL_MAX);
    bool form = spec->kind == ASK_FORM || spec->kind == ASK_APPROVAL ||
                ask_page_brings(spec->page) == PAGE_BRINGS_FORM;
    if (form && spec->detail.len)
        NOD_TRY(check_form_once(run, spec, digest));
    if (spec->page)
        NOD_TRY(check_page(run, spec));
    if (spec->kind == ASK_CALL) /* no person is asked it */
        return NOD_OK;
    /* A grant may answer it even if nobody can be asked: see grant_pass.c. */
    if (!(able & 1u << spec->kind) && !spec->path.len) {
        if (run_lacks_role(run, spec))
            return NOD_E_NOT_SUPPORTED;
        if (run->model & 1u << spec->kind)
            run_fail_fmt(run, NOD_E_NOT_SUPPORTED,
                         "This is a person's to decide, and a model may not answer it; " STR_FMT,
                         STR_ARG(run->instead_of_model));
        else
            run_fail_fmt(run, NOD_E_NOT_SUPPORTED,
                         "The client does not support %s, and there is no other way to ask",
                         spec->kind == ASK_SAMPLE  ? "sampling"
                         : spec->kind == ASK_ROOTS ? "roots"
                         : spec->kind == ASK_URL   ? "elicitation in url mode"
                                                   : "elicitation in form mode");
        run->fault.meta = arena_fmt(&run->arena, "{\"mode\":\"%s\"}", run_mode_name(spec->kind));
        run->unasked = run->fault.message;
        return NOD_E_NOT_SUPPORTED;
    }
    return NOD_OK;
}
