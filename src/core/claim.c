/*
 * core/claim: leaving "pending" exactly once.
 *
 *     parseInput ▶ lookupPending ▶ validateContent ▶ buildResult ▶ publishResult ▶ finalize
 *
 * An ask can be answered from several places at the same moment: the client's form, two browser
 * tabs, another node, the clock. Whoever claims it first decides; everybody else is told who did.
 * The store makes the claim one transition (ask ended, journal longer, call runnable); this file
 * decides what may be claimed and what follows.
 *
 * Holds always: content is checked against the schema that was asked before the store hears of it;
 * nothing resumes before the claim is committed; an answer is matched by the exact id of its ask,
 * the principal it was put to and, where the surface counts its offers, the offer it answers. How
 * often a question was put is counted in its record: content that does not fit is asked for again
 * by a claim, too, so that it counts once whichever node it came to.
 */
#include "core/inside.h"

#include <limits.h>

#include "base/crash.h"
#include "base/log.h"
#include "base/mem.h"
#include "json/write.h"

enum {
    CLAIM_ARENA_MAX = 8 << 20,   /* memory of one answer while it is checked */
    CLAIM_LENT_BYTES = 16 << 10, /* of content that is checked as its giver's tree, not a copy */
};

struct claim {
    struct engine *engine;
    struct list link; /* in engine->claims */
    struct arena arena;
    struct flow flow;
    struct op op;
    struct answer answer; /* its text is behind the struct, and so is the id */
    struct str ask_id;
    size_t size;     /* with that text */
    struct ask *ask; /* what claim_ask found, and when */
    uint64_t looked;
    bool by_engine;
    bool url_done;  /* the word of a page */
    bool too_large; /* the content is not even looked at */
    bool again;     /* it does not fit, and is asked for once more */
    bool weighed;   /* `learned` is known */
    size_t learned; /* bytes of the call's journal, of one that does not wait here */
    struct id call; /* in whose journal it takes up room, while it is on its way */
    size_t coming;  /* bytes of that; 0: none, or as many as another answer to the same ask */
    int offer;      /* that it answers, or that was up when it was looked at; 0: whichever */
    enum ask_state outcome; /* what is claimed: the action, or ASK_INVALID */
    bool at_door;           /* with the others of its set, on the way to the store */
    struct str content;     /* JSON */
    bool lent;              /* answer.content is the giver's, who is still here */
    struct buf text;        /* the content as it was given */
    struct ask_record
        *record; /* of an ask that does not wait on this node; its text is in the arena */
    struct answer_result result;
    answered_fn *done;
    void *data;
};

static struct claim *claim_create(struct engine *engine, struct str ask_id,
                                  const struct answer *answer)
{
    size_t size = sizeof(struct claim) + ask_id.len + answer->by.len + answer->scope.len +
                  answer->via.len + 4;
    struct claim *claim = mem_alloc(size);
    size_t most = engine->opts.limits.journal_bytes;
    char *at = (char *)(claim + 1);

    *claim = (struct claim){
        .engine = engine, .answer = *answer, .outcome = answer->action, .size = size
    };
    claim->ask_id = str_place(&at, ask_id);
    claim->answer.by = str_place(&at, answer->by);
    claim->offer = answer->attempt;
    claim->answer.scope = str_place(&at, answer->scope);
    claim->answer.via = str_place(&at, answer->via);
    arena_init(&claim->arena, CLAIM_ARENA_MAX);
    buf_init(&claim->text, most < CLAIM_ARENA_MAX ? most : CLAIM_ARENA_MAX);
    list_init(&claim->link);
    list_append(&engine->claims, &claim->link);
    return claim;
}

static void claim_free(struct claim *claim)
{
    op_abandon(&claim->op);
    list_remove(&claim->link);
    buf_finish(&claim->text);
    mem_free(claim->record);
    arena_finish(&claim->arena);
    mem_free_sized(claim, claim->size);
}

