/*
 * cli/options: the command line that every server has.
 *
 * One table of options, each with how its value is taken, and where to. `--name value` and
 * `--name=value` mean the same. Nothing is guessed: an option that is not in the table is an error.
 */
#include "cli/options.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/similar.h"
#include "front/address.h"

/* How a value is taken: `to` is the member of the options that the row names. */
typedef bool take_fn(struct options *options, void *to, const char *value);

struct option {
    const char *name;
    const char *value; /* what it takes, for messages; NULL: nothing */
    bool http_only;
    take_fn *take;
    size_t to; /* where in struct options */
};

/* A problem of its own, instead of the one that every wrong value has. */
static bool too_many(struct options *options, int most)
{
    snprintf(options->problem, sizeof(options->problem), "may be given at most %d times", most);
    return false;
}

/* --- values of each kind --- */

static bool take_flag(struct options *options, void *to, const char *value)
{
    (void)options, (void)value;
    *(bool *)to = true;
    return true;
}

static bool take_text(struct options *options, void *to, const char *value)
{
    (void)options;
    *(const char **)to = value;
    return *value != '\0';
}

/* One of several texts. */
static bool take_name(struct options *options, void *to, const char *value)
{
    const char **names = to;

    for (size_t i = 0; i < OPTIONS_NAMES_MAX; i++) {
        if (!names[i]) {
            names[i] = value;
            return *value != '\0';
        }
    }
    return too_many(options, OPTIONS_NAMES_MAX);
}

static bool take_address(struct options *options, void *to, const char *value)
{
    struct options_listen *listen = to;

    (void)options;
    listen->given = true;
    return options_address(str_of(value), &listen->host, &listen->port);
}

bool options_duration(struct str text, int64_t *ms)
{
    static const struct {
        char letter;
        int64_t ms;
    } units[] = { { 's', 1000 }, { 'm', 60000 }, { 'h', 3600000 }, { 'd', 86400000 } };
    int64_t count;

    if (text.len < 2 || text.at[0] < '0' || text.at[0] > '9' ||
        !str_to_i64(str_n(text.at, text.len - 1), &count))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (units[i].letter != text.at[text.len - 1])
            continue;
        if (count <= 0 || count > OPTIONS_DAYS_MAX * INT64_C(86400000) / units[i].ms)
            return false;
        *ms = count * units[i].ms;
        return true;
    }
    return false;
}

static bool take_time(struct options *options, void *to, const char *value)
{
    (void)options;
    return options_duration(str_of(value), to);
}

static bool take_count(struct options *options, void *to, const char *value)
{
    struct str text = str_of(value);
    int64_t n;

    (void)options;
    if (text.len == 0 || text.at[0] < '0' || text.at[0] > '9' || !str_to_i64(text, &n) || n <= 0 ||
        n > OPTIONS_COUNT_MAX)
        return false;
    *(size_t *)to = (size_t)n;
    return true;
}

/* --- values of one option --- */

static bool take_http(struct options *options, void *to, const char *value)
{
    if (options->listen_count == OPTIONS_LISTEN_MAX)
        return too_many(options, OPTIONS_LISTEN_MAX);
    return take_address(options, (struct options_listen *)to + options->listen_count++, value);
}

static bool take_public_url(struct options *options, void *to, const char *value)
{
    return take_text(options, to, value) && strstr(value, "://");
}

static bool take_proxy(struct options *options, void *to, const char *value)
{
    struct cidr net;

    return cidr_parse(str_of(value), &net) && take_name(options, to, value);
}

static bool take_store(struct options *options, void *to, const char *value)
{
    return take_text(options, to, value) && strchr(value, ':');
}

static bool take_allow_field(struct options *options, void *to, const char *value)
{
    return strchr(value, '.') && take_name(options, to, value);
}

static bool take_webhook(struct options *options, void *to, const char *value)
{
    return (str_starts(str_of(value), STR("http://")) ||
            str_starts(str_of(value), STR("https://"))) &&
           take_name(options, to, value);
}

static bool take_webhook_allow(struct options *options, void *to, const char *value)
{
    return strchr(value, ':') && take_name(options, to, value);
}

