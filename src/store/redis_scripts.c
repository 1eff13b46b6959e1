/*
 * store/redis: the transitions, in Lua.
 *
 * One script a transition, each run whole or not at all by Redis, with Redis's clock. What each may
 * do and what it answers is said in core/store.h; one that finds its own token has happened, and
 * changes nothing. The first two things that a script says are a number (0 done, 1 not found, 2
 * stale, 3 it runs somewhere) and the time.
 *
 * A call's hash:
 *
 *     s state   e epoch   p pending asks   t token of the newest operation   w the node it is with
 *     h the node it was with before   n notices   k milliseconds it is kept   o opened   c record
 *     r result   J items of the journal   N entries in them   S sensitive answers   L ids of its
 * asks j0 j1 ..   an item: a record of entries, or "@" and the id of an ask that has ended m<ask>
 * "state asked expires ended took sensitive token" q<ask>     the question's record   a<ask> the
 * answer's   z<ask> the answer's without content
 *
 * Numbers of states are those of enum call_state and enum ask_state (redis_calls.c asserts them).
 * The journal names asks instead of repeating their answers, so that an answer which is erased is
 * erased from the journal too, and a claim need not know what was asked.
 *
 * Holds always: r and d of the shard list exactly the calls and asks whose records say so, until a
 * record is removed because its time is over; SWEEP looks for what that leaves.
 */
#include "store/redis_inside.h"

/* Where every script begins: the time; whom to tell that a call is worth a look. */
#define NOW                                                                                        \
    "local T = redis.call('TIME')\n"                                                               \
    "local now = T[1] * 1000 + math.floor(T[2] / 1000)\n"

#define TELL                                                                                       \
    "local woken = 0\n"                                                                            \
    "local function tell(node, me, channel, call)\n"                                               \
    "  if not node or node == '' then return end\n"                                                \
    "  if node == me then woken = 1\n"                                                             \
    "  else redis.call('PUBLISH', channel .. node, call) end\n"                                    \
    "end\n"

/*
 * park, append. KEYS call, live, due. ARGV token, epoch, node, notices, p or a, keep ("": is not
 * opened), call's record, record of entries, how many, call, me, channel; and of each ask: id,
 * asked, expires, ttl, sensitive, record.
 */
static const char save[] = NOW TELL
    "local f = redis.call('HMGET', KEYS[1], 't', 's', 'e', 'p', 'k', 'J', 'N', 'L', 'h')\n"
    "if f[1] == ARGV[1] then return {0, now, 0} end\n"
    "local open, parks, call = ARGV[6] ~= '', ARGV[5] == 'p', ARGV[10]\n"
    "if f[1] and open and parks and f[2] == '1' and tonumber(f[7]) < tonumber(ARGV[9]) then\n"
    "  for i = 1, #f[8], 22 do redis.call('ZREM', KEYS[3], call .. f[8]:sub(i, i + 21)) end\n"
    "  redis.call('DEL', KEYS[1])\n" /* it has gone on elsewhere */
    "  f = {}\n"
    "end\n"
    "if not f[1] and not open then return {1, now} end\n"
    "if f[1] and (open or f[3] ~= ARGV[2] or f[2] ~= '0') then return {2, now} end\n"
    "local keep = tonumber(f[5] or ARGV[6])\n"
    "local pending, items, asks = tonumber(f[4] or 0), tonumber(f[6] or 0), f[8] or ''\n"
    "local set = {'t', ARGV[1], 'n', ARGV[4], 'w', ARGV[3]}\n"
    "local function put(k, v) set[#set + 1] = k; set[#set + 1] = v end\n"
    "if open then\n"
    "  put('e', '1'); put('k', ARGV[6]); put('o', string.format('%.0f', now))\n"
    "  put('c', ARGV[7])\n"
    "end\n"
    "if ARGV[8] ~= '' then put('j' .. items, ARGV[8]); items = items + 1 end\n"
    "local last = now\n"
    "for i = 13, #ARGV, 6 do\n"
    "  local asked, expires = tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])\n"
    "  if asked == 0 then asked = now end\n"
    "  if expires == 0 then expires = asked + tonumber(ARGV[i + 3]) end\n"
    "  if expires > last then last = expires end\n"
    "  put('m' .. ARGV[i], string.format('0 %.0f %.0f 0 0 %s ', asked, expires, ARGV[i + 4]))\n"
    "  put('q' .. ARGV[i], ARGV[i + 5])\n"
    "  redis.call('ZADD', KEYS[3], expires, call .. ARGV[i])\n"
    "  asks, pending = asks .. ARGV[i], pending + 1\n"
    "end\n"
    "put('p', pending); put('J', items); put('N', tonumber(f[7] or 0) + tonumber(ARGV[9]))\n"
    "put('L', asks)\n"
    "local state = not parks and '0' or pending > 0 and '1' or '2'\n"
    "put('s', state)\n"
    "redis.call('HSET', KEYS[1], unpack(set))\n"
    "if parks then\n"
    "  redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', last + keep))\n"
    "end\n"
    "if state == '0' then\n"
    "  if open then redis.call('HSET', KEYS[2], call, ARGV[3]) end\n"
    "elseif state == '1' then\n"
    "  if not open then redis.call('HDEL', KEYS[2], call) end\n"
    "else\n"
    "  redis.call('HSET', KEYS[2], call, '')\n"
    "  tell(ARGV[3], ARGV[11], ARGV[12], call)\n"
    "  if f[9] ~= ARGV[3] then tell(f[9], ARGV[11], ARGV[12], call) end\n"
    "end\n"
    "return {0, now, woken}\n";

