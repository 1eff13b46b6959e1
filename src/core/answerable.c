/*
 * core/answerable: see answerable.h.
 */
#include "core/answerable.h"

_Static_assert(ROLES_ALL < ASK_APPROVERS, "every set of roles can stand in an ask");

bool answerable_by(const struct ask_record *ask, struct str principal, role_set roles)
{
    bool asked = str_eq(ask->principal, principal);

    if (ask->approver)
        return !asked && roles_include(roles, ask->approver);
    if (asked) /* nobody approves a call of its own by the role for those of others */
        return roles_include(roles, ANSWERS_AS_CLIENT | ROLE_ANSWER);
    return roles_include(roles, ask->kind == ASK_APPROVAL ? ROLE_APPROVE : ROLE_ADMIN);
}
