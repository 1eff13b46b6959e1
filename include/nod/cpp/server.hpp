/*
 * nod/cpp/server: the server, what is registered with it, and hooks. Included by <nod/nod.hpp>.
 *
 * C keeps a pointer to what C++ has written (.data of a row). The server owns that, and lets go of it
 * only when it is destroyed itself: a call may still be on its way when its tool is removed.
 */
#ifndef NOD_CPP_SERVER_HPP
#define NOD_CPP_SERVER_HPP

#include <nod/cpp/call.hpp>

#include <deque>
#include <memory>

namespace nod
{

/* ------------------------------------------------------------------------------------------
 * Services where people have accounts: see nod_oauth.
 */
struct oauth_options {
    text title{};
    text issuer{};
    text authorization_endpoint{};
    text token_endpoint{};
    text revocation_endpoint{};
    text client_id{};
    text client_secret_env{};
    text client_secret_file{};
    text client_auth{};
    text scopes{};
    text resource{};
    text parameters{};
    text allow{};
    bool revokes_all = false; /* one revoked token ends everything that was granted */
};

/* ------------------------------------------------------------------------------------------
 * Hooks. `hook` is a handle: a hook that returns NOD_PENDING to finish later may copy it.
 */
struct hook_options {
    nod_hook_kind kind = NOD_WILL;
    int priority = 0;
    text name{};
    text target{};
    text principal{};
    nod_ask_kind ask = NOD_ASK_ANY;
    std::chrono::milliseconds timeout{0};
};

class hook
{
  public:
    explicit hook(nod_hook_run *at) noexcept : at_(at) {}
    nod_hook_run *get() const noexcept { return at_; }

    nod_flow flow() const { return nod_hook_flow(at_); }
    std::string_view stage() const { return detail::view(nod_hook_stage(at_)); }
    std::string_view call_id() const { return detail::view(nod_hook_call_id(at_)); }
    std::string_view target() const { return detail::view(nod_hook_target(at_)); }
    std::string_view principal() const { return detail::view(nod_hook_principal(at_)); }
    json args() const { return nod_hook_args(at_); }
    std::string_view ask_id() const { return detail::view(nod_hook_ask_id(at_)); }
    std::string_view ask_key() const { return detail::view(nod_hook_ask_key(at_)); }
    nod_ask_kind ask_kind() const { return nod_hook_ask_kind(at_); }
    std::string_view message() const { return detail::view(nod_hook_message(at_)); }
    std::string_view action() const { return detail::view(nod_hook_action(at_)); }
    json content() const { return nod_hook_content(at_); }
    nod_status status() const { return nod_hook_status(at_); }
    json result() const { return nod_hook_result(at_); }
    std::string_view error() const { return detail::view(nod_hook_error(at_)); }

    void set_args(json args) { check(nod_hook_set_args(at_, args.get())); }
    void set_message(const text &message) { check(nod_hook_set_message(at_, message.c_str())); }
    void set_content(json content) { check(nod_hook_set_content(at_, content.get())); }
    void set_result(json result = {}) { check(nod_hook_set_result(at_, result.get())); }

    nod::call call() const { return nod::call(nod_hook_call(at_)); }

    /* Ends the flow, and leaves the hook. */
    [[noreturn]] void fail(nod_status status, const text &code, const text &sentence)
    {
        check(nod_hook_fail(at_, status, code.c_str(), "%s", sentence.c_str()));
        throw nod::error(NOD_E_FAILED);
    }
    /* `return hook.next(then, data);`: `then` is a function of C, which must not throw. */
    nod_status next(nod_hook_then *then = nullptr, void *data = nullptr)
    {
        return nod_hook_next(at_, then, data);
    }
    /* After it has returned NOD_PENDING; from any thread. */
    void done(nod_status status) { nod_hook_done(at_, status); }

