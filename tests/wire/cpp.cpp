// A server in C++, for cpp.test.js: what <nod/nod.hpp> does that C does not. Built as C++17 and as C++20.
//
// It holds that nothing thrown here passes a frame of C, and that whatever a handler holds when it waits has been
// destroyed: `alive` counts.
#include <nod/nod.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <set>
#include <string>

using namespace std::chrono_literals;

namespace
{

std::atomic<int> alive{0}, made{0}, effects{0};

// Counts itself, as a lock or a file would be held.
struct witness {
    witness()
    {
        ++alive;
        ++made;
    }
    ~witness() { --alive; }
    witness(const witness &) = delete;
    witness &operator=(const witness &) = delete;
};

void holds(nod::call &call)
{
    witness outside;
    auto heap = std::make_unique<witness>();

    if (!call.confirm("Go on?"))
        return call.reply("no");
    witness inside;
    call.step("effect", [&] {
        witness in_step;
        ++effects;
    });
    call.reply("alive ", alive.load(), ", effects ", effects.load());
}

void counts(nod::call &call)
{
    call.reply("alive ", alive.load(), ", made ", made.load(), ", effects ", effects.load());
}

#if __cplusplus >= 202002L
// A form is the argument after the message. As an option it does not compile, and neither does a name that is no option.
template <class Call>
concept takes_a_form_as_an_option = requires(Call &call) { call.elicit("?", {.form = nod::form{}}); } || requires(Call &call) { call.approve("?", {.form = nod::form{}}); } ||
    requires(Call &call) { call.want("?", {.nosuch = nod::form{}}); } || requires(Call &call) { call.elicit("?", {.nosuch = 1}); };
static_assert(!takes_a_form_as_an_option<nod::call>);
template <class Call>
concept takes_a_form = requires(Call &call, const nod::form &form) {
    call.elicit("?", {});
    call.approve("?", {}, {.key = "k"});
    call.want("?", {nod::text_field("a")}, [](auto &o) { o.key = "k"; });
    call.elicit("?", form, {.attempts = 2});
    call.elicit("?", nod::form{nod::text_field("a")});
};
static_assert(takes_a_form<nod::call>);
#endif

void fails(nod::call &call)
{
    witness held;
    const auto how = call.arg_str("how");

    if (how == "exception")
        throw std::runtime_error("The printer is on fire.");
    if (how == "number")
        throw 7;
    if (how == "status")
        throw nod::error(NOD_E_REFUSED);
    if (how == "nul")
        return call.reply(std::string("a\0b", 3));
    if (how == "huge")
        return call.reply_structured(call.value(~std::uint64_t{0}));
    if (how == "missing")
        return call.reply(call.arg_str("nowhere"));
    call.reply_error("It said so: ", how, '.');
}

// A step that throws has failed, on every run, and is not tried again.
void step_fails(nod::call &call)
{
    std::string seen;

    for (const char *key : {"first", "second", "third"}) {
        try {
            call.step(key, [&](nod::step &step) {
                ++effects;
                if (step.key().find("first") != std::string_view::npos)
                    throw std::runtime_error("The first one broke.");
                if (step.key().find("second") != std::string_view::npos)
                    throw nod::error(NOD_E_INVALID);
                throw 7;
            });
        } catch (const std::exception &e) {
            seen += nod::cat(e.what(), "; ");
        }
    }
    const bool yes = call.confirm("Go on regardless?");
    call.reply(seen, yes);
}

void step_sentence(nod::call &call)
{
    call.step("pay", []() -> int { throw std::runtime_error("The bank is closed."); });
    call.reply("paid");
}

void values(nod::call &call)
{
    const nod::json number = call.step("number", [] { return 7; });
    const nod::json half = call.step("half", [] { return 0.5; });
    const nod::json yes = call.step("yes", [] { return true; });
    const nod::json word = call.step("word", [] { return std::string("w\u00f6rd"); });
    const nod::json list = call.step("list", [] { return std::vector<std::string>{"a", "b"}; });
    const nod::json whole = call.step("object", [&] {
        return call.object().set("n", 1).set("list", std::array<int, 2>{3, 4}).set("inner", call.array().push(false).push("x"));
    });
    // A key that dies with this line: nod has its own copy.
    const nod::json nothing = call.step(std::string(100, 'k'), [] {});
    std::string joined;

    for (nod::json item : list)
        joined += item.as_str();
    call.reply(number.as_int(), ' ', half.as_double(), ' ', yes.as_bool(), ' ', word.as_str(), ' ', joined, ' ', list[1].as_str(), ' ',
               list.size(), ' ', call.dump(whole), ' ', nothing ? "something" : "nothing");
}

// Swallowing what unwinds a handler does no harm.
void swallows(nod::call &call)
{
    bool yes = false;

    try {
        yes = call.confirm("Once?");
    } catch (...) {
    }
    call.step("after", [] { ++effects; }, [](auto &o) { o.at_most_once = true; });
    call.reply(yes ? "yes" : "no");
}

void asks_many(nod::call &call)
{
    const std::string_view part = std::string_view("first-and-more").substr(0, 5); // no NUL behind it
    const nod::form word{nod::text_field("word").required().max(20)};
    const auto one = call.want("One?", word, [&](auto &o) { o.key = part; });
    const auto two = call.want("Two?", word, [](auto &o) { o.ttl = 60s; });
    call.await();
    if (!one || !two)
        return call.reply("not both");
    call.reply(one["word"].as_str(), "+", two["word"].as_str());
}

void approves(nod::call &call)
{
#if __cplusplus >= 202002L
    const auto got = call.approve("Sell it?", {nod::int_field("price", {.title = "Price", .required = true, .min = 1})},
                                  {.arguments = call.object().set("what", "the house"), .key = "sell"});
#else
    const auto got = call.approve("Sell it?", {nod::int_field("price").title("Price").required().min(1)}, [&](auto &o) {
        o.arguments = call.object().set("what", "the house");
        o.key = "sell";
    });
#endif
    if (!got)
        return call.reply("kept");
    call.reply("sold for ", got["price"].as_int(), " by ", got.by, got.execution_id.empty() ? " (no id)" : "");
}

void elicits(nod::call &call)
{
    const auto plain = call.elicit("In your own words?");
    const auto schema = call.elicit("Which?", [](auto &o) {
        o.schema = R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})";
        o.key = std::string("a key that is too long to be held without memory of its own");
    });

    call.reply(plain["response"].as_str(), " ", schema["n"].as_int(), " ", schema.by);
}

