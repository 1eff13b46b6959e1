/*
 * host/settings_table: the table of settings, a row each.
 *
 * Whoever adds a setting adds a row here and its member in struct nod_server_opts, in C and in C++,
 * and uses it from there. Everything else follows from the row: see settings.h.
 */
#include "host/host.h"
#include "host/settings.h"
#include "front/address.h"
#include "mcp/later/pending.h"
#include "mcp/tasks/tasks.h"

/* --- texts that are more than a text --- */

static bool is_address(struct str text)
{
    struct str host;
    int port;

    return settings_address(text, &host, &port);
}

static bool is_url(struct str text)
{
    return str_find(text, STR("://")) >= 0;
}

static bool is_web_url(struct str text)
{
    return str_starts(text, STR("http://")) || str_starts(text, STR("https://"));
}

static bool is_net(struct str text)
{
    struct cidr net;

    return cidr_parse(text, &net);
}

static bool has_colon(struct str text)
{
    return memchr(text.at, ':', text.len);
}

static bool has_dot(struct str text)
{
    return memchr(text.at, '.', text.len);
}

static bool is_soft_rule(struct str text)
{
    struct str name;
    bool tool;
    int64_t ms;

    return settings_soft_deadline(text, &tool, &name, &ms);
}

static bool is_name(struct str text)
{
    return text.len <= SETTINGS_SERVER_MAX && str_is_plain(text);
}

static const char *const consents[] = { "roles", "inbox", "any", NULL };
static const char *const tool_names[] = { "paths", "underscores", NULL };
static const char *const levels[] = { "error", "warn", "info", "debug", NULL };
static const char *const formats[] = { "logfmt", "json", NULL };

/* --- the table --- */

const char *const settings_groups[GROUPS] = {
    [GROUP_SERVES] = "Where it serves",
    [GROUP_ADMITS] = "Who may come in",
    [GROUP_ASKS] = "Where people are asked, and for how long",
    [GROUP_CONSENT] = "Whose yes counts",
    [GROUP_KEEPS] = "What is kept",
    [GROUP_BOUNDS] = "How much of it",
    [GROUP_TELLS] = "Other programs",
    [GROUP_LOG] = "The log",
    [GROUP_SERVE] = "Only `nod serve`",
    [GROUP_PROGRAM] = "Set by the program",
};

#define PLACE(member_)                                                                             \
    .at = offsetof(struct settings, member_), .size = sizeof(((struct settings *)0)->member_)
#define MEMBER(member_) .member = #member_, PLACE(opts.member_)
#define TIME            .type = SETTING_TIME, .least = 1, .most = SETTINGS_TIME_MAX_MS, .value = "TIME"
#define COUNT(of)                                                                                  \
    .type = SETTING_COUNT, .least = 1, .most = SETTINGS_COUNT_MAX, .value = "N", .takes = of
#define FILE_NAME  .type = SETTING_TEXT, .value = "FILE", .takes = "the name of a file", .path = ""
#define NAMES(how) .type = SETTING_LIST, .repeat = how, .most = SETTINGS_NAMES_MAX
#define ADDRESS                                                                                    \
    .value = "ADDRESS", .takes = "HOST:PORT, a PORT alone (0 to 65535), or unix:PATH",             \
    .fits = is_address, .path = "unix:"
#define OVER_HTTP .needs = "--http or --inbox"

