/*
 * core/run_room: how much a call may learn, and what it is told when it may learn no more.
 *
 * A journal has limits on its entries and bytes: the server's, or those of the tool
 * (engine_journal_limits). Room is checked before an effect, because an effect that has happened
 * cannot be left out of the journal; and before a question is put to anybody, because nobody should
 * be asked in vain.
 *
 * A call that ends here may have done something already. So the message names the limit, where to
 * raise it, and what was done.
 */
#include "core/engine.h"
#include "core/run_inside.h"

/* The message for a call that cannot go on. */
static struct str so_far(struct run *run)
{
    size_t steps = 0, answers = 0;
    struct str last = STR_NONE;

    for (size_t i = 0; i < run->journal_count; i++) {
        const struct entry *entry = &run->journal[i];
        answers += entry->class == ENTRY_ASK;
        if (entry->class == ENTRY_STEP) {
            steps++;
            last = entry->key;
        }
    }
    if (steps)
        return arena_fmt(
            &run->arena,
            "Before that it did %zu step%s, the last of them '" STR_FMT "', and got %zu answer%s",
            steps, steps == 1 ? "" : "s", STR_ARG(last), answers, answers == 1 ? "" : "s");
    return arena_fmt(&run->arena, "Before that it did no step, and got %zu answer%s", answers,
                     answers == 1 ? "" : "s");
}

nod_status run_room(struct run *run, size_t more)
{
    size_t entries = run->journal_count + run->held + run->news.entries + run->news.asks;

    if (entries + more <= run->entries_max)
        return NOD_OK;
    return run_fail_fmt(run, NOD_E_LIMIT,
                        "A call of " STR_FMT " may learn at most %zu things (questions, steps, "
                        "times); this one has learned %zu and wanted %zu more. " STR_FMT
                        ". To allow more, up to %d, set .journal_entries of the tool or of the "
                        "server, or --journal-entries",
                        STR_ARG(run->target->name), run->entries_max, entries, more,
                        STR_ARG(so_far(run)), ENGINE_JOURNAL_ENTRIES_MOST);
}

static nod_status no_bytes(struct run *run, size_t wanted, const char *what)
{
    return run_fail_fmt(run, NOD_E_LIMIT,
                        "The journal of a call of " STR_FMT " may hold at most %zu bytes; this "
                        "one holds %zu, and %zu more are needed %s. " STR_FMT
                        ". To allow more, up to %d, set .journal_bytes of the tool or of the "
                        "server, or --journal-bytes",
                        STR_ARG(run->target->name), run->bytes_max,
                        run->journal_bytes + run->news.bytes, wanted, what, STR_ARG(so_far(run)),
                        ENGINE_JOURNAL_BYTES_MOST);
}

nod_status run_room_in_round(struct run *run)
{
    if (run->since_oldest + run->news.asks < RUN_ROUND_MAX)
        return NOD_OK;
    if (run->live)
        return run_fail_fmt(run, NOD_E_LIMIT,
                            "From the oldest question that waits on, a live run may ask at most "
                            "%d: take that one back, or wait for its answer",
                            RUN_ROUND_MAX);
    return run_fail_fmt(run, NOD_E_LIMIT,
                        "A round may have at most %d questions, and nobody was asked. Call "
                        "nod_await after every %d, and go on when they are answered",
                        RUN_ROUND_MAX, RUN_ROUND_MAX);
}

nod_status run_room_for_step(struct run *run, size_t more)
{
    size_t least = run_step_room(run->bytes_max);

    NOD_TRY(run_room(run, more));
    if (run->journal_bytes + run->news.bytes + least > run->bytes_max)
        return no_bytes(run, least, "for the result of another step, which was not begun");
    return NOD_OK;
}

size_t run_step_room(size_t journal_bytes)
{
    return journal_bytes / RUN_STEP_SHARE;
}

size_t run_item_bytes(const struct run_item *item)
{
    return entry_bytes(&item->entry) + item->spec.message.len + item->spec.detail.len;
}

nod_status run_record(struct run *run, struct run_item *item)
{
    size_t bytes = run_item_bytes(item);

    NOD_TRY(run_room(run, 1));
    if (run->journal_bytes + run->news.bytes + bytes > run->bytes_max)
        return no_bytes(run, bytes,
                        item->is_ask                      ? "for a question"
                        : item->entry.class == ENTRY_STEP ? "for the result of a step"
                                                          : "for the next entry");
    if (run->news.last)
        run->news.last->next = item;
    else
        run->news.first = item;
    run->news.last = item;
    run->news.bytes += bytes;
    if (item->is_ask)
        run->news.asks++;
    else
        run->news.entries++;
    return NOD_OK;
}
