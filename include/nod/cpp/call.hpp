/*
 * nod/cpp/call: what a handler does: read its arguments, ask, do, tell, reply. Included by
 * <nod/nod.hpp>.
 *
 * Each function fills the options of its counterpart in nod.h and calls that; check() leaves the
 * handler if the answer is not there yet.
 */
#ifndef NOD_CPP_CALL_HPP
#define NOD_CPP_CALL_HPP

#include <nod/cpp/form.hpp>
#include <nod/cpp/json.hpp>

#include <chrono>
#include <cstdint>

namespace nod
{

/* ------------------------------------------------------------------------------------------
 * Asking: options and answers.
 */
struct confirm_options {
    text key{};
    std::chrono::milliseconds ttl{0};
};

struct elicit_options {
    text schema{}; /* instead of a form */
    text key{};
    std::chrono::milliseconds ttl{0};
    int attempts = 0;
    bool sensitive = false;
};

struct approve_options {
    json arguments{};
    text schema{}; /* instead of a form */
    text key{};
    std::chrono::milliseconds ttl{0};
    int attempts = 0;
    text tool_path{};
};

struct url_options {
    text key{};
    std::chrono::milliseconds ttl{0};
    bool wait_done = false;
    bool returns = false;
};

struct page_options {
    text schema{}; /* instead of a form */
    text key{};
    std::chrono::milliseconds ttl{0};
    bool sensitive = false;
    bool consent = false;
};

struct secret_options {
    std::chrono::milliseconds keep{0};
    std::chrono::milliseconds ttl{0};
};

struct credential_options {
    text scopes{};  /* with spaces between them */
    text message{}; /* why, if the person has to be asked */
    std::chrono::milliseconds ttl{0};
};

struct sample_options {
    text messages{}; /* instead of a prompt */
    text system_prompt{};
    int max_tokens = 0;
    text params{};
    text key{};
    std::chrono::milliseconds ttl{0};
};

struct roots_options {
    text key{};
    std::chrono::milliseconds ttl{0};
};

struct step_options {
    bool at_most_once = false;
    bool idempotent = false;
};

struct each_options {
    std::optional<nod::form> form{}; /* what else to ask for with each question */
    text schema{};
    std::chrono::milliseconds ttl{0};
    std::size_t at_once = 0;
    bool at_most_once = false;
    bool idempotent = false;
};

/* True if a person accepted (or the client's model replied). `answer["name"]` reads the content. */
struct answer {
    nod_action action = NOD_WAITING;
    json content{};
    std::string_view by{};
    std::string_view ask_id{};

    explicit operator bool() const noexcept { return action == NOD_ACCEPT; }
    json operator[](const text &key) const { return content[key]; }
};

/* True if a person approved. `approval["name"]` reads what was filled in. */
struct approval {
    bool approved = false;
    std::string_view execution_id{};
    json data{};
    nod_action action = NOD_WAITING;
    std::string_view by{};

    explicit operator bool() const noexcept { return approved; }
    json operator[](const text &key) const { return data[key]; }
};

/* What became of one of the things that each() was about. True if its step was done. */
struct each_result {
    bool yes = false;
    bool done = false;
    nod_status status = NOD_OK;
    std::string_view error{};
    json result{};
    nod::answer answer{};

    explicit operator bool() const noexcept { return done; }
};

/* Inside a step: the key for the other side. The step's result is what its function returns. */
class step
{
  public:
    explicit step(nod_step_run *at) noexcept : at_(at) {}
    std::string_view key() const { return detail::view(nod_step_key(at_)); }
    nod::answer answer() const /* in a step of each() */
    {
        const nod_answer *got = nod_step_answer(at_);

        return got ? nod::answer{got->action, got->content, detail::view(got->by),
                                 detail::view(got->ask_id)}
                   : nod::answer{};
    }
    nod_step_run *get() const noexcept { return at_; }