const struct setting settings_table[] = {
    /* --- */
    { "--http", .group = GROUP_SERVES, MEMBER(http), NAMES(REPEAT_REPLACES), ADDRESS,
      .most = SETTINGS_LISTEN_MAX,
      .help = "MCP over HTTP at `/mcp`, instead of standard input and output: `HOST:PORT`; `PORT` "
              "or `:PORT` on loopback, 0 for a free one; `unix:PATH`",
      .more = "IPv6 is `[::1]:8080`. A Unix socket can be opened by this user alone; see "
              "[operate.md](operate.md#where-it-listens)" },
    { "--no-inbox", .group = GROUP_SERVES, MEMBER(no_inbox),
      .help = "without the inbox: the page at `/` and its API at `/api`, where people see and "
              "answer what is asked",
      .more = "With `--http` it is on by default; on an address that is not loopback only with "
              "TLS or an https `--public-url`, and otherwise the log says that it is off" },
    { "--inbox", .group = GROUP_SERVES, MEMBER(inbox), .type = SETTING_TEXT, ADDRESS,
      .help = "the inbox of a server on standard input and output, which has none by default",
      .more = "If the address is taken, the log says so, and the server goes on without it" },
    { "--demo", .group = GROUP_SERVES, MEMBER(demo),
      .help = "the empty inbox has a button \"Try it\", which calls a tool of this server",
      .more = "It is called as whoever presses it. For a first look, without an MCP client; `make "
              "run` sets it" },
    { "--tool-names", .group = GROUP_SERVES, MEMBER(tool_names), .type = SETTING_WORD,
      .words = tool_names, .usually = "paths",
      .help = "how clients are shown the names of tools: `paths`, as they are; `underscores`, with "
              "`_` for what some model APIs do not take: `github_issues_create` for "
              "`github.issues.create`",
      .more = "They may call a tool by either name. Everywhere else it has its path. See "
              "[clients.md](clients.md#names-of-tools)" },
    { "--metrics", .group = GROUP_SERVES, MEMBER(metrics), .type = SETTING_TEXT, ADDRESS,
      .help = "figures for Prometheus at `/metrics`, on an address of its own, without a token",
      .more = "Also on stdio; see [operate.md](operate.md#metrics)" },
    /* --- */
    { "--token-file", .group = GROUP_ADMITS, MEMBER(token_file), FILE_NAME, OVER_HTTP,
      .reloads = RELOADS_FILE, .help = "bearer tokens, a line each: `token name role...`",
      .more = "See [security.md](security.md#tokens-and-roles). Required for an address that is "
              "not loopback" },
    { "--public-url", .group = GROUP_ADMITS, MEMBER(public_url), .type = SETTING_TEXT, OVER_HTTP,
      .value = "URL", .takes = "a URL such as https://nod.example.org", .fits = is_url,
      .help = "where the world reaches this server: what links are made of",
      .more = "Its `Host` and `Origin` are allowed. Without it a server that other machines reach "
              "at `0.0.0.0` makes links to this machine, and says so at start" },
    { "--trusted-proxy", .group = GROUP_ADMITS, MEMBER(trusted_proxies), NAMES(REPEAT_ADDS),
      OVER_HTTP, .value = "NET", .fits = is_net,
      .takes = "an address, or a net such as 10.0.0.0/8, whose bits after the prefix are zero",
      .help = "a proxy whose `X-Forwarded-For` is believed: an address, or a net such as "
              "`10.0.0.0/8` or `2001:db8::/32`" },
    { "--tls-cert", .group = GROUP_ADMITS, MEMBER(tls_cert), FILE_NAME, OVER_HTTP,
      .reloads = RELOADS_FILE,
      .help = "TLS on all TCP addresses, with this certificate and its chain, in PEM",
      .more = "See [security.md](security.md#tls)" },
    { "--tls-key", .group = GROUP_ADMITS, MEMBER(tls_key), FILE_NAME, .needs = "--tls-cert",
      .reloads = RELOADS_FILE, .help = "its key, if that is not in the file of the certificate" },
    { "--allow-host", .group = GROUP_ADMITS, MEMBER(allow_hosts), NAMES(REPEAT_ADDS), OVER_HTTP,
      .value = "NAME", .takes = "a name such as nod.example.org",
      .help = "a further name for this host in the `Host` header" },
    { "--allow-origin", .group = GROUP_ADMITS, MEMBER(allow_origins), NAMES(REPEAT_ADDS), OVER_HTTP,
      .value = "ORIGIN", .takes = "an origin such as https://app.example",
      .help = "a web origin that may connect, such as `https://app.example`" },
    /* --- */
    { "--surfaces", .group = GROUP_ASKS, MEMBER(surfaces), NAMES(REPEAT_LAST), .value = "LIST",
      .takes = "names such as client, with commas or > between them",
      .help = "where people are asked (`client`, `inbox`, `model`, and places of the program "
              "itself): `client,inbox` on both, and the first answer wins; `client>inbox` in turn",
      .more = "`client` is the client that made the call. See "
              "[asking.md](asking.md#where-people-are-asked). A name that this server does not "
              "have is refused at start. Without this option the client is asked and, if it cannot "
              "be asked or refuses, the next surface. A tool's `.surfaces` override it" },
    { "--next-surface", .group = GROUP_ASKS, MEMBER(next_surface_ms), TIME,
      .usual = ENGINE_NEXT_TURN_MS,
      .help = "in turn: how long a question waits in one place before the next has it",
      .more = "Before its turn a place is not asked, and its answers do not count" },
    { "--ask-ttl", .group = GROUP_ASKS, MEMBER(ask_ttl_ms), TIME, .usual = ENGINE_ASK_TTL_MS,
      .help = "how long a person may take to answer",
      .more = "A tool's `.ask_ttl_ms` and a question's `.ttl_ms` override it" },
    { "--soft-deadline", .group = GROUP_ASKS, MEMBER(soft_deadline_ms), TIME,
      .usual = PENDING_SOFT_MS,
      .help = "how long a call is held whose question is only elsewhere than at its client, before "
              "it returns a pending result",
      .more = "See [clients.md](clients.md#a-client-that-cannot-ask)" },
    { "--soft-deadline", .group = GROUP_ASKS, MEMBER(soft_deadlines), NAMES(REPEAT_ADDS),
      .value = "WHOSE=TIME", .takes = "client:NAME=10m or tool:NAME=10m", .fits = is_soft_rule,
      .help = "raises it for one client or tool: `client:NAME=TIME`, `tool:NAME=TIME`" },
    { "--no-model", .group = GROUP_ASKS, MEMBER(no_model),
      .help = "the model of a client without elicitation is not asked, where nobody else can be",
      .more = "See [asking.md](asking.md#when-the-client-cannot-ask-the-model)" },
    /* --- */
    { "--consent", .group = GROUP_CONSENT, MEMBER(consent), .type = SETTING_WORD, .words = consents,
      .usually = "roles",
      .help = "whether a client's yes to its own call counts: `roles`, if its token has the role "
              "`answer`; `inbox`, never, and people are asked elsewhere; `any`, always",
      .more = "A yes is every confirmation, approval, and answer to a destructive tool "
              "([security.md](security.md#whose-yes-counts)). With `any` the log says so at every "
              "start. Where it does not count, the question is asked in all other places. A tool "
              "can say the same for itself (`.consent`); the stricter of both counts" },
    { "--view-consent", .group = GROUP_CONSENT, MEMBER(view_consent),
      .help = "without tokens, over HTTP: a yes counts that is given in a view",
      .more = "With tokens, and on stdio, it does without "
              "([views.md](views.md#whose-word-it-is))" },
    { "--no-view-consent", .group = GROUP_CONSENT, MEMBER(no_view_consent), NAMES(REPEAT_ADDS),
      .value = "NAME", .takes = "a principal of the token file",
      .help = "a yes of this principal does not count if it is given in a view" },
    { "--model-may-consent", .group = GROUP_CONSENT, MEMBER(model_may_consent),
      .help = "what a model says counts for confirmations, approvals and destructive tools, too",
      .more = "See [security.md](security.md#what-a-model-may-answer)" },
    { "--confirm-destructive", .group = GROUP_CONSENT, MEMBER(confirm_destructive),
      .help = "a person is asked before each call of a tool that says `.destructive`",
      .more = "See [approvals.md](approvals.md#destructive-tools)" },
    { "--remember", .group = GROUP_CONSENT, MEMBER(remember), NAMES(REPEAT_ADDS),
      .reloads = RELOADS_VALUE, .most = GRANT_RULES_MAX, .value = "[TOOL=]WHAT",
      .fits = remember_fits,
      .takes =
          "TOOL=WHAT or WHAT, where WHAT is none, or at least one of session, principal and a "
          "time such as 8h, and arguments or tool, with commas: delete_account=session,8h,tool",
      .help = "how an approval may be remembered, instead of what the tools say: `none`, or words "
              "with commas out of `session`, `principal`, a time such as `8h`, `arguments` and "
              "`tool`",
      .more = "A tool that this server does not have is a warning at start, here and in the other "
              "options that name tools; see [approvals.md](approvals.md#the-operators-word)" },
    { "--allow-field", .group = GROUP_CONSENT, MEMBER(allow_fields), NAMES(REPEAT_ADDS),
      .value = "TOOL.FIELD", .takes = "TOOL.FIELD, such as login.password", .fits = has_dot,
      .help = "a form field that may be asked for although it looks like a secret; logged each "
              "time",
      .more = "See [forms.md](forms.md#secrets)" },
    /* --- */
    { "--store", .group = GROUP_KEEPS, MEMBER(store), .type = SETTING_TEXT, .fits = has_colon,
      .path = "sqlite:", .value = "ADDRESS", .takes = "memory:, sqlite:PATH or redis://HOST:PORT",
      .usually = "memory:, of `nod serve` SQLite",
      .help = "where calls are kept: `memory:`, `sqlite:PATH` or `redis://HOST:PORT`",
      .more = "See [stores.md](stores.md)" },
    { "--ephemeral", .group = GROUP_KEEPS, MEMBER(ephemeral),
      .help = "this process may be stopped at any moment: refuses a store that would then lose its "
              "data" },
    { "--portable-states", .group = GROUP_KEEPS, MEMBER(portable_states),
      .help = "calls of 2026 clients can go on at any server that has the same secret, even if the "
              "servers share no store",
      .more = "Only with `memory:` and a secret, and only for tools marked `.portable`, whose "
              "steps may be repeated" },
    { "--keep", .group = GROUP_KEEPS, MEMBER(keep_ms), TIME, .usually = "24h, in memory 10m",
      .help = "how long ended calls and their questions are kept" },
    /* --- */
    { "--pending", .group = GROUP_BOUNDS, MEMBER(pending_asks), COUNT("questions"),
      .usual = ENGINE_PENDING_ASKS, .help = "questions that may wait, in all" },
    { "--pending-per-principal", .group = GROUP_BOUNDS, MEMBER(pending_asks_per_principal),
      COUNT("questions"), .usual = ENGINE_PENDING_ASKS_PER_PRINCIPAL,
      .help = "and for one principal (user)" },
    { "--kept-mib", .group = GROUP_BOUNDS, MEMBER(kept_mib), COUNT("MiB"), .usual = ENGINE_KEPT_MIB,
      .help = "MiB of what is kept for calls, in all: arguments, questions, answers, results",
      .more = "See [operate.md](operate.md#what-is-kept-in-bytes)" },
    { "--kept-mib-per-principal", .group = GROUP_BOUNDS, MEMBER(kept_mib_per_principal),
      COUNT("MiB"), .usually = "64 if there are tokens, otherwise as many as in all",
      .help = "and for one principal" },
    { "--journal-entries", .group = GROUP_BOUNDS, MEMBER(journal_entries),
      COUNT("questions and steps"), .most = ENGINE_JOURNAL_ENTRIES_MOST,
      .usual = ENGINE_JOURNAL_ENTRIES, .help = "what one call may learn: questions and steps",
      .more = "A tool that sets its own limits keeps them; see "
              "[steps.md](steps.md#loops-and-how-much-a-call-can-learn)" },
    { "--journal-bytes", .group = GROUP_BOUNDS, MEMBER(journal_bytes), COUNT("bytes"),
      .least = ENGINE_JOURNAL_BYTES_LEAST, .most = ENGINE_JOURNAL_BYTES_MOST,
      .usually = "262144, or 4096 for each of `--journal-entries` if that is more",
      .help = "and the bytes of their answers and results" },
    { "--sessions-per-principal", .group = GROUP_BOUNDS, MEMBER(sessions_per_principal),
      COUNT("sessions"), OVER_HTTP, .usual = MCP_SESSIONS_PER_PRINCIPAL_MAX,
      .help = "sessions of one principal, if there are tokens",
      .more = "A principal past this limit, or past one of the four below, gets 429" },
    { "--calls-per-principal", .group = GROUP_BOUNDS, MEMBER(calls_per_principal),
      COUNT("requests in flight"), OVER_HTTP, .usual = MCP_CALLS_PER_PRINCIPAL_MAX,
      .help = "its requests in flight, if there are tokens" },
    { "--listeners-per-principal", .group = GROUP_BOUNDS, MEMBER(listeners_per_principal),
      COUNT("streams"), OVER_HTTP, .usual = MCP_LISTENERS_PER_PRINCIPAL_MAX,
      .help = "its streams of messages outside calls, if there are tokens" },
    { "--subscriptions-per-principal", .group = GROUP_BOUNDS, MEMBER(subscriptions_per_principal),
      COUNT("subscriptions"), OVER_HTTP, .usual = MCP_SUBSCRIPTIONS_PER_PRINCIPAL_MAX,
      .help = "its subscriptions to resources, if there are tokens" },
    { "--tasks-per-principal", .group = GROUP_BOUNDS, MEMBER(tasks_per_principal), COUNT("tasks"),
      .usual = TASKS_PER_PRINCIPAL_MAX, .help = "its tasks" },
    /* --- */
    { "--webhook", .group = GROUP_TELLS, MEMBER(webhooks), NAMES(REPEAT_ADDS),
      .most = WEBHOOK_URLS_MAX, .value = "URL", .fits = is_web_url,
      .takes = "a URL that begins with http:// or https://",
      .help = "is sent a signed POST when a question comes up or ends",
      .more = "See [webhooks.md](webhooks.md)" },
    { "--webhook-secret", .group = GROUP_TELLS, MEMBER(webhook_secret_file), FILE_NAME,
      .needs = "--webhook", .usually = "`NOD_WEBHOOK_SECRET` of the environment",
      .help =
          "what they are signed with: `whsec_` and 24 to 64 bytes in base64; several sign all" },
    { "--webhook-allow", .group = GROUP_TELLS, MEMBER(webhook_allow), NAMES(REPEAT_ADDS),
      .needs = "--webhook", .value = "ADDRESS:PORT", .fits = has_colon,
      .takes = "ADDRESS:PORT, such as 10.0.0.7:8080",
      .help = "a webhook may be sent there although the address is not a public one" },
    { "--webhook-content", .group = GROUP_TELLS, MEMBER(webhook_content), .needs = "--webhook",
      .help = "webhooks hold the message and the arguments as well" },
    { "--oauth", .group = GROUP_TELLS, MEMBER(oauth_file), FILE_NAME,
      .help = "services where people connect accounts that tools use, a section each",
      .more = "See [credentials.md](credentials.md)" },
    /* --- */
    { "--log", .group = GROUP_LOG, PLACE(log), .type = SETTING_WORD, .words = levels,
      .reloads = RELOADS_VALUE, .usually = "info", .help = "what is logged, to standard error" },
    { "--log-format", .group = GROUP_LOG, PLACE(log_format), .type = SETTING_WORD, .words = formats,
      .reloads = RELOADS_VALUE, .usually = "logfmt", .help = "and how" },
    /* --- what only nod serve has --- */
    { "--config", .group = GROUP_SERVE, PLACE(config_file), FILE_NAME, .serve = true,
      .argv_only = true, .help = "the configuration, instead of the user's or the machine's",
      .more = "See [serve.md](serve.md#the-file)" },
    { "--name", .group = GROUP_SERVE, PLACE(opts.name), .type = SETTING_TEXT, .serve = true,
      .value = "NAME", .fits = is_name, .takes = "a name of at most 32 of a-z, 0-9, - and _",
      .usually = "nod",
      .help = "what this server is called, and what its socket and its files are named after",
      .more = "See [serve.md](serve.md#several-servers)" },
    { "--plugin", .group = GROUP_SERVE, PLACE(plugin_files), NAMES(REPEAT_ADDS), .serve = true,
      .path = "", .value = "PATH", .takes = "the name of a file", .reloads = RELOADS_VALUE,
      .help = "tools: a plugin" },
    { "--plugins", .group = GROUP_SERVE, PLACE(plugin_dirs), NAMES(REPEAT_ADDS), .serve = true,
      .path = "", .value = "DIR", .takes = "the name of a folder", .reloads = RELOADS_VALUE,
      .help = "all plugins of a folder" },
    /* --- what the environment has, and no option --- */
    { .env = "NOD_WEBHOOK_SECRET",
      .group = GROUP_TELLS,
      PLACE(webhook_secret),
      .type = SETTING_TEXT,
      .takes = "a secret",
      .help = "what webhooks are signed with, if there is no `--webhook-secret`",
      .more = "See [webhooks.md](webhooks.md)" },
    { .env = "NOD_STORE",
      .group = GROUP_SERVE,
      PLACE(opts.store),
      .type = SETTING_TEXT,
      .serve = true,
      .takes = "the address of a store",
      .help = "`--store` of `nod serve`, for an address with a password, which may not be in its "
              "configuration" },
    { .env = "SSL_CERT_FILE",
      .group = GROUP_TELLS,
      PLACE(ca_file),
      FILE_NAME,
      .help = "authorities that webhooks and services of `--oauth` are checked against, instead of "
              "the system's" },
    { .env = "NOD_REPLAY_CHECK",
      .group = GROUP_PROGRAM,
      PLACE(replay_check),
      .help = "`1`: does every run of a handler twice, to find handlers that are not deterministic",
      .more = "For tests; see [steps.md](steps.md#finding-mistakes)" },
    /* --- what the program has, and nobody else; nod.h says what it is for --- */
    { .group = GROUP_PROGRAM, MEMBER(name), .type = SETTING_TEXT },
    { .group = GROUP_PROGRAM, MEMBER(version), .type = SETTING_TEXT },
    { .group = GROUP_PROGRAM, MEMBER(title), .type = SETTING_TEXT },
    { .group = GROUP_PROGRAM, MEMBER(instructions), .type = SETTING_TEXT },
    { .group = GROUP_PROGRAM, MEMBER(one_ask_per_scope) },
    { .group = GROUP_PROGRAM,
      MEMBER(workers),
      .type = SETTING_INT,
      .least = 1,
      .most = WORKERS_MAX,
      .usual = WORKERS_DEFAULT,
      .takes = "threads" },
    { .group = GROUP_PROGRAM, MEMBER(heartbeat_ms), TIME, .usual = MCP_HEARTBEAT_MS },
    { .group = GROUP_PROGRAM, MEMBER(session_idle_ms), TIME, .usual = MCP_SESSION_IDLE_MS },
    { .group = GROUP_PROGRAM, MEMBER(page_size), COUNT("items"), .usual = MCP_PAGE_SIZE },
    { .group = GROUP_PROGRAM,
      MEMBER(boolean_confirm_clients),
      NAMES(REPEAT_ADDS),
      .most = GRANT_RULES_MAX },
    { .group = GROUP_PROGRAM, MEMBER(task_ttl_ms), TIME, .usual = TASK_TTL_MS },
    { .group = GROUP_PROGRAM, MEMBER(node_ttl_ms), TIME, .usual = RECOVERY_NODE_TTL_MS },
};

const size_t settings_count = sizeof(settings_table) / sizeof(settings_table[0]);
_Static_assert(sizeof(settings_table) / sizeof(settings_table[0]) <= SETTINGS_ROWS_MAX,
               "a place in `given` for each");
