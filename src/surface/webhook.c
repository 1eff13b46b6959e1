/*
 * surface/webhook: see webhook.h. This file reads the options, hands hints to the webhooks, and
 * ends.
 *
 * The webhooks know nothing of each other: each has its own queue, its own record and its own node
 * that sends, so a receiver that is down holds up no other.
 */
#include "surface/webhook.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "crypto/digest.h"
#include "surface/webhook_inside.h"

enum { WEBHOOK_BARRED_MAX = 192 }; /* bytes of a sentence about an address */

static void on_hint(void *data, const struct ask_hint *hint)
{
    struct webhooks *all = data;
    enum turn_work before = loop_spend(all->opts.loop, TURN_WEBHOOKS);

    for (size_t i = 0; i < all->count; i++) {
        struct webhook *webhook = &all->webhooks[i];
        if (!webhook->leads)
            continue;
        if (hint)
            webhook_take(webhook, hint->ask_id, hint->owner,
                         hint->ended ? WEBHOOK_ENDED : WEBHOOK_CREATED, webhook_now(webhook));
        else
            scan_begin(webhook, false);
    }
    loop_spend(all->opts.loop, before);
}

/* --- the options --- */

/* A URL may hold a secret, so it is named by its place on the command line, from 1. */
static bool refuse(const char *option, size_t number, const char *why)
{
    LOG_ERROR("a webhook cannot be used", LOG_CSTR("option", option), LOG_INT("number", number),
              LOG_CSTR("why", why));
    return false;
}

/* "https://example.org:8443" of "https://example.org:8443/path?secret". */
static struct str origin_of(struct str url)
{
    size_t slashes = 0, i = 0;

    while (i < url.len && (slashes < 2 || (url.at[i] != '/' && url.at[i] != '?')))
        slashes += url.at[i++] == '/';
    return str_n(url.at, i);
}

static void name_of(struct str url, char name[WEBHOOK_NAME_LEN + 1])
{
    char hex[DIGEST_HEX_LEN + 1];
    struct digest digest;

    digest_of(url, &digest);
    digest_hex(&digest, hex);
    memcpy(name, hex, WEBHOOK_NAME_LEN);
    name[WEBHOOK_NAME_LEN] = '\0';
}

static bool add_webhook(struct webhooks *all, const char *url)
{
    struct webhook *webhook = &all->webhooks[all->count];
    char address[PEER_TEXT_MAX], barred[WEBHOOK_BARRED_MAX];
    struct peer peer;
    const char *why;
    int port;

    if (all->count == WEBHOOK_URLS_MAX)
        return refuse("--webhook", all->count + 1, "there are more than 8");
    if (!fetch_url_fits(str_of(url), &why))
        return refuse("--webhook", all->count + 1, why);
    if (fetch_url_is_barred(str_of(url), &all->reach, &peer, &port)) {
        const char *end = peer.kind == PEER_IP6 ? "]" : "";
        struct str text = peer_text(&peer, address);
        snprintf(barred, sizeof(barred),
                 "it is not a public address; if it is meant, give --webhook-allow %s" STR_FMT
                 "%s:%d",
                 *end ? "[" : "", STR_ARG(text), end, port);
        return refuse("--webhook", all->count + 1, barred);
    }
    *webhook = (struct webhook){ .all = all };
    name_of(str_of(url), webhook->name);
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->webhooks[i].name, webhook->name) == 0)
            return refuse("--webhook", all->count + 1, "it is given twice");
    webhook->url = str_dup(str_of(url));
    webhook->origin = str_dup(origin_of(str_of(url)));
    map_init(&webhook->items_by_key, WEBHOOK_QUEUE_MAX + WEBHOOK_PAGE * 2);
    list_init(&webhook->items);
    map_init(&webhook->shares, WEBHOOK_QUEUE_MAX + WEBHOOK_PAGE * 2);
    fair_init(&webhook->ready, WEBHOOK_AT_ONCE);
    all->count++;
    return true;
}

static bool read_options(struct webhooks *all)
{
    const struct webhook_opts *opts = &all->opts;

    for (size_t i = 0; opts->allow && opts->allow[i]; i++)
        if (!reach_allow(&all->reach, str_of(opts->allow[i])))
            return refuse("--webhook-allow", i + 1,
                          "it has to be an address and a port, such as 10.0.0.7:8443 or "
                          "[fd00::7]:8443");
    for (size_t i = 0; opts->urls[i]; i++)
        if (!add_webhook(all, opts->urls[i]))
            return false;
    return true;
}

struct webhooks *webhooks_create(const struct webhook_opts *opts)
{
    struct webhooks *all = MEM_NEW(struct webhooks);

    all->opts = *opts;
    all->store = engine_store(opts->engine);
    list_init(&all->loose);
    if (read_options(all))
        all->fetcher = fetcher_create(
            opts->loop, &(struct fetcher_opts){ .reach = &all->reach, .ca_file = opts->ca_file });
    if (!all->fetcher) {
        webhooks_destroy(all);
        return NULL;
    }
    for (size_t i = 0; i < all->count; i++) {
        LOG_INFO("events are sent to a webhook", LOG_CSTR("to", all->webhooks[i].origin));
        lead_begin(&all->webhooks[i]);
    }
    all->watch = (struct ask_watch){ .told = on_hint, .data = all };
    engine_watch_asks(opts->engine, &all->watch);
    return all;
}

void webhooks_destroy(struct webhooks *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->count; i++) {
        struct webhook *webhook = &all->webhooks[i];
        timer_stop(all->opts.loop, &webhook->look);
        webhook->leads = false;
        scan_stop(webhook);
        webhook_drop_all(webhook);
        map_finish(&webhook->items_by_key);
        map_finish(&webhook->shares);
        fair_finish(&webhook->ready);
        mem_free(webhook->url);
        mem_free(webhook->origin);
    }
    webhook_free_loose(all);
    fetcher_destroy(all->fetcher);
    signing_keys_forget(&all->opts.keys);
    mem_free(all);
}
