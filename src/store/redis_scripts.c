/*
 * store/redis: the transitions, in Lua.
 *
 * One script a transition, each run whole or not at all by Redis, with Redis's clock. They are the
 * files of redis/, embedded by scripts/embed-lua; redis/parts/ has what several of them have in
 * common.
 * What each may do and what it answers is said in core/store.h; one that finds its own token has
 * happened, and changes nothing. The first two things that a script says are a number (0 done, 1
 * not found, 2 stale, 3 it runs somewhere, 4 no room) and the time, or 0 where it did not look.
 *
 * What a script costs Redis is counted by bench/redis: each argument and each text that Lua makes
 * is hashed, a function is made anew at every run, and every command that it calls costs a
 * microsecond before it does anything. So parts are pasted, a command that changes nothing is not
 * called, and what is only read is read by Redis itself, right behind the script.
 *
 * A call's hash. It has few fields, because every field costs Redis more than the text in it:
 *
 *     x         the head (redis/parts/head.lua)
 *     c, r      the call's record, the result's
 *     j0 j1 ..  an item of the journal: a record of entries, or "@" and an ask that has ended
 *     y0 ..     the item without what is sensitive, to take its place when the call ends
 *     m<ask>    "state asked expires ended took sensitive token attempt via"; the token is of the
 *               claim that ended it, or put it up again last
 *     q<ask>    the question's record
 *     a<ask>    the answer's record
 *     z<ask>    the answer's without content, to take its place when the call ends
 *
 * Numbers of states are those of enum call_state and enum ask_state (redis_calls.c asserts them).
 * The journal names asks instead of repeating their answers, so that an answer which is erased is
 * erased from the journal too, and a claim need not know what was asked.
 *
 * Only a call that has ended has a time to live. One that runs or could be run stands in the index
 * i of its shard, by how long nodes had been there when it came to that: sweep.lua removes those
 * that are abandoned.
 *
 * Older records are read as well: their keep_until is a time in milliseconds, and their m ends with
 * the token.
 *
 * Holds always: r, d, a and o of the shard list exactly the calls and asks whose records say so,
 * until a record is removed because its time is over; sweep.lua looks for what that leaves. Three
 * exceptions: an ask that has run out may stand in d alone until it is ended; one that ended longer
 * ago than ends are kept is not listed; what was pending when the indexes a and o came is not in
 * them until it ends.
 */
#include "store/redis_inside.h"

#include "redis_scripts_lua.h"

struct str redis_script_text(enum redis_script script)
{
    static const struct str texts[SCRIPTS] = {
        [SCRIPT_SAVE] = STR_INIT(save_lua),
        [SCRIPT_CLAIM] = STR_INIT(claim_lua),
        [SCRIPT_TAKE] = STR_INIT(take_lua),
        [SCRIPT_FINISH] = STR_INIT(finish_lua),
        [SCRIPT_PUT] = STR_INIT(put_lua),
        [SCRIPT_DEL] = STR_INIT(del_lua),
        [SCRIPT_LAPSE] = STR_INIT(lapse_lua),

        [SCRIPT_SWEEP] = STR_INIT(sweep_lua),
        [SCRIPT_RESEAL] = STR_INIT(reseal_lua),
        [SCRIPT_TIME_IN_USE] = STR_INIT(time_in_use_lua),
        [SCRIPT_ORPHAN] = STR_INIT(orphan_lua),
    };

    return texts[script];
}
