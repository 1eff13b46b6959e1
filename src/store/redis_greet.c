/*
 * store/redis: the greeting of a connection.
 *
 * A list of steps, all sent together, each with its own check of the reply: who we are, which
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

enum fact { FACT_APPENDONLY, FACT_FSYNC, FACT_POLICY, FACTS };

enum {
    STEPS_MOST = 16 + SCRIPTS, /* steps of a greeting */
    STEP_WORDS_MOST = 4,       /* words of its command */
    SKEW_SAID_MS = 1000,       /* how far this node's clock may be off before it is logged */
};

struct step {
    struct str words[STEP_WORDS_MOST];
    size_t count;
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

/* --- the replies --- */

static struct str error_text(const struct redis_value *value)
{
    return value->type == REDIS_IS_ERROR ? value->text : STR("");
}

static bool heard_auth(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    (void)which;
    return value->type != REDIS_IS_ERROR ||
           greet_refuse(link, !redis_error_is(value, "LOADING"),
                        "it does not accept the user and password", value->text);
}

static bool heard_select(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    (void)which;
    return value->type != REDIS_IS_ERROR ||
           greet_refuse(link, true, "it does not let us select the database", value->text);
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

static bool heard_config(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    struct str text = redis_text(redis_item(value, 1));

    snprintf(link->facts[which], sizeof(link->facts[which]), STR_FMT, STR_ARG(text));
    return true;
}

static bool heard_script(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    struct str sha = redis_text(value);

    if (sha.len != SHA_LEN)
        return greet_refuse(link, value->type == REDIS_IS_ERROR, "it does not take our scripts",
                            error_text(value));
    memcpy(link->shas[which], sha.at, SHA_LEN);
    return true;
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

static bool heard_id(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    (void)link;
    (void)which;
    (void)value; /* the id that is there is read next */
    return true;
}

static bool heard_which(struct redis_link *link, unsigned which, const struct redis_value *value)
{
    struct str id = redis_text(value);

    (void)which;
    if (value->type == REDIS_IS_ERROR || id.len != ID_LEN)
        return greet_refuse(link, false, "it does not say which store it is", error_text(value));
    link->store_id = id_of(id);
    return true;
}

static bool heard_subscribe(struct redis_link *link, unsigned which,
                            const struct redis_value *value)
{
    (void)which;
    if (str_eq(redis_text(redis_item(value, 0)), STR("subscribe")))
        return true;
    return greet_refuse(link, redis_error_is(value, "NOPERM"), "it does not let us subscribe",
                        error_text(value));
}

/* --- the steps --- */

struct greeting {
    struct step steps[STEPS_MOST];
    size_t count;
    char db[16];
    char id_key[REDIS_PREFIX_MAX + 16];
    struct id id;
};

/* The greeting of this connection. Its words point into it, and into the link. */
static void greeting_make(const struct redis_link *link, struct greeting *out)
{
    static const struct str settings[FACTS] = {
        [FACT_APPENDONLY] = STR_INIT("appendonly"),
        [FACT_FSYNC] = STR_INIT("appendfsync"),
        [FACT_POLICY] = STR_INIT("maxmemory-policy"),
    };
    const struct redis_url *url = link->url;
    struct str user = str_of(url->user), password = str_of(url->password);
    struct step *step = out->steps;

    if (password.len && user.len)
        *step++ = (struct step){ { STR("AUTH"), user, password }, 3, heard_auth, 0 };
    else if (password.len)
        *step++ = (struct step){ { STR("AUTH"), password }, 2, heard_auth, 0 };
    if (link->channel.len) {
        *step++ = (struct step){ { STR("SUBSCRIBE"), link->channel }, 2, heard_subscribe, 0 };
        out->count = (size_t)(step - out->steps);
        return;
    }
    snprintf(out->db, sizeof(out->db), "%d", url->db);
    if (url->db)
        *step++ = (struct step){ { STR("SELECT"), str_of(out->db) }, 2, heard_select, 0 };
    *step++ = (struct step){ { STR("ROLE") }, 1, heard_role, 0 };
    for (unsigned i = 0; i < FACTS; i++)
        *step++ = (struct step){ { STR("CONFIG"), STR("GET"), settings[i] }, 3, heard_config, i };
    for (unsigned i = 0; i < SCRIPTS; i++)
        *step++ =
            (struct step){ { STR("SCRIPT"), STR("LOAD"), redis_script_text((enum redis_script)i) },
                           3,
                           heard_script,
                           i };
    *step++ = (struct step){ { STR("TIME") }, 1, heard_time, 0 };
    if (link->lane == 0) { /* which store this is: whoever comes first sets the id */
        snprintf(out->id_key, sizeof(out->id_key), "%s{00}id", url->prefix);
        id_random(&out->id);
        struct str key = str_of(out->id_key);
        *step++ = (struct step){ { STR("SET"), key, id_str(&out->id), STR("NX") }, 4, heard_id, 0 };
        *step++ = (struct step){ { STR("GET"), key }, 2, heard_which, 0 };
    }
    out->count = (size_t)(step - out->steps);
}

size_t redis_greeting(struct redis_link *link, struct buf *out)
{
    struct greeting greeting;

    greeting_make(link, &greeting);
    for (size_t i = 0; i < greeting.count; i++)
        redis_command(out, greeting.steps[i].words, greeting.steps[i].count);
    return greeting.count;
}

bool redis_greeting_reply(struct redis_link *link, size_t at, const struct redis_value *value)
{
    struct greeting greeting;

    greeting_make(link, &greeting);
    const struct step *step = at < greeting.count ? &greeting.steps[at] : NULL;
    return step && step->heard(link, step->which, value);
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
               "it keeps";
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
