/*
 * core/grant_pass: a question that a grant answers is not asked.
 *
 * A run has recorded its questions. Before they are put to anybody, those that name a tool path are
 * looked for among the grants: in the session first, then of the principal; with these arguments
 * first, then with any. If there is one, the answer goes into the journal as if the person had
 * given it once more, with the id of the grant. So the call is the same however often it is run: a
 * grant that is revoked while the call goes on changes nothing for that call.
 *
 * Each use is counted in the grant's record. A use that meets another one is tried again, and after
 * USE_TRIES it passes uncounted, by what it has just read: every read is newer than the call, so a
 * call that comes after a revoke asks. If no grant is found, or the store is away, people are asked
 * as always.
 */
#include "core/grant_inside.h"

#include "base/log.h"
#include "core/note.h"
#include "core/run_inside.h"

enum { USE_TRIES = 8 }; /* of counting a use; past that it is not counted */

static void look_on(struct call *call);

/* All questions were looked at: those that are left are asked. */
static void looked(struct call *call)
{
    granting_free(call);
    if (call->cancel_wanted) {
        call_run_free(call);
        call_cancel_later(call);
    } else if (call->run->news.asks) {
        call_asks_begin(call);
    } else {
        call_save(call);
    }
}

/* The question is answered, and becomes an entry of the journal. */
static void answered(struct call *call, enum ask_state state, struct str by, struct str ask_id,
                     struct str note)
{
    struct run *run = call->run;
    struct run_item *item = call->granting->item;

    item->is_ask = false;
    item->entry.state = state;
    item->entry.number = item->spec.ttl_ms;
    item->entry.by = arena_str(&run->arena, by);
    item->entry.ask_id = arena_str(&run->arena, ask_id);
    item->entry.note = arena_str(&run->arena, note);
    run->news.asks--;
    run->news.entries++;
    run->news.bytes += entry_bytes(&item->entry);
}

static void passed(struct call *call)
{
    struct granting *granting = call->granting;
    const struct grant *grant = &granting->grant;

    LOG_INFO("a remembered approval counts: nobody is asked", LOG_STR("tool", grant->tool),
             LOG_STR("principal", grant->principal), LOG_STR("by", grant->by),
             LOG_CSTR("via", "remembered"), LOG_CSTR("action", "accept"),
             LOG_STR("grant", grant->id), LOG_STR("call", id_str(&call->id)));
    call->engine->counts.grants_used++;
    answered(call, ASK_ACCEPTED, grant->by, grant->ask_id,
             note_write_grant(&granting->arena, grant->id));
    look_on(call);
}

/* No grant answers it. */
static void not_passed(struct call *call)
{
    struct granting *granting = call->granting;
    struct run_item *item = granting->item;
    struct ask_spec *spec = &item->spec;
    struct run *run = call->run;
    unsigned able = run_supports(run, spec);

    if (!(able & 1u << spec->kind)) {
        answered(call, ASK_UNSUPPORTED, STR("nod"), STR_NONE, STR_NONE);
    } else if (granting->rule.allows || !str_eq(spec->path, call->target->name)) {
        /* People are told which tool it is for, also if nothing may be remembered; and whether that
         * is for other arguments than the call's, which people see beside it. */
        bool own = !str_eq(spec->path_digest, grant_digest(&run->arena, run->args));
        spec->remember = grant_offer_write(&run->arena, &granting->rule, spec->path,
                                           spec->path_digest, own, granting->target_version);
    }
    look_on(call);
}

/* --- one grant after the other --- */

static void try_next(struct call *call);
static void try_begin(struct call *call);

static void use_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);

    grant_put(call->engine, &call->granting->grant, call->granting->version, op_completed, op);
}

static void use_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);

    (void)reply;
    if (status == NOD_OK)
        passed(call);
    else if (status == NOD_E_STALE) /* it was used, changed or revoked in the meantime */
        try_begin(call);
    else
        try_next(call);
}

static void pass_get_send(struct op *op)
{
    struct call *call = OP_OF(op, struct call, op);
    struct store *store = call->engine->store;

    store->ops->get(store, STR(GRANT_KIND), str_n(call->granting->id, GRANT_KEY_LEN), op_completed,
                    op);
}

static bool counts(const struct call *call, const struct grant *have)
{
    const struct granting *granting = call->granting;

    /* The key is a digest of all this, so anything else is a spoilt record. */
    return !grant_is_over(have, engine_now(call->engine)) && have->scope == granting->grant.scope &&
           have->match == granting->grant.match &&
           str_eq(have->principal, granting->grant.principal) &&
           str_eq(have->session, granting->grant.session) &&
           str_eq(have->tool, granting->grant.tool) &&
           str_eq(have->digest, granting->grant.digest) &&
           str_eq(have->version, granting->target_version) && grant_allowed(have, &granting->rule);
}

