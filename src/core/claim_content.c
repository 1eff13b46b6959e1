/*
 * core/claim_content: the content of an answer, before it is claimed.
 *
 * The stage parseInput reads the content. The stage validateContent checks it against the question
 * as it was asked, and measures it: a call learns a bounded number of bytes, and a part of its
 * journal stays free for the results of steps.
 *
 * Holds always: content that reaches the claim fits the schema, and the journal has room for it
 * beside all other answers on their way. Content that does not fit is named by path. It leads to
 * another offer, leaves the answerer another try, or ends the ask: see content_invalid. So does an
 * answer that a hook objects to, if nobody would give it again.
 */
#include "core/claim.h"

#include "base/mem.h"
#include "core/catalog.h"
#include "core/problems.h"
#include "json/write.h"

enum {
    CLAIM_OBJECTIONS_MOST = 8,   /* times that hooks may refuse an answer, unless its author says */
    CLAIM_LENT_BYTES = 16 << 10, /* of content that is checked as its giver's tree, not a copy */
    CLAIM_UNASKED_MAX = 16, /* members of content beyond the fields of the form; they are kept */
};

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

/* What it brings, if it was given on the question's page. */
static enum page_brings page_brings(const struct claim *claim, const struct ask_record *record)
{
    return claim->page ? ask_page_brings(record->page) : PAGE_BRINGS_NOTHING;
}

bool claim_agrees(struct claim *claim, const struct ask_record *record)
{
    bool form = record->kind == ASK_FORM || record->kind == ASK_APPROVAL;
    bool content = claim->answer.action == ASK_ACCEPTED &&
                   (record->kind != ASK_URL || page_brings(claim, record) != PAGE_BRINGS_NOTHING) &&
                   (record->detail.len || !form); /* the empty form takes none */
    struct str given = claim->content.len ? claim->content : STR("{}");

    return record->state == claim->answer.action && str_eq(record->by, claim->answer.by) &&
           (!content || (record->sensitive && !record->content.len) ||
            same_content(claim, given, record->content));
}

void claim_own_content(struct claim *claim)
{
    claim->answer.content = json_parse(&claim->arena, claim->content, NULL, NULL);
    claim->too_large = !claim->answer.content;
    claim->lent = false;
}

void claim_parse_input(struct flow *flow, void *subject)
{
    struct claim *claim = subject;
    enum ask_state action = claim->answer.action;

    if (action != ASK_ACCEPTED && action != ASK_DECLINED && action != ASK_CANCELLED) {
        claim_reject(claim, NOD_E_USAGE);
        return;
    }
    claim->too_large = action == ASK_ACCEPTED && claim->answer.too_large;
    if (action != ASK_ACCEPTED || !claim->answer.content) { /* only a yes has content */
        claim->answer.content = NULL;
        flow_next(flow);
        return;
    }
    if (claim->content.len) { /* a hook has written it */
        flow_next(flow);
        return;
    }
    if (json_write(&claim->text, claim->answer.content)) {
        claim->content = buf_str(&claim->text);
        claim->lent = claim->content.len <= CLAIM_LENT_BYTES;
        if (!claim->lent)
            claim_own_content(claim);
    } else {
        claim->answer.content = NULL;
        claim->too_large = true;
    }
    flow_next(flow);
}

nod_status claim_write_content(void *subject, size_t stage, enum hook_field field, struct str text,
                               struct arena *arena, struct str *why)
{
    struct claim *claim = subject;

    (void)stage, (void)arena;
    if (field != HOOK_CONTENT || claim->checked || claim->answer.action != ASK_ACCEPTED) {
        *why = STR("Of an answer only the content can be written, if it accepts, and only before "
                   "it is validated");
        return NOD_E_USAGE;
    }
    struct str copy = arena_str(&claim->arena, text);
    struct json *tree = json_parse(&claim->arena, copy, NULL, NULL);
    if (!tree || text.len > claim->engine->opts.limits.journal_bytes) {
        *why = STR("The content is not JSON, or is larger than an answer may be");
        return NOD_E_INVALID;
    }
    claim->content = copy;
    claim->answer.content = tree;
    claim->answer.fits = claim->answer.too_large = claim->too_large = claim->lent = false;
    return NOD_OK;
}