  private:
    nod_hook_run *at_;
};

/* ------------------------------------------------------------------------------------------
 * The server. Its options have the names and the order of struct nod_server_opts, which says what each
 * is for; times are durations, so they have no _ms.
 */
struct server_options {
    /* what it is */
    text title{};
    text instructions{};
    text tool_names{};
    /* where it serves */
    std::vector<text> http{};
    text inbox{};
    bool no_inbox = false;
    bool demo = false;
    text metrics{};
    /* who may come in */
    text token_file{};
    text public_url{};
    std::vector<text> trusted_proxies{};
    text tls_cert{};
    text tls_key{};
    std::vector<text> allow_hosts{};
    std::vector<text> allow_origins{};
    /* where people are asked, and for how long */
    std::vector<text> surfaces{};
    std::chrono::milliseconds next_surface{0};
    std::chrono::milliseconds ask_ttl{0};
    std::chrono::milliseconds soft_deadline{0};
    std::vector<text> soft_deadlines{};
    bool one_ask_per_scope = false;
    bool no_model = false;
    std::vector<text> boolean_confirm_clients{};
    /* whose yes counts */
    text consent{};
    bool view_consent = false;
    std::vector<text> no_view_consent{};
    bool model_may_consent = false;
    bool confirm_destructive = false;
    std::vector<text> remember{};
    std::vector<text> allow_fields{};
    /* what is kept */
    text store{};
    bool ephemeral = false;
    bool portable_states = false;
    std::chrono::milliseconds keep{0};
    std::chrono::milliseconds task_ttl{0};
    std::chrono::milliseconds node_ttl{0};
    /* how much of it */
    std::size_t pending_asks = 0;
    std::size_t pending_asks_per_principal = 0;
    std::size_t kept_mib = 0;
    std::size_t kept_mib_per_principal = 0;
    std::size_t journal_entries = 0;
    std::size_t journal_bytes = 0;
    std::size_t sessions_per_principal = 0;
    std::size_t calls_per_principal = 0;
    std::size_t listeners_per_principal = 0;
    std::size_t subscriptions_per_principal = 0;
    std::size_t tasks_per_principal = 0;
    std::chrono::milliseconds session_idle{0};
    std::chrono::milliseconds heartbeat{0};
    std::size_t page_size = 0;
    int workers = 0;
    /* other programs */
    std::vector<text> webhooks{};
    text webhook_secret_file{};
    std::vector<text> webhook_allow{};
    bool webhook_content = false;
    text oauth_file{};
};

struct tool {
    text title{};
    text description{};
    text meta{};
    text version{};
    std::optional<form> input{};
    text input_schema{};
    bool strict = false; /* an argument that is not in the form is refused */
    text output_schema{};
    bool read_only = false;
    bool destructive = false;
    bool additive = false;
    bool idempotent = false;
    bool closed_world = false;
    bool blocking = false;
    std::chrono::milliseconds timeout{0};
    nod_task_mode task = NOD_TASK_NEVER;
    bool task_asks_first = false;
    bool portable = false;
    std::size_t journal_entries = 0;
    std::size_t journal_bytes = 0;
    bool asks = false; /* it may ask a person */
    std::vector<text> surfaces{};
    std::chrono::milliseconds ask_ttl{0};
    std::chrono::milliseconds soft_deadline{0};
    text view{};       /* the uri of a view of its own */
    bool requires_confirmation = false;
    text confirm_message{};
    text consent{};
    unsigned remember = 0; /* NOD_REMEMBER_... | NOD_REMEMBER_... */
    std::chrono::milliseconds remember_time{0};
    std::vector<text> approves{}; /* destructive tools that it may ask approval for */
};

using handler = std::function<nod_status(call &)>;

namespace detail
{

/* What C++ has written, as a function that C can keep a pointer to. */
template <class F> handler handler_of(F f)
{
    static_assert(!std::is_nothrow_invocable_v<F &, call &>,
                  "a handler may not be noexcept: a question that waits leaves it by an exception");
    auto shared = std::make_shared<F>(std::move(f)); /* it may have captured what cannot be copied */

    return [shared](call &one) { return status_of(*shared, one); };
}

} // namespace detail

/* A handler that suggests values; see "Completions" in nod.h. */
class completer
{
  public:
    completer() = default;
    template <class F, class = std::enable_if_t<std::is_invocable_v<F &, call &>>>
    completer(F f) : run_(detail::handler_of(std::move(f)))
    {
    }
    const handler &get() const noexcept { return run_; }

