/*
 * core/run_journal: what a run looks up in the journal, and what it records.
 *
 * Everything here touches only the run's own memory, and reads the journal, which does not change
 * during the run. So it works on a worker's thread as well as on the loop. Only run_done
 * (call_run.c) goes back to the engine.
 *
 * Holds always: a question is checked (its form, its lengths, whether somebody can be asked) before
 * it is recorded with its digest. Once a step was done in a run nothing further is recorded: the
 * step's result has to be committed first. A key gives its result once in a run: otherwise a second
 * question or step with the same key, in a loop for example, would silently be given the result of
 * the first. Only what asks for a value that is had by its name (a secret, an account) may come to
 * its question again: ask_spec.again.
 */
#include "core/run_inside.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/problems.h"
#include "core/record.h"
#include "crypto/digest.h"

nod_status run_fail(struct run *run, nod_status status, const char *code, struct str message)
{
    run->fault = (struct fault){ .status = status,
                                 .code = code ? code : outcome_code(status),
                                 .message = arena_str(&run->arena, message) };
    return status;
}

void run_bug(struct run *run, const char *format, ...)
{
    va_list args;

    if (run->bug.at)
        return;
    va_start(args, format);
    run->bug = arena_vfmt(&run->arena, format, args);
    va_end(args);
    if (!run->bug.at)
        run->bug = STR("the handler ran out of its run's memory");
}

nod_status run_fail_fmt(struct run *run, nod_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct str message = arena_vfmt(&run->arena, format, args);
    va_end(args);
    return run_fail(run, status, NULL, message);
}

/* --- what is new --- */

static struct run_item *item_new(struct run *run, enum entry_class class, struct str key)
{
    struct run_item *item = ARENA_NEW(&run->arena, struct run_item);

    if (item) {
        item->entry.class = class;
        item->entry.key = arena_str(&run->arena, key);
    }
    return item;
}

static nod_status out_of_arena(struct run *run)
{
    return run_fail(run, NOD_E_LIMIT, NULL,
                    STR("The run has used all the memory that a run may have"));
}

static const struct run_item *news_find(const struct run *run, enum entry_class class,
                                        struct str key)
{
    for (const struct run_item *item = run->news.first; item; item = item->next)
        if (item->entry.class == class && str_eq(item->entry.key, key))
            return item;
    return NULL;
}

static nod_status check_key(struct run *run, struct str key)
{
    size_t most = RUN_KEY_MAX - run->prefix.len;

    if (key.len > most)
        return run_fail_fmt(run, NOD_E_USAGE, "A key may have at most %zu bytes: '" STR_FMT "...'",
                            most, 40, key.at);
    if (key.len && key.at[0] == '#')
        return run_fail_fmt(run, NOD_E_USAGE, "A key may not begin with '#': '" STR_FMT "'",
                            STR_ARG(key));
    return NOD_OK;
}

/* The key as it is in the journal. */
static struct str run_key_of(struct run *run, struct str key)
{
    if (!run->prefix.len)
        return key;
    return arena_fmt(&run->arena, STR_FMT STR_FMT, STR_ARG(run->prefix), STR_ARG(key));
}

/* --- what is known --- */

/* A replay meets the entries in the order in which they were made. So the search for the next
 * begins where the last was found. */
static const struct entry *known_entry(struct run *run, enum entry_class class, struct str key)
{
    for (size_t i = 0; i < run->journal_count; i++) {
        size_t at = run->entry_next + i;
        if (at >= run->journal_count)
            at -= run->journal_count;
        const struct entry *entry = &run->journal[at];
        if (entry->class == class && str_eq(entry->key, key)) {
            run->entry_next = at + 1 < run->journal_count ? at + 1 : 0;
            return entry;
        }
    }
    return NULL;
}

static nod_status used_twice(struct run *run, enum entry_class class, struct str key)
{
    static const char *const kinds[] = {
        [TARGET_TOOL] = "tool", [TARGET_RESOURCE] = "resource", [TARGET_PROMPT] = "prompt"
    };
    bool ask = class == ENTRY_ASK;
    struct str own = str_skip(key, run->prefix.len);

    run_bug(run,
            "%s %s " STR_FMT " uses the key '" STR_FMT "' for two %s in one run, and the second "
            "would be given the %s of the first. Put what tells them apart into the key, such as "
            "an index: nod_key(call, \"" STR_FMT "-%%d\", i)",
            run->prefix.len ? "A hook of the" : "The", kinds[run->target->kind],
            STR_ARG(run->target->name), STR_ARG(own), ask ? "questions" : "steps",
            ask ? "answer" : "result", STR_ARG(own));
    return NOD_E_USAGE;
}

