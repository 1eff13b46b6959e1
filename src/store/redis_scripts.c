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
 *     m<ask>    "state asked expires ended took sensitive token attempt via"; the token is of the
 *               claim that ended it, or put it up again last
 *     q<ask>    the question's record
 *     a<ask>    the answer's record
 *     z<ask>    the answer's without content, to take its place when the call ends
 *
 * The head, by the names that the scripts give its parts:
 *
 *     s state, e epoch, p pending asks, J items of the journal, N entries in them, S sensitive
 *     ones, k until when something could bring it back, o when it was opened, n notices, C 1 if it
 *     is handed, u its principal as it is counted (or -), L ids of its asks, one behind the other
 * (or
 *     -), t token of the newest operation; on lines of their own w the node it is with and h the
 *     one it was with before
 *
 * Numbers of states are those of enum call_state and enum ask_state (redis_calls.c asserts them).
 * The journal names asks instead of repeating their answers, so that an answer which is erased is
 * erased from the journal too, and a claim need not know what was asked.
 *
 * Only a call that has ended has a time to live. One that runs or could be run stands in the index
 * i of its shard, by how long nodes had been there when it came to that: SWEEP removes those that
 * are abandoned.
 *
 * Older records are read as well: their k is a time in milliseconds, and their m ends with the
 * token.
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

/* The indexes of the shard: a principal's pending asks; the running and runnable calls that are
 * handed, KEYS[2], which ends with its letter; and all that run or could be run. */
#define INDEXES                                                                                    \
    "local shard = KEYS[2]:sub(1, -2)\n"                                                           \
    "local function owned() return shard .. 'u:' .. u end\n"                                       \
    "local function live(id, node) if C == '1' then call('HSET', KEYS[2], id, node) end end\n"     \
    "local function idles(id, used) call('ZADD', shard .. 'i', used, id) end\n"                    \
    "local function keep(now, ms_)\n"                                                              \
    "  if #k < 13 then k = ms(now + k) end\n"                                                      \
    "  if ms_ ~= '0' and now + ms_ > tonumber(k) then k = ms(now + ms_) end\n"                     \
    "end\n"

/* Whom it concerns is told that a call is worth a look; this very node by the reply. */
#define TELL                                                                                       \
    "local woken = 0\n"                                                                            \
    "local function tell(node, me, channel, id)\n"                                                 \
    "  if node == '' then return end\n"                                                            \
    "  if node == me then woken = 1 else call('PUBLISH', channel .. node, id) end\n"               \
    "end\n"

#define OWNED_MS                                                                                   \
    "604800000" /* that the list of a principal's asks outlives the last of them: a week */

/*
 * park, append. KEYS call, live, due. ARGV token, epoch, node, notices, p or a, 1 if it is opened,
 * call's record, record of entries, how many, call, me, channel, record of the entries without what
 * is sensitive ("": nothing is), 1 if there is no room for its asks, principal as it is counted, 1
 * if it is handed, how long something lives that could bring it back, time in use; and of each ask:
 * id, asked, expires, ttl, sensitive, attempt, record.
 */
