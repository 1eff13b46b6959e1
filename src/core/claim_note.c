/*
 * core/claim_note: what an answer says beside its content.
 *
 * The note is written when the answerer is known to be one who may answer, and goes to the store
 * with the claim. So a node that dies right after the claim loses nothing of it: whoever runs the
 * call on finds it in the journal, and makes the grant first (grant_make.c).
 *
 * Holds always: a note says only to remember what was offered, and only if a person has said it.
 */
#include "core/claim.h"
#include "core/grant_inside.h"
#include "core/note.h"
#include "core/problems.h"

/* The client's own word, and a model's, can approve where the operator lets them, but not for
 * later: see grant.h. */
static bool is_a_persons(const struct claim *claim)
{
    const struct surface *surface = claim->answer.surface;

    return surface && !surface->ops->client && !surface->ops->model && !claim->url_done;
}

static bool is_offered(struct claim *claim, const struct ask_record *record)
{
    struct remember_choice offered[GRANT_CHOICES_MAX];
    const struct remember_choice *chosen = claim->answer.remember;
    size_t count = grants_offered(record, &claim->arena, offered);

    for (size_t i = 0; i < count; i++)
        if (offered[i].scope == chosen->scope && offered[i].match == chosen->match &&
            offered[i].for_ms == chosen->for_ms)
            return true;
    return false;
}

/* As much of a message as a grant repeats, not cut in the middle of a character. */
static struct str beginning_of(struct arena *arena, struct str message)
{
    size_t len = GRANT_MESSAGE_MAX;

    if (message.len <= len)
        return message;
    while (len && ((unsigned char)message.at[len] & 0xC0) == 0x80)
        len--;
    return arena_fmt(arena, STR_FMT " ...", (int)len, message.at);
}

struct str claim_take_note(struct claim *claim, const struct ask_record *record)
{
    bool remember = claim->answer.remember && claim->answer.action == ASK_ACCEPTED;
    struct grant_offer offer;
    struct noted noted;

    claim->note = STR_NONE;
    if (claim->answer.reason.len > NOTE_REASON_MAX)
        return problems_one(&claim->arena, STR("/reason"),
                            STR("is longer than the 2000 bytes that a reason may have"));
    if (!remember && !claim->answer.reason.len)
        return STR_NONE;
    if (remember && !is_a_persons(claim))
        return problems_one(&claim->arena, STR("/remember"),
                            STR("can be chosen only where a person is seen to answer"));
    if (remember &&
        (!is_offered(claim, record) || !grant_offer_read(record, &claim->arena, &offer)))
        return problems_one(&claim->arena, STR("/remember"),
                            STR("is none of what this question offers"));
    if (remember)
        noted = (struct noted){ .tool = offer.tool,
                                .digest = offer.digest,
                                .version = offer.version,
                                .message = beginning_of(&claim->arena, record->message),
                                .choice = claim->remember,
                                .at_ms = engine_now(claim->engine) };
    claim->note = note_write(&claim->arena, claim->answer.reason, remember ? &noted : NULL);
    return claim->note.len
               ? STR_NONE
               : problems_one(&claim->arena, STR("/reason"), STR("is not text in UTF-8"));
}