static void pass_get_done(struct op *op, nod_status status, const struct store_reply *reply)
{
    struct call *call = OP_OF(op, struct call, op);
    struct granting *granting = call->granting;
    struct grant there;

    if (status != NOD_OK ||
        !grant_read(&granting->arena, str_n(granting->id, GRANT_KEY_LEN), reply->value, &there) ||
        !counts(call, &there)) {
        try_next(call);
        return;
    }
    granting->grant = there;
    granting->version = reply->version;
    granting->grant.uses++;
    if (++granting->tries > USE_TRIES) { /* it is there, and others use it all the time */
        passed(call);
        return;
    }
    op_start_of(call->engine, op, call->principal, use_send, use_done);
}

static void try_begin(struct call *call)
{
    struct granting *granting = call->granting;
    const struct remember_choice *choice = &granting->choices[granting->choice];
    bool session = choice->scope == GRANT_SESSION, args = choice->match == GRANT_ARGUMENTS;

    granting->grant =
        (struct grant){ .tool = granting->item->spec.path,
                        .principal = call->principal,
                        .session = session ? call->scope : STR_NONE,
                        .scope = choice->scope,
                        .match = choice->match,
                        .digest = args ? granting->item->spec.path_digest : STR_NONE };
    grant_key(&granting->grant, granting->id);
    op_start_of(call->engine, &call->op, call->principal, pass_get_send, pass_get_done);
}

static void try_next(struct call *call)
{
    struct granting *granting = call->granting;

    arena_reset(&granting->arena);
    granting->target_version = grant_version(
        &granting->arena, grant_target(call->engine, call, granting->item->spec.path));
    granting->choice++;
    granting->tries = 0;
    /* Two choices that differ in their time alone are one record. */
    while (granting->choice < granting->choice_count &&
           granting->choices[granting->choice].scope == GRANT_PRINCIPAL &&
           granting->choices[granting->choice - 1].scope == GRANT_PRINCIPAL &&
           granting->choices[granting->choice].match ==
               granting->choices[granting->choice - 1].match)
        granting->choice++;
    if (granting->choice < granting->choice_count)
        try_begin(call);
    else
        not_passed(call);
}

/* --- one question after the other --- */

static void look_at(struct call *call, struct run_item *item)
{
    struct granting *granting = granting_of(call);
    bool session = !str_eq(call->scope, call->principal);

    granting->item = item;
    granting->rule = grant_rule_of(call->engine, call, item->spec.path);
    granting->choice_count = granting->rule.allows
                                 ? grant_choices(&granting->rule, session,
                                                 item->spec.path_digest.len > 0, granting->choices)
                                 : 0;
    granting->choice = 0;
    granting->tries = 0;
    arena_reset(&granting->arena);
    granting->target_version =
        grant_version(&granting->arena, grant_target(call->engine, call, item->spec.path));
    if (granting->choice_count)
        try_begin(call);
    else
        not_passed(call);
}

/* The first question that names a tool path, from this item on. */
static struct run_item *next_with_path(struct run_item *item)
{
    while (item && !(item->is_ask && item->spec.path.len))
        item = item->next;
    return item;
}

/* After the one that was looked at last. */
static void look_on(struct call *call)
{
    struct run_item *item = next_with_path(call->granting->item->next);

    if (item && !call->cancel_wanted)
        look_at(call, item);
    else
        looked(call);
}

void grants_look(struct call *call)
{
    struct run_item *item = next_with_path(call->run->news.first);

    if (!item) { /* mostly */
        call_asks_begin(call);
        return;
    }
    for (const struct run_item *one = item; one; one = next_with_path(one->next))
        if (!grant_path_fits(call->engine, call, one->spec.path)) {
            /* A yes to a harmless tool would free a dangerous one. */
            struct str message = arena_fmt(
                &call_ending(call)->arena,
                STR_FMT " asks for the approval of " STR_FMT ", which is destructive, and is not "
                        "so itself: its registration has to say .approves",
                STR_ARG(call->target->name), STR_ARG(one->spec.path));

            call_run_free(call);
            call_fail(call, NOD_E_USAGE, NULL, message);
            return;
        }
    call_enter(call, LIVE_SAVING);
    if (call->cancel_wanted)
        looked(call);
    else
        look_at(call, item);
}