static const char save[] = NOW HEAD INDEXES TELL
    "local open, parks, id = ARGV[6] == '1', ARGV[5] == 'p', ARGV[10]\n"
    "local found = call('HGET', KEYS[1], 'x')\n"
    "local behind = false\n"
    "if found then\n"
    "  read(found)\n"
    "  if t == ARGV[1] then return {0, now, 0} end\n"
    "  behind = open and parks and s == '1' and tonumber(N) < tonumber(ARGV[9])\n"
    "  if not behind and (open or e ~= ARGV[2] or s ~= '0') then return {2, now} end\n"
    "elseif not open then\n"
    "  return {1, now}\n"
    "end\n"
    "if ARGV[14] == '1' then return {4, now} end\n"
    "if behind then\n" /* it has gone on elsewhere */
    "  for i = 1, #L - 21, 22 do\n"
    "    call('ZREM', KEYS[3], id .. L:sub(i, i + 21))\n"
    "    if u ~= '-' then call('ZREM', owned(), L:sub(i, i + 21)) end\n"
    "  end\n"
    "  call('DEL', KEYS[1])\n"
    "  found = false\n"
    "end\n"
    "local set = {'x', ''}\n"
    "if not found then\n"
    "  u, C = ARGV[15], '0'\n"
    "  e, p, J, N, S, k, o, L, h = '1', '0', '0', '0', '0', '0000000000000', ms(now), '-', ''\n"
    "  set[3], set[4] = 'c', ARGV[7]\n"
    "end\n"
    "local hands = ARGV[16] == '1' and C ~= '1'\n"
    "if hands then C = '1' end\n"
    "keep(now, ARGV[17])\n"
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
    "for i = 19, #ARGV, 7 do\n"
    "  local ask, asked, expires = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])\n"
    "  if asked == 0 then asked = now end\n"
    "  if expires == 0 then expires = asked + ARGV[i + 3] end\n"
    "  if expires > last then last = expires end\n"
    "  local at = #set\n"
    "  set[at + 1] = 'm' .. ask\n"
    "  local till = ms(expires)\n"
    "  set[at + 2] = '0 ' .. ms(asked) .. ' ' .. till .. ' 0 0 ' .. ARGV[i + 4] .. '  '\n"
    "    .. ARGV[i + 5] .. ' '\n"
    "  set[at + 3] = 'q' .. ask\n"
    "  set[at + 4] = ARGV[i + 6]\n"
    "  call('ZADD', KEYS[3], till, id .. ask)\n"
    "  if u ~= '-' then call('ZADD', owned(), till, ask) end\n"
    "  L, p = L == '-' and ask or L .. ask, p + 1\n"
    "end\n"
    "if u ~= '-' and #ARGV > 18 then\n"
    "  call('PEXPIREAT', owned(), ms(last + " OWNED_MS "))\n"
    "end\n"
    "if not parks then\n"
    "  if not found or hands then live(id, w) end\n"
    "  idles(id, ARGV[18])\n"
    "  s = '0'\n"
    "elseif tonumber(p) > 0 then\n"
    "  if found then\n"
    "    if C == '1' then call('HDEL', KEYS[2], id) end\n"
    "    call('ZREM', shard .. 'i', id)\n"
    "  end\n"
    "  s = '1'\n"
    "else\n"
    "  live(id, '')\n"
    "  idles(id, ARGV[18])\n"
    "  s = '2'\n"
    "  tell(w, ARGV[11], ARGV[12], id)\n"
    "  if h ~= w then tell(h, ARGV[11], ARGV[12], id) end\n"
    "end\n"
    "set[2] = head()\n"
    "call('HSET', KEYS[1], unpack(set))\n"
    "if found then call('PERSIST', KEYS[1]) end\n" /* of an older record */
    "return {0, now, woken}\n";

/*
 * claim. KEYS call, live, due. ARGV token, the node that takes the call or "", call, me, channel,
 * via, 1 if it is whole, 1 if it is handed, time in use; and of each item: ask, outcome, answer,
 * the answer without its content ("": the same), the offer or 0, 1 if it is put up again, 1 if it
 * is known to have ended by this very answer. Says: the epoch that was taken, woken, 0 or 2
 * (refused) or 5 (it would mix), which were won, and the call's hash if it was taken, else the
 * meta, record and answer of each ask.
 */
