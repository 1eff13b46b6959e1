/*
 * accounts/token: the access token of an account, refreshed in time, once.
 *
 *     read ─▶ it lasts ──────────────────────────────────────────────▶ given to all who wait
 *       ▲      │ it is about to run out
 *       │      ├─ another node refreshes it: look again a little later
 *       │      └─ lease (the record says that this node refreshes) ─▶ ask the service ─▶ keep
 *       └──────── somebody was faster: the record has changed ◀──────────────────────────┘
 *
 * All who want the token of one account on this node wait for one job. Of several nodes one gets
 * the lease: it replaces the record only if nobody else has done so since it was read. What comes
 * from the service is kept in the same way.
 *
 * A node may die at any of these arrows:
 * - with the lease: it runs out after ACCOUNTS_LEASE_MS, and the next node refreshes.
 * - after the service has answered, and before that is kept: nobody has the new tokens. The next
 *   node comes with the old refresh token. A service that takes it once more goes on as if nothing
 *   had happened; one that gives each refresh token only one use refuses it, and the person
 *   connects the account again.
 * A node that was asleep does not begin a refresh with a lease that is about to run out, and its
 * late word is not kept.
 */
#include <stdio.h>

#include "accounts/accounts_inside.h"
#include "base/crash.h"
#include "base/id.h"
#include "base/log.h"
#include "base/mem.h"

struct job {
    struct work work; /* first; its key is that of the account */
    struct oauth_service *service;
    struct list waits; /* struct account_wait */
    struct account account;
    uint64_t version;
    struct id lease;
    int64_t until_ms; /* loop_now by which it has to be over */
    char *stray;      /* a token that came when the record had changed; NULL: none */
    char message[OAUTH_MESSAGE_MAX];
};

struct account_wait {
    struct list link; /* in job->waits */
    struct accounts *accounts;
    account_token_done *done;
    void *data;
    struct timer timer; /* for an end that is known at once */
    nod_status status;
    bool looked;                   /* nothing is held for its question any more */
    char name[OAUTH_NAME_MAX + 1]; /* of the service, if it is not known */
    char ask_id[ID_LEN + 1];
    char scopes[OAUTH_TEXT_MAX + 1];
};

static void job_read(void *data);
static void job_lease(struct job *job);
static void job_fail(struct job *job, nod_status status, const char *message);

/* --- those who wait --- */

static void wait_free(struct account_wait *wait)
{
    list_remove(&wait->link);
    timer_stop(wait->accounts->opts.loop, &wait->timer);
    wait->accounts->wait_count--;
    mem_free(wait);
}

static void wait_tell(struct account_wait *wait, const struct account_token *token)
{
    account_token_done *done = wait->done;
    void *data = wait->data;

    wait_free(wait);
    done(data, token);
}

void accounts_token_cancel(struct account_wait *wait)
{
    if (wait)
        wait_free(wait);
}

/* With fewer scopes than are wanted, an account is as good as none. */
static void wait_answer(struct account_wait *wait, const struct account_token *token,
                        const struct account *account)
{
    struct account_token narrow = { .status = NOD_E_NOT_FOUND };

    if (token->status != NOD_OK || oauth_scopes_within(str_of(wait->scopes), account->scopes)) {
        wait_tell(wait, token);
        return;
    }
    if (wait->ask_id[0] && str_eq(account->ask_id, str_of(wait->ask_id)))
        narrow.status = NOD_E_REFUSED;
    narrow.message = STR("The account was connected with fewer permissions than are needed.");
    wait_tell(wait, &narrow);
}

static void job_freed(struct work *work)
{
    struct job *job = (struct job *)(void *)work;

    if (map_get(&work->accounts->jobs, work_key(&job->work)) == job)
        map_remove(&work->accounts->jobs, work_key(&job->work));
    LIST_EACH (at, &job->waits)
        wait_free(LIST_OF(at, struct account_wait, link));
    if (job->stray)
        explicit_bzero(job->stray, strlen(job->stray));
    mem_free(job->stray);
}

/* What is held for a question that was accepted is kept by now, by this node or another one. */
static void held_kept(void *data, nod_status status)
{
    struct job *job = data;

    if (status == NOD_OK)
        job_read(job);
    else
        job_fail(job, status, STORE_AWAY ".");
}

/* Somebody has had the account connected, and is told that there is none, or none that will do: its
 * node may have died before it was kept. The job then goes on with that. */
