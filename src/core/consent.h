/*
 * core/consent: what is a person's yes, and whose yes counts.
 *
 * An answer is consent if the question is a confirmation or an approval, is asked at the gate, or
 * is put to a person by a destructive tool: a box "confirmed" is consent, whatever it is called.
 * All other answers are data. What the client is asked for itself (sampling, roots) is data, and so
 * is its word that a page was opened, where the page decides.
 *
 * Data counts wherever it is given. Consent counts
 *
 *   in the inbox, on a page, in a terminal   by the roles of whoever answers (core/answerable.h)
 *   through the client that made the call:   as the setting says
 *   a form, a round, a view, a task
 *   through its model                        the same, and only if the operator lets a model
 *                                            consent
 *
 * In views it also takes the operator's word that a view is a person's hand, where no token says
 * whose it is (surface_ops.consents). The setting is the server's or the target's, whichever is
 * stricter:
 *
 *   any     the client's word counts
 *   roles   it counts if the token that brings it has the role `answer`: `approve` is for the calls
 *           of others. This is what holds if nobody says otherwise
 *   inbox   it does not count
 *
 * Without tokens the local user has every role.
 *
 * Holds always: the settings and the roles of now decide, when the answer comes, whatever they were
 * when the question was asked. Where they decide before, it is only about where a person is asked.
 */
#ifndef NOD_CORE_CONSENT_H
#define NOD_CORE_CONSENT_H

#include "core/record.h"
#include "core/roles.h"

struct engine;
struct surface;
struct target;

enum consent_from { /* from the most lenient to the strictest */
                    CONSENT_ANY,
                    CONSENT_ROLES,
                    CONSENT_INBOX,
};

/* "any", "roles" or "inbox". False: it is none of these words. */
bool consent_named(struct str word, enum consent_from *out);

/* What a question says of itself. */
struct question_kind {
    enum ask_kind kind;
    bool consent;    /* a confirmation or an approval */
    bool gate;       /* asked before the call starts */
    bool page_waits; /* a URL whose page decides, not whoever opens it */
};

/* The rule above. A target of NULL is not known: it may be a destructive one. */
bool question_is_consent(const struct question_kind *question, const struct target *target);
/* The same of an ask. `target` may be NULL: it is found by its name. */
bool ask_is_consent(const struct engine *engine, const struct ask_record *ask,
                    const struct target *target);
/* The same of what is entered on the page of an ask, where the page decides. Secrets and accounts,
 * which bring no content, are data. */
bool page_is_consent(const struct engine *engine, const struct ask_record *ask);

/* Does an answer count that is given there, with these roles, to what this target asks in a call of
 * this principal? */
bool consent_counts(const struct engine *engine, const struct surface *surface,
                    const struct target *target, bool consent, struct str principal,
                    role_set roles);

#define CONSENT_NEEDS_ROLE "consent to one's own call needs the role answer"

#endif
