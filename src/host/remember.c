/*
 * host/remember: what approvals may be remembered for, in the operator's words.
 *
 *     --remember delete_account=session,8h,tool
 *     --remember none
 *
 * A rule is for one tool, or for all that have no rule of their own. It counts instead of what the
 * tool's author allows. The words are session, principal, a time, and arguments or tool.
 */
#include "host/host.h"

static bool word_read(struct str word, struct grant_rule *rule)
{
    static const struct {
        struct str word;
        unsigned bit;
    } words[] = { { STR_INIT("session"), NOD_REMEMBER_SESSION },
                  { STR_INIT("principal"), NOD_REMEMBER_PRINCIPAL },
                  { STR_INIT("arguments"), NOD_REMEMBER_ARGUMENTS },
                  { STR_INIT("tool"), NOD_REMEMBER_TOOL } };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_eq(word, words[i].word)) {
            rule->allows |= words[i].bit;
            return true;
        }
    }
    if (rule->allows & NOD_REMEMBER_TIME || !settings_duration(word, &rule->for_ms))
        return false; /* one time only: it is what the person is offered */
    rule->allows |= NOD_REMEMBER_TIME;
    return true;
}

static bool rule_read(struct str text, struct grant_rule *rule)
{
    struct str what;
    bool more = true;

    *rule = (struct grant_rule){ 0 };
    if (!str_cut(text, '=', &rule->tool, &what)) {
        what = text;
        rule->tool = STR_NONE;
    } else if (!rule->tool.len) {
        return false;
    }
    if (str_eq(what, STR("none")))
        return true;
    while (more) {
        struct str word;
        more = str_cut(what, ',', &word, &what);
        if (!word_read(word, rule))
            return false;
    }
    return rule->allows & (NOD_REMEMBER_SESSION | NOD_REMEMBER_PRINCIPAL | NOD_REMEMBER_TIME);
}

bool remember_fits(struct str rule)
{
    struct grant_rule read;

    return rule_read(rule, &read);
}

size_t remember_read(const char *const *texts, struct grant_rule rules[GRANT_RULES_MAX])
{
    size_t count = 0;

    for (; texts && *texts && count < GRANT_RULES_MAX; texts++)
        rule_read(str_of(*texts), &rules[count++]);
    return count;
}