static bool is_held(struct job *job, const struct account_token *token)
{
    LIST_EACH (at, &job->waits) {
        struct account_wait *wait = LIST_OF(at, struct account_wait, link);
        bool lacks = token->status == NOD_E_NOT_FOUND ||
                     (token->status == NOD_OK &&
                      !oauth_scopes_within(str_of(wait->scopes), job->account.scopes));
        if (!lacks || wait->looked || !wait->ask_id[0] ||
            str_eq(job->account.ask_id, str_of(wait->ask_id)))
            continue;
        wait->looked = true;
        held_keep(job->work.accounts, str_of(wait->ask_id), work_key(&job->work), held_kept, job);
        return true;
    }
    return false;
}

/* Nobody new comes to it: whoever is told may begin another one for the same account. */
static void job_over(struct job *job, const struct account_token *token)
{
    struct list *at;

    if (is_held(job, token))
        return;
    map_remove(&job->work.accounts->jobs, work_key(&job->work));
    while ((at = list_first(&job->waits)))
        wait_answer(LIST_OF(at, struct account_wait, link), token, &job->account);
    work_end(&job->work);
}

static void job_fail(struct job *job, nod_status status, const char *message)
{
    job_over(job, &(struct account_token){ .status = status, .message = str_of(message) });
}

static void job_none(struct job *job)
{
    job_fail(job, NOD_E_NOT_FOUND, ""); /* nothing more is to say: the person is asked */
}

static void job_give(struct job *job)
{
    job_over(job, &(struct account_token){ .status = NOD_OK, .access = job->account.access });
}

/* --- looking --- */

static int64_t left_of(const struct job *job)
{
    return job->account.expires_ms ? job->account.expires_ms - accounts_now(job->work.accounts)
                                   : INT64_MAX;
}

/* A token that never lasts longer than that would be refreshed for every call. */
static bool is_fresh(const struct job *job)
{
    const struct account *account = &job->account;
    int64_t since = account->refreshed_ms ? account->refreshed_ms : account->connected_ms;
    int64_t early = (account->expires_ms - since) / 4;

    return left_of(job) > (early < ACCOUNTS_EARLY_MS ? early : ACCOUNTS_EARLY_MS);
}

/* Does another node refresh it? All who want it on this node wait for this job, so if no other node
 * has the store, whoever has left a lease there is gone. */
static bool is_leased(const struct job *job)
{
    int64_t left = job->account.lease_until_ms - accounts_now(job->work.accounts);

    if (!job->work.accounts->opts.store->ops->shared)
        return false;
    /* A lease of the far future is one of a clock that was wrong. What two nodes take for the time
     * differs by a little: a lease that has just been taken may seem to last longer than it does.
     */
    return job->account.lease.len && left > 0 && left <= 2 * ACCOUNTS_LEASE_MS;
}

static void job_look_later(struct job *job)
{
    if (loop_now(job->work.accounts->opts.loop) >= job->until_ms)
        job_fail(job, NOD_E_IO, "The account's token is being refreshed, which takes too long.");
    else
        work_later(&job->work, ACCOUNTS_LOOK_MS, job_read);
}

static void read_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct job *job = data;

    if (status == NOD_E_STORE) {
        job_fail(job, NOD_E_STORE, STORE_AWAY ".");
        return;
    }
    job->version = status == NOD_OK ? reply->version : 0;
    bool there =
        status == NOD_OK && account_read(job->work.accounts, &job->work.arena, ACCOUNT_KIND,
                                         work_key(&job->work), reply->value, &job->account);
    if (job->stray && (!there || job->account.state == ACCOUNT_REVOKED))
        revoke_tell(job->work.accounts, job->service,
                    &(struct account){ .refresh = str_of(job->stray) }, NULL, NULL);
    if (!there || !account_counts(&job->account, job->service))
        job_none(job);
    else if (is_fresh(job))
        job_give(job);
    else if (is_leased(job))
        left_of(job) > ACCOUNTS_EARLY_MS / 12 ? job_give(job) : job_look_later(job);
    else if (job->account.refresh.len)
        job_lease(job);
    else if (left_of(job) > 0)
        job_give(job);
    else
        job_none(job);
}