  private:
    nod_step_run *at_;
};

namespace detail
{

/* Options that a lambda has set, for C++17. */
template <class Options, class Set> Options options_by(Set &&set)
{
    Options options{};

    std::forward<Set>(set)(options);
    return options;
}

template <class Set, class Options, class Result>
using if_sets = std::enable_if_t<std::is_invocable_v<Set, Options &>, Result>;

/* A form that has a name. Where one is taken, a list in braces is a list of fields and nothing else:
 * {.form = ...} does not compile. (Some compilers would take it, and any other name, for a form.) */
template <class Form, class Result>
using if_form = std::enable_if_t<std::is_same_v<Form, form>, Result>;

inline answer from_c(const nod_answer &got)
{
    return {got.action, got.content, view(got.by), view(got.ask_id)};
}

template <class F> nod_status do_step(nod_step_run *run, F &f)
{
    nod_call *call = nod_step_call(run);
    step one(run);
    auto invoke = [&]() -> decltype(auto) {
        if constexpr (std::is_invocable_v<F &, step &>)
            return std::invoke(f, one);
        else
            return std::invoke(f);
    };
    using result = decltype(invoke());

    if constexpr (std::is_void_v<result>) {
        invoke();
    } else if constexpr (std::is_same_v<std::decay_t<result>, nod_status>) {
        return invoke();
    } else {
        nod_step_result(run, make(call, invoke()));
    }
    return NOD_OK;
}

template <class F> nod_status contain_step(nod_step_run *run, F &&f) noexcept
{
    return contain([&] { return do_step(run, f); },
                   [&](const char *why) {
                       nod_reply_error(nod_step_call(run), "%s", why);
                       return NOD_E_FAILED;
                   });
}

template <class F> nod_status enter_step(nod_step_run *run, void *f) noexcept
{
    return contain_step(run, *static_cast<F *>(f));
}

/* One of the things that each() is about, as C passes it on. */
template <class T, class Do> struct each_item {
    const T *item;
    Do *act;
    text question;

    static const char *ask(nod_call *, void *at) noexcept
    {
        return static_cast<const each_item *>(at)->question.c_str();
    }

    static nod_status enter(nod_step_run *run, void *at) noexcept
    {
        const each_item *self = static_cast<const each_item *>(at);

        return contain_step(run, [&](step &one) -> decltype(auto) {
            if constexpr (std::is_invocable_v<Do &, const T &, step &>)
                return std::invoke(*self->act, *self->item, one);
            else
                return std::invoke(*self->act, *self->item);
        });
    }
};

} // namespace detail

/* ------------------------------------------------------------------------------------------
 * One run of one call, as its handler sees it.
 */
class call
{
  public:
    explicit call(nod_call *at) noexcept : at_(at) {}
    call(const call &) = delete;
    call &operator=(const call &) = delete;
    nod_call *get() const noexcept { return at_; }

    /* --- the arguments and the call --- */
    std::string_view arg_str(const text &name) const
    {
        return detail::view(nod_arg_str(at_, name.c_str()));
    }
    std::int64_t arg_int(const text &name) const { return nod_arg_int(at_, name.c_str()); }
    double arg_double(const text &name) const { return nod_arg_double(at_, name.c_str()); }
    bool arg_bool(const text &name) const { return nod_arg_bool(at_, name.c_str()); }
    std::string_view arg_number_text(const text &name) const
    {
        return detail::view(nod_arg_number_text(at_, name.c_str()));
    }
    std::string_view arg_str_or(const text &name, std::string_view fallback) const
    {
        return has_arg(name) ? arg_str(name) : kept(fallback);
    }
    std::int64_t arg_int_or(const text &name, std::int64_t fallback) const
    {
        return nod_arg_int_or(at_, name.c_str(), fallback);
    }
    double arg_double_or(const text &name, double fallback) const
    {
        return nod_arg_double_or(at_, name.c_str(), fallback);
    }
    bool arg_bool_or(const text &name, bool fallback) const
    {
        return nod_arg_bool_or(at_, name.c_str(), fallback);
    }
    std::string_view arg_number_text_or(const text &name, std::string_view fallback) const
    {
        return has_arg(name) ? arg_number_text(name) : kept(fallback);
    }
    bool has_arg(const text &name) const { return nod_has_arg(at_, name.c_str()); }
    json args() const { return nod_args(at_); }
    json meta() const { return nod_meta(at_); } /* of the request; see nod_meta */
    std::string_view uri() const { return detail::view(nod_uri(at_)); }
    std::string_view id() const { return detail::view(nod_call_id(at_)); }
    std::string_view principal() const { return detail::view(nod_principal(at_)); }
    bool cancelled() const { return nod_cancelled(at_); }
    bool supports(nod_mode mode) const { return nod_supports(at_, mode); }
    /* What the person wrote beside an answer in the inbox; empty if nothing. */
    std::string_view reason(const answer &given) const
    {
        nod_answer of{};
        of.ask_id = given.ask_id.data(); /* ends with a NUL, as all texts of a run */
        return given.ask_id.empty() ? std::string_view{} : detail::view(nod_answer_reason(at_, &of));
    }