/*
 * claim. KEYS call, live, due. ARGV token, ask, outcome, answer, the answer without its content
 * ("": the same), the node that takes the call or "", call, me, channel. Says: won, the epoch that
 * was taken, woken, and the call's hash if it was, else the ask's meta, record and answer.
 */
static const char claim[] =
    NOW TELL "local ask, call = ARGV[2], ARGV[7]\n"
             "local f = redis.call('HMGET', KEYS[1], 'm' .. ask, 's', 'e', 'p', 'k', 'J', 'N', "
             "'w', 'S', 'h')\n"
             "if not f[1] then return {1, now} end\n"
             "local state, asked, expires, ended, took, sensitive, token =\n"
             "  f[1]:match('^(%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%d+) (%d) (.*)$')\n"
             "if state == '0' then\n"
             "  local outcome, due = ARGV[3], now >= tonumber(expires)\n"
             "  if outcome == '4' and not due then return {2, now} end\n"
             "  local late = due and (outcome == '1' or outcome == '2' or outcome == '3' or "
             "outcome == '7')\n"
             "  if late then outcome = '4' end\n"
             "  local pending = math.max(tonumber(f[4]) - 1, 0)\n"
             "  local set = {'p', pending, 'j' .. f[6], '@' .. ask, 'J', f[6] + 1, 'N', f[7] + 1}\n"
             "  local function put(k, v) set[#set + 1] = k; set[#set + 1] = v end\n"
             "  if pending == 0 and f[2] == '1' then\n"
             "    if ARGV[6] ~= '' then\n"
             "      took = string.format('%.0f', f[3] + 1)\n"
             "      put('s', '0'); put('e', took); put('w', ARGV[6])\n"
             "      if f[8] ~= ARGV[6] then\n"
             "        put('h', f[8])\n"
             "        tell(f[8], ARGV[8], ARGV[9], call)\n"
             "      end\n"
             "      redis.call('PERSIST', KEYS[1])\n"
             "      redis.call('HSET', KEYS[2], call, ARGV[6])\n"
             "    else\n"
             "      put('s', '2')\n"
             "      redis.call('PEXPIREAT', KEYS[1], string.format('%.0f', now + f[5]))\n"
             "      redis.call('HSET', KEYS[2], call, '')\n"
             "      tell(f[8], ARGV[8], ARGV[9], call)\n"
             "      if f[10] ~= f[8] then tell(f[10], ARGV[8], ARGV[9], call) end\n"
             "    end\n"
             "  end\n"
             "  if not late then\n"
             "    put('a' .. ask, ARGV[4])\n"
             "    if ARGV[5] ~= '' then put('z' .. ask, ARGV[5]); put('S', (f[9] or 0) + 1) end\n"
             "  end\n"
             "  token = ARGV[1]\n"
             "  put('m' .. ask, string.format('%s %s %s %.0f %s %s %s', outcome, asked, expires, "
             "now, took,\n"
             "    sensitive, token))\n"
             "  redis.call('HSET', KEYS[1], unpack(set))\n"
             "  redis.call('ZREM', KEYS[3], call .. ask)\n"
             "end\n"
             "local won = token == ARGV[1] and 1 or 0\n"
             "if won == 1 and took ~= '0' then\n"
             "  return {0, now, won, took, woken, redis.call('HGETALL', KEYS[1])}\n"
             "end\n"
             "return {0, now, won, '0', woken,\n"
             "  redis.call('HMGET', KEYS[1], 'm' .. ask, 'q' .. ask, 'a' .. ask)}\n";