static void job_read(void *data)
{
    struct job *job = data;

    arena_reset(&job->work.arena);
    job->account = (struct account){ 0 };
    work_get(&job->work, ACCOUNT_KIND, work_key(&job->work), ACCOUNTS_STORE_TRIES, read_done);
}

/* The record in the version that was read is replaced. */
static void job_put(struct job *job, int most, store_done *done)
{
    account_put(&job->work, ACCOUNT_KIND, work_key(&job->work), &job->account, job->version, 0,
                most, done);
}

/* --- refreshing --- */

/* The lease ends without new tokens. If that cannot be written it runs out by itself. */
static void let_go_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct job *job = data;

    (void)status;
    (void)reply;
    if (left_of(job) > 0)
        job_give(job);
    else
        job_fail(job, NOD_E_IO, job->message);
}

/* `why` is for the operator, and may name addresses of their network. What is `said` goes to the
 * caller. */
static void job_let_go(struct job *job, const char *said, const char *why)
{
    LOG_WARN("the token of a connected account cannot be refreshed, which is tried again",
             LOG_STR("service", job->service->spec.name),
             LOG_STR("principal", job->account.principal), LOG_CSTR("why", why));
    snprintf(job->message, sizeof(job->message), STR_FMT " does not renew its access token: %s.",
             STR_ARG(job->service->spec.title), said);
    job->account.lease = STR_NONE;
    job->account.lease_until_ms = 0;
    job_put(job, 1, let_go_done);
}

static void keep_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct job *job = data;

    (void)reply;
    CRASH_POINT(refresh_after);
    if (status == NOD_E_STALE) { /* revoked, or connected anew, meanwhile: that counts */
        if (!job->stray && job->account.refresh.len)
            job->stray = str_dup(job->account.refresh);
        job_read(job);
    } else if (status != NOD_OK) {
        job_fail(job, NOD_E_STORE, STORE_AWAY ".");
    } else if (job->account.state == ACCOUNT_CONNECTED) {
        job_give(job);
    } else {
        job_none(job);
    }
}

/* Sent again after a lost reply it may find its own word there, and read it. */
static void job_keep(struct job *job)
{
    job_put(job, ACCOUNTS_KEEP_TRIES, keep_done);
}

static void answered(void *data, const struct fetch_result *result)
{
    struct job *job = data;
    struct oauth_tokens tokens;
    char why[OAUTH_MESSAGE_MAX];

    job->work.fetch = NULL;
    CRASH_POINT(refresh_before);
    job->account.lease = STR_NONE;
    job->account.lease_until_ms = 0;
    if (!oauth_tokens_read(&job->work.arena, result, &tokens)) {
        if (result->end == FETCH_DONE)
            snprintf(why, sizeof(why), "it answers with the status %d, and no token",
                     result->status);
        else
            oauth_unreached(result, why);
        job_let_go(job, result->end == FETCH_DONE ? why : "it cannot be reached at the moment",
                   why);
    } else if (!tokens.error.len) {
        struct account *account = &job->account;
        int64_t now = accounts_now(job->work.accounts);
        account->access = tokens.access;
        if (tokens.refresh.len)
            account->refresh = tokens.refresh;
        if (tokens.scopes.len)
            account->scopes = tokens.scopes;
        account->expires_ms = tokens.lasts_ms ? now + tokens.lasts_ms : 0;
        account->refreshed_ms = now;
        job_keep(job);
    } else if (oauth_is_refusal(tokens.error)) {
        LOG_INFO("a service refuses a connected account: its person is asked again",
                 LOG_STR("service", job->service->spec.name),
                 LOG_STR("principal", job->account.principal), LOG_STR("error", tokens.error));
        job->account.state = ACCOUNT_REFUSED;
        job->account.access = job->account.refresh = STR_NONE;
        job->account.expires_ms = 0;
        job_keep(job);
    } else {
        snprintf(why, sizeof(why), "it says " STR_FMT, STR_ARG(tokens.error));
        job_let_go(job, why, why);
    }
}

/* The lease is ours. If this process was asleep since, it may be somebody else's soon. */
static void job_ask(struct job *job)
{
    if (job->account.lease_until_ms - accounts_now(job->work.accounts) < ACCOUNTS_LEASE_REST_MS) {
        job_look_later(job);
        return;
    }
    job->work.fetch = oauth_refresh(job->service, job->account.refresh, answered, job);
    if (!job->work.fetch)
        job_let_go(job, "the request cannot be sent", "the request cannot be sent");
}