static const char claim[] = NOW HEAD INDEXES TELL
    "local token, id, me, channel, via = ARGV[1], ARGV[3], ARGV[4], ARGV[5], ARGV[6]\n"
    "local found = call('HGET', KEYS[1], 'x')\n"
    "if not found then return {1, now} end\n"
    "local asks, shown, mixes = {}, {}, false\n"
    "for i = 10, #ARGV, 7 do\n"
    "  local m = call('HGET', KEYS[1], 'm' .. ARGV[i])\n"
    "  if not m then return {1, now} end\n"
    "  local a = {m:match('^(%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%d+) (%d) (%S*) ?(%d*) ?(%S*)$')}\n"
    "  if a[8] == '' or a[8] == '0' then a[8] = '1' end\n"
    "  mixes = mixes or (ARGV[7] == '1' and a[1] ~= '0' and a[7] ~= token and a[9] == via\n"
    "    and ARGV[i + 6] ~= '1')\n"
    "  asks[#asks + 1] = a\n"
    "  shown[#shown + 1] = 'm' .. ARGV[i]\n"
    "  shown[#shown + 1] = 'q' .. ARGV[i]\n"
    "  shown[#shown + 1] = 'a' .. ARGV[i]\n"
    "end\n"
    "local wins = {}\n"
    "if mixes then\n"
    "  for i = 1, #asks do wins[i] = 0 end\n"
    "  return {0, now, '0', 0, 5, wins, call('HMGET', KEYS[1], unpack(shown))}\n"
    "end\n"
    "read(found)\n"
    "local set, refused, won, fresh, ended, again = {}, false, false, false, {}, false\n"
    "local function put(field, value)\n"
    "  set[#set + 1] = field\n"
    "  set[#set + 1] = value\n"
    "end\n"
    "for nth, a in ipairs(asks) do\n"
    "  local i = 3 + 7 * nth\n"
    "  local ask, outcome, more = ARGV[i], ARGV[i + 1], ARGV[i + 5] == '1'\n"
    "  local due = now >= tonumber(a[3])\n"
    "  local late = due and (more or outcome == '1' or outcome == '2' or outcome == '3'\n"
    "    or outcome == '7')\n"
    "  local win = a[7] == token\n"
    "  if a[1] == '0' and not (more and win) then\n"
    "    if (ARGV[i + 4] ~= '0' and ARGV[i + 4] ~= a[8])\n"
    "      or (outcome == '4' and not more and not due) then\n"
    "      refused = true\n"
    "    elseif more and not late then\n"
    "      a[8], a[7] = string.format('%d', a[8] + 1), token\n"
    "      win, fresh, again = true, true, true\n"
    "      put('m' .. ask, table.concat(a, ' '))\n"
    "    else\n"
    "      a[1], a[4], a[7] = late and '4' or outcome, ms(now), token\n"
    "      a[9] = late and 'clock' or via\n"
    "      win, fresh = true, true\n"
    "      ended[#ended + 1] = nth\n"
    "      put('j' .. J, '@' .. ask)\n"
    "      p, J, N = math.max(p - 1, 0), J + 1, N + 1\n"
    "      if not late then\n"
    "        put('a' .. ask, ARGV[i + 2])\n"
    "        if ARGV[i + 3] ~= '' then\n"
    "          S = S + 1\n"
    "          put('z' .. ask, ARGV[i + 3])\n"
    "        end\n"
    "      end\n"
    "      call('ZREM', KEYS[3], id .. ask)\n"
    "      if u ~= '-' then call('ZREM', owned(), ask) end\n"
    "    end\n"
    "  end\n"
    "  wins[nth] = win and 1 or 0\n"
    "  won = won or win\n"
    "end\n"
    "local took = '0'\n"
    "if fresh then\n"
    "  if ARGV[8] == '1' then C = '1' end\n"
    "  if #ended > 0 and tonumber(p) == 0 and s == '1' then\n"
    "    idles(id, ARGV[9])\n"
    "    if ARGV[2] ~= '' then\n"
    "      s, e = '0', e + 1\n"
    "      took = string.format('%d', e)\n"
    "      if w ~= ARGV[2] then\n"
    "        h = w\n"
    "        tell(h, me, channel, id)\n"
    "      end\n"
    "      w = ARGV[2]\n"
    "      live(id, w)\n"
    "    else\n"
    "      s = '2'\n"
    "      live(id, '')\n"
    "      tell(w, me, channel, id)\n"
    "      if h ~= w then tell(h, me, channel, id) end\n"
    "    end\n"
    "  elseif again then\n" /* others that wait for it show the older offer */
    "    if w ~= me then tell(w, me, channel, id) end\n"
    "    if h ~= w and h ~= me then tell(h, me, channel, id) end\n"
    "  end\n"
    "  for _, nth in ipairs(ended) do\n"
    "    asks[nth][5] = took\n"
    "    put('m' .. ARGV[3 + 7 * nth], table.concat(asks[nth], ' '))\n"
    "  end\n"
    "  if #k < 13 then keep(now, '0') end\n"
    "  put('x', head())\n"
    "  call('HSET', KEYS[1], unpack(set))\n"
    "  call('PERSIST', KEYS[1])\n"
    "else\n"
    "  for nth, a in ipairs(asks) do\n"
    "    if wins[nth] == 1 and a[1] ~= '0' and a[5] ~= '0' then took = a[5] end\n"
    "  end\n"
    "end\n"
    "local verdict = refused and not won and 2 or 0\n"
    "if took ~= '0' then\n"
    "  return {0, now, took, woken, verdict, wins, call('HGETALL', KEYS[1])}\n"
    "end\n"
    "return {0, now, '0', woken, verdict, wins, call('HMGET', KEYS[1], unpack(shown))}\n";

