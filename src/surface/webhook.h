/*
 * surface/webhook: tells other programs that an ask has come up or has ended.
 *
 * Each webhook is a URL. It is sent a signed POST (crypto/signing) for each of these events, at
 * least once, and normally once: an id in the header "webhook-id" is the same whenever the same
 * event is sent again. The body says which ask it is, whose, and where it can be answered; the
 * question itself only if the operator wants that.
 *
 * The records of the asks are the truth, hints only make it fast: what was not sent when the server
 * stopped, crashed or lost its store is found again in them (webhook_scan.c). If several nodes
 * share a store, one of them sends (webhook_lead.c). An ask never waits for a webhook.
 */
#ifndef NOD_SURFACE_WEBHOOK_H
#define NOD_SURFACE_WEBHOOK_H

#include "core/engine.h"
#include "crypto/signing.h"
#include "front/front.h"
#include "net/fetch.h"

enum { WEBHOOK_URLS_MAX = 8 }; /* webhooks of one server */

struct webhooks;

struct webhook_opts {
    struct loop *loop;
    struct engine *engine;
    const struct front
        *front; /* links to the page of an ask are made by it; NULL: there is no page */
    const char *const *urls;  /* NULL-terminated */
    const char *const *allow; /* targets that are not public: "ADDRESS:PORT"; NULL-terminated */
    struct signing_keys keys;
    const char *ca_file; /* authorities; NULL: the system's */
    bool content;        /* the body holds the message and the arguments */
};

/* After the store was opened. NULL, logged: an option cannot be used. */
struct webhooks *webhooks_create(const struct webhook_opts *opts);
/* After the store was destroyed, and before the engine is. NULL is fine. */
void webhooks_destroy(struct webhooks *webhooks);

#endif
