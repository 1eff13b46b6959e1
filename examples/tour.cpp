/*
 * tour, in C++: the same server as tour.c, with <nod/nod.hpp>.
 *
 * What it shows: handlers and steps as lambdas; answers as values; options by name (C++20). A handler
 * that waits for a person is left by an exception that nod throws and catches: every destructor
 * runs. See docs/cpp.md.
 *
 * Run it:
 *
 *     build/release/examples/tour-cpp
 *     build/release/examples/tour-cpp --http 127.0.0.1:8080 --store sqlite:tour.db
 *
 * TOUR_LEDGER names the file that the deeds are written to; without it they are not written down.
 */
#include <nod/nod.hpp>

#include <cstdlib>
#include <fstream>
#include <thread>

using namespace std::chrono_literals;
using nod::bool_field, nod::cat, nod::choice_field, nod::choices_field, nod::int_field;
using nod::number_field, nod::text_field;

namespace
{

/* The world outside: a ledger. It knows a step that is done again after a crash by its key. */
void write_down(const nod::step &step, std::string_view text)
{
    const char *path = std::getenv("TOUR_LEDGER");
    std::ifstream known(path ? path : "");

    for (std::string line; std::getline(known, line);)
        if (line.rfind(step.key(), 0) == 0)
            return;
    if (path && !(std::ofstream(path, std::ios::app) << step.key() << '\t' << text << std::endl))
        throw std::runtime_error("The ledger cannot be written.");
}

/* A wizard: three forms, one after the other. */
void plan_trip(nod::call &call)
{
    const auto who = call.elicit(
        "Who is travelling?",
        {text_field("name").title("Name").required().min(2),
         text_field("email").title("E-mail").format("email").required(),
         int_field("people").title("How many people").min(1).max(9).required().preset(1)},
        {.key = "who", .attempts = 3});
    if (!who)
        return call.reply("Nothing was booked.");
    const auto where = call.elicit(
        "Where to, and when?",
        {choice_field("city", {{"LIS", "Lisbon"}, {"OSL", "Oslo"}}).title("City").required(),
         text_field("day").title("Day").format("date").required(),
         bool_field("flexible").title("A day earlier or later is fine")},
        {.key = "where", .attempts = 3});
    if (!where)
        return call.reply("Nothing was booked.");
    const auto how = call.elicit(
        "How would you like to travel?",
        {number_field("budget").title("At most, in euros").min(50).required(),
         choices_field("extras", {{"meal", "A meal"}, {"bike", "A bike"}}).title("Extras")},
        {.key = "how", .attempts = 3});
    if (!how)
        return call.reply("Nothing was booked.");

    std::string extras;
    for (nod::json extra : how["extras"])
        extras += cat(extras.empty() ? "" : " and ", extra.as_str());
    const std::string trip =
        cat(where["city"].as_str(), " on ", where["day"].as_str(),
            where["flexible"].as_bool() ? " or so" : "", " for ", who["people"].as_int(), ", ",
            who["name"].as_str(), " <", who["email"].as_str(), ">, up to ",
            nod::format("%.2f", how["budget"].as_double()), ", extras: ",
            extras.empty() ? "none" : extras);
    call.step("book", [&](nod::step &step) { write_down(step, trip); });
    call.reply("Booked: ", trip, ".");
}

/* A blocking tool: a thread of its own, progress, and a step for what is slow. */
void index_library(nod::call &call)
{
    const auto shelves = call.arg_int("shelves");
    const bool yes = call.confirm(cat("Index ", shelves, " shelves?"));

    for (int i = 1; yes && i <= shelves; i++) {
        const std::string shelf = cat("shelf ", i);

        call.step(shelf, [&](nod::step &step) {
            std::this_thread::sleep_for(50ms);
            if (call.cancelled())
                throw nod::error(NOD_E_CANCELLED);
            write_down(step, shelf);
        });
        call.progress(i, static_cast<double>(shelves), shelf);
    }
    call.reply("Indexed ", yes ? shelves : 0, " shelves.");
}

/* An approval with a form: who paid for what, and from where. */
void pay_invoice(nod::call &call)
{
    const auto approval = call.approve("Pay this invoice?",
        {choice_field("account", {{"checking", "Checking"}, {"savings", "Savings"}},
                      {.title = "Account", .required = true}),
         text_field("note").title("Note").max(80)});
    if (!approval)
        return call.reply("Nothing was paid.");
    const std::string payment =
        cat(nod::format("%.2f", call.arg_double("amount")), " for ", call.arg_str("invoice"),
            " from ", approval["account"].as_str());
    call.step("pay", [&](nod::step &step) { write_down(step, payment); });
    call.reply("Paid ", payment, ", approved by ", approval.by, ".");
}

/* A question about each item, and a step for each yes. */
void close_tickets(nod::call &call)
{
    const std::vector<std::string> tickets{"T-1", "T-2", "T-3"};
    std::string closed;

    const auto results = call.each(
        "close", tickets, [](const auto &ticket) { return cat("Close ticket ", ticket, "?"); },
        [](const auto &ticket, nod::step &step) { write_down(step, ticket); });
    for (std::size_t i = 0; i < tickets.size(); i++)
        closed += results[i] ? cat(" ", tickets[i]) : "";
    call.reply("Closed:", closed.empty() ? " none" : closed, ".");
}

/* The client's model writes, a person reads, and then it is sent. */
void draft_reply(nod::call &call)
{
    const auto draft = call.sample(cat("Answer in one sentence: ", call.arg_str("question")),
                                   {.max_tokens = 200, .key = "draft"});
    const auto text = draft["content"]["text"].as_str();

    /* The model may refuse, or answer with something else than text. */
    if (text.empty() || !call.confirm(cat("Send this?\n\n", text), {.key = "send?"}))
        return call.reply("Nothing was sent.");
    call.step("send", [&](nod::step &step) { write_down(step, text); });
    call.reply("Sent: ", text);
}

} // namespace

int main(int argc, char **argv)
{
    nod::server server("tour", NOD_VERSION);

    server.tool("plan_trip", {.description = "Books a trip, in three forms"}, plan_trip);
    server.tool("index_library",
                {.description = "Indexes the shelves of a library; takes its time",
                 .input = nod::form{int_field("shelves").required().min(1).max(8)},
                 .blocking = true},
                index_library);
    server.tool("pay_invoice",
                {.description = "Pays an invoice that a person has approved",
                 .input = nod::form{text_field("invoice").required(),
                                    number_field("amount").required().min(0.01)},
                 .destructive = true},
                pay_invoice);
    server.tool("close_tickets", {.description = "Closes tickets, one by one"}, close_tickets);
    server.tool("draft_reply",
                {.description = "Has an answer written, shows it, and sends it",
                 .input = nod::form{text_field("question").required()}},
                draft_reply);
    return server.run(argc, argv);
}