struct answer_set {
    struct engine *engine;
    struct list link; /* in engine->sets */
    struct op op;
    size_t open;                            /* on their way to the store; one more until the end */
    size_t count;                           /* that have come so far */
    nod_status spoiled;                     /* one of them cannot count, and so no other does */
    struct claim *claims[STORE_CLAIM_MOST]; /* those */
};

static void set_free(struct answer_set *set)
{
    op_abandon(&set->op);
    list_remove(&set->link);
    mem_free(set);
}

void claims_drop(struct engine *engine)
{
    LIST_EACH (at, &engine->sets)
        set_free(LIST_OF(at, struct answer_set, link));
    LIST_EACH (at, &engine->claims)
        claim_free(LIST_OF(at, struct claim, link));
}

/* The ask, if it is pending here: the stages look for it again and again, and mostly nothing has
 * moved in between. */
static struct ask *claim_ask(struct claim *claim)
{
    const struct engine *engine = claim->engine;

    if (claim->looked != engine->asks_moved) {
        claim->ask = engine_ask(engine, claim->ask_id);
        claim->looked = engine->asks_moved;
    }
    return claim->ask;
}

static void reject(struct claim *claim, nod_status status)
{
    claim->result.status = status;
    flow_stop(&claim->flow, status);
}

/* --- the stages
 * ------------------------------------------------------------------------------------ */

/* The giver goes, or it is large: a tree of our own. None comes of what is too large as one. */
static void content_own(struct claim *claim)
{
    claim->answer.content = json_parse(&claim->arena, claim->content, NULL, NULL);
    claim->too_large = !claim->answer.content;
    claim->lent = false;
}

static void stage_parse_input(struct flow *flow, void *subject)
{
    struct claim *claim = subject;
    enum ask_state action = claim->answer.action;

    if (action != ASK_ACCEPTED && action != ASK_DECLINED && action != ASK_CANCELLED) {
        reject(claim, NOD_E_USAGE);
        return;
    }
    claim->too_large = action == ASK_ACCEPTED && claim->answer.too_large;
    if (action != ASK_ACCEPTED || !claim->answer.content) { /* a no carries no content */
        claim->answer.content = NULL;
        flow_next(flow);
        return;
    }
    if (json_write(&claim->text, claim->answer.content)) {
        claim->content = buf_str(&claim->text);
        claim->lent = claim->content.len <= CLAIM_LENT_BYTES;
        if (!claim->lent)
            content_own(claim);
    } else {
        claim->answer.content = NULL;
        claim->too_large = true;
    }
    flow_next(flow);
}

/* The same values, however they were written. */
static bool same_content(struct claim *claim, struct str given, struct str stored)
{
    if (str_eq(given, stored))
        return true;
    const struct json *one = json_parse(&claim->arena, given, NULL, NULL);
    const struct json *other =
        json_parse(&claim->arena, arena_str(&claim->arena, stored), NULL, NULL);
    return one && other && json_equal(one, other);
}

/* Is this how it ended? */
static bool same_answer(struct claim *claim, const struct ask_record *record)
{
    bool content = claim->answer.action == ASK_ACCEPTED && record->detail.len &&
                   (record->kind == ASK_FORM || record->kind == ASK_APPROVAL);
    struct str given = claim->content.len ? claim->content : STR("{}");

    return record->state == claim->answer.action && str_eq(record->by, claim->answer.by) &&
           (!content || record->sensitive || same_content(claim, given, record->content));
}

/* Nobody could go on with the answer: the call ends, and the answerer learns that. */
static void end_gone(struct claim *claim, const struct ask_record *record)
{
    struct outcome outcome = outcome_gone(&claim->arena, record->target);

    claim->result.state = ASK_WITHDRAWN;
    engine_end(claim->engine, arena_str(&claim->arena, record->call_id), &outcome);
    reject(claim, NOD_E_STALE);
}

static struct str claim_via(const struct claim *claim);

/* Another submission was first with another answer. */
static bool contradicts(const struct claim *claim, const struct ask_record *record)
{
    return claim->answer.set && !claim->result.same && str_eq(record->via, claim_via(claim));
}

