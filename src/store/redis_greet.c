/*
 * store/redis: the greeting of a connection.
 *
 * One table of steps, all sent together, each with its own check of the reply: who we are, which
 * database, whether this server can be written to, the settings on which the promise rests, the
 * scripts, the time. A subscriber says who it is, and subscribes.
 *
 * Holds always: a connection carries operations only after every step has succeeded. A setting that
 * the server does not let us read (CONFIG is often refused) is reported as unknown, not guessed.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/redis_inside.h"

enum fact { FACT_APPENDONLY, FACT_FSYNC, FACT_POLICY, FACT_MAXMEMORY };

enum {
    STEPS_MOST = 18 + SCRIPTS, /* steps of a greeting */
    SKEW_SAID_MS = 1000,       /* how far this node's clock may be off before it is logged */
};

struct step {
    bool (*wanted)(const struct redis_link *link);
    void (*say)(const struct redis_link *link, unsigned which, struct buf *out);
    bool (*heard)(struct redis_link *link, unsigned which, const struct redis_value *value);
    unsigned which;
};

static bool greet_refuse(struct redis_link *link, bool hopeless, const char *what, struct str said)
{
    link->hopeless = hopeless;
    snprintf(link->why, sizeof(link->why), "%s%s" STR_FMT, what, said.len ? ": " : "",
             STR_ARG(said));
    return false;
}

static bool for_commands(const struct redis_link *link)
{
    return link->channel.len == 0;
}

static bool for_hints(const struct redis_link *link)
{
    return link->channel.len > 0;
}

/* --- who, where --- */

static bool has_password(const struct redis_link *link)
{
    return link->url->password[0] != '\0';
}

static void say_auth(const struct redis_link *link, unsigned which, struct buf *out)
{
    struct str user = str_of(link->url->user), password = str_of(link->url->password);

    (void)which;
    if (user.len)
        redis_command(out, (struct str[]){ STR("AUTH"), user, password }, 3);
    else
        redis_command(out, (struct str[]){ STR("AUTH"), password }, 2);
}

static bool heard_auth(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    (void)which;
    if (value->type != REDIS_IS_ERROR)
        return true;
    bool loads = redis_error_is(value, "LOADING");
    return greet_refuse(link, !loads, "it does not accept the user and password", value->text);
}

static bool other_db(const struct redis_link *link)
{
    return link->url->db != 0 && for_commands(link);
}

static void say_select(const struct redis_link *link, unsigned which, struct buf *out)
{
    char db[16];
    int len = snprintf(db, sizeof(db), "%d", link->url->db);

    (void)which;
    redis_command(out, (struct str[]){ STR("SELECT"), str_n(db, (size_t)len) }, 2);
}

static bool heard_select(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    (void)which;
    if (value->type != REDIS_IS_ERROR)
        return true;
    return greet_refuse(link, true, "it does not let us select the database", value->text);
}

/* --- what it is --- */

static void say_role(const struct redis_link *link, unsigned which, struct buf *out)
{
    (void)link;
    (void)which;
    redis_command(out, (struct str[]){ STR("ROLE") }, 1);
}

static bool heard_role(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    struct str role = redis_text(redis_item(value, 0));

    (void)which;
    if (redis_error_is(value, "LOADING"))
        return greet_refuse(link, false, "it is still loading its data", STR(""));
    if (redis_error_is(value, "NOAUTH"))
        return greet_refuse(link, true, "it wants a password, and the address has none", STR(""));
    if (redis_error_is(value, "NOPERM"))
        return true; /* a replica that hides its role will refuse writes */
    if (value->type == REDIS_IS_ERROR)
        return greet_refuse(link, false, "it does not say what it is", value->text);
    if (str_eq(role, STR("master")))
        return true;
    return greet_refuse(
        link, true, "it is not a primary, and cannot be written to: name the primary. Its role is",
        role.len ? role : STR("unknown"));
}

static const char *const settings[] = {
    [FACT_APPENDONLY] = "appendonly",
    [FACT_FSYNC] = "appendfsync",
    [FACT_POLICY] = "maxmemory-policy",
    [FACT_MAXMEMORY] = "maxmemory",
};

static void say_config(const struct redis_link *link, unsigned which, struct buf *out)
{
    (void)link;
    redis_command(out, (struct str[]){ STR("CONFIG"), STR("GET"), str_of(settings[which]) }, 3);
}