  private:
    handler run_;
};

struct resource {
    text title{};
    text description{};
    text mime_type{};
    bool subscribable = false;
    completer complete{};
    bool blocking = false;
    text version{};
};

struct prompt_arg {
    text name{};
    text title{};
    text description{};
    bool required = false;
    completer complete{};
};

struct prompt {
    text title{};
    text description{};
    std::vector<prompt_arg> args{};
    bool blocking = false;
    text version{};
};

namespace detail
{

/* What a server keeps for a tool, a resource or a prompt: .data of its row in C. */
struct kept_handler {
    handler run;
    handler complete;                                    /* a resource's */
    std::vector<std::pair<std::string, handler>> argued; /* a prompt's, by the argument's name */

    const handler &completing(std::string_view name) const
    {
        for (const auto &[of, one] : argued)
            if (of == name)
                return one;
        return complete;
    }
};

struct kept_hook {
    std::function<nod_status(hook &)> run;
    std::string stage;
    hook_options options;
};

inline nod_status enter(nod_call *at, const handler &run) noexcept
{
    return contain(
        [&] {
            call one(at);
            return run(one);
        },
        [&](const char *why) {
            nod_reply_error(at, "%s", why);
            return NOD_E_FAILED;
        });
}

inline nod_status enter_handler(nod_call *at) noexcept
{
    return enter(at, static_cast<const kept_handler *>(nod_data(at))->run);
}

inline nod_status enter_completer(nod_call *at) noexcept
{
    return enter(at, static_cast<const kept_handler *>(nod_data(at))->completing(view(nod_completing(at))));
}

inline nod_status enter_hook(nod_hook_run *at, void *data) noexcept
{
    return contain(
        [&] {
            hook one(at);
            return static_cast<const kept_hook *>(data)->run(one);
        },
        [&](const char *why) { return nod_hook_fail(at, NOD_E_FAILED, nullptr, "%s", why); });
}

/* Where something is registered, for the log. */
struct place {
    const char *file;
    int line;

    explicit place(const char *at = __builtin_FILE(), int of = __builtin_LINE()) noexcept
        : file(at), line(of)
    {
    }
};

/* A list of texts as C has it: NULL at its end, or NULL if it is empty. */
class c_list
{
  public:
    explicit c_list(const std::vector<text> &from)
    {
        for (const text &one : from)
            at_.push_back(one.c_str());
        if (!at_.empty())
            at_.push_back(nullptr);
    }
    const char *const *get() const noexcept { return at_.empty() ? nullptr : at_.data(); }

  private:
    std::vector<const char *> at_;
};

} // namespace detail

/* What the operator of a plugin can set: `.settings = these.get()` in NOD_PLUGIN. Keep it as long as the
 * plugin, in a static variable above NOD_PLUGIN. */
class plugin_settings
{
  public:
    plugin_settings(std::initializer_list<field> fields) : form_(fields), at_(&form_) {}
    const nod_form *get() const noexcept { return at_.get(); }

