/*
 * surface/hosted_foreign: pages of somebody else, which send the person back.
 *
 * The client is given a link to this server. Who opens it is checked first; then the browser is
 * sent to the foreign page, with a sealed token as `state`. The foreign page, which may be an
 * authorization server or a payment, sends the browser back to /a/return, always the same address,
 * with that state and whatever else it has to say. All of that but the state becomes the content of
 * the answer.
 *
 * The foreign page learns nothing of the link: the browser is told to send no referrer
 * (front/pages.c), and the state does not open it.
 *
 * In the address of the foreign page {state} and {return} are replaced, also behind a #; without
 * {state} it is appended to the query. So many and so long as they may be (provider/
 * handler_page.c), the address that comes of it fits.
 */
#include "surface/hosted.h"

/* The address without its fragment, which would hide a query behind it. */
static struct str cut_fragment(struct str url, struct str *fragment)
{
    struct str before, after;

    *fragment = STR_NONE;
    if (!str_cut(url, '#', &before, &after))
        return url;
    *fragment = str_skip(url, before.len);
    return before;
}

static void add_filled(struct buf *out, struct str url, struct str state, struct str back,
                       struct str id)
{
    const struct {
        struct str hole, text;
    } holes[] = { { STR("{state}"), state }, { STR("{return}"), back }, { STR("{id}"), id } };

    while (url.len) {
        size_t i = 0, count = sizeof(holes) / sizeof(holes[0]);
        while (i < count && !str_starts(url, holes[i].hole))
            i++;
        if (i < count)
            buf_add_encoded(out, holes[i].text);
        else
            buf_add_char(out, url.at[0]);
        url = str_skip(url, i < count ? holes[i].hole.len : 1);
    }
}

static void foreign_opened(struct hosted_visit *visit)
{
    const struct json *detail = json_parse(&visit->arena, visit->ask.detail, NULL, NULL);
    struct str given = json_get_str(detail, STR("url")), fragment;
    struct str url = cut_fragment(given, &fragment);
    struct buf state, to;

    buf_init(&state, HOSTED_STATE_MAX);
    buf_init(&to, HOSTED_URL_MAX);
    bool made = hosted_state(visit, &state);
    add_filled(&to, url, buf_str(&state), hosted_return_url(visit), visit->ask.id);
    if (str_find(given, STR("{state}")) < 0)
        buf_fmt(&to, "%cstate=" STR_FMT, str_find(url, STR("?")) < 0 ? '?' : '&',
                STR_ARG(buf_str(&state)));
    add_filled(&to, fragment, buf_str(&state), hosted_return_url(visit), visit->ask.id);
    if (made && !to.overflow && given.len)
        hosted_lead(visit, buf_str(&to));
    else
        hosted_refuse(visit, 500, STR("The address of the other site cannot be used."));
    buf_finish(&to);
    buf_finish(&state);
}

static void foreign_returned(struct hosted_visit *visit)
{
    struct arena *arena = &visit->arena;
    struct json *content = json_new_object(arena);

    for (size_t i = 0; i < visit->query_count; i++)
        json_set(arena, content, visit->query[i].name, json_new_str(arena, visit->query[i].value));
    hosted_answer(visit, ASK_ACCEPTED, content);
}

const struct hosted_kind hosted_foreign = { .name = STR_INIT("foreign"),
                                            .done = STR_INIT("This is done, and the tool goes on."),
                                            .opened = foreign_opened,
                                            .returned = foreign_returned };
