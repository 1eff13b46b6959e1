/*
 * store/redis: the transitions, in Lua.
 *
 * Each transition is one script, which Redis runs whole or not at all, with Redis's clock. The
 * scripts are the files of redis/, embedded by scripts/embed-lua; redis/parts/ has what several of
 * them have in common. core/store.h says what each may do and what it answers. A script that finds
 * its own token has happened before, and changes nothing. The first two values of a script's reply
 * are a number (0 done, 1 not found, 2 stale, 3 it runs somewhere, 4 no room) and the time, or 0 if
 * it did not look at it.
 *
 * bench/redis counts what a script costs Redis. Each argument, and each text that Lua makes, is
 * hashed. A function is made anew at every run. Every command costs a microsecond before it does
 * anything. So parts are pasted, commands that change nothing are not called, and what is only read
 * is read by a plain command right after the script.
 *
 * A call's hash has few fields, because every field costs Redis more than the text in it:
 *
 *     x         the head (redis/parts/head.lua)
 *     c, r      the call's record, the result's
 *     k         the call's record without its arguments, if those are large: what stays of the call
 *               when its content goes
 *     v         the version that the call began with; 0: not known
 *     b         the bytes that are kept of it; once it has ended, a blank and when it is removed
 *     j0 j1 ..  an item of the journal: a record of entries, or "@" and an ask that has ended
 *     y0 ..     the item without sensitive content, which replaces it when the call ends
 *     m<ask>    "state asked expires ended took sensitive token attempt via"; the token is that of
 *               the claim that ended it, or last put it up again; while it is pending, via is the
 *               turn that has come early (store/claim_rules.h)
 *     q<ask>    the question's record
 *     a<ask>    the answer's record
 *     z<ask>    the answer's record without content, which replaces it when the call ends
 *
 * Numbers of states are those of enum call_state and enum ask_state (asserted in redis_calls.c and
 * redis_claim.c). The journal names asks instead of repeating their answers. So an answer that is
 * erased is erased from the journal too, and a claim need not know what was asked.
 *
 * Only a call that has ended has a time to live. A call that runs or could be run is in the index i
 * of its shard, by the time in use when it became so: sweep.lua removes abandoned calls.
 *
 * Older records are read as well: their keep_until is a duration in milliseconds, and their m ends
 * with the token.
 *
 * Holds always: r, d, a and o of the shard list exactly the calls and asks whose records say so,
 * until a record is removed because its time is over; sweep.lua finds what that leaves behind.
 * There are three exceptions: an ask that has run out may be only in d until it is ended; an ask
 * that ended longer ago than ends are kept is not listed; an ask that was pending when the indexes
 * a and o were introduced is not in them until it ends.
 */
#include "store/redis_inside.h"

#include "redis_scripts_lua.h"

struct str redis_script_text(enum redis_script script)
{
    static const struct str texts[SCRIPTS] = {
        [SCRIPT_SAVE] = STR_INIT(save_lua),
        [SCRIPT_CLAIM] = STR_INIT(claim_lua),
        [SCRIPT_TAKE] = STR_INIT(take_lua),
        [SCRIPT_BACK] = STR_INIT(back_lua),
        [SCRIPT_CLEAR] = STR_INIT(clear_lua),
        [SCRIPT_FINISH] = STR_INIT(finish_lua),
        [SCRIPT_PUT] = STR_INIT(put_lua),
        [SCRIPT_DEL] = STR_INIT(del_lua),
        [SCRIPT_LAPSE] = STR_INIT(lapse_lua),

        [SCRIPT_SWEEP] = STR_INIT(sweep_lua),
        [SCRIPT_RESEAL] = STR_INIT(reseal_lua),
        [SCRIPT_TIME_IN_USE] = STR_INIT(time_in_use_lua),
        [SCRIPT_ORPHAN] = STR_INIT(orphan_lua),
        [SCRIPT_KEPT] = STR_INIT(kept_lua),
        [SCRIPT_FETCHED] = STR_INIT(fetched_lua),
        [SCRIPT_ROOM] = STR_INIT(room_lua),
    };

    return texts[script];
}
