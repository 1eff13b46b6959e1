/*
 * core/grant_make: an answer becomes a grant before its call goes on.
 *
 * What a person chose stands in the journal, where the claim has put it in one transition with the
 * answer. Whoever runs the call on looks for such entries, and stores the grant first. If this node
 * dies before that, the next one does it; if it dies after it, the next one finds the grant there.
 *
 * Holds always: of two words on the same thing the later one counts, by the store's clock. So a
 * grant is made once, however often its call is run, and never again after it was revoked.
 */
#include "core/grant_inside.h"

#include <limits.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "core/note.h"

enum {
    MAKE_TRIES = 8,             /* of a grant that others write at the same time */
    GRANTING_ARENA = 256 << 10, /* memory while a grant is made or looked for */
};

struct granting *granting_of(struct call *call)
{
    if (!call->granting) {
        call->granting = MEM_NEW(struct granting);
        arena_init(&call->granting->arena, GRANTING_ARENA);
    }
    return call->granting;
}

void granting_free(struct call *call)
{
    if (!call->granting)
        return;
    arena_finish(&call->granting->arena);
    MEM_DELETE(call->granting);
    call->granting = NULL;
}

static void make_begin(struct call *call);

/* The entry was dealt with: on with the next, or with the call. */
static void made(struct call *call)
{
    granting_free(call);
    call->granted++;
    if (call->cancel_wanted)
        call_end_cancelled(call);
    else
        flow_again(&call->flow);
}

static void make_put_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    const struct granting *granting = call->granting;

    grant_put(call->engine, &granting->grant, granting->version, op_completed, op);
}

static void make_put_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    const struct grant *grant = &call->granting->grant;

    (void)reply;
    if (status == NOD_E_STALE && ++call->granting->tries < MAKE_TRIES) {
        make_begin(call);
        return;
    }
    if (status == NOD_OK)
        LOG_INFO("an approval is remembered", LOG_STR("tool", grant->tool),
                 LOG_STR("principal", grant->principal), LOG_STR("by", grant->by),
                 LOG_STR("scope", grant_scope_name(grant->scope)),
                 LOG_STR("match", grant_match_name(grant->match)), LOG_STR("grant", grant->id));
    else
        LOG_WARN("an approval could not be remembered: the next call asks again",
                 LOG_STR("tool", grant->tool), LOG_STR("principal", grant->principal),
                 LOG_CSTR("why", nod_status_name(status)));
    made(call);
}

static void make_keep_trying(struct call *call)
{
    if (engine_survives(call->engine))
        call->op.most = INT_MAX; /* what a person has chosen is not lost because a store is away */
}

/* --- a new one: how many are there? --- */

static void put_begin(struct call *call)
{
    op_start_of(call->engine, &call->op, call->principal, make_put_send, make_put_done);
    make_keep_trying(call);
}

static void count_row(void *data, const struct store_row *row)
{
    struct call *call = OP_OF((struct op *)data, struct call, op);

    (void)row;
    call->granting->of_page++;
}

static void count_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct granting *granting = call->granting;
    struct store *store = call->engine->store;

    granting->of_page = 0;
    store->ops->list(store,
                     &(struct store_list){ .kind = STR(GRANT_KIND),
                                           .prefix = str_n(granting->id, GRANT_OWNER_LEN),
                                           .cursor = str_n(granting->cursor, granting->cursor_len),
                                           .limit = GRANT_PAGE_MAX },
                     count_row, op_completed, op);
}

static void count_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    struct granting *granting = call->granting;

    granting->counted += granting->of_page;
    if (status == NOD_OK && granting->counted >= GRANTS_PER_PRINCIPAL) {
        LOG_WARN("an approval is not remembered: as many are as one principal may have",
                 LOG_STR("tool", granting->grant.tool),
                 LOG_STR("principal", granting->grant.principal),
                 LOG_INT("most", GRANTS_PER_PRINCIPAL));
        made(call);
    } else if (status == NOD_OK && reply->cursor.len && reply->cursor.len <= JOB_CURSOR_MAX) {
        granting->cursor_len = reply->cursor.len;
        memcpy(granting->cursor, reply->cursor.at, reply->cursor.len);
        op_start_of(call->engine, op, call->principal, count_send, count_done);
        make_keep_trying(call);
    } else {
        put_begin(call);
    }
}

/* --- is it there? --- */

static void make_get_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct store *store = call->engine->store;

    store->ops->get(store, STR(GRANT_KIND), call->granting->grant.id, op_completed, op);
}

static void make_get_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    struct granting *granting = call->granting;
    struct grant there;

    granting->version = status == NOD_E_NOT_FOUND ? STORE_NEW : 0; /* a spoilt one is replaced */
    if (status == NOD_OK) {
        granting->version = reply->version;
        if (grant_read(&granting->arena, granting->grant.id, reply->value, &there) &&
            there.at_ms >= granting->grant.at_ms) { /* this very one, or a later word */
            made(call);
            return;
        }
    }
    if (status != NOD_E_NOT_FOUND) {
        put_begin(call);
        return;
    }
    granting->cursor_len = granting->counted = 0;
    op_start_of(call->engine, op, call->principal, count_send, count_done);
    make_keep_trying(call);
}

static void make_begin(struct call *call)
{
    op_start_of(call->engine, &call->op, call->principal, make_get_send, make_get_done);
    make_keep_trying(call);
}

/* What the entry is to be remembered as. False: nothing, or it is too late for it. */
static bool wanted(struct call *call, const struct entry *entry, struct granting *granting)
{
    int64_t now = engine_now(call->engine);
    struct noted noted;

    if (!note_remember(entry->note, &granting->arena, &noted) || noted.at_ms + GRANT_MAKE_MS <= now)
        return false;
    struct grant *grant = &granting->grant;
    *grant = (struct grant){ .tool = noted.tool,
                             .principal = call->principal,
                             .by = arena_str(&granting->arena, entry->by),
                             .ask_id = arena_str(&granting->arena, entry->ask_id),
                             .message = noted.message,
                             .scope = noted.choice.scope,
                             .match = noted.choice.match,
                             .version = noted.version,
                             .for_ms = noted.choice.for_ms,
                             .at_ms = noted.at_ms };
    if (!str_eq(grant->tool, call->target->name))
        grant->asker = call->target->name;
    if (grant->match == GRANT_ARGUMENTS)
        grant->digest = noted.digest;
    if (grant->for_ms)
        grant->until_ms = noted.at_ms + grant->for_ms;
    if (grant->scope == GRANT_SESSION) {
        grant->session = call->scope;
        grant->until_ms = noted.at_ms + GRANT_SESSION_MS;
    }
    grant->id = grant_key(grant, granting->id);
    return !granting->arena.exhausted && !grant_is_over(grant, now);
}

bool grants_made(struct call *call)
{
    for (; call->granted < call->journal.count; call->granted++) {
        const struct entry *entry = &call->journal.entries[call->granted];
        if (entry->class != ENTRY_ASK || entry->state != ASK_ACCEPTED || !entry->note.len)
            continue;
        if (call->engine->stopping)
            return true; /* the call is left to other nodes as it is */
        if (!wanted(call, entry, granting_of(call))) {
            granting_free(call);
            continue;
        }
        call_enter(call, LIVE_SAVING);
        make_begin(call);
        return false;
    }
    return true;
}
