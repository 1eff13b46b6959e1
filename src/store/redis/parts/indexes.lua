-- The indexes of the call's shard. KEYS[2] is that of the calls that run or could be run and are handed; it ends with its
-- letter, and the others have other letters.
local live_key = KEYS[2]
local shard = live_key:sub(1, -2)
local idle_key = shard .. 'i'
local function owner_key() return shard .. 'u:' .. owner end
local function live_add(id, with)
  if handed == '1' then call('HSET', live_key, id, with) end
end
local function idle_add(id, in_use) call('ZADD', idle_key, in_use, id) end
