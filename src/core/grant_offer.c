/*
 * core/grant_offer: what may be remembered, and what a person may choose.
 *
 * A tool's author says what an approval of it may be remembered for. The operator may say something
 * else instead, for one tool or for all. An approval of a destructive tool for any arguments is
 * only remembered if the operator has named that tool: the author's word is not enough for it.
 *
 * What is allowed is written into the record of the question when it is asked, so that any node
 * knows what to offer. It is decided anew when a grant is to be used.
 */
#include "core/inside.h"

#include "base/mem.h"
#include "core/catalog.h"
#include "core/grant_inside.h"
#include "core/json_digest.h"
#include "json/write.h"

enum {
    SCOPES = NOD_REMEMBER_SESSION | NOD_REMEMBER_PRINCIPAL | NOD_REMEMBER_TIME,
    MATCHES = NOD_REMEMBER_ARGUMENTS | NOD_REMEMBER_TOOL,
    REMEMBER_MAX = 4096, /* bytes of what a question says of what may be remembered */
};

#define SECOND_MS INT64_C(1000)

/* --- words --- */

static const struct str scope_names[] = {
    [GRANT_SESSION] = STR_INIT("session"), [GRANT_PRINCIPAL] = STR_INIT("principal")
};
static const struct str match_names[] = {
    [GRANT_ARGUMENTS] = STR_INIT("arguments"), [GRANT_TOOL] = STR_INIT("tool")
};

struct str grant_scope_name(enum grant_scope scope)
{
    return scope_names[scope];
}

struct str grant_match_name(enum grant_match match)
{
    return match_names[match];
}

bool grant_scope_named(struct str name, enum grant_scope *scope)
{
    *scope = str_eq(name, scope_names[GRANT_SESSION]) ? GRANT_SESSION : GRANT_PRINCIPAL;
    return str_eq(name, scope_names[*scope]);
}

bool grant_match_named(struct str name, enum grant_match *match)
{
    *match = str_eq(name, match_names[GRANT_TOOL]) ? GRANT_TOOL : GRANT_ARGUMENTS;
    return str_eq(name, match_names[*match]);
}

/* `tool`: another one than asks; empty: that one. */
static struct str label(struct arena *arena, enum grant_scope scope, int64_t for_ms,
                        struct str tool, const char *with)
{
    struct str name = tool.len ? arena_fmt(arena, " " STR_FMT, STR_ARG(tool)) : STR("");

    if (scope == GRANT_SESSION)
        return arena_fmt(arena, "Allow" STR_FMT " for this session%s", STR_ARG(name), with);
    if (!for_ms)
        return arena_fmt(arena, "Always allow" STR_FMT "%s", STR_ARG(name), with);
    return arena_fmt(arena, "Allow" STR_FMT " for " STR_FMT "%s", STR_ARG(name),
                     STR_ARG(arena_time(arena, for_ms)), with);
}

struct str grant_label(struct arena *arena, enum grant_scope scope, enum grant_match match,
                       int64_t for_ms)
{
    return label(arena, scope, for_ms, STR_NONE,
                 match == GRANT_ARGUMENTS ? ", with these arguments" : "");
}

/* --- the operator's rules --- */

void engine_remember(struct engine *engine, const struct grant_rule *rules, size_t count)
{
    grant_rules_drop(engine);
    engine->remember = mem_alloc((count + 1) * sizeof(*rules));
    for (size_t i = 0; i < count; i++) {
        engine->remember[i] = rules[i];
        engine->remember[i].tool = str_of(str_dup(rules[i].tool));
    }
    engine->remember_count = count;
}

void grant_rules_drop(struct engine *engine)
{
    for (size_t i = 0; i < engine->remember_count; i++)
        mem_free((char *)engine->remember[i].tool.at);
    mem_free(engine->remember);
    engine->remember = NULL;
    engine->remember_count = 0;
}

/* The operator's rule for this tool, or for all; the last one counts. NULL: there is none. */
static const struct grant_rule *rule_for(const struct engine *engine, struct str tool)
{
    const struct grant_rule *found = NULL;

    for (size_t i = 0; i < engine->remember_count; i++) {
        const struct grant_rule *rule = &engine->remember[i];
        if (str_eq(rule->tool, tool) || (!rule->tool.len && !(found && found->tool.len)))
            found = rule;
    }
    return found;
}

