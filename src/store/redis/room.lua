-- uses clock mark head
--
-- Contents of ended calls go whose results were handed out, until the time `till`. While something could bring such a call
-- back, it stays known that it has ended.
-- KEYS the bytes of the shard.
-- ARGV as named below; call_keys: the prefix of the keys of the shard's calls.
-- Returns how many went.
local shard = KEYS[1]:sub(1, -2)
local of, till, call_keys, most = unpack(ARGV)
local grown, spares, went = 0, 0, 0
local members = call('ZRANGEBYSCORE', shard .. 'f:' .. of, '-inf', till, 'LIMIT', 0, most)
for _, at in ipairs(members) do
  local id, bytes = at:match('^(%S+) (%d+)')
  local call_key, left = call_keys .. id, 0
  local found = call('HGET', call_key, 'x')
  if found then
    -- paste head_read
    for i = 1, #asks - 21, 22 do
      local member = asks:sub(i, i + 21) .. id .. owner
      call('ZREM', shard .. 'a', member)
      call('ZREM', shard .. 'o:' .. owner, member)
    end
    local small = call('HMGET', call_key, 'k', 'c')
    call('DEL', call_key)
    if #keep_until > 12 and tonumber(keep_until) > now then
      pending, items, entries, confidences, asks, left = '0', '0', '0', '0', '-', MARK
      local rest = MARK .. ' ' .. keep_until
      -- paste head_text
      call('HSET', call_key, 'x', head, 'c', small[1] or small[2], 'b', rest)
      call('PEXPIREAT', call_key, keep_until)
      call('ZADD', shard .. 'e:' .. of, keep_until, id .. ' ' .. rest)
    end
  end
  call('ZREM', shard .. 'f:' .. of, at)
  grown, spares, went = grown - bytes + left, spares - (bytes - MARK), went + 1
end
if went > 0 then
  owner = of
  -- paste kept
end
return {0, now, went}
