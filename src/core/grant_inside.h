/* core/grant_inside: what the files about grants share with the rest of the core. */
#ifndef NOD_CORE_GRANT_INSIDE_H
#define NOD_CORE_GRANT_INSIDE_H

#include "core/grant.h"
#include "core/inside.h"

struct grant_offer { /* what a question says of what may be remembered */
    struct grant_rule rule;
    struct str tool, digest, version;
};

/* What is allowed now for this tool path in a call; nothing: .allows is 0. */
struct grant_rule grant_rule_of(const struct engine *engine, const struct call *call,
                                struct str path);
/* The tool that a path names; if there is none, the tool of the call. */
const struct target *grant_target(const struct engine *engine, const struct call *call,
                                  struct str path);
/* The choices of a rule, without labels. `digest`: the arguments have one. */
size_t grant_choices(const struct grant_rule *rule, bool session, bool digest,
                     struct remember_choice out[GRANT_CHOICES_MAX]);
/* The digest of arguments, hexadecimal; empty: they have none, and only the tool can be granted. */
struct str grant_digest(struct arena *arena, const struct json *args);
/* The version that a grant is bound to. */
struct str grant_version(struct arena *arena, const struct target *target);
/* For ask_record.remember. */
struct str grant_offer_write(struct arena *arena, const struct grant_rule *rule, struct str path,
                             struct str digest, struct str version);
bool grant_offer_read(const struct ask_record *ask, struct arena *arena, struct grant_offer *out);
void grant_rules_drop(struct engine *engine);

#endif