void each_of(nod::call &call)
{
    const std::vector<int> numbers{1, 2, 3, 4};
    std::string said;

    const auto results = call.each(
        "number", numbers,
        [](int n) { return nod::cat("Take ", n, "?"); },
        [](int n, nod::step &step) {
            if (n == 3)
                throw std::runtime_error("three is not to be had");
            return nod::cat(n, " for ", step.answer()["whom"].as_str());
        },
        [](auto &o) { o.form = nod::form{nod::text_field("whom").required()}; });
    for (const nod::each_result &one : results)
        said += one ? nod::cat(one.result.as_str(), "; ") : one.yes ? nod::cat(one.error, "; ") : "no; ";
    try {
        call.each("large", std::vector<int>{101}, [](int) -> std::string { throw std::runtime_error("no question"); }, [](int) {});
    } catch (const std::runtime_error &e) {
        said += e.what();
    }
    call.reply(said);
}

// Each of these is given to a page, in a browser.
void pages(nod::call &call)
{
    const auto place = call.elicit_page("Which city?", {nod::text_field("city").required()}, [](auto &o) { o.key = "city"; });
    if (!place)
        return call.reply("nowhere");
    const auto key = call.secret("museum", "The key of the museum, please.", [](auto &o) { o.keep = 24h; });
    const auto token = call.page_token("draft 7", 60s);
    call.reply(place["city"].as_str(), ' ', key.size(), ' ', token.size() > 40 ? "a token" : "no token");
}

void steady(nod::call &call)
{
    const auto time = call.now();
    const auto bits = call.random();
    static std::set<std::string> seen;

    seen.insert(nod::cat(time.time_since_epoch().count(), " ", bits));
    if (!call.confirm("Still the same?"))
        return call.reply("no");
    const bool same = seen.size() == 1;
    seen.clear();
    call.reply(same ? "the same" : "another");
}

} // namespace