  private:
    form form_;
    detail::c_form at_;
};

/*
 * Owns the server and the handlers. If it cannot be made, or something cannot be registered, the
 * reason is in the log, ok() is false, and run() returns 1 at once. Whoever registers while it runs
 * looks at the status.
 */
class server
{
  public:
    server(text name, text version, server_options o = {})
        : name_(std::move(name)), version_(std::move(version)), options_(std::move(o))
    {
        nod_server_opts opts{};
        std::deque<detail::c_list> lists; /* nod_server_create copies them */
        const auto list = [&](const std::vector<text> &from) {
            return lists.emplace_back(from).get();
        };

        opts.size = sizeof(opts);
        opts.name = name_.c_str();
        opts.version = version_.c_str();
        opts.title = options_.title.c_str();
        opts.instructions = options_.instructions.c_str();
        opts.tool_names = options_.tool_names.c_str();
        opts.http = list(options_.http);
        opts.inbox = options_.inbox.c_str();
        opts.no_inbox = options_.no_inbox;
        opts.demo = options_.demo;
        opts.metrics = options_.metrics.c_str();
        opts.token_file = options_.token_file.c_str();
        opts.public_url = options_.public_url.c_str();
        opts.trusted_proxies = list(options_.trusted_proxies);
        opts.tls_cert = options_.tls_cert.c_str();
        opts.tls_key = options_.tls_key.c_str();
        opts.allow_hosts = list(options_.allow_hosts);
        opts.allow_origins = list(options_.allow_origins);
        opts.surfaces = list(options_.surfaces);
        opts.next_surface_ms = options_.next_surface.count();
        opts.ask_ttl_ms = options_.ask_ttl.count();
        opts.soft_deadline_ms = options_.soft_deadline.count();
        opts.soft_deadlines = list(options_.soft_deadlines);
        opts.one_ask_per_scope = options_.one_ask_per_scope;
        opts.no_model = options_.no_model;
        opts.boolean_confirm_clients = list(options_.boolean_confirm_clients);
        opts.consent = options_.consent.c_str();
        opts.view_consent = options_.view_consent;
        opts.no_view_consent = list(options_.no_view_consent);
        opts.model_may_consent = options_.model_may_consent;
        opts.confirm_destructive = options_.confirm_destructive;
        opts.remember = list(options_.remember);
        opts.allow_fields = list(options_.allow_fields);
        opts.store = options_.store.c_str();
        opts.ephemeral = options_.ephemeral;
        opts.portable_states = options_.portable_states;
        opts.keep_ms = options_.keep.count();
        opts.task_ttl_ms = options_.task_ttl.count();
        opts.node_ttl_ms = options_.node_ttl.count();
        opts.pending_asks = options_.pending_asks;
        opts.pending_asks_per_principal = options_.pending_asks_per_principal;
        opts.kept_mib = options_.kept_mib;
        opts.kept_mib_per_principal = options_.kept_mib_per_principal;
        opts.journal_entries = options_.journal_entries;
        opts.journal_bytes = options_.journal_bytes;
        opts.sessions_per_principal = options_.sessions_per_principal;
        opts.calls_per_principal = options_.calls_per_principal;
        opts.listeners_per_principal = options_.listeners_per_principal;
        opts.subscriptions_per_principal = options_.subscriptions_per_principal;
        opts.tasks_per_principal = options_.tasks_per_principal;
        opts.session_idle_ms = options_.session_idle.count();
        opts.heartbeat_ms = options_.heartbeat.count();
        opts.page_size = options_.page_size;
        opts.workers = options_.workers;
        opts.webhooks = list(options_.webhooks);
        opts.webhook_secret_file = options_.webhook_secret_file.c_str();
        opts.webhook_allow = list(options_.webhook_allow);
        opts.webhook_content = options_.webhook_content;
        opts.oauth_file = options_.oauth_file.c_str();
        at_ = nod_server_create(&opts);
        ok_ = at_ != nullptr;
    }
    template <class Set, class = detail::if_sets<Set, server_options, void>>
    server(text name, text version, Set &&set)
        : server(std::move(name), std::move(version),
                 detail::options_by<server_options>(std::forward<Set>(set)))
    {
    }
    /*
     * In a plugin: the server that .load is given, which stays the program's. Keep this for as long
     * as the plugin is loaded, because it has the handlers, and delete it in .unload.
     */
    explicit server(nod_server *of_the_program) : at_(of_the_program), owns_(false), ok_(at_) {}
    ~server()
    {
        if (owns_)
            nod_server_destroy(at_);
    }
    server(const server &) = delete;
    server &operator=(const server &) = delete;

