-- uses clock head
--
-- What a record that is over has left in the indexes of its shard, and calls that are abandoned.
-- KEYS live, due.
-- ARGV as the names say; call_keys is what the keys of the shard's calls begin with, abandoned the time in use after which
-- a call is.
-- Says which of those that were looked at run: call, node, epoch.
local live_key, due_key = KEYS[1], KEYS[2]
local idle_key = live_key:sub(1, -2) .. 'i'
local call_keys, most, in_use, abandoned = unpack(ARGV)

for _, id in ipairs(call('HRANDFIELD', live_key, most)) do
  if call('EXISTS', call_keys .. id) == 0 then call('HDEL', live_key, id) end
end
for _, at in ipairs(call('ZRANDMEMBER', due_key, most)) do
  if call('EXISTS', call_keys .. at:sub(1, 22)) == 0 then call('ZREM', due_key, at) end
end

local runs = {}
local old = digits(math.max(0, in_use - abandoned))
for _, id in ipairs(call('ZRANGEBYSCORE', idle_key, '-inf', old, 'LIMIT', 0, most)) do
  local found = call('HGET', call_keys .. id, 'x')
  if found then head_read(found) end
  if found and state == '0' then
    for _, word in ipairs({id, node, epoch}) do runs[#runs + 1] = word end
  elseif found and state == '2' and #keep_until > 12 and tonumber(keep_until) > now then
    -- Something could bring it back.
    call('ZADD', idle_key, in_use, id)
  else
    if found and state == '2' then
      call('DEL', call_keys .. id)
      call('HDEL', live_key, id)
    end
    call('ZREM', idle_key, id)
  end
end
-- Those whose node did not know the time in use yet.
for _, id in ipairs(call('ZRANGEBYSCORE', idle_key, '+inf', '+inf', 'LIMIT', 0, most)) do
  call('ZADD', idle_key, in_use, id)
end
return {0, now, runs}
