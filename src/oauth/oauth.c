/*
 * oauth: see oauth.h. This file keeps the services and the work that is under way.
 *
 * A piece of work (struct work) is one thing after another: the store is asked, the service is
 * asked, the store is told. It ends by itself; whoever waits for it may go before.
 */
#include "oauth/oauth_inside.h"

#include <stdio.h>

#include "base/mem.h"

/* --- services --- */

/* The texts of a service, copied one behind the other. */
static struct str *texts_of(struct oauth_service_spec *spec, size_t which)
{
    struct str *const all[] = { &spec->name,           &spec->title,
                                &spec->issuer,         &spec->authorization_endpoint,
                                &spec->token_endpoint, &spec->revocation_endpoint,
                                &spec->client_id,      &spec->client_secret,
                                &spec->scopes,         &spec->resource,
                                &spec->parameters,     &spec->allow };

    return which < sizeof(all) / sizeof(all[0]) ? all[which] : NULL;
}

static void copy_spec(struct service *service, const struct oauth_service_spec *given)
{
    struct str *text;
    char *at;

    service->spec = *given;
    if (!given->title.len)
        service->spec.title = given->name;
    service->text_size = 0;
    for (size_t i = 0; (text = texts_of(&service->spec, i)); i++)
        service->text_size += text->len + 1;
    at = service->text = mem_alloc(service->text_size);
    for (size_t i = 0; (text = texts_of(&service->spec, i)); i++)
        *text = str_place(&at, *text);
}

static bool allow_all(struct reach *reach, struct str targets, const char **why)
{
    struct str word;

    *why = "allow is an address and a port, such as 10.0.0.7:8443 or [fd00::7]:8443; up to eight "
           "of them, with spaces between them";
    for (int n = 0; word_next(&targets, &word); n++)
        if (n == OAUTH_ALLOWED_MAX || !reach_allow(reach, word))
            return false;
    return true;
}

/* An address that this server itself asks, and may not reach: nobody could connect an account. A
 * name is looked up later. */
static bool is_barred(struct oauth *oauth, const struct service *service,
                      const struct oauth_service_spec *spec, const void **part, const char **why)
{
    const struct str *const urls[] = { spec->token_endpoint.len ? &spec->token_endpoint
                                                                : &spec->issuer,
                                       &spec->revocation_endpoint };
    char address[PEER_TEXT_MAX];
    struct peer peer;
    int port;

    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        if (!urls[i]->len || !fetch_url_is_barred(*urls[i], &service->reach, &peer, &port))
            continue;
        struct str text = peer_text(&peer, address);
        snprintf(oauth->problem, sizeof(oauth->problem),
                 peer.kind == PEER_IP6 ? STR_FMT
                     " is not a public address; if it is meant, say allow = [" STR_FMT "]:%d"
                                       : STR_FMT
                     " is not a public address; if it is meant, say allow = " STR_FMT ":%d",
                 STR_ARG(text), STR_ARG(text), port);
        *why = oauth->problem;
        *part = urls[i];
        return true;
    }
    return false;
}

bool oauth_add(struct oauth *oauth, const struct oauth_service_spec *spec, const void **part,
               const char **why)
{
    struct service *service = &oauth->services[oauth->service_count];

    if (!service_fits(spec, part, why))
        return false;
    *part = NULL;
    *why = "there are more than 32 services";
    if (oauth->service_count == OAUTH_SERVICES_MAX)
        return false;
    *why = "there is a service of that name already";
    if (service_find(oauth, spec->name))
        return false;
    *service = (struct service){ .oauth = oauth };
    *part = &spec->allow;
    if (!allow_all(&service->reach, spec->allow, why) || is_barred(oauth, service, spec, part, why))
        return false;
    *part = NULL;
    *why = "libcurl cannot be used";
    service->fetcher =
        fetcher_create(oauth->opts.loop, &(struct fetcher_opts){ .reach = &service->reach,
                                                                 .forgets = true,
                                                                 .ca_file = oauth->opts.ca_file });
    if (!service->fetcher)
        return false;
    copy_spec(service, spec);
    list_init(&service->waits);
    service->discovers = !service->spec.token_endpoint.len;
    if (!service->discovers) {
        service->authorization = str_dup(service->spec.authorization_endpoint);
        service->token = str_dup(service->spec.token_endpoint);
    }
    if (service->spec.revocation_endpoint.len)
        service->revocation = str_dup(service->spec.revocation_endpoint);
    if (!oauth->service_count++)
        replaced_start(oauth);
    return true;
}

