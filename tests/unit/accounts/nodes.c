/* tests/unit/accounts/nodes: see nodes.h. */
#include "nodes.h"

#include "node_store.h"
#include "../runner.h"

struct nodes nodes;

/* --- the store as a node sees it --- */

static struct {
    store_done *done;
    void *data;
} failed;

static void fail_now(void *data)
{
    (void)data;
    failed.done(failed.data, NOD_E_STORE, NULL);
}

static void view_put(struct store *store, struct str kind, struct str key, struct str value,
                     struct str whose, uint64_t version, int64_t ttl_ms, store_done *done,
                     void *data)
{
    struct node_view *view = (struct node_view *)(void *)store;

    view->puts++;
    if (nodes.failing_puts) {
        nodes.failing_puts--;
        failed.done = done;
        failed.data = data;
        loop_defer(nodes.loop, fail_now, NULL);
        return;
    }
    snprintf(view->put, sizeof(view->put), STR_FMT, STR_ARG(value));
    nodes.store->ops->put(nodes.store, kind, key, value, whose, version, ttl_ms, done, data);
}

static void view_get(struct store *store, struct str kind, struct str key, store_done *done,
                     void *data)
{
    ((struct node_view *)(void *)store)->gets++;
    nodes.store->ops->get(nodes.store, kind, key, done, data);
}

static void view_del(struct store *store, struct str kind, struct str key, store_done *done,
                     void *data)
{
    ((struct node_view *)(void *)store)->dels++;
    nodes.store->ops->del(nodes.store, kind, key, done, data);
}

static void view_list(struct store *store, const struct store_list *list, store_row_fn *row,
                      store_done *done, void *data)
{
    (void)store;
    nodes.store->ops->list(nodes.store, list, row, done, data);
}

static int64_t view_now(struct store *store)
{
    return clock_wall(&nodes.clock.clock) + ((struct node_view *)(void *)store)->ahead_ms;
}

static const struct store_ops view_ops = { .shared = true,
                                           .put = view_put,
                                           .get = view_get,
                                           .del = view_del,
                                           .list = view_list,
                                           .now = view_now };

/* --- the service --- */

static bool body_has(const struct far_end *far, const char *word)
{
    return strstr(far->body, word) != NULL;
}

static void give_tokens(struct far_end *far)
{
    char refresh[64] = "", scope[128] = "";

    nodes.generation++;
    if (!nodes.keeps_refresh)
        snprintf(refresh, sizeof(refresh), ",\"refresh_token\":\"refresh-%d\"", nodes.generation);
    if (nodes.grants)
        snprintf(scope, sizeof(scope), ",\"scope\":\"%s\"", nodes.grants);
    far_end_say(far, 200,
                "{\"access_token\":\"access-%d\",\"token_type\":\"bearer\",\"expires_in\":%d%s%s}",
                nodes.generation, nodes.lasts_s, refresh, scope);
}

static void service_answers(struct far_end *far, const struct http_request *request)
{
    char current[64];

    if (str_eq(request->path, STR("/revoke"))) {
        if (nodes.revokes < 4)
            sscanf(far->body, "token=%63[^&]", nodes.revoked[nodes.revokes]);
        nodes.revokes++;
        far_end_say(far, 200, "{}");
    } else if (body_has(far, "grant_type=authorization_code")) {
        nodes.exchanges++;
        give_tokens(far);
    } else {
        nodes.refreshes++;
        snprintf(current, sizeof(current), "refresh_token=refresh-%d&", nodes.generation);
        if (nodes.error)
            far_end_say(far, 400, "{\"error\":\"%s\"}", nodes.error);
        else if (!nodes.keeps_refresh && !body_has(far, current))
            far_end_say(far, 400, "{\"error\":\"invalid_grant\"}");
        else
            give_tokens(far);
    }
    if (nodes.fails) {
        nodes.fails--;
        far_end_say(far, 503, "Busy");
    }
}

/* --- the whole --- */

int nodes_setup(void **state)
{
    const void *part;
    const char *why;

    (void)state;
    memset(&nodes, 0, sizeof(nodes));
    nodes.lasts_s = NODES_LASTS_S;
    nodes.loop = loop_create();
    fake_clock_init(&nodes.clock, 1700000000000);
    nodes.store = node_store_create(&nodes.clock.clock, nodes.loop);
    nodes.ring = keyring_random();
    far_end_open(&nodes.far, nodes.loop);
    nodes.far.answers = service_answers;
    struct oauth_service_spec spec = far_end_spec(&nodes.far);
    spec.issuer = STR("https://mail.example");
    spec.scopes = STR("profile");
    for (int i = 0; i < NODES; i++) {
        nodes.views[i].store.ops = &view_ops;
        nodes.at[i] = accounts_create(&(struct accounts_opts){
            .loop = nodes.loop, .store = &nodes.views[i].store, .ring = nodes.ring });
        if (!accounts_add(nodes.at[i], &spec, &part, &why))
            fail_msg("%s", why);
    }
    return 0;
}

