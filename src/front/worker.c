/*
 * front/worker: service workers that others have left in a browser.
 *
 * A service worker sits between the pages of an origin and its server. A program that had our
 * address before can have left one, and pages of ours would come through it. This server has none.
 * But with each page that is opened, the browser itself asks the server for the script of the
 * worker, past the worker, and says so (Service-Worker: script). It is given one that takes the
 * place of what is there, empties the caches of its kind, takes itself away, and loads the pages
 * again that came through the old one.
 *
 * So a strange worker lasts until the browser has asked: the first page is still its own, and if
 * the browser may take the script from its cache (updateViaCache), it has a day. What finds it
 * then, if it passes our pages on as they are, is the page (web/live.js).
 */
#include "base/log.h"
#include "front/front_inside.h"

static const struct str worker = STR_INIT(
    "addEventListener('install', () => skipWaiting());\n"
    "addEventListener('activate', (event) => event.waitUntil((async () => {\n"
    "  for (const name of await caches.keys()) await caches.delete(name);\n"
    "  await registration.unregister();\n"
    "  for (const page of await clients.matchAll({ type: 'window' })) page.navigate(page.url);\n"
    "})()));\n");

bool worker_answer(struct front *front, const struct http_request *http, struct http_ruling *ruling)
{
    /* A worker whose script is in some folder may be for all paths, if it was so allowed. */
    static const struct http_header headers[] = {
        { STR_INIT("Content-Type"), STR_INIT("text/javascript; charset=utf-8") },
        { STR_INIT("Service-Worker-Allowed"), STR_INIT("/") },
    };

    if (!front->signins || !str_eq(http->method, STR("GET")) ||
        !str_eq(http_header(http, STR("Service-Worker")), STR("script")))
        return false;
    if (!front->worker_logged)
        LOG_WARN("a browser has a service worker that is not this server's: another program has "
                 "had this address; the worker is removed");
    front->worker_logged = true;
    ruling->status = 200;
    ruling->lines = page_lines;
    ruling->body = worker;
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
        ruling->headers[ruling->header_count++] = headers[i];
    return true;
}