/* May this answerer answer this ask? */
static void check_answerer(struct claim *claim, const struct ask_record *record)
{
    const struct surface *surface = claim->answer.surface;
    bool page = record->kind == ASK_URL && record->wait_done;

    if (claim->url_done) /* a page is opened for whom it was put to */
        claim->answer.by = arena_str(&claim->arena, record->principal);
    bool foreign = claim->answer.scope.len && !str_eq(record->scope, claim->answer.scope);
    if (!str_eq(record->principal, claim->answer.by) || foreign || (claim->url_done && !page)) {
        reject(claim, NOD_E_NOT_FOUND); /* whose it is, is nobody else's business */
    } else if (record->state == ASK_PENDING && target_is_gone(claim->engine, record->target)) {
        end_gone(claim, record);
    } else if (record->state != ASK_PENDING) {
        claim->result.state = record->state;
        claim->result.by = arena_str(&claim->arena, record->by);
        claim->result.same = same_answer(claim, record);
        if (contradicts(claim, record))
            claim->answer.set->spoiled = NOD_E_STALE;
        reject(claim, NOD_E_STALE);
    } else if (claim->answer.attempt && claim->answer.attempt < record->attempt) {
        claim->result.pending = true;
        reject(claim, NOD_E_STALE); /* it answers an offer that was replaced */
    } else if (record->consent && surface && surface->ops->model) {
        claim->result.pending = true;
        reject(claim, NOD_E_REFUSED);
    } else {
        flow_next(&claim->flow);
    }
}

static void loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;

    if (status == NOD_E_STORE && claim->answer.set)
        claim->answer.set->spoiled = status;
    if (status != NOD_OK) {
        reject(claim, status);
        return;
    }
    struct arena *arena = &claim->arena;
    struct ask_record *record = claim->record = MEM_NEW(struct ask_record);
    *record = *reply->ask;
    record->call_id = arena_str(arena, reply->ask->call_id);
    record->key = arena_str(arena, reply->ask->key);
    record->principal = arena_str(arena, reply->ask->principal);
    record->scope = arena_str(arena, reply->ask->scope);
    record->target = arena_str(arena, reply->ask->target);
    record->detail = arena_str(arena, reply->ask->detail);
    record->message = arena_str(arena, reply->ask->message);
    record->by = arena_str(arena, reply->ask->by);
    record->content = arena_str(arena, reply->ask->content);
    struct ask *ask = claim_ask(claim); /* it may have come back */
    check_answerer(claim, ask ? &ask->record : record);
}

static void stage_lookup(struct flow *flow, void *subject)
{
    struct claim *claim = subject;
    struct ask *ask = claim_ask(claim);

    (void)flow;
    if (ask) {
        check_answerer(claim, &ask->record);
        return;
    }
    if (claim->lent)
        content_own(claim);
    claim->engine->store->ops->load_ask(claim->engine->store, claim->ask_id, loaded, claim);
}

static struct str problem(struct claim *claim, const char *path, const char *message)
{
    return arena_fmt(&claim->arena, "[{\"path\":\"%s\",\"message\":\"%s\"}]", path, message);
}

/* Empty: the content is fine. Otherwise the problems as JSON. */
static struct str content_problems(struct claim *claim, const struct ask_record *record)
{
    const struct json *content = claim->answer.content;
    struct schema_problems problems;

    if (claim->too_large)
        return arena_fmt(
            &claim->arena,
            "[{\"path\":\"\",\"message\":\"is larger than an answer may be, which is %zu "
            "bytes of JSON\"}]",
            claim->engine->opts.limits.journal_bytes);
    switch (record->kind) {
    case ASK_FORM:
    case ASK_APPROVAL:
        if (content && content->type != JSON_OBJECT)
            return problem(claim, "", "expected an object");
        if (record->detail.len == 0) { /* the empty form */
            claim->content = STR_NONE;
            return STR_NONE;
        }
        if (!content) {
            content = json_new_object(&claim->arena);
            claim->content = STR("{}");
        }
        const struct schema *schema = engine_schema(claim->engine, record->detail);
        if (!schema)
            return problem(claim, "", "the question's schema cannot be used");
        if (schema_check(schema, content, &claim->arena, &problems) == NOD_OK)
            return STR_NONE;
        if (problems.count == 0)
            return problem(claim, "", "took too much work to check");
        return outcome_problems(&claim->arena, &problems);
    case ASK_URL:
        claim->content = STR_NONE; /* what happens on the page does not come through here */
        return STR_NONE;
    case ASK_SAMPLE:
        if (!json_get(content, STR("content")) || json_get_str(content, STR("role")).len == 0)
            return problem(claim, "", "expected a message with role and content");
        return STR_NONE;
    case ASK_ROOTS:
        if (!json_is(json_get(content, STR("roots")), JSON_ARRAY))
            return problem(claim, "/roots", "expected an array");
        return STR_NONE;
    }
    return problem(claim, "", "unknown kind of question");
}