static bool take_consent(struct options *options, void *to, const char *value)
{
    struct str word = str_of(value);

    return take_text(options, to, value) &&
           (str_eq(word, STR("roles")) || str_eq(word, STR("inbox")) || str_eq(word, STR("any")));
}

/* "50s", "client:NAME=10m" or "tool:NAME=10m". */
static bool take_soft_deadline(struct options *options, void *to, const char *value)
{
    struct str text = str_of(value), name, time;
    bool client = str_starts(text, STR("client:")), tool = str_starts(text, STR("tool:"));

    if (!client && !tool)
        return options_duration(text, to);
    if (options->soft_count == OPTIONS_NAMES_MAX)
        return too_many(options, OPTIONS_NAMES_MAX);
    if (!str_cut(text, '=', &name, &time))
        return false;
    struct options_soft *soft = &options->soft[options->soft_count++];
    soft->tool = tool;
    soft->name = str_skip(name, strlen(client ? "client:" : "tool:"));
    return soft->name.len && options_duration(time, &soft->ms);
}

static bool take_log(struct options *options, void *to, const char *value)
{
    (void)options;
    return log_level_parse(str_of(value), to);
}

static bool take_log_format(struct options *options, void *to, const char *value)
{
    bool json = str_eq(str_of(value), STR("json"));

    (void)options;
    *(enum log_format *)to = json ? LOG_FORMAT_JSON : LOG_FORMAT_LOGFMT;
    return json || str_eq(str_of(value), STR("logfmt"));
}

#define TIME_RANGE  "a time such as 90s, 30m, 24h or 7d, from 1s to 3650d"
#define COUNT_RANGE "from 1 to 1000000000"
_Static_assert(OPTIONS_DAYS_MAX == 3650 && OPTIONS_COUNT_MAX == 1000000000, "as the texts say");

#define TO(member) offsetof(struct options, member)