static bool heard_config(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    struct str text = redis_text(redis_item(value, 1));

    snprintf(link->facts[which], sizeof(link->facts[which]), STR_FMT, STR_ARG(text));
    return true;
}

/* --- scripts, time --- */

static void say_script(const struct redis_link *link, unsigned which, struct buf *out)
{
    (void)link;
    redis_command(
        out,
        (struct str[]){ STR("SCRIPT"), STR("LOAD"), redis_script_text((enum redis_script)which) },
        3);
}

static bool heard_script(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    struct str sha = redis_text(value);

    if (sha.len != SHA_LEN)
        return greet_refuse(link, value->type == REDIS_IS_ERROR, "it does not take our scripts",
                            value->type == REDIS_IS_ERROR ? value->text : STR(""));
    memcpy(link->shas[which], sha.at, SHA_LEN);
    return true;
}

static void say_time(const struct redis_link *link, unsigned which, struct buf *out)
{
    (void)link;
    (void)which;
    redis_command(out, (struct str[]){ STR("TIME") }, 1);
}

static bool heard_time(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    int64_t seconds = redis_number(redis_item(value, 0));
    int64_t micros = redis_number(redis_item(value, 1));

    (void)which;
    if (seconds <= 0 || seconds > INT64_MAX / 2000 || micros < 0 || micros > 1000000)
        return greet_refuse(link, false, "it does not say what time it is", STR(""));
    int64_t theirs = seconds * 1000 + micros / 1000;
    int64_t ahead = clock_wall(clock_system()) - theirs;
    if (link->lane == 0 && (ahead > SKEW_SAID_MS || ahead < -SKEW_SAID_MS))
        LOG_WARN("the clock of this node is not the store's; the store's decides when something "
                 "runs out",
                 LOG_CSTR("store", "redis"), LOG_CSTR("where", link->url->shown),
                 LOG_INT("ahead_ms", ahead));
    link->offset_ms = theirs - loop_now(link->loop);
    return true;
}

static bool speaks_for_all(const struct redis_link *link)
{
    return for_commands(link) && link->lane == 0;
}

/* Which store this is: the first connection sets the id, and then it is read. */
static void id_key(const struct redis_link *link, char key[REDIS_PREFIX_MAX + 16])
{
    snprintf(key, REDIS_PREFIX_MAX + 16, "%s{00}id", link->url->prefix);
}

static void say_id(const struct redis_link *link, unsigned which, struct buf *out)
{
    char key[REDIS_PREFIX_MAX + 16];
    struct id id;

    (void)which;
    id_random(&id);
    id_key(link, key);
    redis_command(out, (struct str[]){ STR("SET"), str_of(key), id_str(&id), STR("NX") }, 4);
}

static bool heard_id(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    (void)link;
    (void)which;
    (void)value; /* the id that is there is read next */
    return true;
}

static void say_which(const struct redis_link *link, unsigned which, struct buf *out)
{
    char key[REDIS_PREFIX_MAX + 16];

    (void)which;
    id_key(link, key);
    redis_command(out, (struct str[]){ STR("GET"), str_of(key) }, 2);
}

static bool heard_which(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    struct str id = redis_text(value);

    (void)which;
    if (value->type == REDIS_IS_ERROR || id.len != ID_LEN)
        return greet_refuse(link, false, "it does not say which store it is",
                            value->type == REDIS_IS_ERROR ? value->text : STR(""));
    link->store_id = id_of(id);
    return true;
}

static void say_subscribe(const struct redis_link *link, unsigned which, struct buf *out)
{
    (void)which;
    redis_command(out, (struct str[]){ STR("SUBSCRIBE"), link->channel }, 2);
}

static bool heard_subscribe(struct redis_link *link, unsigned which,
                            const struct redis_value *value)
{
    (void)which;
    if (str_eq(redis_text(redis_item(value, 0)), STR("subscribe")))
        return true;
    return greet_refuse(link, redis_error_is(value, "NOPERM"), "it does not let us subscribe",
                        value->type == REDIS_IS_ERROR ? value->text : STR(""));
}

/* --- the table --- */