/* Bytes that answers to the call's other asks add to its journal: they are on their way. */
static size_t others_coming(const struct claim *claim, struct str call_id)
{
    size_t bytes = 0;

    LIST_EACH (at, &claim->engine->claims) {
        const struct claim *other = LIST_OF(at, struct claim, link);
        if (other->coming && str_eq(id_str(&other->call), call_id) &&
            !str_eq(other->ask_id, claim->ask_id))
            bytes += other->coming;
    }
    return bytes;
}

/* It fits, and room is kept for it until it is in the journal or refused. Of several answers to one
 * ask only one will count, so they need the room of the largest. */
static void room_keep(struct claim *claim, const struct ask_record *record)
{
    size_t bytes =
        sizeof(struct entry) + record->key.len + claim->answer.by.len + claim->content.len;

    if (record->call_id.len != ID_LEN)
        return;
    LIST_EACH (at, &claim->engine->claims) {
        struct claim *other = LIST_OF(at, struct claim, link);
        if (other->coming && str_eq(other->ask_id, claim->ask_id)) {
            other->coming = bytes > other->coming ? bytes : other->coming;
            return;
        }
    }
    memcpy(claim->call.text, record->call_id.at, ID_LEN);
    claim->coming = bytes;
}

/* Bytes that an answer may add to a journal that has so many: a part stays free for steps. */
static size_t room_left(const struct claim *claim, const struct ask_record *record, size_t learned)
{
    size_t most = claim->engine->opts.limits.journal_bytes;
    size_t taken = learned + sizeof(struct entry) + record->key.len + claim->answer.by.len +
                   run_step_room(most);

    return taken < most ? most - taken : 0;
}

/* Any journal has room for as many of these as it may have entries. */
static bool is_small(const struct claim *claim)
{
    const struct engine_limits *limits = &claim->engine->opts.limits;

    return claim->content.len <= limits->journal_bytes / limits->journal_entries / 2;
}

/* Empty: it fits. Otherwise the problem as JSON. */
static struct str weigh(struct claim *claim, const struct ask_record *record, size_t learned)
{
    size_t room = room_left(claim, record, learned + others_coming(claim, record->call_id));

    if (claim->content.len <= room) {
        room_keep(claim, record);
        return STR_NONE;
    }
    return arena_fmt(&claim->arena,
                     "[{\"path\":\"\",\"message\":\"is %zu bytes, and this call may learn at most "
                     "%zu more (of %zu in all)\"}]",
                     claim->content.len, room, claim->engine->opts.limits.journal_bytes);
}

static void weighed(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;

    if (status == NOD_E_STORE && claim->answer.set)
        claim->answer.set->spoiled = status;
    if (status != NOD_OK) {
        reject(claim, status);
        return;
    }
    for (size_t i = 0; i < reply->call->entry_count; i++)
        claim->learned += entry_bytes(&reply->call->entries[i]);
    claim->weighed = true;
    flow_again(&claim->flow);
}

/* What invalid content leads to: asked again, still pending, or the end of the ask. */
static void content_invalid(struct claim *claim, const struct ask_record *record,
                            struct str problems)
{
    const struct surface *surface = claim->answer.surface;
    int most = surface ? surface->ops->attempts : 0;
    int attempt = claim->answer.attempt ? claim->answer.attempt : record->attempt;