    /* --- asking --- */
    bool confirm(const text &message, const confirm_options &o = {})
    {
        nod_confirm_opts opts{};
        bool yes = false;

        opts.size = sizeof(opts);
        opts.message = message.c_str();
        opts.key = o.key.c_str();
        opts.ttl_ms = o.ttl.count();
        check(nod_confirm_with(at_, &yes, &opts));
        return yes;
    }
    template <class Set>
    detail::if_sets<Set, confirm_options, bool> confirm(const text &message, Set &&set)
    {
        return confirm(message, detail::options_by<confirm_options>(std::forward<Set>(set)));
    }

    approval approve(const text &message, const approve_options &o = {})
    {
        return approve_form(message, nullptr, o);
    }
    approval approve(const text &message, std::initializer_list<field> fields,
                     const approve_options &o = {})
    {
        return approve(message, form(fields), o);
    }
    template <class Form>
    detail::if_form<Form, approval> approve(const text &message, const Form &fields,
                                            const approve_options &o = {})
    {
        return approve_form(message, &fields, o);
    }
    template <class Set>
    detail::if_sets<Set, approve_options, approval> approve(const text &message, Set &&set)
    {
        return approve(message, detail::options_by<approve_options>(std::forward<Set>(set)));
    }
    template <class Set>
    detail::if_sets<Set, approve_options, approval>
    approve(const text &message, std::initializer_list<field> fields, Set &&set)
    {
        return approve(message, form(fields),
                       detail::options_by<approve_options>(std::forward<Set>(set)));
    }
    template <class Form, class Set>
    detail::if_form<Form, detail::if_sets<Set, approve_options, approval>>
    approve(const text &message, const Form &fields, Set &&set)
    {
        return approve(message, fields, detail::options_by<approve_options>(std::forward<Set>(set)));
    }

    /* Without a form or a schema it asks for {response: string}. */
    answer elicit(const text &message, const elicit_options &o = {})
    {
        return elicit_form(nod_elicit_with, message, nullptr, o);
    }
    answer elicit(const text &message, std::initializer_list<field> fields,
                  const elicit_options &o = {})
    {
        return elicit(message, form(fields), o);
    }
    template <class Form>
    detail::if_form<Form, answer> elicit(const text &message, const Form &fields,
                                         const elicit_options &o = {})
    {
        return elicit_form(nod_elicit_with, message, &fields, o);
    }
    template <class Set>
    detail::if_sets<Set, elicit_options, answer> elicit(const text &message, Set &&set)
    {
        return elicit(message, detail::options_by<elicit_options>(std::forward<Set>(set)));
    }
    template <class Set>
    detail::if_sets<Set, elicit_options, answer>
    elicit(const text &message, std::initializer_list<field> fields, Set &&set)
    {
        return elicit(message, form(fields),
                      detail::options_by<elicit_options>(std::forward<Set>(set)));
    }
    template <class Form, class Set>
    detail::if_form<Form, detail::if_sets<Set, elicit_options, answer>>
    elicit(const text &message, const Form &fields, Set &&set)
    {
        return elicit(message, fields, detail::options_by<elicit_options>(std::forward<Set>(set)));
    }