    bool ok() const noexcept { return ok_; }
    nod_server *get() const noexcept { return at_; } /* NULL after run() and release() */
    /* Gives the server away, to nod_test_create_with. Its handlers stay here, for as long as it lives. */
    nod_server *release() noexcept { return std::exchange(at_, nullptr); }

    template <class F>
    nod_status tool(const text &name, const nod::tool &o, F f,
                    detail::place from = detail::place())
    {
        const detail::c_form input(o.input ? &*o.input : nullptr);
        const detail::c_list surfaces(o.surfaces), approves(o.approves);
        nod_tool row{};

        row.name = name.c_str();
        row.handler = detail::enter_handler;
        row.title = o.title.c_str();
        row.description = o.description.c_str();
        row.input = input.get();
        row.input_schema = o.input_schema.c_str();
        row.output_schema = o.output_schema.c_str();
        row.read_only = o.read_only;
        row.destructive = o.destructive;
        row.strict = o.strict;
        row.idempotent = o.idempotent;
        row.closed_world = o.closed_world;
        row.requires_confirmation = o.requires_confirmation;
        row.confirm_message = o.confirm_message.c_str();
        row.blocking = o.blocking;
        row.timeout_ms = o.timeout.count();
        row.task = o.task;
        row.meta = o.meta.c_str();
        row.task_asks_first = o.task_asks_first;
        row.additive = o.additive;
        row.version = o.version.c_str();
        row.portable = o.portable;
        row.ask_ttl_ms = o.ask_ttl.count();
        row.journal_entries = o.journal_entries;
        row.journal_bytes = o.journal_bytes;
        row.surfaces = surfaces.get();
        row.approves = approves.get();
        row.consent = o.consent.c_str();
        row.remember = o.remember;
        row.remember_ms = o.remember_time.count();
        row.soft_deadline_ms = o.soft_deadline.count();
        row.asks = o.asks;
        row.view = o.view.c_str();
        row.data = keep(detail::handler_of(std::move(f)));
        return note(from, [&] { return nod_add_tools(at_, &row, 1, sizeof(row)); });
    }
    template <class Set, class F>
    detail::if_sets<Set, nod::tool, nod_status> tool(const text &name, Set &&set, F f,
                                                     detail::place from = detail::place())
    {
        return tool(name, detail::options_by<nod::tool>(std::forward<Set>(set)), std::move(f), from);
    }
    bool remove_tool(const text &name) { return at_ && nod_remove_tool(at_, name.c_str()); }
    bool remove_resource(const text &uri) { return at_ && nod_remove_resource(at_, uri.c_str()); }
    bool remove_prompt(const text &name) { return at_ && nod_remove_prompt(at_, name.c_str()); }
    bool remove_hook(const text &name) { return at_ && nod_remove_hook(at_, name.c_str()); }

    template <class F>
    nod_status resource(const text &uri, const text &name, const nod::resource &o, F f,
                        detail::place from = detail::place())
    {
        detail::kept_handler *kept = keep(detail::handler_of(std::move(f)));
        nod_resource row{};

        row.uri = uri.c_str();
        row.name = name.c_str();
        row.read = detail::enter_handler;
        row.title = o.title.c_str();
        row.description = o.description.c_str();
        row.mime_type = o.mime_type.c_str();
        row.subscribable = o.subscribable;
        kept->complete = o.complete.get();
        row.complete = kept->complete ? detail::enter_completer : nullptr;
        row.blocking = o.blocking;
        row.version = o.version.c_str();
        row.data = kept;
        return note(from, [&] { return nod_add_resources(at_, &row, 1, sizeof(row)); });
    }
    template <class Set, class F>
    detail::if_sets<Set, nod::resource, nod_status> resource(const text &uri, const text &name,
                                                             Set &&set, F f,
                                                             detail::place from = detail::place())
    {
        return resource(uri, name, detail::options_by<nod::resource>(std::forward<Set>(set)),
                        std::move(f), from);
    }