    claim->result.problems = problems;
    if (most != 0 && record->attempts > 0)
        most = record->attempts;
    if (most == 0) {
        claim->result.pending = true;
        reject(claim, NOD_E_INVALID);
        return;
    }
    claim->offer = attempt > 0 ? attempt : 1;
    claim->again = claim->offer < most;
    claim->outcome = ASK_INVALID;
    claim->content = problems;
    flow_next(&claim->flow);
}

static void stage_validate(struct flow *flow, void *subject)
{
    struct claim *claim = subject;
    struct ask *ask = claim_ask(claim);
    static const struct ask_record gone = {
        0
    }; /* since it was looked for: the store will say so */
    const struct ask_record *record = claim->record ? claim->record : &gone;

    if (claim->answer.action != ASK_ACCEPTED) {
        flow_next(flow);
        return;
    }
    if (ask)
        record = &ask->record;
    struct str problems = claim->weighed ? STR_NONE : content_problems(claim, record);
    claim->answer.content = NULL; /* it may be the giver's, who need not wait for the rest */
    if (!problems.len && !is_small(claim) && !ask && !claim->weighed && record->call_id.len) {
        claim->engine->store->ops->load_call(claim->engine->store, record->call_id, weighed, claim);
        return;
    }
    if (!problems.len && !is_small(claim))
        problems = weigh(claim, record, ask ? ask->call->learned : claim->learned);
    if (problems.len) {
        content_invalid(claim, record, problems);
        return;
    }
    if (record->kind == ASK_URL && record->wait_done && !claim->url_done) {
        if (ask)
            ask->opened = true;
        claim->result = (struct answer_result){ .status = NOD_OK, .pending = true };
        flow_jump(flow, "finalize"); /* it is open; the page will say when it is done */
        return;
    }
    flow_next(flow);
}

static void stage_build_result(struct flow *flow, void *subject)
{
    struct claim *claim = subject;

    if (claim->outcome != ASK_ACCEPTED && claim->outcome != ASK_INVALID)
        claim->content = STR_NONE;
    flow_next(flow);
}

static struct str claim_via(const struct claim *claim)
{
    if (claim->by_engine)
        return claim->outcome == ASK_EXPIRED ? STR("clock") : STR("nod");
    if (claim->answer.via.len)
        return claim->answer.via;
    if (claim->url_done)
        return STR("page");
    return claim->answer.surface ? str_of(claim->answer.surface->ops->name) : STR("client");
}

static struct claim_item item_of(struct claim *claim)
{
    const struct ask *ask = claim_ask(claim);

    return (struct claim_item){ .ask_id = claim->ask_id,
                                .outcome = claim->outcome,
                                .content = claim->content,
                                .attempt = claim->offer - (ask && claim->offer ? ask->ahead : 0),
                                .again = claim->again };
}

static void publish_send(struct op *op)
{
    struct claim *claim = OP_OF(op, struct claim, op);
    struct engine *engine = claim->engine;
    struct ask *ask = claim_ask(claim);
    struct claim_item item = item_of(claim);
    struct claim_spec spec = { .token = id_str(&op->token),
                               .items = &item,
                               .count = 1,
                               .by = claim->answer.by,
                               .via = claim_via(claim),
                               .handed = claim->answer.handed };

    if (ask) { /* its call waits here: take it in the same transition */
        spec.take_for = engine->node;
        spec.handed |= ask->call->handed;
        op->most = INT_MAX; /* in an epoch that only the reply tells */
    }
    CRASH_POINT(answer_before);
    engine->store->ops->claim(engine->store, &spec, op_completed, op);
}

static struct str why_ended(enum ask_state state)
{
    switch (state) {
    case ASK_EXPIRED:
        return STR("Nobody answered in time");
    case ASK_CANCELLED:
        return STR("The question was replaced or dismissed");
    case ASK_WITHDRAWN:
        return STR("The call has ended");
    default:
        return STR("The question was answered elsewhere");
    }
}