    /* Several questions in one round: want each, then await(). In the run that goes on after await(),
     * every one of them has its answer. */
    answer want(const text &message, std::initializer_list<field> fields,
                const elicit_options &o = {})
    {
        return want(message, form(fields), o);
    }
    template <class Form>
    detail::if_form<Form, answer> want(const text &message, const Form &fields,
                                       const elicit_options &o = {})
    {
        return elicit_form(nod_want_with, message, &fields, o);
    }
    answer want(const text &message, const elicit_options &o = {})
    {
        return elicit_form(nod_want_with, message, nullptr, o);
    }
    template <class Set>
    detail::if_sets<Set, elicit_options, answer> want(const text &message, Set &&set)
    {
        return want(message, detail::options_by<elicit_options>(std::forward<Set>(set)));
    }
    template <class Set>
    detail::if_sets<Set, elicit_options, answer>
    want(const text &message, std::initializer_list<field> fields, Set &&set)
    {
        return want(message, form(fields),
                    detail::options_by<elicit_options>(std::forward<Set>(set)));
    }
    template <class Form, class Set>
    detail::if_form<Form, detail::if_sets<Set, elicit_options, answer>>
    want(const text &message, const Form &fields, Set &&set)
    {
        return want(message, fields, detail::options_by<elicit_options>(std::forward<Set>(set)));
    }
    answer want_sample(const text &prompt, const sample_options &o = {})
    {
        return sample_by(nod_want_sample_with, prompt, o);
    }
    template <class Set>
    detail::if_sets<Set, sample_options, answer> want_sample(const text &prompt, Set &&set)
    {
        return want_sample(prompt, detail::options_by<sample_options>(std::forward<Set>(set)));
    }
    answer want_roots(const roots_options &o = {})
    {
        nod_roots_opts opts{};
        nod_answer got{};

        opts.size = sizeof(opts);
        opts.key = o.key.c_str();
        opts.ttl_ms = o.ttl.count();
        check(nod_want_roots_with(at_, &got, &opts));
        return detail::from_c(got);
    }
    template <class Set> detail::if_sets<Set, roots_options, answer> want_roots(Set &&set)
    {
        return want_roots(detail::options_by<roots_options>(std::forward<Set>(set)));
    }
    void await() { check(nod_await(at_)); }

    /* On a page of this server: nothing of it passes through the client. */
    answer elicit_page(const text &message, std::initializer_list<field> fields,
                       const page_options &o = {})
    {
        return elicit_page(message, form(fields), o);
    }
    template <class Form>
    detail::if_form<Form, answer> elicit_page(const text &message, const Form &fields,
                                              const page_options &o = {})
    {
        const form shown(fields);
        return page_form(message, &shown, o);
    }
    answer elicit_page(const text &message, const page_options &o = {})
    {
        return page_form(message, nullptr, o);
    }
    template <class Set>
    detail::if_sets<Set, page_options, answer> elicit_page(const text &message, Set &&set)
    {
        return elicit_page(message, detail::options_by<page_options>(std::forward<Set>(set)));
    }
    template <class Set>
    detail::if_sets<Set, page_options, answer>
    elicit_page(const text &message, std::initializer_list<field> fields, Set &&set)
    {
        return elicit_page(message, form(fields),
                           detail::options_by<page_options>(std::forward<Set>(set)));
    }
    template <class Form, class Set>
    detail::if_form<Form, detail::if_sets<Set, page_options, answer>>
    elicit_page(const text &message, const Form &fields, Set &&set)
    {
        return elicit_page(message, fields, detail::options_by<page_options>(std::forward<Set>(set)));
    }

    /* For the address of a page of your own; the same on every run. */
    std::string_view page_token(const text &name, std::chrono::milliseconds ttl = {})
    {
        nod_page_token_opts opts{};
        const char *token = nullptr;

        opts.size = sizeof(opts);
        opts.name = name.c_str();
        opts.ttl_ms = ttl.count();
        check(nod_page_token_with(at_, &token, &opts));
        return detail::view(token);
    }

