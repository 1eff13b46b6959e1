/*
 * store/redis: the transitions, in Lua.
 *
 * One script a transition, each run whole or not at all by Redis, with Redis's clock. What each may
 * do and what it answers is said in core/store.h; one that finds its own token has happened, and
 * changes nothing. The first two things that a script says are a number (0 done, 1 not found, 2
 * stale, 3 it runs somewhere) and the time, or 0 where it did not look.
 *
 * A call's hash. It has few fields, because every field costs Redis more than the text in it:
 *
 *     x         the head
 *     c, r      the call's record, the result's
 *     j0 j1 ..  an item of the journal: a record of entries, or "@" and an ask that has ended
 *     y0 ..     the item without what is sensitive, to take its place when the call ends
 *     m<ask>    "state asked expires ended took sensitive token"
 *     q<ask>    the question's record
 *     a<ask>    the answer's record
 *     z<ask>    the answer's without content, to take its place when the call ends
 *
 * The head, by the names that the scripts give its parts:
 *
 *     s state, e epoch, p pending asks, J items of the journal, N entries in them, S sensitive
 *     ones, k milliseconds it is kept, o when it was opened, n notices, C 1 if somebody comes back
 *     for it, u its principal as it is counted (or -), L ids of its asks, one behind the other (or
 *     -), t token of the newest operation; on lines of their own w the node it is with and h the
 *     one it was with before
 *
 * Numbers of states are those of enum call_state and enum ask_state (redis_calls.c asserts them).
 * The journal names asks instead of repeating their answers, so that an answer which is erased is
 * erased from the journal too, and a claim need not know what was asked.
 *
 * A call that has not ended is removed when nothing was heard of it for ABANDONED_MS after its last
 * transition, or after its last question ran out; one that has ended is kept for its time.
 *
 * Holds always: r and d of the shard list exactly the calls and asks whose records say so, until a
 * record is removed because its time is over; SWEEP looks for what that leaves.
 */
#include "store/redis_inside.h"

#define NOW                                                                                        \
    "local call = redis.call\n"                                                                    \
    "local T = call('TIME')\n"                                                                     \
    "local now = T[1] * 1000 + math.floor(T[2] / 1000)\n"                                          \
    "local function ms(n)\n"                                                                       \
    "  return string.format('%d%06d', math.floor(n / 1000000), n % 1000000)\n"                     \
    "end\n"

/* The head, and how it is written again. */
#define HEAD_NAMES "s, e, p, J, N, S, k, o, n, C, u, L, t, w, h"
#define HEAD                                                                                       \
    "local " HEAD_NAMES "\n"                                                                       \
    "local function read(head)\n"                                                                  \
    "  " HEAD_NAMES " = head:match('^(%d) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)'\n"      \
    "    .. ' (%d) (%S+) (%S+) (%S+)\\n([^\\n]*)\\n(.*)$')\n"                                      \
    "end\n"                                                                                        \
    "local function head()\n"                                                                      \
    "  return s .. ' ' .. e .. ' ' .. p .. ' ' .. J .. ' ' .. N .. ' ' .. S .. ' ' .. k .. ' '\n"  \
    "    .. o .. ' ' .. n .. ' ' .. C .. ' ' .. u .. ' ' .. L .. ' ' .. t .. '\\n' .. w .. '\\n' " \
    ".. h\n"                                                                                       \
    "end\n"

/* The indexes of the shard: a principal's pending asks, and the running and runnable calls for
 * which somebody comes back. KEYS[2] is the latter, and ends with its letter. */
#define INDEXES                                                                                    \
    "local function owned() return KEYS[2]:sub(1, -2) .. 'u:' .. u end\n"                          \
    "local function live(id, node) if C == '1' then call('HSET', KEYS[2], id, node) end end\n"

/* Whom it concerns is told that a call is worth a look; this very node by the reply. */
#define TELL                                                                                       \
    "local woken = 0\n"                                                                            \
    "local function tell(node, me, channel, id)\n"                                                 \
    "  if node == '' then return end\n"                                                            \
    "  if node == me then woken = 1 else call('PUBLISH', channel .. node, id) end\n"               \
    "end\n"

#define ABANDONED_MS "604800000" /* a week */

/*
 * park, append. KEYS call, live, due. ARGV token, epoch, node, notices, p or a, keep ("": is not
 * opened), call's record, record of entries, how many, call, me, channel, record of the entries
 * without what is sensitive ("": nothing is), 1 if there is no room for its asks, principal as it
 * is counted, 1 if somebody comes back for it; and of each ask: id, asked, expires, ttl, sensitive,
 * record.
 */
