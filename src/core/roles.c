/*
 * core/roles: see roles.h. The words are those of the token file.
 */
#include "core/roles.h"

static const struct {
    struct str name;
    role_set role;
} words[] = {
    { STR_INIT("ask"), ROLE_ASK },
    { STR_INIT("answer"), ROLE_ANSWER },
    { STR_INIT("approve"), ROLE_APPROVE },
    { STR_INIT("admin"), ROLE_ADMIN },
};

role_set role_named(struct str name)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (str_eq(words[i].name, name))
            return words[i].role;
    return ROLES_NONE;
}

struct str role_name(enum role role)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].role == (role_set)role)
            return words[i].name;
    return STR_NONE;
}
