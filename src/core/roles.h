/*
 * core/roles: what a principal may do, as bits.
 *
 * The operator gives roles in the token file; the local user has all of them. front/ checks whether
 * a principal may come in at all, the core whether it may answer a question.
 */
#ifndef NOD_CORE_ROLES_H
#define NOD_CORE_ROLES_H

#include "base/str.h"

enum role {
    ROLE_ASK = 1 << 0,     /* calls tools at /mcp, and gives data to its own calls */
    ROLE_ANSWER = 1 << 1,  /* sees and answers what was put to its own principal */
    ROLE_APPROVE = 1 << 2, /* answers approvals of others */
    ROLE_ADMIN = 1 << 3,   /* everything */
};

/* A set of them. */
typedef unsigned role_set;

#define ROLES_NONE ((role_set)0)
#define ROLES_ALL  ((role_set)(ROLE_ASK | ROLE_ANSWER | ROLE_APPROVE | ROLE_ADMIN))

/* "ask", "answer", "approve" or "admin"; 0 for any other word. */
role_set role_named(struct str name);

/* The word for one of them. */
struct str role_name(enum role role);

/* Is there any of `wanted` among them? An administrator has every role. */
static inline bool roles_include(role_set roles, role_set wanted)
{
    return (roles & (wanted | ROLE_ADMIN)) != 0;
}

#endif
