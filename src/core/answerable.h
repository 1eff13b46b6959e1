/*
 * core/answerable: who may answer an ask.
 *
 * One rule for every surface and every node. The client that was asked gives its own word and needs
 * no role; elsewhere whoever the ask was put to needs the role `answer`, an approver (`approve`)
 * answers approvals of others, and an administrator everything. The role `ask` answers nothing. An
 * ask that names an approver's role instead (four eyes) is for whoever has that role, and never for
 * the principal whose call it is.
 *
 * What is listed and shown to somebody follows the same rule.
 */
#ifndef NOD_CORE_ANSWERABLE_H
#define NOD_CORE_ANSWERABLE_H

#include "core/record.h"
#include "core/roles.h"

/* Beside the roles of a principal: it is the client that the ask was put to. Nobody is given this;
 * the core adds it to what comes through such a surface. */
#define ROLE_CLIENT ((role_set)1 << 31)

bool answerable_by(const struct ask_record *ask, struct str principal, role_set roles);

#endif
