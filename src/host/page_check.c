/*
 * host/page_check: nod_page_check, for pages of an author's own. Its sister nod_page_token, which
 * handlers call, is in provider/handler_page.c; this one is called on a server.
 *
 * A token that is used leaves a record in the store until it would have expired, so that it is used
 * once, on whatever node. The record is made only if there is none: of several at once, one makes
 * it.
 *
 * Holds always: done() is called once for each check, also when the server ends.
 */
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"
#include "crypto/digest.h"
#include "crypto/page_token.h"

enum {
    CHECK_ARENA_MAX = 8 << 10, /* memory of one check */
    CHECK_KEEP_MS = 60000,     /* a token stays used for so long after it has expired */
};

#define USED_KIND STR("page-used")

struct page_check {
    nod_server *server;
    struct list link; /* in server->page_checks, once it is on the server's thread */
    nod_page_fn *done;
    void *data;
    bool use;
    struct arena arena;
    struct str token, principal;
    struct page_token opened;
    void (*then)(void *data); /* it is no check, and is called when those before it are over */
};

/* Those that waited for checks which are over by now. */
static void waits_end(nod_server *server)
{
    struct list *at;

    while ((at = list_first(&server->page_checks))) {
        struct page_check *first = LIST_OF(at, struct page_check, link);
        if (!first->then)
            return;
        list_remove(&first->link);
        loop_defer(server->loop, first->then, first->data);
        MEM_DELETE(first);
    }
}

void page_checks_then(nod_server *server, void (*fn)(void *data), void *data)
{
    struct page_check *wait = MEM_NEW(struct page_check);

    wait->then = fn;
    wait->data = data;
    list_init(&wait->link);
    list_append(&server->page_checks, &wait->link);
    waits_end(server);
}

static void finish(struct page_check *check, nod_status status)
{
    bool known = status == NOD_OK || status == NOD_E_TIMEOUT || status == NOD_E_STALE;
    const nod_page page = { .name = known ? arena_str(&check->arena, check->opened.name).at : NULL,
                            .expires_ms = check->opened.expires_ms };

    list_remove(&check->link);
    if (check->done)
        check->done(check->data, status, known ? &page : NULL);
    waits_end(check->server);
    arena_finish(&check->arena);
    MEM_DELETE(check);
}

static void used(void *data, nod_status status, const struct store_reply *reply)
{
    (void)reply;
    finish(data, status);
}

static void looked(void *data, nod_status status, const struct store_reply *reply)
{
    (void)reply;
    finish(data, status == NOD_OK ? NOD_E_STALE : status == NOD_E_NOT_FOUND ? NOD_OK : status);
}

static void arrives(void *data)
{
    struct page_check *check = data;
    nod_server *server = check->server;
    struct store *store = server->store;
    struct page_token *token = &check->opened;

    list_append(&server->page_checks, &check->link);
    if (!store) {
        finish(check, NOD_E_STORE);
        return;
    }
    if (local_open_page_token(server->local, check->token, &check->arena, token) != NOD_OK ||
        !page_token_is_for(token, check->principal)) {
        finish(check, NOD_E_REFUSED);
        return;
    }
    int64_t left = token->expires_ms - engine_now(server->engine);
    if (left <= 0) {
        finish(check, NOD_E_TIMEOUT);
        return;
    }
    struct str key =
        base64url_text(&check->arena, str_n((const char *)token->unique, PAGE_TOKEN_UNIQUE_LEN));
    if (check->use)
        store->ops->put(store, USED_KIND, key, STR("{}"), check->principal, STORE_NEW,
                        left + CHECK_KEEP_MS, used, check);
    else
        store->ops->get(store, USED_KIND, key, looked, check);
}

void nod_page_check(nod_server *server, const char *token, const char *principal, bool use,
                    nod_page_fn *done, void *data)
{
    if (!server) { /* there is no thread to say it on */
        LOG_ERROR("there is no server: it is NULL", LOG_CSTR("function", "nod_page_check"));
        if (done)
            done(data, NOD_E_USAGE, NULL);
        return;
    }
    struct page_check *check = MEM_NEW(struct page_check);

    check->server = server;
    check->use = use;
    check->done = done;
    check->data = data;
    list_init(&check->link);
    arena_init(&check->arena, CHECK_ARENA_MAX);
    check->token = arena_str(&check->arena, str_of(token));
    check->principal = arena_str(&check->arena, str_of(principal));
    loop_post(server->loop, arrives, check);
}

void page_checks_drop(nod_server *server)
{
    struct list *at;

    waits_end(server);
    while ((at = list_first(&server->page_checks)))
        finish(LIST_OF(at, struct page_check, link), NOD_E_STORE);
}