bool claim_keep_record(struct claim *claim, const struct ask_record *record)
{
    struct ask_record copy = ask_record_copy(&claim->arena, record);

    if (copy.detail.len != record->detail.len || copy.call_id.len != record->call_id.len)
        return false;
    claim->record = MEM_NEW(struct ask_record);
    *claim->record = copy;
    return true;
}

/* Hooks see what was asked until the end, and the ask ends before: with publishResult, or by
 * another answer while this one is on its way. */
void claim_keep_question(struct claim *claim)
{
    const struct ask *ask = claim_ask(claim);

    if (ask && !claim->record && hooks_any(claim->engine->hooks, &answer_flow))
        claim_keep_record(claim, &ask->record);
}

/* A hook finishes later: the answerer, the surface and the question may be gone by then. */
void claim_keep_content(void *subject)
{
    struct claim *claim = subject;
    const struct ask *ask = claim_ask(claim);

    if (ask && !claim->record)
        /* if there is no room for it, it is loaded when it is needed */
        claim_keep_record(claim, &ask->record);
    if (claim->lent) {
        claim_own_content(claim);
    } else if (claim->answer.content && !claim->content.len) {
        claim->answer.content = json_copy(&claim->arena, claim->answer.content);
        claim->answer.too_large |= claim->arena.exhausted;
    }
    claim->result.by = arena_str(&claim->arena, claim->result.by);
    claim->result.via = arena_str(&claim->arena, claim->result.via);
}

/* A client may send a little beside the fields, but nobody pads an answer without end. */
static bool has_too_many(struct arena *arena, struct str asked, const struct json *content)
{
    size_t count = 0, unasked = 0;

    JSON_EACH (member, content)
        count++;
    if (count <= CLAIM_UNASKED_MAX)
        return false;
    const struct json *fields = json_get(json_parse(arena, asked, NULL, NULL), STR("properties"));
    JSON_EACH (member, content)
        if (!json_get(fields, member->key) && ++unasked > CLAIM_UNASKED_MAX)
            return true;
    return false;
}

/* Empty: the content fits the schema that was asked, formats and all. */
static struct str form_problems(struct engine *engine, struct arena *arena, struct str asked,
                                const struct json *content)
{
    const struct schema *schema = engine_schema(engine, asked);
    struct schema_problems problems;

    if (!schema)
        return problems_one(arena, STR(""), STR("the question's schema cannot be used"));
    _Static_assert(CLAIM_UNASKED_MAX == 16, "as the message says");
    if (has_too_many(arena, asked, content))
        return problems_one(arena, STR(""),
                            STR("has more than 16 members that were not asked for"));
    if (schema_check(schema, content, arena, &problems) == NOD_OK &&
        problems_no_nul(arena, content, &problems))
        return STR_NONE;
    if (problems.count == 0)
        return problems_one(arena, STR(""), STR("took too much work to check"));
    return problems_list(arena, &problems, json_parse(arena, asked, NULL, NULL));
}

bool ask_fits_form(struct engine *engine, const struct ask_record *ask, const struct json *content)
{
    struct arena arena;

    arena_init(&arena, CLAIM_ARENA_MAX);
    bool fits = form_problems(engine, &arena, ask_record_form(ask), content).len == 0;
    arena_finish(&arena);
    return fits;
}

static struct str nul_problem(struct claim *claim, const struct json *content)
{
    struct schema_problems problems;

    return problems_no_nul(&claim->arena, content, &problems)
               ? STR_NONE
               : problems_list(&claim->arena, &problems, NULL);
}

/* Empty: the content is fine. Otherwise the problems as JSON. */
static struct str content_problems(struct claim *claim, const struct ask_record *record)
{
    const struct json *content = claim->answer.content;

