/*
 * front/watch: what is open for long ends with the credential it was opened with.
 *
 * An event stream is let in once and may stay open for hours. A watch looks at its credential
 * several times a second, and says when it no longer counts: signed out (here or on another node),
 * expired, its token gone from the token file or given to somebody else, or one of its roles gone.
 *
 * An open stream counts as use of its sign-in, so a page that is open is not idle.
 *
 * Holds always: a watch is told once, when it is in no list any more. Whoever is told may begin and
 * end watches.
 */
#include "core/store.h"
#include "front/signin.h"

const struct str watch_lost = STR_INIT("the token is no longer valid, or has lost a role");

static void take_out(struct front_watch *watch)
{
    if (watch->link.next) /* zeroed: it was never begun */
        list_remove(&watch->link);
    watch->front = NULL;
    if (watch->signin)
        watch->signin->watched--;
    watch->signin = NULL;
}

static void tell(struct list *ended)
{
    while (!list_empty(ended)) {
        struct front_watch *watch = LIST_OF(list_first(ended), struct front_watch, link);
        list_remove(&watch->link);
        watch->ended(watch->data, watch->why);
    }
}

void watches_end(struct front *front, const struct signin *signin, struct str why)
{
    struct list ended;

    list_init(&ended);
    LIST_EACH (at, &front->signins->watches) {
        struct front_watch *watch = LIST_OF(at, struct front_watch, link);
        if (watch->signin != signin)
            continue;
        take_out(watch);
        watch->why = why;
        list_append(&ended, &watch->link);
    }
    tell(&ended);
}

static void rechecked(struct signin_op *op, nod_status status)
{
    (void)status; /* a sign-in that has ended is forgotten by now */
    signin_op_free(op);
}

/* Why the credential no longer counts; empty: it does. */
static struct str wrong_with(struct front *front, const struct front_watch *watch)
{
    struct signin *signin = watch->signin;
    const struct principal *principal = &admit_local_user;

    if (signin && signin_now(front) >= signin->until_ms)
        return STR("the sign-in has expired");
    if (signin)
        principal = holder_principal(front, &signin->holder);
    else if (!watch->local)
        principal = tokens_find_digest(front->opts.tokens, &watch->token);
    if (!principal || !str_eq(principal->name, watch->principal) ||
        (principal->roles & watch->roles) != watch->roles)
        return watch_lost;
    if (signin) {
        signin_use(front, signin);
        if (!signin->checking && signin_store(front)->ops->shared &&
            loop_now(front->opts.loop) - signin->checked_ms > SIGNIN_FRESH_MS) {
            struct signin_op *op = signin_op_new(front, NULL, NULL);
            op->digest = signin->digest;
            op->done = rechecked;
            signin->checking = true;
            signin_fetch(op);
        }
    }
    return STR_NONE;
}

static void look(void *data)
{
    struct front *front = data;
    struct list ended;

    list_init(&ended);
    LIST_EACH (at, &front->signins->watches) {
        struct front_watch *watch = LIST_OF(at, struct front_watch, link);
        struct str why = wrong_with(front, watch);
        if (!why.len)
            continue;
        take_out(watch);
        watch->why = why;
        list_append(&ended, &watch->link);
    }
    if (!list_empty(&front->signins->watches))
        timer_set(front->opts.loop, &front->signins->look, SIGNIN_WATCH_MS, look, front);
    tell(&ended);
}

void front_watch(const struct front_request *request, struct front_watch *watch,
                 void (*ended)(void *data, struct str why), void *data)
{
    struct front *front = request->front;
    struct str token = admit_bearer(request->http);

    *watch = (struct front_watch){ .front = front,
                                   .signin = request->session,
                                   .local = !request->session && !token.len,
                                   .principal = request->principal,
                                   .roles = request->roles,
                                   .ended = ended,
                                   .data = data };
    digest_of(token, &watch->token);
    if (watch->signin)
        watch->signin->watched++;
    list_append(&front->signins->watches, &watch->link);
    if (!heap_has(&front->signins->look.node))
        timer_set(front->opts.loop, &front->signins->look, SIGNIN_WATCH_MS, look, front);
}

void front_unwatch(struct front_watch *watch)
{
    take_out(watch); /* perhaps from among those that are about to be told */
}