static const char save[] = NOW HEAD INDEXES TELL
    "local open, parks, id = ARGV[6] ~= '', ARGV[5] == 'p', ARGV[10]\n"
    "local found = call('HGET', KEYS[1], 'x')\n"
    "if found then\n"
    "  read(found)\n"
    "  if t == ARGV[1] then return {0, now, 0} end\n"
    "  if open and parks and s == '1' and tonumber(N) < tonumber(ARGV[9]) then\n"
    "    for i = 1, #L - 21, 22 do\n"
    "      call('ZREM', KEYS[3], id .. L:sub(i, i + 21))\n"
    "      if u ~= '-' then call('ZREM', owned(), L:sub(i, i + 21)) end\n"
    "    end\n"
    "    call('DEL', KEYS[1])\n" /* it has gone on elsewhere */
    "    found = false\n"
    "  elseif open or e ~= ARGV[2] or s ~= '0' then\n"
    "    return {2, now}\n"
    "  end\n"
    "elseif not open then\n"
    "  return {1, now}\n"
    "end\n"
    "if ARGV[14] == '1' then return {4, now} end\n"
    "local set = {'x', ''}\n"
    "if not found then\n"
    "  u, C = ARGV[15], ARGV[16]\n"
    "  e, p, J, N, S, k, o, L, h = '1', '0', '0', '0', '0', ARGV[6], ms(now), '-', ''\n"
    "  set[3], set[4] = 'c', ARGV[7]\n"
    "end\n"
    "t, n, w = ARGV[1], ARGV[4], ARGV[3]\n"
    "if ARGV[8] ~= '' then\n"
    "  set[#set + 1] = 'j' .. J\n"
    "  set[#set + 1] = ARGV[8]\n"
    "  if ARGV[13] ~= '' then\n"
    "    set[#set + 1] = 'y' .. J\n"
    "    set[#set + 1] = ARGV[13]\n"
    "    S = S + 1\n"
    "  end\n"
    "  J, N = J + 1, N + ARGV[9]\n"
    "end\n"
    "local last = now\n"
    "for i = 17, #ARGV, 6 do\n"
    "  local ask, asked, expires = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])\n"
    "  if asked == 0 then asked = now end\n"
    "  if expires == 0 then expires = asked + ARGV[i + 3] end\n"
    "  if expires > last then last = expires end\n"
    "  local at = #set\n"
    "  set[at + 1] = 'm' .. ask\n"
    "  local till = ms(expires)\n"
    "  set[at + 2] = '0 ' .. ms(asked) .. ' ' .. till .. ' 0 0 ' .. ARGV[i + 4] .. ' '\n"
    "  set[at + 3] = 'q' .. ask\n"
    "  set[at + 4] = ARGV[i + 5]\n"
    "  call('ZADD', KEYS[3], till, id .. ask)\n"
    "  if u ~= '-' then call('ZADD', owned(), till, ask) end\n"
    "  L, p = L == '-' and ask or L .. ask, p + 1\n"
    "end\n"
    "if u ~= '-' and #ARGV > 16 then\n"
    "  call('PEXPIREAT', owned(), ms(last + " ABANDONED_MS "))\n"
    "end\n"
    "if not parks then\n"
    "  if not found then live(id, w) end\n"
    "  s = '0'\n"
    "elseif tonumber(p) > 0 then\n"
    "  if found and C == '1' then call('HDEL', KEYS[2], id) end\n"
    "  s = '1'\n"
    "else\n"
    "  live(id, '')\n"
    "  s = '2'\n"
    "  tell(w, ARGV[11], ARGV[12], id)\n"
    "  if h ~= w then tell(h, ARGV[11], ARGV[12], id) end\n"
    "end\n"
    "set[2] = head()\n"
    "call('HSET', KEYS[1], unpack(set))\n"
    "call('PEXPIREAT', KEYS[1], ms(last + k + " ABANDONED_MS "))\n"
    "return {0, now, woken}\n";

/*
 * claim. KEYS call, live, due. ARGV token, ask, outcome, answer, the answer without its content
 * ("": the same), the node that takes the call or "", call, me, channel. Says: won, the epoch that
 * was taken, woken, and the call's hash if it was, else the ask's meta, record and answer.
 */
