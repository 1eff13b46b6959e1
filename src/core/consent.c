/*
 * core/consent: see consent.h.
 */
#include "core/consent.h"

#include "core/call_inside.h"

bool consent_named(struct str word, enum consent_from *out)
{
    static const struct str words[] = { [CONSENT_ANY] = STR_INIT("any"),
                                        [CONSENT_ROLES] = STR_INIT("roles"),
                                        [CONSENT_INBOX] = STR_INIT("inbox") };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!str_eq(words[i], word))
            continue;
        *out = (enum consent_from)i;
        return true;
    }
    return false;
}

/* --- what it is --- */

bool question_is_consent(const struct question_kind *question, const struct target *target)
{
    if (question->kind == ASK_SAMPLE || question->kind == ASK_ROOTS || question->kind == ASK_CALL)
        return false;
    if (question->consent || question->kind == ASK_APPROVAL)
        return true;
    return !question->page_waits && (question->gate || !target || target->destructive);
}

bool ask_is_consent(const struct engine *engine, const struct ask_record *ask,
                    const struct target *target)
{
    struct question_kind question = { .kind = ask->kind,
                                      .consent = ask->consent,
                                      .gate = str_starts(ask->key, STR(RUN_RESERVED_PREFIX)),
                                      .page_waits = ask->wait_done };

    return question_is_consent(&question, target ? target : target_of_ask(engine, ask));
}

bool page_is_consent(const struct engine *engine, const struct ask_record *ask)
{
    struct question_kind question = { .kind = ask->kind,
                                      .consent = ask->consent,
                                      .gate = str_starts(ask->key, STR(RUN_RESERVED_PREFIX)) &&
                                              ask_page_brings(ask->page) != PAGE_BRINGS_NOTHING };

    return question_is_consent(&question, target_of_ask(engine, ask));
}

/* --- whose counts --- */

static enum consent_from consent_from(const struct engine *engine, const struct target *target)
{
    return target && target->consent > engine->consent ? target->consent : engine->consent;
}

/* The word of whoever made the call, however it is given. */
static bool own_word_counts(const struct engine *engine, const struct target *target,
                            role_set roles)
{
    enum consent_from from = consent_from(engine, target);

    return from == CONSENT_ANY || (from == CONSENT_ROLES && roles_include(roles, ROLE_ANSWER));
}

bool consent_counts(const struct engine *engine, const struct surface *surface,
                    const struct target *target, bool consent, struct str principal, role_set roles)
{
    if (!consent)
        return true;
    if (surface->ops->consents && !surface->ops->consents(surface, principal))
        return false;
    if (surface->ops->model && !engine->opts.model_may_consent)
        return false;
    return !(surface->ops->client || surface->ops->own_word || surface->ops->model) ||
           own_word_counts(engine, target, roles);
}

bool engine_client_consents(const struct engine *engine, const struct target *target,
                            role_set roles)
{
    return own_word_counts(engine, target, roles);
}