bool run_knows(struct run *run, enum entry_class class, struct str key)
{
    return journal_find(run->journal, run->journal_count, class, run_key_of(run, key)) != NULL;
}

bool entry_is_no(const struct entry *entry)
{
    return entry->class == ENTRY_ASK &&
           (entry->state == ASK_DECLINED || entry->state == ASK_CANCELLED);
}

/* The run is told of a no. Without memory to note that, it counts as not heard. */
static void hear(struct run *run, const struct entry *entry)
{
    if (!entry_is_no(entry))
        return;
    if (!run->noes_heard)
        run->noes_heard = arena_zalloc(&run->arena, run->journal_count * sizeof(bool));
    if (run->noes_heard)
        run->noes_heard[entry - run->journal] = true;
}

bool run_was_refused(struct run *run, struct str key)
{
    const struct entry *entry =
        journal_find(run->journal, run->journal_count, ENTRY_ASK, run_key_of(run, key));

    if (!entry || entry->state == ASK_ACCEPTED)
        return false;
    hear(run, entry);
    return true;
}

/* Gives the result of an entry to this run, which may have it once. */
static nod_status use_entry(struct run *run, const struct entry *entry)
{
    size_t at = (size_t)(entry - run->journal);

    if (!run->entries_used) {
        run->entries_used = arena_zalloc(&run->arena, run->journal_count * sizeof(bool));
        if (!run->entries_used)
            return out_of_arena(run);
    }
    if (run->entries_used[at])
        return used_twice(run, entry->class, entry->key);
    run->entries_used[at] = true;
    return NOD_OK;
}

/* --- asking --- */

static void question_digest(const struct ask_spec *spec, unsigned char out[DIGEST_BYTES])
{
    char flags[3] = { (char)('0' + (int)spec->kind), spec->consent ? '1' : '0',
                      (char)('0' + (int)spec->page) };
    struct str parts[] = { str_n(flags, spec->page ? 3 : 2),
                           spec->worded ? STR_NONE : spec->message, spec->detail, spec->url };
    struct digest digest;

    _Static_assert((int)DIGEST_BYTES == (int)DIGEST_LEN, "a record's digest is a SHA-256");
    digest_of_parts(parts, sizeof(parts) / sizeof(parts[0]), &digest);
    memcpy(out, digest.bytes, DIGEST_BYTES);
}

static nod_status not_deterministic(struct run *run, struct str key)
{
    return run_fail_fmt(
        run, NOD_E_NOT_DETERMINISTIC,
        "The tool " STR_FMT " asked another question under the key '" STR_FMT
        "' than before. A handler must "
        "ask the same on every run: read what may change inside of nod_step, nod_now or nod_random",
        STR_ARG(run->target->name), STR_ARG(key));
}

/* The status that the handler gets for a journalled ask that no person has answered. */
static nod_status entry_status(struct run *run, const struct entry *entry,
                               const struct ask_spec *spec)
{
    struct str said;

    switch (entry->state) {
    case ASK_EXPIRED:
        run_fail_fmt(run, NOD_E_TIMEOUT, "Nobody answered within " STR_FMT,
                     STR_ARG(arena_time(&run->arena, entry->number)));
        run->fault.meta = arena_fmt(&run->arena, "{\"askId\":\"" STR_FMT "\",\"ttl\":%lld}",
                                    STR_ARG(entry->ask_id), (long long)entry->number);
        return NOD_E_TIMEOUT;
    case ASK_UNSUPPORTED:
        if (run_lacks_role(run, spec))
            return NOD_E_NOT_SUPPORTED;
        run_fail_fmt(run, NOD_E_NOT_SUPPORTED,
                     "The client cannot put this question to a person (mode %s)",
                     run_mode_name(spec->kind));
        run->fault.meta = arena_fmt(&run->arena, "{\"mode\":\"%s\"}", run_mode_name(spec->kind));
        run->unasked = run->fault.message;
        return NOD_E_NOT_SUPPORTED;
    case ASK_INVALID:
        said = problems_sentence(&run->arena, entry->content);
        run_fail_fmt(run, NOD_E_INVALID, "Invalid elicitation result content%s" STR_FMT,
                     said.len ? ": " : "", STR_ARG(said));
        run->fault.details = arena_str(&run->arena, entry->content);
        run->fault.meta =
            arena_fmt(&run->arena, "{\"askId\":\"" STR_FMT "\"}", STR_ARG(entry->ask_id));
        return NOD_E_INVALID;
    default:
        return NOD_OK;
    }
}