/*
 * take. KEYS call, live. ARGV token, node, call, me, channel, and, when the node it runs on was
 * found to be gone: 1, that node, the epoch. Says the call's hash; or 3, its node and its epoch.
 */
static const char take[] = NOW TELL
    "local f = redis.call('HMGET', KEYS[1], 't', 's', 'e', 'w', 'h')\n"
    "if not f[1] then return {1, now} end\n"
    "if f[1] ~= ARGV[1] then\n"
    "  local gone = ARGV[6] == '1' and f[4] == ARGV[7] and f[3] == ARGV[8]\n"
    "  if f[2] == '0' and not gone then return {3, now, f[4], f[3]} end\n"
    "  if f[2] == '1' and f[4] ~= ARGV[2] then\n" /* it waits: whoever wanted it is told first */
    "    redis.call('HSET', KEYS[1], 'w', ARGV[2], 'h', f[4])\n"
    "  end\n"
    "  if f[2] ~= '2' and f[2] ~= '0' then return {2, now} end\n"
    "  local before = f[4] ~= ARGV[2] and f[4] or f[5] or ''\n"
    "  redis.call('HSET', KEYS[1], 't', ARGV[1], 's', '0', 'e', string.format('%.0f', f[3] + 1),\n"
    "    'w', ARGV[2], 'h', before)\n"
    "  redis.call('PERSIST', KEYS[1])\n"
    "  redis.call('HSET', KEYS[2], ARGV[3], ARGV[2])\n"
    "end\n"
    "return {0, now, redis.call('HGETALL', KEYS[1])}\n";

/*
 * finish, cancel. KEYS call, live, due, event. ARGV token, epoch ("": any), state, result's record,
 * call, me, channel, event's record, its ttl ("": there is none).
 */