int main(int argc, char **argv)
{
    nod::server server("cpp", NOD_VERSION, [](auto &o) { o.instructions = std::string("for the tests"); });
    nod::kept_json memory;

    server.tool("holds", {}, holds);
    server.tool("holds_blocking", [](auto &t) { t.blocking = true; }, holds);
    server.tool("counts", {}, counts);
    server.tool("fails", [](auto &t) { t.input = nod::form{nod::text_field("how").required()}; }, fails);
    server.tool("step_fails", {}, step_fails);
    server.tool("step_sentence", {}, step_sentence);
    server.tool("values", {}, values);
    server.tool("swallows", {}, swallows);
    server.tool("asks_many", {}, asks_many);
    server.tool("approves", {}, approves);
    server.tool("elicits", {}, elicits);
    server.tool("each_of", {}, each_of);
    server.tool("steady", {}, steady);
    server.tool("pages", {}, pages);
    server.oauth("nowhere", [](auto &o) { o.issuer = "https://idp.example"; o.client_id = "cpp"; });
    // In the way of C: a status that is returned.
    server.tool("by_status", {}, [](nod::call &call) -> nod_status {
        NOD_TRY(nod_reply_text(call.get(), "from C"));
        return NOD_OK;
    });
    // What cannot be copied may be captured.
    server.tool("remembers", [](auto &t) { t.input_schema = R"({"type":"object"})"; },
                [&memory, own = std::make_unique<std::string>("kept ")](nod::call &call) {
                    const std::string before(memory.get()["word"].as_str());
                    memory = nod::kept_json(call.args());
                    call.reply(*own, before.empty() ? "nothing" : before);
                });
    server.tool("forbidden", {}, [](nod::call &call) { call.reply("done"); });
    server.tool("stormy", {}, [](nod::call &call) { call.reply("done"); });
    server.hook(NOD_FLOW_CALL, "authorise", [](auto &o) { o.target = std::string("forbidden"); }, [](nod::hook &hook) { hook.fail(NOD_E_REFUSED, "CLOSED", nod::cat(hook.target(), " is closed.")); });
    server.hook(NOD_FLOW_CALL, "gate", [] {
        nod::hook_options o;
        o.target = "stormy";
        o.name = "weather";
        return o;
    }(), [](nod::hook &hook) {
        witness held;
        nod::call call = hook.call();
        if (!call.confirm("In this weather?"))
            throw std::runtime_error("Nobody goes out in this weather.");
    });
    server.resource("note://{id}", "note", [](auto &note) {
        note.mime_type = "text/plain";
        note.complete = [](nod::call &call) { call.suggest(nod::cat(call.completing_text(), "-1")); };
    }, [](nod::call &call) { call.reply("note ", call.arg_str("id")); });
    server.prompt("greet", [](auto &greet) {
        greet.args = {{"who", {}, {}, true, [](nod::call &call) { call.suggest("Ada"); }},
                      {"tone", {}, {}, false, [](nod::call &call) { call.suggest("warm"); }}};
    }, [](nod::call &call) {
        call.reply_as(NOD_ASSISTANT);
        call.reply("Hello ", call.arg_str("who"), ", ", call.arg_str_or("tone", "plainly"));
    });
    server.tool("fallback", {}, [](nod::call &call) { // what is given does not outlive the expression
        const auto whole = call.arg_str_or("x", std::string(60, 'q') + "tail");
        const auto part = call.arg_str_or("x", std::string_view("abcdef", 3));
        call.reply(whole, " ", std::string(part.data()));
    });
    if (std::getenv("CPP_BROKEN"))
        server.tool("no name for a tool", {}, counts);
    if (!std::getenv("OWN_LOOP"))
        return server.run(argc, argv);
    if (server.stdio(0, 1) != NOD_OK || server.settings(argc, argv) != NOD_OK || server.start() != NOD_OK)
        return 1;
    static volatile std::sig_atomic_t told; // the signals are the program's own
    std::signal(SIGTERM, [](int) { told = 1; });
    while (server.turn()) {
        const int due = server.timeout();
        pollfd fd{server.fd(), POLLIN, 0};
        poll(&fd, 1, due < 0 || due > 50 ? 50 : due);
        if (told)
            server.stop();
    }
    return 0;
}