/*
 * A question that cannot be asked leaves nothing in the journal. Its key is used all the same: if
 * another question of this run had it, the next run would take that one's answer for the first.
 */
struct run_refused {
    struct str key;
    struct run_refused *next;
};

static bool was_refused(const struct run *run, struct str key)
{
    for (const struct run_refused *at = run->refused; at; at = at->next)
        if (str_eq(at->key, key))
            return true;
    return false;
}

static void remember_refused(struct run *run, struct str key)
{
    struct run_refused *refused = arena_zalloc(&run->arena, sizeof(*refused));

    if (!refused)
        return;
    *refused = (struct run_refused){ arena_str(&run->arena, key), run->refused };
    run->refused = refused;
}

nod_status run_ask(struct run *run, const struct ask_spec *spec, const struct entry **answer)
{
    unsigned char digest[DIGEST_BYTES];
    char numbered[32];
    struct str key = spec->key;

    *answer = NULL;
    if (run->step_done)
        return NOD_PENDING;
    NOD_TRY(check_key(run, key));
    if (key.len == 0) {
        int len = snprintf(numbered, sizeof(numbered), "#%zu", ++run->ask_ordinal);
        key = str_n(numbered, (size_t)len);
    }
    key = run_key_of(run, key);
    question_digest(spec, digest);

    const struct entry *known = known_entry(run, ENTRY_ASK, key);
    if (known) {
        if (!spec->again) {
            NOD_TRY(use_entry(run, known));
            if (memcmp(known->digest, digest, DIGEST_BYTES) != 0)
                return not_deterministic(run, key);
        }
        hear(run, known);
        *answer = known;
        return entry_status(run, known, spec);
    }
    bool news = news_find(run, ENTRY_ASK, key) != NULL;
    if (news && spec->again)
        return NOD_PENDING;
    if (run->live && live_waits_for(run, key))
        return spec->again ? NOD_PENDING : used_twice(run, ENTRY_ASK, key);
    if (!spec->again && (news || was_refused(run, key)))
        return used_twice(run, ENTRY_ASK, key);
    NOD_TRY(run_room_in_round(run));
    nod_status able = run_check_question(run, spec, digest);
    if (able != NOD_OK) {
        remember_refused(run, key);
        return able;
    }

    struct run_item *item = item_new(run, ENTRY_ASK, key);
    if (!item)
        return out_of_arena(run);
    item->is_ask = true;
    memcpy(item->entry.digest, digest, DIGEST_BYTES);
    item->spec = *spec;
    item->spec.key = item->entry.key;
    item->spec.message = arena_str(&run->arena, spec->message);
    item->spec.detail = run_form_unticked(run, spec);
    item->spec.url = arena_str(&run->arena, spec->url);
    item->spec.path = arena_str(&run->arena, spec->path);
    item->spec.path_digest = arena_str(&run->arena, spec->path_digest);
    if (item->spec.ttl_ms == 0)
        item->spec.ttl_ms = run->ask_ttl_ms;
    if (run->arena.exhausted)
        return out_of_arena(run);
    NOD_TRY(run_record(run, item));
    return NOD_PENDING;
}

/* --- steps --- */

/* The effect may happen now, unless this run is only a check. */
static nod_status step_go(struct run *run, bool *go)
{
    *go = !run->dry;
    run->step_done |= run->dry;
    return NOD_PENDING;
}

