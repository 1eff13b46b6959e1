-- The indexes of the call's shard. KEYS[2] is that of the calls that run or could be run and are handed; it ends with its
-- letter, and the others have other letters.
local live_key = KEYS[2]
local shard = live_key:sub(1, -2)
local idle_key = shard .. 'i'
local asks_key = shard .. 'a'
local function live_add(id, with)
  if handed == '1' then call('HSET', live_key, id, with) end
end
local function idle_add(id, in_use) call('ZADD', idle_key, in_use, id) end
-- An ask stands in the index of all and in that of its principal, by when it was asked while it is pending, and by when it
-- ended, as a negative number, from then on: the move from one to the other is one command.
local function ask_stands(ask, id, score)
  local member = ask .. id .. owner
  call('ZADD', asks_key, score, member)
  call('ZADD', shard .. 'o:' .. owner, score, member)
end
local function ask_goes(ask, id)
  local member = ask .. id .. owner
  call('ZREM', asks_key, member)
  call('ZREM', shard .. 'o:' .. owner, member)
end
-- Whoever watches the asks is told: + they have come up, - they have ended.
local function tell_asks(channels, sign, id, ids)
  if ids ~= '' then call('PUBLISH', channels, sign .. owner .. id .. ids) end
end
