/*
 * clear-completed: a plain yes or no before a destructive tool.
 *
 * What it shows: nod_confirm, the shortest way to ask; and why a question's content is read inside
 * a step. The handler runs again after the answer, and the list may have changed in the meantime.
 * The person must get what they agreed to, so the items are chosen once, before the question.
 *
 * Run it:
 *
 *     build/release/examples/clear-completed
 *     build/release/examples/clear-completed --http 127.0.0.1:8080
 *
 * What the person sees: "Delete 2 completed items: buy milk, call Bob?" with Accept and Decline.
 * Anything but Accept (Decline, closing the form, no answer in five minutes, a client that cannot
 * ask) leaves the list as it is.
 */
#include <nod/nod.h>

#include <stdio.h>
#include <string.h>

enum { TODO_MAX = 100, TODO_TEXT = 120 };

struct todo {
    int id;
    bool done;
    char text[TODO_TEXT];
};

static struct todo todos[TODO_MAX] = {
    { 1, true, "buy milk" },
    { 2, false, "write the report" },
    { 3, true, "call Bob" },
};
static size_t todo_count = 3;
static int last_id = 3;

static struct todo *find_todo(int64_t id)
{
    for (size_t i = 0; i < todo_count; i++)
        if (todos[i].id == id)
            return &todos[i];
    return NULL;
}

static nod_status list_todos(nod_call *call)
{
    if (todo_count == 0)
        return nod_reply_text(call, "The list is empty.");
    for (size_t i = 0; i < todo_count; i++)
        (void)nod_reply_textf(call, "%d. [%c] %s", todos[i].id, todos[i].done ? 'x' : ' ',
                              todos[i].text);
    return NOD_OK;
}

/* Nothing is asked here, so the handler runs once and needs no step. */
static nod_status add_todo(nod_call *call)
{
    if (todo_count == TODO_MAX)
        return nod_reply_error(call, "The list is full: it holds %d items.", TODO_MAX);

    struct todo *todo = &todos[todo_count++];
    todo->id = ++last_id;
    todo->done = nod_arg_bool_or(call, "done", false);
    snprintf(todo->text, sizeof(todo->text), "%s", nod_arg_str(call, "text"));
    return nod_reply_textf(call, "Added %d. %s", todo->id, todo->text);
}

/* Records which items are meant, as [{id, text}]. */
static nod_status choose_completed(nod_step_run *step, void *arg)
{
    nod_call *call = nod_step_call(step);
    nod_json *chosen = nod_array(call);
    (void)arg;

    for (size_t i = 0; i < todo_count; i++) {
        if (!todos[i].done)
            continue;
        nod_json *item = nod_object(call);
        nod_set_int(call, item, "id", todos[i].id);
        nod_set_str(call, item, "text", todos[i].text);
        nod_push(call, chosen, item);
    }
    nod_step_result(step, chosen);
    return NOD_OK;
}

static nod_status delete_chosen(nod_step_run *step, void *arg)
{
    const nod_json *chosen = arg;
    (void)step;

    for (size_t i = 0; i < nod_count(chosen); i++) {
        struct todo *todo = find_todo(nod_get_int(nod_at(chosen, i), "id"));
        if (todo != NULL)
            memmove(todo, todo + 1, sizeof(*todo) * (size_t)(&todos[--todo_count] - todo));
    }
    return NOD_OK;
}

static nod_status clear_completed(nod_call *call)
{
    const nod_json *chosen;
    bool yes;

    NOD_TRY(nod_step(call, "choose", choose_completed, NULL, &chosen));
    size_t count = nod_count(chosen);
    if (count == 0)
        return nod_reply_text(call, "No item is completed.");

    const char *names = "";
    for (size_t i = 0; i < count; i++)
        names = nod_fmt(call, "%s%s%s", names, i > 0 ? ", " : "",
                        nod_get_str(nod_at(chosen, i), "text"));

    NOD_TRY(nod_confirm(call, &yes,
                        .message = nod_fmt(call, "Delete %zu completed item%s: %s?", count,
                                           count == 1 ? "" : "s", names)));
    if (!yes)
        return nod_reply_text(call, "Nothing was deleted.");

    NOD_TRY(nod_step(call, "delete", delete_chosen, (void *)chosen, NULL));
    return nod_reply_textf(call, "Deleted %zu item%s.", count, count == 1 ? "" : "s");
}

static const nod_tool tools[] = {
    { .name = "list_todos",
      .handler = list_todos,
      .description = "Lists the to-do items",
      .read_only = true,
      .closed_world = true },
    { .name = "add_todo",
      .handler = add_todo,
      .description = "Adds a to-do item",
      .input = NOD_FORM(NOD_TEXT("text", .required = true, NOD_MIN(1), NOD_MAX(TODO_TEXT - 1)),
                        NOD_BOOL("done", .description = "Is it completed already?")),
      .closed_world = true },
    { .name = "clear_completed",
      .handler = clear_completed,
      .title = "Clear completed items",
      .description = "Deletes the completed items, after a person has agreed",
      .destructive = true,
      .closed_world = true },
};

int main(int argc, char **argv)
{
    nod_server *server = nod_server_new(.name = "clear-completed", .version = NOD_VERSION);

    if (server == NULL || nod_tools(server, tools) != NOD_OK)
        return 1;
    return nod_main(server, argc, argv);
}