    template <class F>
    nod_status prompt(const text &name, const nod::prompt &o, F f,
                      detail::place from = detail::place())
    {
        detail::kept_handler *kept = keep(detail::handler_of(std::move(f)));
        std::vector<nod_prompt_arg> args;
        nod_prompt row{};

        for (const nod::prompt_arg &one : o.args) {
            nod_prompt_arg arg{};

            arg.name = one.name.c_str();
            arg.title = one.title.c_str();
            arg.description = one.description.c_str();
            arg.required = one.required;
            arg.complete = one.complete.get() ? detail::enter_completer : nullptr;
            if (arg.name && arg.complete)
                kept->argued.emplace_back(arg.name, one.complete.get());
            args.push_back(arg);
        }
        args.push_back(nod_prompt_arg{});
        row.name = name.c_str();
        row.get = detail::enter_handler;
        row.title = o.title.c_str();
        row.description = o.description.c_str();
        row.args = args.data();
        row.blocking = o.blocking;
        row.version = o.version.c_str();
        row.data = kept;
        return note(from, [&] { return nod_add_prompts(at_, &row, 1, sizeof(row)); });
    }
    template <class Set, class F>
    detail::if_sets<Set, nod::prompt, nod_status> prompt(const text &name, Set &&set, F f,
                                                         detail::place from = detail::place())
    {
        return prompt(name, detail::options_by<nod::prompt>(std::forward<Set>(set)), std::move(f),
                      from);
    }

    /* `f` takes a nod::hook &, and returns nothing or a nod_status. */
    template <class F>
    nod_status hook(nod_flow flow, const text &stage, const hook_options &o, F f)
    {
        auto kept = std::make_unique<detail::kept_hook>();
        nod_hook_opts opts{};

        auto shared = std::make_shared<F>(std::move(f));
        kept->run = [shared](nod::hook &one) { return detail::status_of(*shared, one); };
        kept->stage = stage.c_str() ? stage.c_str() : "";
        kept->options = o;
        opts.size = sizeof(opts);
        opts.flow = flow;
        opts.stage = kept->stage.c_str();
        opts.kind = o.kind;
        opts.fn = detail::enter_hook;
        opts.data = kept.get();
        opts.priority = o.priority;
        opts.name = kept->options.name.c_str();
        opts.target = kept->options.target.c_str();
        opts.principal = kept->options.principal.c_str();
        opts.ask = o.ask;
        opts.timeout_ms = o.timeout.count();
        hooks_.push_back(std::move(kept));
        return note(detail::place(), [&] { return nod_hook_with(at_, &opts); });
    }
    template <class Set, class F>
    detail::if_sets<Set, hook_options, nod_status> hook(nod_flow flow, const text &stage, Set &&set,
                                                        F f)
    {
        return hook(flow, stage, detail::options_by<hook_options>(std::forward<Set>(set)),
                    std::move(f));
    }

