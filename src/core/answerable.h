/*
 * core/answerable: who may answer an ask.
 *
 * What can be asked, before there is an ask, is another matter: see askable.c.
 *
 * One rule holds for every surface and every node:
 *
 * - The client that was asked gives its own word, and needs no role. Whether that counts as consent
 *   is decided by core/consent.h.
 * - On any other surface, the principal that the ask was put to needs the role `answer`.
 * - The role `approve` answers the approvals of others. The role `admin` answers everything.
 * - The role `ask` answers nothing but data, as the client that was asked.
 * - If an ask names an approver's role (four eyes), whoever has that role answers it, and the
 *   principal whose call it is never does.
 *
 * What a principal is shown of pending and ended asks follows the same rule.
 */
#ifndef NOD_CORE_ANSWERABLE_H
#define NOD_CORE_ANSWERABLE_H

#include "core/record.h"
#include "core/roles.h"

/* A bit beside the roles of a principal: this is the client that the ask was put to. No principal
 * is given this bit. The core adds it to answers that come through such a surface. */
#define ANSWERS_AS_CLIENT ((role_set)1 << 31)

bool answerable_by(const struct ask_record *ask, struct str principal, role_set roles);

#endif
