/*
 * core/tool_name: the name by which clients are shown a tool whose path they may not take.
 *
 * A tool's name is its path, "github.issues.create". Some model APIs take A-Z a-z 0-9 _ - alone.
 * For those the shown name has _ for each other character: "github_issues_create". It is as long as
 * the path, and says nothing about which character it stands for: two paths may have one shown
 * name, and the catalog keeps such two apart.
 */
#ifndef NOD_CORE_TOOL_NAME_H
#define NOD_CORE_TOOL_NAME_H

#include "base/str.h"

/* In `out`, which has room for path.len characters. */
struct str tool_name_shown(struct str path, char *out);
/* Is this the path, or the name that it is shown under? */
bool tool_name_is_of(struct str name, struct str path);
/* Are both paths shown under one name? */
bool tool_names_meet(struct str path, struct str other);

#endif