    /* Bytes that are wiped when the handler returns: do not keep them. */
    std::string_view secret(const text &name, const text &message, const secret_options &o = {})
    {
        nod_secret_opts opts{};
        nod_bytes got{};

        opts.size = sizeof(opts);
        opts.name = name.c_str();
        opts.message = message.c_str();
        opts.keep_ms = o.keep.count();
        opts.ttl_ms = o.ttl.count();
        check(nod_secret_with(at_, &got, &opts));
        return {got.text, got.len};
    }
    template <class Set>
    detail::if_sets<Set, secret_options, std::string_view> secret(const text &name, const text &message,
                                                                  Set &&set)
    {
        return secret(name, message, detail::options_by<secret_options>(std::forward<Set>(set)));
    }

    answer elicit_url(const text &message, const text &url, const url_options &o = {})
    {
        const nod_url_opts opts = page(message, url, o);
        nod_answer got{};

        check(nod_elicit_url_with(at_, &got, &opts));
        return detail::from_c(got);
    }
    template <class Set>
    detail::if_sets<Set, url_options, answer> elicit_url(const text &message, const text &url, Set &&set)
    {
        return elicit_url(message, url, detail::options_by<url_options>(std::forward<Set>(set)));
    }
    [[noreturn]] void require_url(const text &message, const text &url, const url_options &o = {})
    {
        const nod_url_opts opts = page(message, url, o);

        check(nod_require_url_with(at_, &opts));
        throw error(NOD_E_USAGE);
    }
    template <class Set>
    [[noreturn]] detail::if_sets<Set, url_options, void> require_url(const text &message,
                                                                     const text &url, Set &&set)
    {
        require_url(message, url, detail::options_by<url_options>(std::forward<Set>(set)));
    }

    /* The access token of an account that the person has connected at this service. It is wiped
     * when the run returns. */
    std::string_view credential(const text &service, const credential_options &o = {})
    {
        nod_credential_opts opts{};
        const char *token = nullptr;

        opts.size = sizeof(opts);
        opts.scopes = o.scopes.c_str();
        opts.message = o.message.c_str();
        opts.ttl_ms = o.ttl.count();
        check(nod_credential_with(at_, &token, service.c_str(), &opts));
        return detail::view(token);
    }
    template <class Set>
    detail::if_sets<Set, credential_options, std::string_view> credential(const text &service, Set &&set)
    {
        return credential(service, detail::options_by<credential_options>(std::forward<Set>(set)));
    }

    /* answer.content is the CreateMessageResult. */
    answer sample(const text &prompt, const sample_options &o = {})
    {
        return sample_by(nod_sample_with, prompt, o);
    }
    template <class Set>
    detail::if_sets<Set, sample_options, answer> sample(const text &prompt, Set &&set)
    {
        return sample(prompt, detail::options_by<sample_options>(std::forward<Set>(set)));
    }
    answer roots()
    {
        nod_answer got{};

        check(nod_roots(at_, &got));
        return detail::from_c(got);
    }