static void claim_failed(struct claim *claim, nod_status status)
{
    struct ask *ask = claim_ask(claim);

    if (ask && claim->by_engine)
        ask->claiming = false;
    claim->result.pending = status == NOD_E_STORE || status == NOD_E_STALE;
    if (status == NOD_E_NOT_FOUND && ask) {
        LOG_ERROR("the store has lost a question", LOG_STR("ask", claim->ask_id),
                  LOG_STR("call", ask->record.call_id));
        call_wake(ask->call); /* it has ended elsewhere, or is lost as well */
    }
    reject(claim, status);
}

/* What follows for the call, if it is here: it may have gone, and come back, meanwhile. */
static void claimed(struct engine *engine, const struct store_reply *reply)
{
    struct call *call = engine_find(engine, reply->ask->call_id);

    if (!call)
        warm_drop(engine, reply->ask->call_id);
    bool ours = reply->taken && call && call_taken(call, reply);
    if (reply->taken && !ours)
        call_give_back(engine, reply->call, reply->epoch);
    if (!ours && call && list_empty(&call->asks))
        call_take(call); /* nobody may have taken it, or it has gone on without us since */
}

/* It is pending still: it was put once more, or another offer is up than the one that was
 * answered. */
static void still_up(struct claim *claim, nod_status status, const struct claimed *now)
{
    struct ask *ask = claim_ask(claim);
    bool put = claim->again && now->won;

    claim->result.pending = true;
    if (ask && put && ask->surface == claim->answer.surface)
        ask_offered_anew(ask, now->ask->attempt + ask->ahead, claim->result.problems);
    else if (ask && put)
        ask->record.attempt =
            now->ask->attempt + ask->ahead; /* the caller carries it back, and says why */
    else if (ask)
        ask_offered_anew(ask, now->ask->attempt + ask->ahead, STR_NONE);
    if (ask && claim->by_engine)
        ask->claiming = false;
    reject(claim, put ? NOD_E_INVALID : status);
}

/* The answerer is told; the claim is gone after this. */
static void claim_settle(struct claim *claim, const struct claimed *now)
{
    struct ask *ask = claim_ask(claim);
    enum ask_state state = now->ask->state;

    claim->coming = 0;
    claim->result.state = state;
    claim->result.by = now->ask->by; /* who is told is told before this returns */
    claim->result.status = now->won && state == claim->answer.action ? NOD_OK : NOD_E_STALE;
    claim->result.same = claim->result.status == NOD_E_STALE && same_answer(claim, now->ask);
    if (now->won && state == ASK_INVALID)
        claim->result.status = NOD_E_INVALID;
    if (ask) {
        ask->call->learned +=
            sizeof(struct entry) + now->ask->key.len + now->ask->content.len + now->ask->by.len;
        ask_end(ask, claim->answer.surface, why_ended(state));
    }
    flow_next(&claim->flow);
}

static void publish_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = OP_OF(op, struct claim, op);
    struct engine *engine = claim->engine;

    CRASH_POINT(answer_after);
    if (reply && reply->claimed_count && reply->ask->state == ASK_PENDING) {
        still_up(claim, status, &(struct claimed){ .ask = reply->ask, .won = reply->won });
        return;
    }
    if (status != NOD_OK) {
        claim_failed(claim, status);
        return;
    }
    claim_settle(claim, &(struct claimed){ .ask = reply->ask, .won = reply->won });
    claimed(engine, reply);
}

/* --- answers that are given together
 * -------------------------------------------------------------- */

static void set_send(struct op *op)
{
    struct answer_set *set = OP_OF(op, struct answer_set, op);
    struct engine *engine = set->engine;
    struct claim_item items[STORE_CLAIM_MOST];
    struct claim_spec spec = { .token = id_str(&op->token),
                               .items = items,
                               .count = set->count,
                               .by = set->claims[0]->answer.by,
                               .via = claim_via(set->claims[0]),
                               .whole = true };

    for (size_t i = 0; i < set->count; i++) {
        const struct ask *ask = claim_ask(set->claims[i]);
        items[i] = item_of(set->claims[i]);
        if (ask) {
            spec.take_for = engine->node;
            spec.handed = ask->call->handed;
            op->most = INT_MAX; /* as for one by itself */
        }
    }
    CRASH_POINT(answer_before);
    engine->store->ops->claim(engine->store, &spec, op_completed, op);
}

