/* store/claim_rules: see claim_rules.h. */
#include "store/claim_rules.h"

bool claim_via_is_plain(struct str via)
{
    return via.len <= STORE_VIA_MAX && str_is_plain(via);
}

nod_status claim_check(const struct claim_spec *claim)
{
    if (claim->count == 0 || claim->count > STORE_CLAIM_MOST || !claim_via_is_plain(claim->via))
        return NOD_E_USAGE;
    for (size_t i = 0; i < claim->count; i++) {
        const struct claim_item *item = &claim->items[i];
        bool taken_back = !item->again && !item->turn && item->outcome == ASK_WITHDRAWN;
        if ((item->again && item->attempt <= 0) || item->turn >= ASK_TURNS ||
            (taken_back && !claim->epoch))
            return NOD_E_USAGE;
        for (size_t other = 0; other < i; other++)
            if (str_eq(claim->items[other].ask_id, item->ask_id))
                return NOD_E_USAGE;
    }
    return NOD_OK;
}

void claim_came(const struct claim_item *item, char text[CLAIM_CAME_LEN])
{
    text[0] = (char)('0' + item->turn);
    text[1] = item->listed ? 'l' : '-';
}

void claim_came_read(struct ask_record *ask)
{
    struct str via = ask->via;
    unsigned turn =
        via.len == CLAIM_CAME_LEN ? (unsigned)(unsigned char)via.at[0] - '0' : ASK_TURNS;

    if (turn >= ASK_TURNS)
        return;
    ask->via = STR_NONE;
    if (turn > ask->turn)
        ask->turn = (uint8_t)turn;
    if (via.at[1] == 'l')
        ask->listed = LISTED;
}

bool claim_is_word(const struct claim_item *item)
{
    return item->again || item->outcome == ASK_ACCEPTED || item->outcome == ASK_DECLINED ||
           item->outcome == ASK_CANCELLED || item->outcome == ASK_INVALID;
}

bool claim_is_same(const struct ask_record *ask, const struct claim_spec *claim,
                   const struct claim_item *item)
{
    bool erased = ask->sensitive && ask->content.len == 0;

    return ask->state == item->outcome && str_eq(ask->by, claim->by) &&
           (erased || str_eq(ask->content, item->content));
}

bool claim_contradicts(const struct ask_record *ask, bool mine, const struct claim_spec *claim,
                       const struct claim_item *item)
{
    return ask->state != ASK_PENDING && !mine && str_eq(ask->via, claim->via) &&
           !claim_is_same(ask, claim, item);
}