static const struct step steps[] = {
    { has_password, say_auth, heard_auth, 0 },
    { other_db, say_select, heard_select, 0 },
    { for_commands, say_role, heard_role, 0 },
    { for_commands, say_config, heard_config, FACT_APPENDONLY },
    { for_commands, say_config, heard_config, FACT_FSYNC },
    { for_commands, say_config, heard_config, FACT_POLICY },
    { for_commands, say_config, heard_config, FACT_MAXMEMORY },
    { for_commands, say_script, heard_script, SCRIPT_SAVE },
    { for_commands, say_script, heard_script, SCRIPT_CLAIM },
    { for_commands, say_script, heard_script, SCRIPT_TAKE },
    { for_commands, say_script, heard_script, SCRIPT_BACK },
    { for_commands, say_script, heard_script, SCRIPT_CLEAR },
    { for_commands, say_script, heard_script, SCRIPT_FINISH },
    { for_commands, say_script, heard_script, SCRIPT_PUT },
    { for_commands, say_script, heard_script, SCRIPT_DEL },
    { for_commands, say_script, heard_script, SCRIPT_LAPSE },
    { for_commands, say_script, heard_script, SCRIPT_SWEEP },
    { for_commands, say_script, heard_script, SCRIPT_RESEAL },
    { for_commands, say_script, heard_script, SCRIPT_TIME_IN_USE },
    { for_commands, say_script, heard_script, SCRIPT_ORPHAN },
    { for_commands, say_script, heard_script, SCRIPT_KEPT },
    { for_commands, say_script, heard_script, SCRIPT_FETCHED },
    { for_commands, say_script, heard_script, SCRIPT_ROOM },
    { for_commands, say_time, heard_time, 0 },
    { speaks_for_all, say_id, heard_id, 0 },
    { speaks_for_all, say_which, heard_which, 0 },
    { for_hints, say_subscribe, heard_subscribe, 0 },
};

enum { STEP_COUNT = sizeof(steps) / sizeof(steps[0]) };

size_t redis_greeting(struct redis_link *link, struct buf *out)
{
    size_t count = 0;

    for (size_t i = 0; i < STEP_COUNT; i++) {
        if (!steps[i].wanted(link))
            continue;
        steps[i].say(link, steps[i].which, out);
        count++;
    }
    return count;
}

bool redis_greeting_reply(struct redis_link *link, size_t at, const struct redis_value *value)
{
    for (size_t i = 0; i < STEP_COUNT; i++)
        if (steps[i].wanted(link) && at-- == 0)
            return steps[i].heard(link, steps[i].which, value);
    return false;
}

/* --- what the settings mean --- */

static bool is(const struct redis_link *link, enum fact fact, const char *text)
{
    return strcmp(link->facts[fact], text) == 0;
}

/* What the settings take away from the promise; "": nothing. */
static const char *shortcoming(const struct redis_link *link)
{
    if (!link->facts[FACT_APPENDONLY][0])
        return "its settings cannot be read (CONFIG GET is refused), so nothing is known of what "
               "it "
               "keeps";
    if (!is(link, FACT_POLICY, "noeviction"))
        return "its maxmemory-policy lets it drop records when memory is short: set it to "
               "noeviction";
    if (!is(link, FACT_APPENDONLY, "yes"))
        return "it has no append-only file, so what was answered since its last snapshot is lost "
               "when it stops: set appendonly yes";
    if (is(link, FACT_FSYNC, "no"))
        return "it leaves it to the system when its file is written (appendfsync no), so half a "
               "minute may be lost when its machine stops: set appendfsync always, or everysec";
    return "";
}

static void say_settings(struct redis_link *link, const char *lacks)
{
    if (link->lane || (strcmp(link->told, lacks) == 0 && link->settled))
        return; /* already logged */
    snprintf(link->told, sizeof(link->told), "%s", lacks);
    if (lacks[0])
        LOG_WARN("the store cannot keep the whole promise", LOG_CSTR("store", "redis"),
                 LOG_CSTR("where", link->url->shown), LOG_CSTR("why", lacks));
    else if (!is(link, FACT_FSYNC, "always"))
        LOG_INFO("the store keeps the promise when its process stops; when its machine does, up to "
                 "a second may be lost",
                 LOG_CSTR("store", "redis"), LOG_CSTR("where", link->url->shown),
                 LOG_CSTR("instead", "appendfsync always"));
    else
        LOG_INFO("the store keeps the promise", LOG_CSTR("store", "redis"),
                 LOG_CSTR("where", link->url->shown), LOG_CSTR("appendfsync", "always"));
}

bool redis_greeting_done(struct redis_link *link)
{
    if (link->channel.len)
        return true;
    const char *lacks = shortcoming(link);
    if (lacks[0] && link->strict)
        return greet_refuse(link, true, "strict", str_of(lacks));
    say_settings(link, lacks);
    return true;
}
