/*
 * nod.hpp: nod from C++17 and later. Header only; link with libnod as a C program does.
 *
 *     #include <nod/nod.hpp>
 *
 *     int main(int argc, char **argv)
 *     {
 *         nod::server server("files", "1.0");
 *
 *         server.tool("remove_file", {.title = "Delete a file",
 *                                     .input = nod::form{nod::text_field("path").required()},
 *                                     .destructive = true},
 *                     [](nod::call &call) {
 *                         std::string path(call.arg_str("path"));
 *
 *                         if (!call.confirm("Delete " + path + "?"))
 *                             return call.reply("Nothing was deleted.");
 *                         call.step("unlink", [&] { std::filesystem::remove(path); });
 *                         call.reply("Deleted ", path, ".");
 *                     });
 *         return server.run(argc, argv);
 *     }
 *
 * nod.h is the manual: each function here does what its counterpart in C does. This file says what
 * is different.
 *
 * HOW A HANDLER WAITS. In C a function returns NOD_PENDING and the handler returns it. Here the
 * function throws nod::pending, which unwinds the handler: every destructor runs, and what the
 * handler held is released while the person thinks. So the values come back directly
 * (`bool yes = call.confirm(...)`). This header catches whatever is thrown, before it gets to
 * C code:
 *
 *   nod::pending     the call waits. It is not a std::exception, so catching that lets it through.
 *                    If `catch (...)` swallows it, no harm is done: everything that is asked or
 *                    done in the rest of that run is pending too.
 *   nod::error       a status of nod that is not NOD_OK, such as NOD_E_TIMEOUT. Catch it to go on;
 *                    otherwise the call ends with that status and nod's sentence.
 *   std::exception   the tool's own failure. The model reads what(): throw nothing it must not read.
 *   anything else    a failure without a sentence.
 *
 * A step that throws has failed. The failure is its result, and every later run gets it as a
 * nod::error again.
 *
 * OPTIONS. Required values are arguments; everything else is a member of an options struct. With
 * C++20 name the members in place: `call.confirm("Go on?", {.key = "go-on", .ttl = 60s})`. With C++17
 * pass a lambda that sets them: `call.confirm("Go on?", [](auto &o) { o.key = "go-on"; })`, or a
 * variable. Times are std::chrono::milliseconds. nod.h says what each option means; there the
 * names of times end in _ms.
 *
 * MEMORY. A `const char *` given to nod is used where it is; std::string and std::string_view are
 * copied, because C needs a NUL at the end. Views that come from a call (std::string_view,
 * nod::json, nod::answer) live until the run returns, and their text ends with a NUL: data() is a C
 * string. A server owns its handlers until it is destroyed.
 *
 * THREADS. As in nod.h. A handler of a .blocking tool may run on several threads at once, which
 * then share what its lambda has captured.
 */
#ifndef NOD_NOD_HPP
#define NOD_NOD_HPP

#include <nod/cpp/call.hpp>
#include <nod/cpp/form.hpp>
#include <nod/cpp/json.hpp>
#include <nod/cpp/server.hpp>
#include <nod/cpp/text.hpp>

#endif
