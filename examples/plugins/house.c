/*
 * plugins/house: rules of the house for the tools of everybody else.
 *
 * What it shows: a plugin that has hooks alone. One cleans what people write: characters that
 * nobody sees, and that make a text read otherwise than it is, are taken out of every answer before
 * any tool gets it. Two keep a record of what was asked, how it ended and how long that took. There
 * is no tool in it, and the tools know nothing of it.
 *
 * Run it, with tools that ask:
 *
 *     nod serve --plugin build/release/examples/plugins/house.so --plugin ...
 *
 * The record is a line of JSON for each question. It is written to standard error, or to a file:
 *
 *     [plugin house]
 *     record = /var/log/nod/questions.jsonl
 */
#include <nod/nod.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

/* --- what people write is cleaned --- */

/* In JSON text control characters are escaped, and all others stand for themselves. How many bytes
 * of something that nobody sees begin here: 0, if it is to stay. A line break and a tab may; so may
 * what joins letters and pictures, which some scripts need. */
static size_t unseen_at(const char *json)
{
    static const char *const unseen[] = {
        "\\u00",  "\\b",    "\\f",    "\x7f",   "\u200b", "\u200e", "\u200f", "\u202a", "\u202b",
        "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\ufeff",
    };

    for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++)
        if (strncmp(json, unseen[i], strlen(unseen[i])) == 0)
            return i == 0 ? strlen("\\u0000") : strlen(unseen[i]);
    return 0;
}

/* At parseInput, so that an answer which is sent twice is the same answer both times. */
static nod_status clean(nod_hook_run *hook, void *data)
{
    nod_call *call = nod_hook_call(hook);
    const nod_json *content = nod_hook_content(hook);

    (void)data;
    if (content == NULL) /* a no has none */
        return NOD_OK;
    const char *from = nod_json_text(call, content);
    char *text = nod_alloc(call, strlen(from) + 1), *to = text;
    if (text == NULL)
        return NOD_E_LIMIT;
    while (*from) {
        size_t skip = unseen_at(from), keep = *from == '\\' ? 2 : 1; /* an escape stays whole */
        if (skip == 0) {
            memcpy(to, from, keep);
            to += keep;
        }
        from += skip ? skip : keep;
    }
    return nod_hook_set_content(hook, nod_parse(call, text));
}

/* --- what was asked is recorded --- */

enum { WAITING_MAX = 1024, ID_MAX = 64 };

/* The questions that wait, the newest instead of the oldest. A question that was asked before this
 * server started is not here; its line has no "seconds". */
static struct {
    char id[ID_MAX];
    struct timespec since;
} waiting[WAITING_MAX];
static size_t asked;

static FILE *record;

static nod_status ask_begins(nod_hook_run *hook, void *data)
{
    size_t at = asked++ % WAITING_MAX;

    (void)data;
    snprintf(waiting[at].id, ID_MAX, "%s", nod_hook_ask_id(hook));
    clock_gettime(CLOCK_MONOTONIC, &waiting[at].since);
    return NOD_OK;
}

/* After publishResult the answer counts, and the line says what is so. */
static nod_status ask_ends(nod_hook_run *hook, void *data)
{
    nod_call *call = nod_hook_call(hook);
    nod_json *line = nod_object(call);
    struct timespec now;

    (void)data;
    nod_set_str(call, line, "tool", nod_hook_target(hook));
    nod_set_str(call, line, "asked", nod_hook_message(hook));
    nod_set_str(call, line, "ended", nod_hook_action(hook));
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (size_t i = 0; i < WAITING_MAX; i++)
        if (strcmp(waiting[i].id, nod_hook_ask_id(hook)) == 0)
            nod_set_double(call, line, "seconds",
                           (double)(now.tv_sec - waiting[i].since.tv_sec) +
                               (double)(now.tv_nsec - waiting[i].since.tv_nsec) / 1e9);
    fprintf(record, "%s\n", nod_json_text(call, line));
    fflush(record);
    return NOD_OK;
}

/* --- the plugin --- */

static void unload(nod_server *server)
{
    (void)server;
    if (record != stderr)
        fclose(record);
}

static nod_status load(nod_server *server)
{
    const char *file = nod_setting(server, "record");

    record = *file ? fopen(file, "ae") : stderr;
    if (record == NULL) {
        perror(file);
        return NOD_E_IO;
    }
    NOD_TRY(nod_hook(server, .flow = NOD_FLOW_ANSWER, .stage = "parseInput", .fn = clean,
                     .name = "house-clean"));
    NOD_TRY(nod_hook(server, .flow = NOD_FLOW_ASK, .stage = "finalize", .kind = NOD_DID,
                     .fn = ask_begins, .name = "house-asked"));
    return nod_hook(server, .flow = NOD_FLOW_ANSWER, .stage = "publishResult", .kind = NOD_DID,
                    .fn = ask_ends, .name = "house-ended");
}

NOD_PLUGIN(.name = "house", .version = "1.0.0", .load = load, .unload = unload,
           .settings = NOD_FORM(NOD_TEXT("record", .description = "the file of the record")));