static const char claim[] = NOW HEAD INDEXES TELL
    "local ask, id = ARGV[2], ARGV[7]\n"
    "local f = call('HMGET', KEYS[1], 'x', 'm' .. ask)\n"
    "if not f[1] or not f[2] then return {1, now} end\n"
    "local state, asked, expires, ended, took, sensitive, token =\n"
    "  f[2]:match('^(%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%d+) (%d) (.*)$')\n"
    "if state == '0' then\n"
    "  local outcome, due = ARGV[3], now >= tonumber(expires)\n"
    "  if outcome == '4' and not due then return {2, now} end\n"
    "  local late = due and (outcome == '1' or outcome == '2' or outcome == '3' or outcome == "
    "'7')\n"
    "  if late then outcome = '4' end\n"
    "  read(f[1])\n"
    "  local item = 'j' .. J\n"
    "  p, J, N = math.max(p - 1, 0), J + 1, N + 1\n"
    "  if p == 0 and s == '1' then\n"
    "    if ARGV[6] ~= '' then\n"
    "      s, e = '0', e + 1\n"
    "      took = tostring(e)\n"
    "      if w ~= ARGV[6] then\n"
    "        h = w\n"
    "        tell(h, ARGV[8], ARGV[9], id)\n"
    "      end\n"
    "      w = ARGV[6]\n"
    "      live(id, w)\n"
    "    else\n"
    "      s = '2'\n"
    "      live(id, '')\n"
    "      tell(w, ARGV[8], ARGV[9], id)\n"
    "      if h ~= w then tell(h, ARGV[8], ARGV[9], id) end\n"
    "    end\n"
    "  end\n"
    "  token = ARGV[1]\n"
    "  local meta = outcome .. ' ' .. asked .. ' ' .. expires .. ' ' .. ms(now) .. ' '\n"
    "    .. took .. ' ' .. sensitive .. ' ' .. token\n"
    "  if late then\n"
    "    call('HSET', KEYS[1], 'x', head(), 'm' .. ask, meta, item, '@' .. ask)\n"
    "  elseif ARGV[5] == '' then\n"
    "    call('HSET', KEYS[1], 'x', head(), 'm' .. ask, meta, item, '@' .. ask, 'a' .. ask, "
    "ARGV[4])\n"
    "  else\n"
    "    S = S + 1\n"
    "    call('HSET', KEYS[1], 'x', head(), 'm' .. ask, meta, item, '@' .. ask, 'a' .. ask, "
    "ARGV[4],\n"
    "      'z' .. ask, ARGV[5])\n"
    "  end\n"
    "  call('ZREM', KEYS[3], id .. ask)\n"
    "  if u ~= '-' then call('ZREM', owned(), ask) end\n"
    "end\n"
    "local won = token == ARGV[1] and 1 or 0\n"
    "if won == 1 and took ~= '0' then\n"
    "  return {0, now, won, took, woken, call('HGETALL', KEYS[1])}\n"
    "end\n"
    "return {0, now, won, '0', woken, call('HMGET', KEYS[1], 'm' .. ask, 'q' .. ask, 'a' .. "
    "ask)}\n";

/*
 * take. KEYS call, live. ARGV token, node, call, and, when the node it runs on was found to be
 * gone: 1, that node, the epoch. Says the call's hash; or 3, its node and its epoch.
 */
static const char take[] = NOW HEAD INDEXES
    "local found = call('HGET', KEYS[1], 'x')\n"
    "if not found then return {1, now} end\n"
    "read(found)\n"
    "if t ~= ARGV[1] then\n"
    "  local gone = ARGV[4] == '1' and w == ARGV[5] and e == ARGV[6]\n"
    "  if s == '0' and not gone then return {3, now, w, e} end\n"
    "  if s == '1' and w ~= ARGV[2] then\n" /* it waits: whoever wanted it is told first */
    "    h, w = w, ARGV[2]\n"
    "    call('HSET', KEYS[1], 'x', head())\n"
    "  end\n"
    "  if s ~= '2' and s ~= '0' then return {2, now} end\n"
    "  if w ~= ARGV[2] then h = w end\n"
    "  t, s, e, w = ARGV[1], '0', e + 1, ARGV[2]\n"
    "  call('HSET', KEYS[1], 'x', head())\n"
    "  live(ARGV[3], w)\n"
    "  call('PEXPIRE', KEYS[1], k + " ABANDONED_MS ")\n"
    "end\n"
    "return {0, now, call('HGETALL', KEYS[1])}\n";

/*
 * finish, cancel. KEYS call, live, due, event. ARGV token, epoch ("": any), state, result's record,
 * call, me, channel, event's record, its ttl ("": there is none).
 */