/*
 * take. KEYS call, live. ARGV token, node, call, and, when the node it runs on was found to be
 * gone: 1, that node, the epoch; time in use. Says the call's hash; or 3, its node and its epoch.
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
    "  keep(now, '0')\n"
    "  call('HSET', KEYS[1], 'x', head())\n"
    "  live(ARGV[3], w)\n"
    "  idles(ARGV[3], ARGV[7])\n"
    "  call('PERSIST', KEYS[1])\n"
    "end\n"
    "return {0, now, call('HGETALL', KEYS[1])}\n";

/*
 * finish, cancel. KEYS call, live, due, event. ARGV token, epoch ("": any), state, result's record,
 * call, me, channel, event's record, its ttl ("": there is none), how long ends are kept, how long
 * something lives that could bring it back, 1 if it is handed.
 */
static const char end[] = NOW HEAD INDEXES TELL
    "local found = call('HGET', KEYS[1], 'x')\n"
    "if not found then return {1, now} end\n"
    "read(found)\n"
    "if t == ARGV[1] then return {0, now} end\n"
    "if s == '3' or s == '4' or (ARGV[2] ~= '' and e ~= ARGV[2]) then return {2, now} end\n"
    "local id = ARGV[5]\n"
    "if p ~= '0' or S ~= '0' then\n"
    "  for i = 1, #L - 21, 22 do\n"
    "    local ask = L:sub(i, i + 21)\n"
    "    local a = call('HMGET', KEYS[1], 'm' .. ask, 'z' .. ask)\n"
    "    local state, times, rest = a[1]:match('^(%d+) (%-?%d+ %-?%d+) %-?%d+ (.*)$')\n"
    "    if state == '0' then\n"
    "      call('HSET', KEYS[1], 'm' .. ask, '5 ' .. times .. ' ' .. ms(now) .. ' ' .. rest)\n"
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
    "if s ~= '1' then\n"
    "  if C == '1' then call('HDEL', KEYS[2], id) end\n"
    "  call('ZREM', shard .. 'i', id)\n"
    "end\n"
    "keep(now, ARGV[11])\n"
    "if ARGV[12] == '1' then C = '1' end\n"
    "s, t, p = ARGV[3], ARGV[1], '0'\n"
    "call('HSET', KEYS[1], 'x', head(), 'r', ARGV[4])\n"
    "call('PEXPIREAT', KEYS[1], ms(math.max(tonumber(k), now + ARGV[10])))\n"
    "if ARGV[9] ~= '' then call('SET', KEYS[4], ARGV[8], 'PX', ARGV[9]) end\n"
    "if w ~= ARGV[6] then tell(w, ARGV[6], ARGV[7], id) end\n"
    "if h ~= w and h ~= ARGV[6] then tell(h, ARGV[6], ARGV[7], id) end\n"
    "return {0, now}\n";

/* A small record. KEYS record. ARGV version or 0 or new, ttl or 0, value. Says its version, which
 * grows for ever, also past a removal: it follows the clock. */