    /* --- steps --- */
    /*
     * Does it once. `f` takes nothing or a nod::step &, and returns nothing, a nod_status, or the
     * result: a text, a number, a boolean, a JSON value, or a list of them.
     */
    template <class F> json step(const text &key, F &&f, const step_options &o = {})
    {
        using function = std::remove_reference_t<F>;
        nod_step_opts opts{};
        const nod_json *result = nullptr;

        opts.size = sizeof(opts);
        opts.at_most_once = o.at_most_once;
        opts.idempotent = o.idempotent;
        check(nod_step_with(at_, key.c_str(), &detail::enter_step<function>,
                            const_cast<void *>(static_cast<const volatile void *>(std::addressof(f))),
                            &result, &opts));
        return result;
    }
    template <class F, class Set>
    detail::if_sets<Set, step_options, json> step(const text &key, F &&f, Set &&set)
    {
        return step(key, std::forward<F>(f),
                    detail::options_by<step_options>(std::forward<Set>(set)));
    }
    /*
     * Asks about each of `items`, and does a step for each that was accepted; see nod_each. `ask`
     * takes an item and returns the question; `act` takes an item, or an item and a nod::step &, and
     * returns what a step may return. The steps have the keys key-0, key-1, ...
     */
    template <class T, class Ask, class Do>
    std::vector<each_result> each(const text &key, const std::vector<T> &items, Ask ask, Do act,
                                  const each_options &o = {})
    {
        static_assert(!std::is_same_v<T, bool>,
                      "std::vector<bool> has no items to point at: use std::vector<char>");
        using entry = detail::each_item<T, Do>;
        const detail::c_form shown(o.form ? &*o.form : nullptr);
        std::vector<entry> entries;
        std::vector<nod_each_result> got(items.size());
        nod_each_opts opts{};

        for (const T &item : items)
            entries.push_back({&item, &act, std::invoke(ask, item)});
        opts.size = sizeof(opts);
        opts.key = key.c_str();
        opts.ask = &entry::ask;
        opts.step = &entry::enter;
        opts.form = shown.get();
        opts.schema = o.schema.c_str();
        opts.ttl_ms = o.ttl.count();
        opts.at_once = o.at_once;
        opts.at_most_once = o.at_most_once;
        opts.idempotent = o.idempotent;
        check(nod_each_with(at_, entries.data(), entries.size(), sizeof(entry), got.data(), &opts));
        std::vector<each_result> results;
        for (const nod_each_result &one : got)
            results.push_back({one.yes, one.done, one.status, detail::view(one.error), one.result,
                               detail::from_c(one.answer)});
        return results;
    }
    template <class T, class Ask, class Do, class Set>
    detail::if_sets<Set, each_options, std::vector<each_result>>
    each(const text &key, const std::vector<T> &items, Ask ask, Do act, Set &&set)
    {
        return each(key, items, std::move(ask), std::move(act),
                    detail::options_by<each_options>(std::forward<Set>(set)));
    }
    std::chrono::system_clock::time_point now()
    {
        std::int64_t ms = 0;

        check(nod_now(at_, &ms));
        return std::chrono::system_clock::time_point(std::chrono::milliseconds(ms));
    }
    std::uint64_t random()
    {
        std::uint64_t bits = 0;

        check(nod_random(at_, &bits));
        return bits;
    }

    /* --- telling --- */
    void progress(double done, double total = 0, const text &message = {})
    {
        nod_progress(at_, done, total, message.c_str());
    }
    void log(nod_log_level level, const text &logger, const text &message)
    {
        nod_log(at_, level, logger.c_str(), "%s", message.c_str());
    }
    void notify(const text &method, const text &params = {})
    {
        nod_notify(at_, method.c_str(), params.c_str());
    }

    /* --- replying: each adds a block --- */
    template <class... Part> void reply(const Part &...parts)
    {
        nod_reply_text(at_, text(cat(parts...)).c_str());
    }
    template <class... Part> void reply_error(const Part &...parts)
    {
        nod_reply_error(at_, "%s", text(cat(parts...)).c_str());
    }
    void reply_structured(json value) { nod_reply_structured(at_, value.get()); }
    void reply_image(std::string_view bytes, const text &mime_type)
    {
        nod_reply_image(at_, bytes.data(), bytes.size(), mime_type.c_str());
    }
    void reply_audio(std::string_view bytes, const text &mime_type)
    {
        nod_reply_audio(at_, bytes.data(), bytes.size(), mime_type.c_str());
    }
    void reply_resource_text(const text &uri, const text &mime_type, const text &content)
    {
        nod_reply_resource_text(at_, uri.c_str(), mime_type.c_str(), content.c_str());
    }
    void reply_resource_blob(const text &uri, const text &mime_type, std::string_view bytes)
    {
        nod_reply_resource_blob(at_, uri.c_str(), mime_type.c_str(), bytes.data(), bytes.size());
    }
    void reply_link(const text &uri, const text &name, const text &description = {},
                    const text &mime_type = {})
    {
        nod_reply_link(at_, uri.c_str(), name.c_str(), description.c_str(), mime_type.c_str());
    }
    void reply_meta(const text &key, json value) { nod_reply_meta(at_, key.c_str(), value.get()); }
    void reply_as(nod_speaker who) { nod_reply_as(at_, who); }