static const char end[] =
    "local call = redis.call\n" HEAD INDEXES TELL "local found = call('HGET', KEYS[1], 'x')\n"
    "if not found then return {1, 0} end\n"
    "read(found)\n"
    "if t == ARGV[1] then return {0, 0} end\n"
    "if s == '3' or s == '4' or (ARGV[2] ~= '' and e ~= ARGV[2]) then return {2, 0} end\n"
    "local id = ARGV[5]\n"
    "if p ~= '0' or S ~= '0' then\n"
    "  local T = call('TIME')\n"
    "  local now = string.format('%.0f', T[1] * 1000 + math.floor(T[2] / 1000))\n"
    "  for i = 1, #L - 21, 22 do\n"
    "    local ask = L:sub(i, i + 21)\n"
    "    local a = call('HMGET', KEYS[1], 'm' .. ask, 'z' .. ask)\n"
    "    local state, times, rest = a[1]:match('^(%d+) (%-?%d+ %-?%d+) %-?%d+ (.*)$')\n"
    "    if state == '0' then\n"
    "      call('HSET', KEYS[1], 'm' .. ask, '5 ' .. times .. ' ' .. now .. ' ' .. rest)\n"
    "      call('ZREM', KEYS[3], id .. ask)\n"
    "      if u ~= '-' then call('ZREM', owned(), ask) end\n"
    "    elseif a[2] then\n"
    "      call('HSET', KEYS[1], 'a' .. ask, a[2])\n"
    "      call('HDEL', KEYS[1], 'z' .. ask)\n"
    "    end\n"
    "  end\n"
    "  for i = 0, S == '0' and -1 or J - 1 do\n"
    "    local erased = call('HGET', KEYS[1], 'y' .. i)\n"
    "    if erased then\n"
    "      call('HSET', KEYS[1], 'j' .. i, erased)\n"
    "      call('HDEL', KEYS[1], 'y' .. i)\n"
    "    end\n"
    "  end\n"
    "end\n"
    "if s ~= '1' and C == '1' then call('HDEL', KEYS[2], id) end\n"
    "s, t, p = ARGV[3], ARGV[1], '0'\n"
    "call('HSET', KEYS[1], 'x', head(), 'r', ARGV[4])\n"
    "call('PEXPIRE', KEYS[1], k)\n"
    "if ARGV[9] ~= '' then call('SET', KEYS[4], ARGV[8], 'PX', ARGV[9]) end\n"
    "if w ~= ARGV[6] then tell(w, ARGV[6], ARGV[7], id) end\n"
    "if h ~= w and h ~= ARGV[6] then tell(h, ARGV[6], ARGV[7], id) end\n"
    "return {0, 0}\n";

/* A small record. KEYS record. ARGV version or 0, ttl or 0, value. Says its version, which grows
 * for ever, also past a removal: it follows the clock. */
static const char put[] = NOW "local v = call('HGET', KEYS[1], 'v')\n"
                              "if ARGV[1] ~= '0' and v ~= ARGV[1] then return {2, now} end\n"
                              "local next = math.max(T[1] * 1000000 + T[2], tonumber(v or 0) + 1)\n"
                              "next = string.format('%.0f', next)\n"
                              "call('HSET', KEYS[1], 'v', next, 'd', ARGV[3])\n"
                              "if ARGV[2] ~= '0' then call('PEXPIRE', KEYS[1], ARGV[2])\n"
                              "elseif v then call('PERSIST', KEYS[1]) end\n"
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

/* A record that was sealed anew, if it is still what it was. KEYS its key. ARGV field ("": the
 * whole value), old, new. Says 1 if it was replaced. */
static const char reseal[] = "local call, key, field = redis.call, KEYS[1], ARGV[1]\n"
                             "if field == '' then\n"
                             "  if call('GET', key) ~= ARGV[2] then return 0 end\n"
                             "  call('SET', key, ARGV[3], 'KEEPTTL')\n"
                             "else\n"
                             "  if call('HGET', key, field) ~= ARGV[2] then return 0 end\n"
                             "  call('HSET', key, field, ARGV[3])\n"
                             "end\n"
                             "return 1\n";

struct str redis_script_text(enum redis_script script)
{
    static const struct str texts[SCRIPTS] = {
        [SCRIPT_SAVE] = STR_INIT(save),   [SCRIPT_CLAIM] = STR_INIT(claim),
        [SCRIPT_TAKE] = STR_INIT(take),   [SCRIPT_END] = STR_INIT(end),
        [SCRIPT_PUT] = STR_INIT(put),     [SCRIPT_EVENT] = STR_INIT(event),
        [SCRIPT_SWEEP] = STR_INIT(sweep), [SCRIPT_RESEAL] = STR_INIT(reseal),
    };

    return texts[script];
}