static const struct option table[] = {
    { "--http", "HOST:PORT, a PORT alone (0 to 65535), or unix:PATH", false, take_http,
      TO(listen) },
    { "--no-inbox", NULL, false, take_flag, TO(no_inbox) },
    { "--demo", NULL, false, take_flag, TO(demo) },
    { "--inbox", "HOST:PORT, a PORT alone (0 to 65535), or unix:PATH", false, take_address,
      TO(inbox) },
    { "--token-file", "the name of a file", true, take_text, TO(token_file) },
    { "--public-url", "a URL such as https://nod.example.org", true, take_public_url,
      TO(public_url) },
    { "--trusted-proxy",
      "an address, or a net such as 10.0.0.0/8, whose bits after the prefix are zero", true,
      take_proxy, TO(trusted_proxies) },
    { "--tls-cert", "the name of a file", true, take_text, TO(tls_cert) },
    { "--tls-key", "the name of a file", true, take_text, TO(tls_key) },
    { "--allow-host", "a name such as nod.example.org", true, take_name, TO(allow_hosts) },
    { "--allow-origin", "an origin such as https://app.example", true, take_name,
      TO(allow_origins) },
    { "--allow-field", "TOOL.FIELD, such as login.password", false, take_allow_field,
      TO(allow_fields) },
    { "--remember", "TOOL=WHAT or WHAT, such as session,8h,tool", false, take_name, TO(remember) },
    { "--confirm-destructive", NULL, false, take_flag, TO(confirm_destructive) },
    { "--surfaces", "names such as client, with commas or > between them", false, take_text,
      TO(surfaces) },
    { "--next-surface", TIME_RANGE, false, take_time, TO(next_surface_ms) },
    { "--soft-deadline", TIME_RANGE ", client:NAME=10m or tool:NAME=10m", false, take_soft_deadline,
      TO(soft_deadline_ms) },
    { "--consent", "roles, inbox or any", false, take_consent, TO(consent) },
    { "--view-consent", NULL, false, take_flag, TO(view_consent) },
    { "--no-view-consent", "a principal of the token file", false, take_name, TO(no_view_consent) },
    { "--no-model", NULL, false, take_flag, TO(no_model) },
    { "--model-may-consent", NULL, false, take_flag, TO(model_may_consent) },
    { "--metrics", "HOST:PORT, a PORT alone (0 to 65535), or unix:PATH", false, take_address,
      TO(metrics) },
    { "--oauth", "the name of a file", false, take_text, TO(oauth) },
    { "--webhook", "a URL that begins with http:// or https://", false, take_webhook,
      TO(webhooks) },
    { "--webhook-secret", "the name of a file", false, take_text, TO(webhook_secret) },
    { "--webhook-allow", "ADDRESS:PORT, such as 10.0.0.7:8080", false, take_webhook_allow,
      TO(webhook_allow) },
    { "--webhook-content", NULL, false, take_flag, TO(webhook_content) },
    { "--store", "memory:, sqlite:PATH or redis://HOST:PORT", false, take_store, TO(store) },
    { "--ephemeral", NULL, false, take_flag, TO(ephemeral) },
    { "--portable-states", NULL, false, take_flag, TO(portable_states) },
    { "--ask-ttl", TIME_RANGE, false, take_time, TO(ask_ttl_ms) },
    { "--keep", TIME_RANGE, false, take_time, TO(keep_ms) },
    { "--pending", "a number of questions, " COUNT_RANGE, false, take_count, TO(pending_asks) },
    { "--pending-per-principal", "a number of questions, " COUNT_RANGE, false, take_count,
      TO(pending_asks_per_principal) },
    { "--kept-mib", "a number of MiB, " COUNT_RANGE, false, take_count, TO(kept_mib) },
    { "--kept-mib-per-principal", "a number of MiB, " COUNT_RANGE, false, take_count,
      TO(kept_mib_per_principal) },
    { "--journal-entries", "a number of questions and steps, from 1 to 4096", false, take_count,
      TO(journal_entries) },
    { "--journal-bytes", "a number of bytes, from 4096 to 4194304", false, take_count,
      TO(journal_bytes) },
    { "--sessions-per-principal", "a number of sessions, " COUNT_RANGE, true, take_count,
      TO(per_principal[OPTIONS_SESSIONS]) },
    { "--calls-per-principal", "a number of requests in flight, " COUNT_RANGE, true, take_count,
      TO(per_principal[OPTIONS_CALLS]) },
    { "--listeners-per-principal", "a number of streams, " COUNT_RANGE, true, take_count,
      TO(per_principal[OPTIONS_LISTENERS]) },
    { "--subscriptions-per-principal", "a number of subscriptions, " COUNT_RANGE, true, take_count,
      TO(per_principal[OPTIONS_SUBSCRIPTIONS]) },
    { "--tasks-per-principal", "a number of tasks, " COUNT_RANGE, false, take_count,
      TO(per_principal[OPTIONS_TASKS]) },
    { "--log", "error, warn, info or debug", false, take_log, TO(log.level) },
    { "--log-format", "logfmt or json", false, take_log_format, TO(log.format) },
};