static struct grant_rule rule_now(const struct engine *engine, const struct target *named,
                                  struct str path)
{
    const struct grant_rule *operators = rule_for(engine, path);
    struct grant_rule rule =
        operators ? *operators
                  : (struct grant_rule){ .allows = named->remember, .for_ms = named->remember_ms };
    bool leave = operators && operators->tool.len;

    if (!(rule.allows & SCOPES))
        return (struct grant_rule){ 0 };
    if (named->destructive && !leave)
        rule.allows &= ~(unsigned)NOD_REMEMBER_TOOL;
    if (!(rule.allows & MATCHES))
        rule.allows |= NOD_REMEMBER_ARGUMENTS;
    if (!rule.for_ms)
        rule.for_ms = GRANT_MS;
    rule.for_ms = (rule.for_ms + SECOND_MS - 1) / SECOND_MS * SECOND_MS; /* as people choose it */
    return rule;
}

struct grant_rule grant_rule_of(const struct engine *engine, const struct call *call,
                                struct str path)
{
    struct grant_rule rule = rule_now(engine, grant_target(engine, call, path), path);

    if (rule.allows & NOD_REMEMBER_SESSION && str_eq(call->scope, call->principal))
        rule.allows |= NOD_REMEMBER_TIME; /* there is no session: a time is offered instead */
    return rule;
}

const struct target *grant_target(const struct engine *engine, const struct call *call,
                                  struct str path)
{
    const struct target *named =
        str_eq(call->target->name, path) ? call->target
        : engine->catalog ? catalog_for(engine->catalog, call->principal, TARGET_TOOL, path)
                          : NULL;

    return named ? named : call->target;
}

bool grant_path_fits(const struct engine *engine, const struct call *call, struct str path)
{
    const struct target *tool = call->target;

    if (tool->destructive || !grant_target(engine, call, path)->destructive)
        return true;
    for (const char *const *name = tool->approves; name && *name; name++)
        if (str_eq(str_of(*name), path))
            return true;
    return false;
}

bool grant_allowed(const struct grant *grant, const struct grant_rule *rule)
{
    if (!(rule->allows & (grant->match == GRANT_TOOL ? NOD_REMEMBER_TOOL : NOD_REMEMBER_ARGUMENTS)))
        return false;
    if (grant->scope == GRANT_SESSION)
        return rule->allows & NOD_REMEMBER_SESSION;
    if (!grant->for_ms)
        return rule->allows & NOD_REMEMBER_PRINCIPAL;
    return rule->allows & NOD_REMEMBER_TIME && grant->for_ms <= rule->for_ms;
}

const char *grant_sleeps(const struct engine *engine, const struct grant *grant,
                         struct arena *arena)
{
    const struct target *tool = target_for(engine, grant->principal, grant->tool);
    struct grant_rule rule;

    if (!tool && grant->asker.len) /* a path that names no tool is of the one that asked */
        tool = target_for(engine, grant->principal, grant->asker);
    if (!tool)
        return "the tool is not there";
    if (!str_eq(grant_version(arena, tool), grant->version))
        return "the tool has changed since it was approved";
    rule = rule_now(engine, tool, grant->tool);
    if (rule.allows & NOD_REMEMBER_SESSION) /* as for calls without a session */
        rule.allows |= NOD_REMEMBER_TIME;
    return grant_allowed(grant, &rule) ? NULL : "it may not be remembered any more";
}

/* --- what a question says of it --- */

/* Over the exact form: a person has approved the numbers as they were written. */
struct str grant_digest(struct arena *arena, const struct json *args)
{
    struct digest digest;
    struct buf text;
    char *hex = arena_alloc_aligned(arena, DIGEST_HEX_LEN + 1, 1);

    buf_init(&text, DIGEST_JSON_MAX);
    bool whole = hex && json_write_exact(&text, args);
    if (whole) {
        digest_of(buf_str(&text), &digest);
        digest_hex(&digest, hex);
    }
    buf_finish(&text);
    return whole ? str_n(hex, DIGEST_HEX_LEN) : STR_NONE;
}