    if (claim->too_large)
        return arena_fmt(
            &claim->arena,
            "[{\"path\":\"\",\"message\":\"is larger than an answer may be, which is %zu "
            "bytes of JSON\"}]",
            claim->engine->opts.limits.journal_bytes);
    enum page_brings brings = page_brings(claim, record);
    if (brings == PAGE_BRINGS_ANYTHING)
        return nul_problem(claim, content);
    switch (brings == PAGE_BRINGS_FORM ? ASK_FORM : record->kind) {
    case ASK_FORM:
    case ASK_APPROVAL:
        if (content && content->type != JSON_OBJECT)
            return problems_one(&claim->arena, STR(""),
                                STR("the program that showed the form sent no answer to it"));
        if (record->detail.len == 0) { /* the empty form */
            claim->content = STR_NONE;
            return STR_NONE;
        }
        if (!content) {
            content = json_new_object(&claim->arena);
            claim->content = STR("{}");
        }
        if (claim->answer.fits)
            return STR_NONE;
        return form_problems(claim->engine, &claim->arena, record->detail, content);
    case ASK_URL:
        claim->content = STR_NONE; /* what a person enters on the page does not come through here */
        return STR_NONE;
    case ASK_SAMPLE:
        if (!json_get(content, STR("content")) || json_get_str(content, STR("role")).len == 0)
            return problems_one(&claim->arena, STR(""),
                                STR("expected a message with role and content"));
        return nul_problem(claim, content);
    case ASK_ROOTS:
        if (!json_is(json_get(content, STR("roots")), JSON_ARRAY))
            return problems_one(&claim->arena, STR("/roots"), STR("expected an array"));
        return nul_problem(claim, content);
    case ASK_CALL: /* the engine answers it, and nobody else */
        break;
    }
    return problems_one(&claim->arena, STR(""), STR("unknown kind of question"));
}

/* Bytes that answers on their way to the call's other asks add to its journal. */
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

static size_t said_bytes(const struct claim *claim)
{
    return claim->content.len + claim->note.len;
}

/* The answer fits, and room is kept for it until it is in the journal or refused. Of several
 * answers to one ask only one will count, so they need the room of the largest. */
static void room_keep(struct claim *claim, const struct ask_record *record)
{
    size_t bytes =
        sizeof(struct entry) + record->key.len + claim->answer.by.len + said_bytes(claim);

    if (record->call_id.len != ID_LEN)
        return;
    LIST_EACH (at, &claim->engine->claims) {
        struct claim *other = LIST_OF(at, struct claim, link);
        if (other->coming && str_eq(other->ask_id, claim->ask_id)) {
            other->coming = bytes > other->coming ? bytes : other->coming;
            return;
        }
    }
    claim->call = id_of(record->call_id);
    claim->coming = bytes;
}

/* The limits of the call that asks. Only tools have limits of their own. */
static struct journal_limits limits_of(struct claim *claim, const struct ask_record *record)
{
    const struct engine *engine = claim->engine;
    const struct ask *ask = claim_ask(claim);
    const struct target *target = ask ? ask->call->target : NULL;

    if (!ask && engine->catalog)
        target = catalog_for(engine->catalog, record->principal, TARGET_TOOL, record->target);
    return engine_journal_limits(engine, target);
}

/* Bytes that an answer may add to a journal of this size: a part stays free for steps. */
static size_t room_left(struct claim *claim, const struct ask_record *record, size_t learned)
{
    size_t most = limits_of(claim, record).bytes;
    size_t taken = learned + sizeof(struct entry) + record->key.len + claim->answer.by.len +
                   run_step_room(most);

    return taken < most ? most - taken : 0;
}

/* Any journal has room for as many of these as it may have entries. */
static bool is_small(struct claim *claim, const struct ask_record *record)
{
    struct journal_limits limits = limits_of(claim, record);

    return said_bytes(claim) <= limits.bytes / limits.entries / 2;
}

/* Empty: it fits. Otherwise the problem as JSON. */
static struct str weigh(struct claim *claim, const struct ask_record *record, size_t learned)
{
    size_t room = room_left(claim, record, learned + others_coming(claim, record->call_id));