const char *options_help(void)
{
    return "  (nothing)              speak MCP on standard input and output\n"
           "  --http HOST:PORT       serve MCP over HTTP at /mcp; --http PORT and --http :PORT\n"
           "                         listen on loopback; port 0 takes a free one; repeatable\n"
           "  --http unix:PATH       the same on a Unix socket of this user\n"
           "  --no-inbox             without the page at / and its API at /api, where people see\n"
           "                         and answer what is asked\n"
           "  --inbox HOST:PORT, --inbox unix:PATH  the page and its API for a server on standard\n"
           "                         input and output\n"
           "  --demo                 the page has a button that calls a tool, to see it work\n"
           "  --token-file FILE      bearer tokens, a line each: token name role...\n"
           "  --public-url URL       where the world reaches this server: what links are made of\n"
           "  --trusted-proxy NET    a proxy whose X-Forwarded-For is believed: an address, or\n"
           "                         10.0.0.0/8; repeatable\n"
           "  --tls-cert FILE, --tls-key FILE  serve over TLS; read again on SIGHUP\n"
           "  --allow-host NAME      a further name clients may use for this host; repeatable\n"
           "  --allow-origin ORIGIN  a web origin that may connect; repeatable\n"
           "  --allow-field TOOL.FIELD  a form's field that may be asked for although it looks\n"
           "                         like a secret; repeatable, and logged at each use\n"
           "  --remember [TOOL=]WHAT  how an approval may be remembered, instead of what the tool\n"
           "                         says: session, principal, a time such as 8h; for these\n"
           "                         arguments or the whole tool (arguments, tool); none\n"
           "  --confirm-destructive  a person is asked before each call of a destructive tool\n"
           "  --surfaces LIST        where people are asked (client, inbox, model, and\n"
           "                         places of the program itself): client,inbox on both, and the "
           "first\n"
           "                         answer wins; client>inbox in turn\n"
           "  --next-surface TIME    in turn: how long one place has; default 30s\n"
           "  --soft-deadline TIME   how long a call is held whose question is only elsewhere,\n"
           "                         before it returns a pending result; default 50s.\n"
           "                         client:NAME=TIME or tool:NAME=TIME raises it for one;\n"
           "                         repeatable\n"
           "  --consent roles        a yes of the client to its own call needs the role answer on\n"
           "                         its token (default); inbox: it never counts, and people are\n"
           "                         asked elsewhere; any: it always counts. A yes is every\n"
           "                         confirmation, approval, and answer to a destructive tool\n"
           "  --view-consent         without tokens, over HTTP: a yes counts that is given in a "
           "view\n"
           "  --no-view-consent NAME a yes of NAME does not count if it is given in a view;\n"
           "                         repeatable\n"
           "  --no-model             the model of a client without elicitation is not asked, "
           "where\n"
           "                         nobody else can be\n"
           "  --model-may-consent    what such a model says counts for confirmations, approvals\n"
           "                         and destructive tools, too\n"
           "  --metrics HOST:PORT    serve figures for Prometheus at /metrics, without a token;\n"
           "                         --metrics PORT listens on loopback\n"
           "  --oauth FILE           services where people connect accounts that tools use, a\n"
           "                         section each: [NAME], issuer = URL, client_id = ID, ...\n"
           "  --webhook URL          is sent a signed POST when a question comes up or ends;\n"
           "                         repeatable\n"
           "  --webhook-secret FILE  what they are signed with: whsec_ and 24 to 64 bytes in\n"
           "                         base64; default: NOD_WEBHOOK_SECRET of the environment\n"
           "  --webhook-allow ADDRESS:PORT  a webhook may be there although the address is not\n"
           "                         a public one; repeatable\n"
           "  --webhook-content      webhooks hold the message and the arguments as well\n"
           "  --store ADDRESS        where calls are kept: memory: (default), sqlite:PATH,\n"
           "                         redis://HOST:PORT\n"
           "  --ephemeral            this process may be stopped at any moment: refuses a store\n"
           "                         that would lose what it has\n"
           "  --portable-states      calls of 2026 clients go on at any server with the same "
           "secret,\n"
           "                         without a store they share; only tools that say .portable\n"
           "  --ask-ttl TIME         how long a person may take to answer, unless the tool or the\n"
           "                         question says otherwise: 90s, 30m, 24h, 7d; default 5m\n"
           "  --keep TIME            how long calls that have ended are kept: 90s, 30m, 24h, 7d;\n"
           "                         default 24h, in memory 10m\n"
           "  --pending N            questions that may wait, in all; default 1000000\n"
           "  --pending-per-principal N  and for one principal; default 10000\n"
           "  --kept-mib N           MiB of what is kept for calls, in all; default 4096\n"
           "  --kept-mib-per-principal N  and for one principal; default 64 if there are\n"
           "                         tokens, otherwise as many as in all\n"
           "  --journal-entries N    questions and steps of one call; default 64, at most 4096\n"
           "  --journal-bytes N      bytes of what it learns; default 262144, at most 4194304\n"
           "  --sessions-per-principal N, --calls-per-principal N, --listeners-per-principal N,\n"
           "  --subscriptions-per-principal N, --tasks-per-principal N\n"
           "                         what else one principal may have at the same time; default\n"
           "                         2000, 2000, 1000, 10000, 1000\n"
           "  --log LEVEL            error, warn, info (default) or debug\n"
           "  --log-format FORMAT    logfmt (default) or json\n"
           "  --help, --version\n";
}

/* Only digits, 0 to 65535. */
static bool read_port(struct str text, int *port)
{
    int64_t n;

    if (text.len == 0 || text.len > 5 || text.at[0] < '0' || text.at[0] > '9' ||
        !str_to_i64(text, &n) || n < 0 || n > 65535)
        return false;
    *port = (int)n;
    return true;
}