static const char end[] = NOW TELL
    "local f = redis.call('HMGET', KEYS[1], 't', 's', 'e', 'p', 'k', 'S', 'L', 'w', 'h')\n"
    "if not f[1] then return {1, now} end\n"
    "if f[1] == ARGV[1] then return {0, now, 0} end\n"
    "if f[2] == '3' or f[2] == '4' or (ARGV[2] ~= '' and f[3] ~= ARGV[2]) then\n"
    "  return {2, now}\n"
    "end\n"
    "local call = ARGV[5]\n"
    "if f[4] ~= '0' or f[6] then\n"
    "  for i = 1, #f[7], 22 do\n"
    "    local ask = f[7]:sub(i, i + 21)\n"
    "    local a = redis.call('HMGET', KEYS[1], 'm' .. ask, 'z' .. ask)\n"
    "    local state, asked, expires, rest = a[1]:match('^(%d+) (%-?%d+) (%-?%d+) %-?%d+ (.*)$')\n"
    "    if state == '0' then\n"
    "      redis.call('HSET', KEYS[1], 'm' .. ask,\n"
    "        string.format('5 %s %s %.0f %s', asked, expires, now, rest))\n"
    "      redis.call('ZREM', KEYS[3], call .. ask)\n"
    "    elseif a[2] then\n"
    "      redis.call('HSET', KEYS[1], 'a' .. ask, a[2])\n"
    "      redis.call('HDEL', KEYS[1], 'z' .. ask)\n"
    "    end\n"
    "  end\n"
    "end\n"
    "redis.call('HSET', KEYS[1], 't', ARGV[1], 's', ARGV[3], 'r', ARGV[4], 'p', '0')\n"
    "redis.call('PEXPIRE', KEYS[1], f[5])\n"
    "if f[2] ~= '1' then redis.call('HDEL', KEYS[2], call) end\n"
    "if ARGV[9] ~= '' then redis.call('SET', KEYS[4], ARGV[8], 'PX', ARGV[9]) end\n"
    "if f[8] ~= ARGV[6] then tell(f[8], ARGV[6], ARGV[7], call) end\n"
    "if f[9] ~= f[8] and f[9] ~= ARGV[6] then tell(f[9], ARGV[6], ARGV[7], call) end\n"
    "return {0, now, 0}\n";

/* A small record. KEYS record. ARGV version or 0, ttl or 0, value. Says its version, which grows
 * for ever, also past a removal: it follows the clock. */
static const char put[] = NOW "local v = redis.call('HGET', KEYS[1], 'v')\n"
                              "if ARGV[1] ~= '0' and v ~= ARGV[1] then return {2, now} end\n"
                              "local next = math.max(T[1] * 1000000 + T[2], tonumber(v or 0) + 1)\n"
                              "next = string.format('%.0f', next)\n"
                              "redis.call('HSET', KEYS[1], 'v', next, 'd', ARGV[3])\n"
                              "if ARGV[2] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[2])\n"
                              "elseif v then redis.call('PERSIST', KEYS[1]) end\n"
                              "return {0, now, next}\n";

/* Where the events of a stream are. KEYS stream. ARGV seq, (seq CALL), ttl, how many are kept. */
static const char event[] = "redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])\n"
                            "redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - ARGV[4])\n"
                            "if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then\n"
                            "  redis.call('PEXPIRE', KEYS[1], ARGV[3])\n"
                            "end\n"
                            "return 0\n";

/* What a record that is over has left in the indexes of its shard. KEYS live, due. ARGV what the
 * keys of its calls begin with, how many are looked at. */
static const char sweep[] = "local removed = 0\n"
                            "for _, call in ipairs(redis.call('HRANDFIELD', KEYS[1], ARGV[2])) do\n"
                            "  if redis.call('EXISTS', ARGV[1] .. call) == 0 then\n"
                            "    removed = removed + redis.call('HDEL', KEYS[1], call)\n"
                            "  end\n"
                            "end\n"
                            "for _, at in ipairs(redis.call('ZRANDMEMBER', KEYS[2], ARGV[2])) do\n"
                            "  if redis.call('EXISTS', ARGV[1] .. at:sub(1, 22)) == 0 then\n"
                            "    removed = removed + redis.call('ZREM', KEYS[2], at)\n"
                            "  end\n"
                            "end\n"
                            "return removed\n";

struct str redis_script_text(enum redis_script script)
{
    static const struct str texts[SCRIPTS] = {
        [SCRIPT_SAVE] = STR_INIT(save),   [SCRIPT_CLAIM] = STR_INIT(claim),
        [SCRIPT_TAKE] = STR_INIT(take),   [SCRIPT_END] = STR_INIT(end),
        [SCRIPT_PUT] = STR_INIT(put),     [SCRIPT_EVENT] = STR_INIT(event),
        [SCRIPT_SWEEP] = STR_INIT(sweep),
    };

    return texts[script];
}
