/*
 * surface/webhook_inside: webhooks as their files see them. No other file includes this.
 *
 * webhook.c       the webhooks of a server: options, hints, the end
 * webhook_lead.c  which node sends, and up to when everything is known to be sent or kept
 * webhook_scan.c  finds events that nobody was told of
 * webhook_send.c  one event: from its ask to the mark that it was delivered
 * webhook_body.c  what is sent
 */
#ifndef NOD_SURFACE_WEBHOOK_INSIDE_H
#define NOD_SURFACE_WEBHOOK_INSIDE_H

#include "base/list.h"
#include "base/map.h"
#include "base/fair.h"
#include "surface/webhook.h"

enum {
    WEBHOOK_QUEUE_MAX = 1024, /* events of a webhook in memory; others wait as records of asks */
    WEBHOOK_USER_SURE = 64,   /* of them, that each user may have, also if others have all */
    WEBHOOK_KEPT_MS = 30000,  /* between two looks at what is kept and not in memory */
    WEBHOOK_QUEUE_BYTES = 16 << 20, /* bytes of their bodies */
    WEBHOOK_BODY_MAX = 64 << 10, /* of one; a longer question is left out, and the body says so */
    WEBHOOK_AT_ONCE = 8,         /* requests to one webhook at the same time */
    WEBHOOK_SEND_MS = 10000,     /* time for one of them */
    WEBHOOK_PAUSE_MS = 1000,     /* before the second try; doubled with each */
    WEBHOOK_PAUSE_MOST_MS = 120000, /* between two tries */
    WEBHOOK_TRY_MS = 86400000,      /* an event is given up when it was tried for so long */
    WEBHOOK_STORE_MS = 1000,        /* before a store that failed is asked again */
    WEBHOOK_LEASE_MS = 10000,       /* a node that leads and says nothing for so long is replaced */
    WEBHOOK_RENEW_MS = 3000,        /* between two signs of life */
    WEBHOOK_SLACK_MS = 30000,       /* between an event and its hint, at most */
    WEBHOOK_MARK_MS = 3600000,      /* how long it is remembered that an event was delivered */
    WEBHOOK_MARK_MEMORY_MS = 60000, /* the same in a store that does not outlive the process */
    WEBHOOK_PAGE = 64,              /* asks of one page of a scan */
    WEBHOOK_DOWN_AFTER = 3,         /* failures in a row: the receiver counts as down */
    WEBHOOK_NAME_LEN = 16,          /* characters of the name of a webhook: a digest of its URL */
    WEBHOOK_KEY_MAX = WEBHOOK_NAME_LEN + 1 + ID_LEN + 3, /* bytes of the key of an event */
    WEBHOOK_ARENA_MAX = 1 << 20,                         /* memory to read a record */
};

#define WEBHOOK_KIND      STR("delivery")  /* what is not delivered yet, and who leads */
#define WEBHOOK_KIND_MARK STR("delivered") /* what is */

enum webhook_event { WEBHOOK_CREATED, WEBHOOK_ENDED };

enum scan_stage { SCAN_NONE, SCAN_KEPT, SCAN_PENDING, SCAN_ENDED };

struct webhook {
    struct webhooks *all;
    char *url;
    char *origin; /* of the URL, for the log: the rest may hold a secret */
    char name[WEBHOOK_NAME_LEN + 1];

    /* webhook_lead.c */
    bool leads;
    uint64_t version; /* of the record */
    int64_t
        since_ms; /* every event before it was delivered, is kept as a record, or was given up */
    struct timer look;

    /* webhook_scan.c */
    enum scan_stage stage;
    bool reading;    /* a page is on its way */
    bool past;       /* it has come to what is known to be done */
    bool again;      /* something was not taken: scan once more */
    bool away;       /* something is kept, and not in memory: look at it later */
    bool whole;      /* not only what is kept and due is looked at */
    int64_t kept_ms; /* when what is kept was looked at last */
    char *cursor;
    size_t cursor_len;

    /* webhook_send.c */
    struct map items_by_key;
    struct list items; /* struct item, the oldest first */
    struct map shares; /* by owner: struct share, how many of them each user has */
    struct fair ready; /* the same, those to be sent and those on their way */
    size_t count, bytes, sending;
    int failures; /* in a row */
};

struct webhooks {
    struct webhook_opts opts;
    struct store *store;
    struct reach reach;
    struct fetcher *fetcher;
    struct ask_watch watch;
    struct webhook webhooks[WEBHOOK_URLS_MAX];
    size_t count;
    struct list loose; /* struct item, dropped while the store worked on it */
};

static inline int64_t webhook_now(const struct webhook *webhook)
{
    return webhook->all->store->ops->now(webhook->all->store);
}

/* --- webhook_lead.c --- */

/* Looks who leads, now and from then on again and again. */
void lead_begin(struct webhook *webhook);

/* --- webhook_scan.c --- */

/* Looks at everything since webhook->since_ms; `kept`: at what is kept to be sent again, too. */
void scan_begin(struct webhook *webhook, bool kept);
/* Goes on with it, if there is room for what it finds. */
void scan_go_on(struct webhook *webhook);
/* This node does not lead any more. */
void scan_stop(struct webhook *webhook);

/* --- webhook_send.c --- */

/* Room for so many more events. */
bool webhook_has_room(const struct webhook *webhook, size_t more);
/* The same, and if there is none, events that pause go from memory: their records are kept. */
bool webhook_make_room(struct webhook *webhook, size_t more);
/* An event that may have to be sent; owner: store_owner of whose it is; at_ms: not later than it
 * happened. */
void webhook_take(struct webhook *webhook, struct str ask_id, uint64_t owner,
                  enum webhook_event event, int64_t at_ms);
/* One that was kept, as its record says. */
void webhook_take_kept(struct webhook *webhook, const struct store_value *kept);
/* The time of the oldest event that is neither delivered nor kept; INT64_MAX: there is none. */
int64_t webhook_oldest(const struct webhook *webhook);
/* Sends what is ready, as much as may be under way. */
void webhook_pump(struct webhook *webhook);
/* Forgets all events, because another node sends them or the server ends. */
void webhook_drop_all(struct webhook *webhook);
/* Frees those that the store worked on when they were forgotten: it is gone. */
void webhook_free_loose(struct webhooks *all);

/* --- webhook_body.c --- */

/* The body of an event, to be freed with mem_free. `call` may be NULL. */
struct str webhook_body(const struct webhooks *all, const struct ask_record *ask,
                        const struct call_record *call, enum webhook_event event);

#endif