bool options_address(struct str text, struct str *host, int *port)
{
    size_t colon = text.len;

    *host = STR_NONE;
    *port = 0;
    if (str_starts(text, STR("unix:"))) {
        *host = text;
        return text.len > strlen("unix:");
    }
    if (read_port(text, port))
        return true;
    while (colon > 0 && text.at[colon - 1] != ':')
        colon--;
    if (colon == 0 || !read_port(str_skip(text, colon), port))
        return false;
    *host = str_n(text.at, colon - 1);
    if (host->len && host->at[0] == '[') {
        if (host->len < 3 || host->at[host->len - 1] != ']')
            return false;
        *host = str_n(host->at + 1, host->len - 2);
        return true;
    }
    return !memchr(text.at, ':', colon - 1); /* an IPv6 address needs its brackets */
}

static enum options_do wrong(struct options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum options_do wrong(struct options *options, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(options->problem, sizeof(options->problem), format, args);
    va_end(args);
    return OPTIONS_WRONG;
}

static const struct option *find(struct str name)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (str_eq(str_of(table[i].name), name))
            return &table[i];
    return NULL;
}

/* What is said of a word that is no option. */
static enum options_do unknown(struct options *options, const char *arg, struct str name)
{
    struct similar similar = { .to = name };
    bool help = str_eq(name, STR("-?")) || str_eq(name, STR("help"));

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        similar_try(&similar, table[i].name);
    similar_try(&similar, "--help");
    similar_try(&similar, "--version");
    if (help)
        similar.meant = "--help";
    if (similar.meant)
        return wrong(options, "%.100s is not an option; did you mean %s?", arg, similar.meant);
    return wrong(options,
                 arg[0] == '-' ? "%.100s is not an option"
                               : "%.100s is not an option, and a server takes nothing else",
                 arg);
}

enum options_do options_read(struct options *options, int argc, char **argv)
{
    const char *needs_http = NULL;

    *options = (struct options){ .log = { .level = LOG_LEVEL_INFO, .fd = 2 } };
    for (int i = 1; i < argc; i++) {
        struct str name, value;
        bool joined = str_cut(str_of(argv[i]), '=', &name, &value);

        if ((str_eq(name, STR("--help")) || str_eq(name, STR("-h"))) && !joined)
            return OPTIONS_HELP;
        if (str_eq(name, STR("--version")) && !joined)
            return OPTIONS_VERSION;
        const struct option *option = find(name);
        if (!option)
            return unknown(options, argv[i], name);
        if (!option->value && joined)
            return wrong(options, "%s takes no value", option->name);
        if (option->value && !joined && i + 1 >= argc)
            return wrong(options, "%s needs a value: %s", option->name, option->value);
        const char *given = !option->value ? "" : joined ? value.at : argv[++i];
        if (!option->take(options, (char *)options + option->to, given)) {
            char why[OPTIONS_PROBLEM_MAX];
            memcpy(why, options->problem, sizeof(why));
            if (why[0])
                return wrong(options, "%s %.100s", option->name, why);
            return wrong(options, "%s takes %s; it was given \"%.60s\"", option->name,
                         option->value, given);
        }
        if (option->http_only)
            needs_http = option->name;
    }
    if (options->inbox.given && options->listen_count)
        return wrong(options, "--inbox is for a server on standard input and output; with --http "
                              "the inbox is at / already");
    if (options->inbox.given && options->no_inbox)
        return wrong(options, "--inbox and --no-inbox do not go together");
    if (needs_http && !options->listen_count && !options->inbox.given)
        return wrong(options, "%s needs --http or --inbox", needs_http);
    if ((options->webhook_secret || options->webhook_allow[0] || options->webhook_content) &&
        !options->webhooks[0])
        return wrong(options, "%s goes with --webhook only",
                     options->webhook_secret     ? "--webhook-secret"
                     : options->webhook_allow[0] ? "--webhook-allow"
                                                 : "--webhook-content");
    if (options->tls_key && !options->tls_cert)
        return wrong(options, "--tls-key needs --tls-cert, the file of its certificate");
    return OPTIONS_RUN;
}
