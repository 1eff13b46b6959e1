/*
 * warehouse: "which one do you mean?"
 *
 * What it shows: a question whose choices are made at run time, from what was found; and that a
 * tool asks only if there is something to ask.
 *
 * Run it:
 *
 *     build/release/examples/warehouse
 *     build/release/examples/warehouse --http 127.0.0.1:8080
 *
 * What the person sees: for "reserve 2 lamp" a list of the three lamps, with the stock of each. For
 * "reserve 2 stool" nothing: there is only one stool.
 */
#include <nod/nod.h>

#include <string.h>

struct item {
    const char *sku;
    const char *name;
    int64_t stock;
};

static struct item items[] = {
    { "LMP-1", "desk lamp, black", 12 }, { "LMP-2", "desk lamp, white", 3 },
    { "LMP-3", "floor lamp", 5 },        { "CHR-1", "office chair", 8 },
    { "CHR-2", "dining chair", 40 },     { "STL-1", "stool", 6 },
};
enum { ITEM_COUNT = sizeof(items) / sizeof(items[0]) };

static struct item *find_sku(const char *sku)
{
    for (size_t i = 0; i < ITEM_COUNT; i++)
        if (strcmp(items[i].sku, sku) == 0)
            return &items[i];
    return NULL;
}

/* Searches, and records what was found: [{sku, title}]. A step, because stock changes. */
static nod_status search(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);
    nod_json *found = nod_array(call);

    for (size_t i = 0; i < ITEM_COUNT; i++) {
        if (strstr(items[i].name, (const char *)arg) == NULL)
            continue;
        nod_json *one = nod_object(call);
        nod_set_str(call, one, "sku", items[i].sku);
        nod_set_str(call, one, "title",
                    nod_fmt(call, "%s (%lld in stock)", items[i].name, (long long)items[i].stock));
        nod_push(call, found, one);
    }
    nod_step_result(step, found);
    return NOD_OK;
}

struct reservation {
    struct item *item;
    int64_t quantity;
};

static nod_status reserve_stock(nod_step_run *step, void *arg)
{
    struct reservation *wanted = arg;
    (void)step;

    if (wanted->item->stock < wanted->quantity)
        return NOD_E_LIMIT;
    wanted->item->stock -= wanted->quantity;
    return NOD_OK;
}

/* The choices end with a NULL value; nod_alloc's memory is zeroed. */
static const nod_option *options_of(nod_call *call, const nod_json *found)
{
    nod_option *options = nod_alloc(call, sizeof(*options) * (nod_count(found) + 1));

    for (size_t i = 0; options != NULL && i < nod_count(found); i++) {
        options[i].value = nod_get_str(nod_at(found, i), "sku");
        options[i].title = nod_get_str(nod_at(found, i), "title");
    }
    return options;
}

static nod_status reserve(nod_call *call)
{
    const char *words = nod_arg_str(call, "item");
    struct reservation wanted = { .quantity = nod_arg_int_or(call, "quantity", 1) };
    const nod_json *found;

    NOD_TRY(nod_step(call, "search", search, (void *)words, &found));
    if (nod_count(found) == 0)
        return nod_reply_error(call, "There is no %s in the warehouse.", words);

    if (nod_count(found) == 1) {
        wanted.item = find_sku(nod_get_str(nod_at(found, 0), "sku"));
    } else {
        nod_answer answer;
        NOD_TRY(
            nod_elicit(call, &answer,
                       .message = nod_fmt(call, "%zu items match \"%s\". Which one do you mean?",
                                          nod_count(found), words),
                       .form = NOD_FORM(NOD_CHOICE("sku", options_of(call, found), .title = "Item",
                                                   .required = true))));
        if (answer.action != NOD_ACCEPT)
            return nod_reply_text(call, "Nothing was reserved.");
        wanted.item = find_sku(nod_get_str(answer.content, "sku"));
    }

    nod_status reserved = nod_step(call, "reserve", reserve_stock, &wanted, NULL);
    if (reserved == NOD_E_LIMIT)
        return nod_reply_error(call, "There are not enough of %s.", wanted.item->name);
    NOD_TRY(reserved);
    return nod_reply_textf(call, "Reserved %lld of %s (%s).", (long long)wanted.quantity,
                           wanted.item->name, wanted.item->sku);
}

static const nod_tool tools[] = {
    { .name = "reserve_item",
      .handler = reserve,
      .title = "Reserve an item",
      .description = "Reserves an item in the warehouse; asks which one when several match",
      .input = NOD_FORM(NOD_TEXT("item", .description = "Words of its name", .required = true,
                                 NOD_MIN(1), NOD_MAX(80)),
                        NOD_INT("quantity", NOD_MIN(1), NOD_MAX(1000))),
      .closed_world = true },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "warehouse", .version = NOD_VERSION);

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