int nodes_teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) /* what the store has been asked is told */
        loop_turn(nodes.loop, 0);
    nodes.store->ops->destroy(nodes.store);
    for (int i = 0; i < NODES; i++)
        accounts_destroy(nodes.at[i]);
    far_end_close(&nodes.far);
    keyring_destroy(nodes.ring);
    loop_turn(nodes.loop, 0);
    loop_destroy(nodes.loop);
    return 0;
}

void nodes_kill(int node)
{
    accounts_destroy(nodes.at[node]);
    nodes.at[node] = NULL;
    nodes.far.held_count = 0; /* its requests end with it */
    nodes.far.holds = false;
}

/* --- operations --- */

static void on_token(void *data, const struct account_token *token)
{
    struct token_got *got = data;

    got->told++;
    got->status = token->status;
    snprintf(got->access, sizeof(got->access), STR_FMT, STR_ARG(token->access));
    snprintf(got->message, sizeof(got->message), STR_FMT, STR_ARG(token->message));
}

struct account_wait *nodes_want(int node, struct str principal, const char *scopes,
                                const char *ask_id, struct token_got *got)
{
    *got = (struct token_got){ 0 };
    return accounts_token(nodes.at[node],
                          &(struct account_want){ .principal = principal,
                                                  .service = STR("mail"),
                                                  .scopes = str_of(scopes),
                                                  .ask_id = str_of(ask_id) },
                          on_token, got);
}

struct token_got nodes_token(int node, struct str principal, const char *scopes)
{
    struct token_got got;

    nodes_want(node, principal, scopes, NULL, &got);
    nodes_await(got.told);
    return got;
}

static void on_flow(void *data, const struct account_flow_result *result)
{
    struct flow_got *got = data;

    got->told++;
    got->end = result->end;
    snprintf(got->url, sizeof(got->url), STR_FMT, STR_ARG(result->url));
    snprintf(got->message, sizeof(got->message), STR_FMT, STR_ARG(result->message));
}

struct account_flow nodes_flow(const char *ask_id, struct str principal, const char *scopes)
{
    return (struct account_flow){ .ask_id = str_of(ask_id),
                                  .principal = principal,
                                  .service = STR("mail"),
                                  .scopes = str_of(scopes),
                                  .redirect_uri = RETURN_URL,
                                  .state = STR("state"),
                                  .ttl_ms = 600000 };
}

struct flow_got nodes_begin(int node, const struct account_flow *flow)
{
    struct flow_got got = { 0 };

    accounts_begin(nodes.at[node], flow, on_flow, &got);
    nodes_await(got.told);
    return got;
}

struct flow_got nodes_return(int node, const struct account_flow *flow, const char *code)
{
    struct account_flow back = *flow;
    struct flow_got got = { 0 };

    back.code = str_of(code);
    accounts_return(nodes.at[node], &back, on_flow, &got);
    nodes_await(got.told);
    return got;
}

struct status_got {
    bool told;
    nod_status status;
};

static void on_status(void *data, nod_status status)
{
    *(struct status_got *)data = (struct status_got){ true, status };
}

nod_status nodes_keep(int node, const struct account_flow *flow)
{
    struct status_got got = { 0 };

    accounts_keep(nodes.at[node], flow, on_status, &got);
    nodes_await(got.told);
    return got.status;
}

void nodes_connect(int node, const char *ask_id, struct str principal, const char *scopes)
{
    struct account_flow flow = nodes_flow(ask_id, principal, scopes);

    assert_int_equal(nodes_begin(node, &flow).end, ACCOUNT_FLOW_GO);
    assert_int_equal(nodes_return(node, &flow, "code").end, ACCOUNT_FLOW_AGREED);
    assert_int_equal(nodes_keep(node, &flow), NOD_OK);
}

nod_status nodes_revoke(int node, struct str principal, struct str called)
{
    struct status_got got = { 0 };
    struct arena arena;

    arena_init(&arena, 1 << 16);
    accounts_revoke(nodes.at[node], accounts_id(&arena, principal, called), principal, on_status,
                    &got);
    arena_finish(&arena);
    nodes_await(got.told);
    return got.status;
}

struct rows_got {
    int count, refused;
    bool told;
};

static void on_row(void *data, const struct account_shown *account)
{
    ((struct rows_got *)data)->count++;
    ((struct rows_got *)data)->refused += account->refused;
}

static void on_listed(void *data, nod_status status, struct str cursor)
{
    assert_int_equal(status, NOD_OK);
    assert_int_equal(cursor.len, 0);
    ((struct rows_got *)data)->told = true;
}

int nodes_count(int node, struct str principal, int *refused)
{
    struct rows_got got = { 0 };

    accounts_list(nodes.at[node], principal, STR_NONE, 50, on_row, on_listed, &got);
    nodes_await(got.told);
    if (refused)
        *refused = got.refused;
    return got.count;
}
