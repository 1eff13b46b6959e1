-- uses clock mark head
--
-- Removes what records that are gone have left in the indexes of their shard, asks that ended so long ago that they are no
-- longer listed, and calls that are abandoned.
-- KEYS live, due.
-- ARGV as named below; call_keys: the prefix of the keys of the shard's calls; abandoned: the time in use after which a
-- call is abandoned; ends_kept_ms: how long an ask is listed after its end.
-- Returns which of the calls that were looked at run (call, node, epoch), and 1 if there is more to do.
local live_key, due_key = KEYS[1], KEYS[2]
local shard = live_key:sub(1, -2)
local idle_key, asks_key, list_key = shard .. 'i', shard .. 'a', shard .. 'l'
local call_keys, most, in_use, abandoned, ends_kept_ms = unpack(ARGV)
local removed, grown, spares = 0, 0, 0

-- A member of the asks is an ask, its call and its principal.
local function ask_goes(member)
  call('ZREM', asks_key, member)
  call('ZREM', shard .. 'o:' .. member:sub(45), member)
  removed = removed + 1
end

for _, id in ipairs(call('HRANDFIELD', live_key, most)) do
  if call('EXISTS', call_keys .. id) == 0 then call('HDEL', live_key, id) end
end
for _, at in ipairs(call('ZRANDMEMBER', due_key, most)) do
  local call_key = call_keys .. at:sub(1, 22)
  local fields = call('HMGET', call_key, 'x', 'b')
  local found, kept_text = fields[1], fields[2]
  if not found then
    call('ZREM', due_key, at)
  elseif not kept_text then
    -- paste head_read
    -- paste kept_before
    call('HSET', call_key, 'b', was)
    -- paste kept
  end
end
for _, name in ipairs(call('HRANDFIELD', shard .. 'b', most)) do
  owner = name
  if owner ~= '*' and owner:sub(1, 1) ~= 's' then
    -- paste kept_over
  end
  if call('HGET', shard .. 'b', name) == '0' then call('HDEL', shard .. 'b', name) end
end
for _, member in ipairs(call('ZRANDMEMBER', asks_key, most)) do
  if call('EXISTS', call_keys .. member:sub(23, 44)) == 0 then ask_goes(member) end
end
local oldest = '-' .. digits(math.max(0, now - ends_kept_ms))
for _, member in ipairs(call('ZRANGEBYSCORE', asks_key, oldest, '(0', 'LIMIT', 0, 8 * most)) do
  ask_goes(member)
end
for _, member in ipairs(call('ZRANDMEMBER', list_key, most)) do
  if call('EXISTS', shard .. 'k:' .. member) == 0 then
    call('ZREM', list_key, member)
    removed = removed + 1
  end
end

local runs = {}
local old = digits(math.max(0, in_use - abandoned))
for _, id in ipairs(call('ZRANGEBYSCORE', idle_key, '-inf', old, 'LIMIT', 0, most)) do
  local found = call('HGET', call_keys .. id, 'x')
  if found then
    -- paste head_read
  end
  if found and state == '0' then
    for _, word in ipairs({id, node, epoch}) do runs[#runs + 1] = word end
  elseif found and state == '2' and #keep_until > 12 and tonumber(keep_until) > now then
    -- Something could still bring it back.
    call('ZADD', idle_key, in_use, id)
  else
    if found and state == '2' then
      for i = 1, #asks - 21, 22 do
        ask_goes(asks:sub(i, i + 21) .. id .. owner)
      end
      grown, spares = -tonumber(call('HGET', call_keys .. id, 'b') or 0), 0
      call('DEL', call_keys .. id)
      call('HDEL', live_key, id)
      -- paste kept
    end
    call('ZREM', idle_key, id)
  end
end
-- Calls whose node did not know the time in use yet.
for _, id in ipairs(call('ZRANGEBYSCORE', idle_key, '+inf', '+inf', 'LIMIT', 0, most)) do
  call('ZADD', idle_key, in_use, id)
end
return {0, now, runs, removed * 4 >= tonumber(most) and 1 or 0}
