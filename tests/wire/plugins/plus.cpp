/*
 * tests/wire/plugins/plus: a plugin in C++. Its tool asks, and says what the operator has set.
 *
 * Holds always: nothing is left of it when it is unloaded. The handlers belong to the nod::server,
 * which unload deletes.
 */
#include <nod/nod.hpp>

static nod::server *here;

static nod_status load(nod_server *server)
{
    here = new nod::server(server);
    const std::string_view greeting = here->setting("greeting");
    const std::string what = nod::cat(here->setting_int("times"), " ", here->setting_double("pace"), " ",
                                      here->setting_bool("loud"));

    here->tool("plus.greet", {}, [greeting, what](nod::call &call) {
        call.reply(greeting, call.confirm("Greet?") ? " yes " : " no ", what);
    });
    return here->ok() ? NOD_OK : NOD_E_FAILED;
}

static void unload(nod_server *)
{
    delete here;
    here = nullptr;
}

static const nod::plugin_settings settings{
    nod::text_field("greeting").preset("Hello"),
    nod::int_field("times").preset("1"),
    nod::number_field("pace").preset("0.5"),
    nod::bool_field("loud"),
};

NOD_PLUGIN(.name = "plus", .version = "1", .load = load, .unload = unload, .settings = settings.get());