nod_status run_step(struct run *run, struct str key, bool at_most_once, bool idempotent,
                    const struct entry **entry, bool *go)
{
    *entry = NULL;
    *go = false;
    if (run->step_done)
        return NOD_PENDING;
    if (key.len == 0)
        return run_fail(run, NOD_E_USAGE, NULL, STR("A step needs a key"));
    NOD_TRY(check_key(run, key));
    key = run_key_of(run, key);

    const struct entry *known = known_entry(run, ENTRY_STEP, key);
    if (known) {
        NOD_TRY(use_entry(run, known));
        *entry = known;
        return NOD_OK;
    }
    if (run->news.asks && !run->live) /* the handler went on after a NOD_PENDING */
        return NOD_PENDING;
    if (run->arena.exhausted) /* the input of the effect may have been cut short */
        return out_of_arena(run);
    if (run->portable && !idempotent)
        return run_fail_fmt(run, NOD_E_USAGE,
                            "The step '" STR_FMT
                            "' cannot be done here: its call says .portable, so its state may be "
                            "presented to another node, which would do it again. Mark the step "
                            ".idempotent, or take .portable out",
                            STR_ARG(key));
    if (run->store_away.len)
        return run_fail_fmt(run, NOD_E_STORE,
                            "The step '" STR_FMT
                            "' was not begun: what comes of it cannot be stored "
                            "now (" STR_FMT "). Try again later",
                            STR_ARG(key), STR_ARG(run->store_away));
    if (run->hold_steps) {
        run->step_held = run->step_done = true;
        return NOD_PENDING;
    }
    if (!at_most_once || run->live) { /* a live run is begun once, and so are its steps */
        NOD_TRY(run_room_for_step(run, 1));
        return step_go(run, go);
    }
    const struct entry *intent = known_entry(run, ENTRY_INTENT, key);
    if (intent) {
        NOD_TRY(use_entry(run, intent));
        const struct entry *last = &run->journal[run->journal_count - 1];
        if (run->fresh_intent && last->class == ENTRY_INTENT && str_eq(last->key, key))
            return step_go(run, go);
        return run_fail_fmt(run, NOD_E_OUTCOME_UNKNOWN,
                            "The step '" STR_FMT "' was begun, and whether it was done is not "
                            "known: it is not tried a second time",
                            STR_ARG(key));
    }
    NOD_TRY(run_room_for_step(run, 2)); /* for the intent and the result */
    return run_intent(run, key, STR_NONE, STR_NONE);
}

nod_status run_intent(struct run *run, struct str key, struct str by, struct str content)
{
    struct run_item *item = item_new(run, ENTRY_INTENT, key);

    if (!item)
        return out_of_arena(run);
    item->entry.by = by;
    item->entry.content = content;
    NOD_TRY(run_record(run, item));
    run->step_done = true;
    return NOD_PENDING;
}

nod_status run_step_done(struct run *run, struct str key, nod_status status, struct str content)
{
    struct run_item *item = item_new(run, ENTRY_STEP, run_key_of(run, key));

    if (!item)
        return out_of_arena(run);
    item->entry.status = status;
    item->entry.content = arena_str(&run->arena, content);
    run->step_done = !run->live; /* even if it cannot be recorded: the effect has happened */
    NOD_TRY(run_record(run, item));
    return NOD_PENDING;
}

/* --- time and chance --- */

static nod_status journalled_number(struct run *run, enum entry_class class, size_t ordinal,
                                    int64_t fresh, int64_t *out)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "#%zu", ordinal);
    struct str key = run_key_of(run, str_n(text, (size_t)len));
    const struct entry *known = known_entry(run, class, key);

    if (known) {
        *out = known->number;
        return NOD_OK;
    }
    if (run->step_done)
        return NOD_PENDING;
    struct run_item *item = item_new(run, class, key);
    if (!item)
        return out_of_arena(run);
    item->entry.number = fresh;
    *out = fresh;
    return run_record(run, item);
}

nod_status run_now(struct run *run, int64_t *ms)
{
    clock_look_again(); /* a handler that works for long may ask for the time twice */
    return journalled_number(run, ENTRY_NOW, ++run->now_ordinal, clock_wall(run->clock), ms);
}

nod_status run_random(struct run *run, uint64_t *bits)
{
    int64_t fresh, out = 0;

    random_bytes(&fresh, sizeof(fresh));
    nod_status status = journalled_number(run, ENTRY_RANDOM, ++run->random_ordinal, fresh, &out);
    *bits = (uint64_t)out;
    return status;
}

/* --- notices --- */

void run_notice(struct run *run, const struct notice *notice)
{
    if (run->dry || run->step_done) /* not sent, so not counted: the next run sends it */
        return;
    if (++run->notice_ordinal > run->notices_sent)
        run->emit(run, notice);
}