struct service *service_find(struct oauth *oauth, struct str name)
{
    for (size_t i = 0; i < oauth->service_count; i++)
        if (str_eq(oauth->services[i].spec.name, name))
            return &oauth->services[i];
    return NULL;
}

bool oauth_has_services(const struct oauth *oauth)
{
    return oauth->service_count > 0;
}

struct str oauth_title(const struct oauth *oauth, struct str service)
{
    for (size_t i = 0; i < oauth->service_count; i++)
        if (str_eq(oauth->services[i].spec.name, service))
            return oauth->services[i].spec.title;
    return STR_NONE;
}

struct str service_identity(const struct service *service)
{
    return service->spec.issuer.len ? service->spec.issuer : service->spec.token_endpoint;
}

/* --- work --- */

void text_wipe(struct str text)
{
    if (text.len)
        explicit_bzero((char *)text.at, text.len);
}

struct work *work_begin(struct oauth *oauth, size_t size)
{
    struct work *work = mem_zalloc(size);

    work->oauth = oauth;
    arena_init(&work->arena, OAUTH_ARENA_MAX);
    work->arena.wiped = true;
    list_append(&oauth->works, &work->link);
    oauth->work_count++;
    return work;
}

void work_end(struct work *work)
{
    struct oauth *oauth = work->oauth;

    timer_stop(oauth->opts.loop, &work->timer);
    service_wait_stop(&work->ready);
    fetch_cancel(work->fetch);
    list_remove(&work->link);
    oauth->work_count--;
    if (work->freed)
        work->freed(work);
    arena_finish(&work->arena);
    mem_free(work);
}

static void go_on(void *data)
{
    struct work *work = data;

    work->again(work);
}

void work_later(struct work *work, int64_t after_ms, void (*again)(struct work *work))
{
    work->again = again;
    timer_set(work->oauth->opts.loop, &work->timer, after_ms, go_on, work);
}

bool work_retry(struct work *work, nod_status status, int most, void (*again)(struct work *work))
{
    int64_t pause = OAUTH_PAUSE_MS;

    if (status != NOD_E_STORE || ++work->tries >= most) {
        work->tries = 0;
        return false;
    }
    for (int i = 1; i < work->tries && pause < OAUTH_PAUSE_MOST_MS; i++)
        pause *= 2;
    work_later(work, pause < OAUTH_PAUSE_MOST_MS ? pause : OAUTH_PAUSE_MOST_MS, again);
    return true;
}

int64_t oauth_now(const struct oauth *oauth)
{
    return oauth->opts.store->ops->now(oauth->opts.store);
}

/* --- the whole --- */

struct oauth *oauth_create(const struct oauth_opts *opts)
{
    struct oauth *oauth = MEM_NEW(struct oauth);

    oauth->opts = *opts;
    map_init(&oauth->jobs, OAUTH_WAITS_MAX);
    list_init(&oauth->works);
    return oauth;
}

static void service_finish(struct service *service)
{
    discovery_drop(service);
    fetcher_destroy(service->fetcher);
    explicit_bzero(service->text, service->text_size);
    mem_free(service->text);
    mem_free(service->authorization);
    mem_free(service->token);
    mem_free(service->revocation);
}

void oauth_destroy(struct oauth *oauth)
{
    if (!oauth)
        return;
    timer_stop(oauth->opts.loop, &oauth->replaced_timer);
    LIST_EACH (at, &oauth->works)
        work_end(LIST_OF(at, struct work, link));
    for (size_t i = 0; i < oauth->service_count; i++)
        service_finish(&oauth->services[i]);
    map_finish(&oauth->jobs);
    mem_free(oauth);
}