    /* A service where people have accounts: see nod_oauth. */
    nod_status oauth(const text &name, const oauth_options &o)
    {
        nod_oauth_opts opts{};

        opts.size = sizeof(opts);
        opts.name = name.c_str();
        opts.title = o.title.c_str();
        opts.issuer = o.issuer.c_str();
        opts.authorization_endpoint = o.authorization_endpoint.c_str();
        opts.token_endpoint = o.token_endpoint.c_str();
        opts.revocation_endpoint = o.revocation_endpoint.c_str();
        opts.client_id = o.client_id.c_str();
        opts.client_secret_env = o.client_secret_env.c_str();
        opts.client_secret_file = o.client_secret_file.c_str();
        opts.client_auth = o.client_auth.c_str();
        opts.scopes = o.scopes.c_str();
        opts.resource = o.resource.c_str();
        opts.parameters = o.parameters.c_str();
        opts.allow = o.allow.c_str();
        opts.revokes_all = o.revokes_all;
        return note(detail::place(), [&] { return nod_oauth_with(at_, &opts); });
    }
    template <class Set>
    detail::if_sets<Set, oauth_options, nod_status> oauth(const text &name, Set &&set)
    {
        return oauth(name, detail::options_by<oauth_options>(std::forward<Set>(set)));
    }

    /* In .load of a plugin: what its operator has set. A text lives until .unload has returned. */
    std::string_view setting(const text &name) const { return detail::view(nod_setting(at_, name.c_str())); }
    std::int64_t setting_int(const text &name) const { return nod_setting_int(at_, name.c_str()); }
    double setting_double(const text &name) const { return nod_setting_double(at_, name.c_str()); }
    bool setting_bool(const text &name) const { return nod_setting_bool(at_, name.c_str()); }

    /* Runs until it is told to stop; returns the exit code of the process. */
    int run(int argc, char **argv)
    {
        const int code = ok_ ? nod_main(at_, argc, argv) : 1;

        if (ok_)
            at_ = nullptr; /* nod_main has destroyed it */
        return code;
    }
    /* Or in a loop of your own: see "in a program of your own" in nod.h. */
    nod_status settings(int argc, char **argv) { return ok_ ? nod_settings_argv(at_, argc, argv) : NOD_E_USAGE; }
    nod_status stdio(int in, int out) { return ok_ ? nod_stdio(at_, in, out) : NOD_E_USAGE; }
    nod_status start() { return ok_ ? nod_start(at_) : NOD_E_USAGE; }
    int fd() const { return nod_fd(at_); }
    int timeout() { return nod_timeout(at_); }
    bool turn() { return nod_turn(at_); }
    int port() const { return nod_port(at_); }
    /* While it runs, from any thread. */
    void stop() { nod_stop(at_); }
    void resource_updated(const text &uri) { nod_resource_updated(at_, uri.c_str()); }
    void url_done(const text &elicitation_id) { nod_url_done(at_, elicitation_id.c_str()); }
    /* done(status, page); the page is null unless its token is one of ours for this principal. */
    void page_check(const text &token, const text &principal, bool use,
                    std::function<void(nod_status, const nod_page *)> done)
    {
        using fn = std::function<void(nod_status, const nod_page *)>;
        auto kept = std::make_unique<fn>(std::move(done));

        nod_page_check(at_, token.c_str(), principal.c_str(), use,
                       [](void *data, nod_status status, const nod_page *page) {
                           const std::unique_ptr<fn> mine(static_cast<fn *>(data));
                           try {
                               (*mine)(status, page);
                           } catch (...) { /* nothing that is thrown gets into C */
                           }
                       },
                       kept.release());
    }

  private:
    detail::kept_handler *keep(handler run)
    {
        handlers_.push_back(std::make_unique<detail::kept_handler>());
        handlers_.back()->run = std::move(run);
        return handlers_.back().get();
    }

    template <class Add> nod_status note(detail::place from, Add &&add)
    {
        if (at_)
            nod_source(at_, from.file, from.line);
        const nod_status status = at_ ? add() : NOD_E_USAGE;

        ok_ = ok_ && status == NOD_OK;
        return status;
    }

    text name_, version_;
    server_options options_;
    std::vector<std::unique_ptr<detail::kept_handler>> handlers_;
    std::vector<std::unique_ptr<detail::kept_hook>> hooks_;
    nod_server *at_ = nullptr;
    bool owns_ = true;
    bool ok_ = false;
};

} // namespace nod

#endif