static void set_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct answer_set *set = OP_OF(op, struct answer_set, op);
    struct engine *engine = set->engine;
    struct claim *claims[STORE_CLAIM_MOST];
    size_t count = set->count;
    bool known = (status == NOD_OK || status == NOD_E_STALE) && reply->claimed_count == count;

    CRASH_POINT(answer_after);
    memcpy(claims, set->claims, count * sizeof(struct claim *));
    set_free(set);
    for (size_t i = 0; i < count; i++) {
        const struct claimed *now = known ? &reply->claimed[i] : NULL;
        if (!now)
            claim_failed(claims[i], status);
        else if (now->ask->state == ASK_PENDING)
            still_up(claims[i], NOD_E_STALE, now);
        else
            claim_settle(claims[i], now);
    }
    if (known)
        claimed(engine, reply);
}

static void publish_alone(struct claim *claim)
{
    op_start(claim->engine, &claim->op, publish_send, publish_done);
    /* Nobody would send this answer a second time, or the call may be taken by it in an epoch that
     * only the reply tells: go on for as long as the store is away. */
    if (claim->answer.once || claim_ask(claim))
        claim->op.most = INT_MAX;
}

/* None of it counts: two submissions never mix. */
static void set_spoiled(struct answer_set *set)
{
    struct claim *claims[STORE_CLAIM_MOST];
    nod_status status = set->spoiled;
    size_t count = set->count;

    memcpy(claims, set->claims, count * sizeof(struct claim *));
    set_free(set);
    for (size_t i = 0; i < count; i++) {
        claims[i]->result.pending = true;
        reject(claims[i], status);
    }
}

/* One that was waited for has come, or comes no more. */
static void set_left(struct answer_set *set)
{
    if (--set->open > 0)
        return;
    if (set->spoiled != NOD_OK) {
        set_spoiled(set);
        return;
    }
    if (set->count < 2) { /* nothing, or nothing to go with */
        for (size_t i = 0; i < set->count; i++)
            publish_alone(set->claims[i]);
        set_free(set);
        return;
    }
    op_start(set->engine, &set->op, set_send, set_done);
}

static void set_join(struct claim *claim)
{
    struct answer_set *set = claim->answer.set;

    if (set->count == STORE_CLAIM_MOST) {
        reject(claim, NOD_E_LIMIT);
        return;
    }
    claim->at_door = true;
    set->claims[set->count++] = claim;
    set_left(set);
}

struct answer_set *answers_begin(struct engine *engine)
{
    struct answer_set *set = MEM_NEW(struct answer_set);

    set->engine = engine;
    set->open = 1;
    list_init(&set->link);
    list_append(&engine->sets, &set->link);
    return set;
}

void answers_end(struct answer_set *set)
{
    set_left(set);
}

static void stage_publish(struct flow *flow, void *subject)
{
    struct claim *claim = subject;

    (void)flow;
    if (claim->answer.set) {
        set_join(claim);
        return;
    }
    publish_alone(claim);
}

static void claim_describe(void *subject, struct nod_hook_event *event)
{
    struct claim *claim = subject;
    struct ask *ask = claim_ask(claim);

    event->ask_id = claim->ask_id.at;
    event->principal = claim->answer.by.at;
    event->action = ask_state_name(claim->outcome).at;
    if (ask) {
        event->call_id = ask->record.call_id.at;
        event->target = ask->record.target.at;
        event->ask_key = ask->record.key.at;
        event->message = ask->record.message.at;
    }
}

static const struct stage answer_stages[] = {
    { "parseInput", stage_parse_input },   { "lookupPending", stage_lookup },
    { "validateContent", stage_validate }, { "buildResult", stage_build_result },
    { "publishResult", stage_publish },    { "finalize", NULL },
};

const struct flow_table answer_flow = { NOD_FLOW_ANSWER, answer_stages,
                                        sizeof(answer_stages) / sizeof(answer_stages[0]),
                                        claim_describe };