    if (said_bytes(claim) <= room) {
        room_keep(claim, record);
        return STR_NONE;
    }
    return arena_fmt(&claim->arena,
                     "[{\"path\":\"\",\"message\":\"is %zu bytes, and this call may learn at most "
                     "%zu more (of %zu in all)\"}]",
                     said_bytes(claim), room, limits_of(claim, record).bytes);
}

static void weighed(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;

    if (status == NOD_E_STORE && claim->answer.set)
        answer_set_spoil(claim->answer.set, status);
    if (status != NOD_OK) {
        claim_reject(claim, status);
        return;
    }
    for (size_t i = 0; i < reply->call->entry_count; i++)
        claim->learned += entry_bytes(&reply->call->entries[i]);
    claim->weighed = true;
    flow_again(&claim->flow);
}

/* Invalid content: it is asked for again, the ask stays pending, or the ask ends. If a hook
 * objects, somebody else may still be asked. */
static void content_invalid(struct claim *claim, const struct ask_record *record,
                            struct str problems)
{
    const struct surface *surface = claim->answer.surface;
    struct ask *ask = claim_ask(claim);
    int most = claim->objection.len ? CLAIM_OBJECTIONS_MOST : surface ? surface->ops->attempts : 0;
    int attempt = claim->answer.attempt ? claim->answer.attempt : record->attempt;

    claim->result.problems = problems;
    if (most != 0 && record->attempts > 0)
        most = record->attempts;
    if (most == 0) {
        claim->result.pending = true;
        claim_reject(claim, NOD_E_INVALID);
        return;
    }
    claim->offer = attempt > 0 ? attempt : 1;
    claim->again = claim->offer < most;
    if (!claim->again && claim->objection.len && ask && ask_can_move(ask, surface)) {
        claim->result.pending = true;
        ask_offered(ask, surface, OFFER_REFUSED);
        claim_reject(claim, NOD_E_REFUSED);
        return;
    }
    claim->outcome = ASK_INVALID;
    claim->content = problems;
    flow_next(&claim->flow);
}

static void question_loaded(void *data, nod_status status, const struct store_reply *reply)
{
    struct claim *claim = data;

    if (status == NOD_OK && !claim->record && !claim_keep_record(claim, reply->ask))
        status = NOD_E_LIMIT;
    if (status == NOD_E_STORE && claim->answer.set)
        answer_set_spoil(claim->answer.set, status);
    if (status != NOD_OK)
        claim_reject(claim, status);
    else
        flow_again(&claim->flow);
}

void claim_validate_content(struct flow *flow, void *subject)
{
    struct claim *claim = subject;
    struct ask *ask = claim_ask(claim);
    const struct ask_record *record = ask ? &ask->record : claim->record;

    if (claim->answer.action != ASK_ACCEPTED && !claim->objection.len) {
        flow_next(flow);
        return;
    }
    if (!record) { /* the ask was pending here, but its call has been unloaded since */
        if (claim->lent)
            claim_own_content(claim);
        claim->engine->store->ops->load_ask(claim->engine->store, claim->ask_id, question_loaded,
                                            claim);
        return;
    }
    if (claim->objection.len) {
        content_invalid(claim, record, claim->objection);
        return;
    }
    claim->checked = true;
    struct str problems = claim->weighed ? STR_NONE : content_problems(claim, record);
    /* it may belong to the answerer, which does not wait for the rest */
    claim->answer.content = NULL;
    if (!problems.len && !is_small(claim, record) && !ask && !claim->weighed &&
        record->call_id.len) {
        claim->engine->store->ops->load_call(claim->engine->store, record->call_id, weighed, claim);
        return;
    }
    if (!problems.len && !is_small(claim, record))
        problems = weigh(claim, record, ask ? ask->call->learned : claim->learned);
    if (problems.len) {
        content_invalid(claim, record, problems);
        return;
    }
    if (record->kind == ASK_URL && record->wait_done && !claim->url_done && !claim->page) {
        if (ask)
            ask->opened = true;
        claim->result = (struct answer_result){ .status = NOD_OK, .pending = true };
        flow_jump(flow, "finalize"); /* the page is open; it will say when it is done */
        return;
    }
    flow_next(flow);
}