static const char put[] = NOW "local v, over = call('HGET', KEYS[1], 'v'), ARGV[1]\n"
                              "if over ~= '0' and (v or 'new') ~= over then return {2, now} end\n"
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

/* For how long nodes were there. KEYS where that stands. ARGV how much counts between two looks at
 * most, how long it is remembered. Says it. */
static const char used[] = NOW "local v = call('HMGET', KEYS[1], 'used', 'at')\n"
                               "local n, at = tonumber(v[1] or 0), tonumber(v[2] or now)\n"
                               "n = n + math.max(0, math.min(now - at, tonumber(ARGV[1])))\n"
                               "call('HSET', KEYS[1], 'used', ms(n), 'at', ms(now))\n"
                               "return {0, now, ms(n)}\n";

/*
 * What a record that is over has left in the indexes of its shard, and calls that are abandoned.
 * KEYS live, due. ARGV what the keys of its calls begin with, how many are looked at, time in use,
 * time after which a call is abandoned. Says which of them run: call, node, epoch.
 */
static const char sweep[] = NOW HEAD
    "local shard = KEYS[1]:sub(1, -2)\n"
    "for _, id in ipairs(call('HRANDFIELD', KEYS[1], ARGV[2])) do\n"
    "  if call('EXISTS', ARGV[1] .. id) == 0 then call('HDEL', KEYS[1], id) end\n"
    "end\n"
    "for _, at in ipairs(call('ZRANDMEMBER', KEYS[2], ARGV[2])) do\n"
    "  if call('EXISTS', ARGV[1] .. at:sub(1, 22)) == 0 then call('ZREM', KEYS[2], at) end\n"
    "end\n"
    "local runs = {}\n"
    "local old = ms(math.max(0, ARGV[3] - ARGV[4]))\n"
    "for _, id in ipairs(call('ZRANGEBYSCORE', shard .. 'i', '-inf', old, 'LIMIT', 0, ARGV[2])) "
    "do\n"
    "  local found = call('HGET', ARGV[1] .. id, 'x')\n"
    "  if found then read(found) end\n"
    "  if found and s == '0' then\n"
    "    for _, word in ipairs({id, w, e}) do runs[#runs + 1] = word end\n"
    "  elseif found and s == '2' and #k > 12 and tonumber(k) > now then\n"
    "    call('ZADD', shard .. 'i', ARGV[3], id)\n" /* something could bring it back */
    "  else\n"
    "    if found and s == '2' then\n"
    "      call('DEL', ARGV[1] .. id)\n"
    "      call('HDEL', KEYS[1], id)\n"
    "    end\n"
    "    call('ZREM', shard .. 'i', id)\n"
    "  end\n"
    "end\n"
    "for _, id in ipairs(call('ZRANGEBYSCORE', shard .. 'i', '+inf', '+inf', 'LIMIT', 0, "
    "ARGV[2]))\n"
    "do call('ZADD', shard .. 'i', ARGV[3], id) end\n" /* whose node did not know the time yet */
    "return {0, now, runs}\n";

/*
 * A call has run for very long. KEYS call, live. ARGV call, node, epoch, 1 if that node is gone,
 * time in use. It is runnable then, and whoever comes may take it; if nobody does, it is abandoned
 * after its time.
 */
static const char orphan[] =
    NOW HEAD INDEXES "local found = call('HGET', KEYS[1], 'x')\n"
                     "if not found then return {1, now} end\n"
                     "read(found)\n"
                     "if s ~= '0' or w ~= ARGV[2] or e ~= ARGV[3] then return {2, now} end\n"
                     "idles(ARGV[1], ARGV[5])\n"
                     "if ARGV[4] == '1' then\n"
                     "  s = '2'\n"
                     "  live(ARGV[1], '')\n"
                     "  call('HSET', KEYS[1], 'x', head())\n"
                     "end\n"
                     "return {0, now}\n";

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
        [SCRIPT_USED] = STR_INIT(used),   [SCRIPT_ORPHAN] = STR_INIT(orphan),
    };

    return texts[script];
}