static void lease_done(void *data, nod_status status, const struct store_reply *reply)
{
    struct job *job = data;

    CRASH_POINT(lease_after);
    if (status == NOD_E_STALE) { /* another node has it, or the record is another by now */
        job_read(job);
    } else if (status == NOD_E_STORE) { /* whether it is ours is read */
        job_look_later(job);
    } else if (status != NOD_OK) {
        job_fail(job, NOD_E_STORE, STORE_AWAY ".");
    } else {
        job->version = reply->version;
        job_ask(job);
    }
}

static void lease_ready(void *data, const char *why)
{
    struct job *job = data;

    if (why) {
        snprintf(job->message, sizeof(job->message), STR_FMT " cannot be reached at the moment.",
                 STR_ARG(job->service->spec.title));
        if (left_of(job) > 0)
            job_give(job);
        else
            job_fail(job, NOD_E_IO, job->message);
        return;
    }
    id_random(&job->lease);
    job->account.lease = id_str(&job->lease);
    job->account.lease_until_ms = accounts_now(job->work.accounts) + ACCOUNTS_LEASE_MS;
    CRASH_POINT(lease_before);
    job_put(job, 1, lease_done);
}

/* The endpoints are found before the lease is taken, so that its time is for the refresh. */
static void job_lease(struct job *job)
{
    oauth_service_await(job->service, &job->work.ready, lease_ready, job);
}

/* --- the beginning --- */

static void say_unknown(const struct account_wait *wait, struct buf *out)
{
    const struct accounts *accounts = wait->accounts;

    buf_fmt(out, "This server knows no service named %s (see --oauth and nod_oauth); it has %s",
            wait->name, accounts->service_count ? "" : "none");
    for (size_t i = 0; i < accounts->service_count && out->len < NEED_MESSAGE_MAX / 2; i++)
        buf_fmt(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(accounts->services[i].spec.name));
    buf_add(out, STR("."));
}

static void tell_now(void *data)
{
    struct account_wait *wait = data;
    struct account_token token = { .status = wait->status };
    struct buf message;

    buf_init(&message, NEED_MESSAGE_MAX);
    if (wait->status == NOD_E_LIMIT)
        buf_add(&message, STR("Too many calls wait for a token."));
    else if (wait->name[0])
        say_unknown(wait, &message);
    else
        buf_add(&message, STR("What is wanted of the service is too long."));
    token.message = buf_str(&message);
    wait_tell(wait, &token);
    buf_finish(&message);
}

struct account_wait *accounts_token(struct accounts *accounts, const struct account_want *want,
                                    account_token_done *done, void *data)
{
    struct oauth_service *service = service_find(accounts, want->service);
    struct account_wait *wait = MEM_NEW(struct account_wait);
    char text[ACCOUNT_KEY_MAX];

    *wait = (struct account_wait){ .accounts = accounts, .done = done, .data = data };
    list_init(&wait->link);
    if (!service)
        snprintf(wait->name, sizeof(wait->name), STR_FMT, STR_ARG(want->service));
    if (!service)
        wait->status = NOD_E_NOT_SUPPORTED;
    else if (want->scopes.len > OAUTH_TEXT_MAX || want->ask_id.len > ID_LEN)
        wait->status = NOD_E_USAGE;
    else if (accounts->wait_count >= ACCOUNTS_WAITS_MAX)
        wait->status = NOD_E_LIMIT;
    accounts->wait_count++;
    if (wait->status != NOD_OK) {
        timer_set(accounts->opts.loop, &wait->timer, 0, tell_now, wait);
        return wait;
    }
    snprintf(wait->scopes, sizeof(wait->scopes), STR_FMT, STR_ARG(want->scopes));
    snprintf(wait->ask_id, sizeof(wait->ask_id), STR_FMT, STR_ARG(want->ask_id));
    struct str key = account_key(text, want->principal, want->service);
    struct job *job = map_get(&accounts->jobs, key);
    if (!job) {
        job = work_begin(accounts, sizeof(*job), key);
        job->work.freed = job_freed;
        job->service = service;
        job->until_ms = loop_now(accounts->opts.loop) + ACCOUNTS_WAIT_MS;
        list_init(&job->waits);
        map_add(&accounts->jobs, work_key(&job->work), job);
        job_read(job);
    }
    list_append(&job->waits, &wait->link);
    return wait;
}