/*
 * A hook objected to an answer that cannot be given twice: its surface is done with this ask, which
 * moves on.
 */
static void offer_spent(struct claim *claim)
{
    struct ask *ask = claim_ask(claim);
    const struct surface *surface = claim->answer.surface;

    if (ask && claim->answer.once && !claim->by_engine && surface && ask->surface == surface)
        ask_offered(ask, ask->surface, OFFER_REFUSED);
}

static void claim_flow_done(struct flow *flow, void *subject, nod_status status)
{
    struct claim *claim = subject;

    (void)flow;
    if (status != NOD_OK && claim->result.status == NOD_OK &&
        claim->result.state == ASK_PENDING) { /* a hook objected, and not too late */
        claim->result.status = status;
        claim->result.pending = true;
        offer_spent(claim);
    }
    LOG_DEBUG("answer", LOG_STR("ask", claim->ask_id),
              LOG_STR("action", ask_state_name(claim->outcome)),
              LOG_CSTR("status", nod_status_name(claim->result.status)));
    struct answer_set *left = claim->at_door ? NULL : claim->answer.set;
    if (claim->done)
        claim->done(claim->data, &claim->result);
    claim_free(claim);
    if (left)
        set_left(left);
}

/* --- the ways in
 * ------------------------------------------------------------------------------------- */

void ask_answer(struct engine *engine, struct str ask_id, const struct answer *answer,
                answered_fn *done, void *data)
{
    struct claim *claim = claim_create(engine, ask_id, answer);

    claim->answer.once |= !done;
    claim->done = done;
    claim->data = data;
    if (answer->set)
        answer->set->open++;
    flow_start(&claim->flow, &answer_flow, &engine->hooks, NULL, claim, claim_flow_done);
}

void ask_url_done(struct engine *engine, struct str ask_id, answered_fn *done, void *data)
{
    struct claim *claim = claim_create(engine, ask_id, &(struct answer){ .action = ASK_ACCEPTED });

    claim->url_done = true;
    claim->answer.by = STR_NONE; /* nobody, until it is known whom it was put to */
    claim->answer.once = !done;
    claim->done = done;
    claim->data = data;
    flow_start(&claim->flow, &answer_flow, &engine->hooks, NULL, claim, claim_flow_done);
}

/* The engine's own word comes in behind the questions of who may answer, and what. */
static void claim_own(struct claim *claim)
{
    claim->by_engine = true;
    claim->answer.once = !claim->done;
    claim->answer.by = STR("nod");
    flow_place(&claim->flow, &answer_flow, &claim->engine->hooks, "buildResult", claim,
               claim_flow_done);
    claim->flow.firm = true; /* a hook may object to an answer; not to the clock */
    flow_enter(&claim->flow);
}

void claim_by_engine(struct ask *ask, enum ask_state outcome)
{
    ask->claiming = true;
    claim_own(
        claim_create(ask->call->engine, id_str(&ask->id), &(struct answer){ .action = outcome }));
}

static void claim_elsewhere(struct engine *engine, struct str ask_id, enum ask_state outcome,
                            answered_fn *done, void *data)
{
    struct claim *claim = claim_create(engine, ask_id, &(struct answer){ .action = outcome });

    claim->done = done;
    claim->data = data;
    claim_own(claim);
}

void claim_overdue(struct engine *engine, struct str ask_id, answered_fn *done, void *data)
{
    claim_elsewhere(engine, ask_id, ASK_EXPIRED, done, data);
}

void claim_replaced(struct engine *engine, struct str ask_id)
{
    struct ask *ask = engine_ask(engine, ask_id);

    if (!ask)
        claim_elsewhere(engine, ask_id, ASK_CANCELLED, NULL, NULL);
    else if (!ask->claiming)
        claim_by_engine(ask, ASK_CANCELLED);
}

void ask_unsupported(struct engine *engine, struct str ask_id, answered_fn *done, void *data)
{
    claim_elsewhere(engine, ask_id, ASK_UNSUPPORTED, done, data);
}