    /* --- completions --- */
    std::string_view completing() const { return detail::view(nod_completing(at_)); }
    std::string_view completing_text() const { return detail::view(nod_completing_text(at_)); }
    void suggest(const text &value) { nod_suggest(at_, value.c_str()); }

    /* --- JSON values; they live until the run returns --- */
    nod::object object() { return nod::object(at_); }
    nod::array array() { return nod::array(at_); }
    template <class V> json value(const V &of) { return detail::make(at_, of); }
    json parse(const text &written) { return nod_parse(at_, written.c_str()); }
    std::string_view dump(json value) { return detail::view(nod_json_text(at_, value.get())); }

  private:
    using elicit_fn = nod_status(nod_call *, nod_answer *, const nod_elicit_opts *);
    using sample_fn = nod_status(nod_call *, nod_answer *, const nod_sample_opts *);

    answer elicit_form(elicit_fn *ask, const text &message, const form *fields,
                       const elicit_options &o)
    {
        const detail::c_form shown(fields);
        nod_elicit_opts opts{};
        nod_answer got{};

        opts.size = sizeof(opts);
        opts.message = message.c_str();
        opts.form = shown.get();
        opts.schema = o.schema.c_str();
        opts.key = o.key.c_str();
        opts.ttl_ms = o.ttl.count();
        opts.attempts = o.attempts;
        opts.sensitive = o.sensitive;
        check(ask(at_, &got, &opts));
        return detail::from_c(got);
    }

    approval approve_form(const text &message, const form *fields, const approve_options &o)
    {
        const detail::c_form shown(fields);
        nod_approve_opts opts{};
        nod_approval got{};

        opts.size = sizeof(opts);
        opts.message = message.c_str();
        opts.arguments = o.arguments.get();
        opts.form = shown.get();
        opts.schema = o.schema.c_str();
        opts.key = o.key.c_str();
        opts.ttl_ms = o.ttl.count();
        opts.attempts = o.attempts;
        opts.tool_path = o.tool_path.c_str();
        check(nod_approve_with(at_, &got, &opts));
        return {got.approved, detail::view(got.execution_id), got.data, got.action,
                detail::view(got.by)};
    }

    answer page_form(const text &message, const form *fields, const page_options &o)
    {
        const detail::c_form shown(fields);
        nod_elicit_page_opts opts{};
        nod_answer got{};

        opts.size = sizeof(opts);
        opts.message = message.c_str();
        opts.form = shown.get();
        opts.schema = o.schema.c_str();
        opts.key = o.key.c_str();
        opts.ttl_ms = o.ttl.count();
        opts.sensitive = o.sensitive;
        opts.consent = o.consent;
        check(nod_elicit_page_with(at_, &got, &opts));
        return detail::from_c(got);
    }

    answer sample_by(sample_fn *ask, const text &prompt, const sample_options &o)
    {
        nod_sample_opts opts{};
        nod_answer got{};

        opts.size = sizeof(opts);
        opts.prompt = prompt.c_str();
        opts.messages = o.messages.c_str();
        opts.system_prompt = o.system_prompt.c_str();
        opts.max_tokens = o.max_tokens;
        opts.params = o.params.c_str();
        opts.key = o.key.c_str();
        opts.ttl_ms = o.ttl.count();
        check(ask(at_, &got, &opts));
        return detail::from_c(got);
    }

    /* A copy that lives until the run returns, and ends with a NUL. */
    std::string_view kept(std::string_view text) const
    {
        return detail::view(
            nod_fmt(at_, "%.*s", static_cast<int>(text.size()), text.empty() ? "" : text.data()));
    }

    static nod_url_opts page(const text &message, const text &url, const url_options &o)
    {
        nod_url_opts opts{};

        opts.size = sizeof(opts);
        opts.message = message.c_str();
        opts.url = url.c_str();
        opts.key = o.key.c_str();
        opts.ttl_ms = o.ttl.count();
        opts.wait_done = o.wait_done;
        opts.returns = o.returns;
        return opts;
    }

    nod_call *at_;
};

} // namespace nod

#endif