struct str grant_version(struct arena *arena, const struct target *target)
{
    return arena_fmt(arena, "%lld", (long long)target_version(target));
}

struct str grant_offer_write(struct arena *arena, const struct grant_rule *rule, struct str path,
                             struct str digest, bool own, struct str version)
{
    struct buf out;
    struct json_writer w;

    buf_init(&out, REMEMBER_MAX);
    json_writer_init(&w, &out);
    jw_object(&w);
    jw_key_str(&w, STR("tool"), path);
    jw_key_str(&w, STR("digest"), digest);
    jw_key_bool(&w, STR("own"), own);
    jw_key_str(&w, STR("version"), version);
    jw_key_i64(&w, STR("allows"), rule->allows);
    jw_key_i64(&w, STR("forMs"), rule->for_ms);
    jw_end(&w);
    struct str text = json_writer_done(&w) ? arena_str(arena, buf_str(&out)) : STR_NONE;
    buf_finish(&out);
    return text;
}

bool grant_offer_read(const struct ask_record *ask, struct arena *arena, struct grant_offer *out)
{
    const struct json *v =
        ask->remember.len ? json_parse(arena, arena_str(arena, ask->remember), NULL, NULL) : NULL;
    int64_t allows;

    *out = (struct grant_offer){ 0 };
    if (!json_is(v, JSON_OBJECT) || !json_i64(json_get(v, STR("allows")), &allows) ||
        !json_i64(json_get(v, STR("forMs")), &out->rule.for_ms))
        return false;
    out->rule.allows = (unsigned)allows & (SCOPES | MATCHES);
    out->tool = json_get_str(v, STR("tool"));
    out->digest = json_get_str(v, STR("digest"));
    out->own = json_true(json_get(v, STR("own")));
    out->version = json_get_str(v, STR("version"));
    return out->tool.len > 0;
}

size_t grant_choices(const struct grant_rule *rule, bool session, bool digest,
                     struct remember_choice out[GRANT_CHOICES_MAX])
{
    size_t count = 0;

    for (int m = GRANT_ARGUMENTS; m <= GRANT_TOOL; m++) {
        bool allowed = m == GRANT_TOOL ? rule->allows & NOD_REMEMBER_TOOL
                                       : rule->allows & NOD_REMEMBER_ARGUMENTS && digest;
        enum grant_match match = (enum grant_match)m;
        if (!allowed)
            continue;
        if (rule->allows & NOD_REMEMBER_SESSION && session)
            out[count++] = (struct remember_choice){ .scope = GRANT_SESSION, .match = match };
        if (rule->allows & NOD_REMEMBER_TIME)
            out[count++] = (struct remember_choice){ .scope = GRANT_PRINCIPAL,
                                                     .match = match,
                                                     .for_ms = rule->for_ms };
        if (rule->allows & NOD_REMEMBER_PRINCIPAL)
            out[count++] = (struct remember_choice){ .scope = GRANT_PRINCIPAL, .match = match };
    }
    return count;
}

size_t grants_offered(const struct ask_record *ask, struct arena *arena,
                      struct remember_choice out[GRANT_CHOICES_MAX])
{
    struct grant_offer offer;

    if (ask->kind != ASK_APPROVAL || !ask->consent || !grant_offer_read(ask, arena, &offer))
        return 0;
    size_t count =
        grant_choices(&offer.rule, !str_eq(ask->scope, ask->principal), offer.digest.len > 0, out);
    for (size_t i = 0; i < count; i++)
        out[i].label = label(arena, out[i].scope, out[i].for_ms, grant_path(ask, arena),
                             out[i].match == GRANT_TOOL ? ""
                             : offer.own                ? ", with the arguments in the question"
                                                        : ", with these arguments");
    return count;
}

struct str grant_path(const struct ask_record *ask, struct arena *arena)
{
    struct grant_offer offer;

    return grant_offer_read(ask, arena, &offer) && !str_eq(offer.tool, ask->target) ? offer.tool
                                                                                    : STR_NONE;
}
