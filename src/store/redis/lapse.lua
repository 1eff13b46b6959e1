-- uses clock head
--
-- Asks that have run out, and that nobody has ended yet, are no longer listed as pending, and no longer counted for their
-- principal.
-- KEYS due.
-- ARGV the prefix of the keys of the shard's calls, how many asks are looked at.
local due_key = KEYS[1]
local shard = due_key:sub(1, -2)
local call_keys, most = unpack(ARGV)

for _, at in ipairs(call('ZRANGEBYSCORE', due_key, '-inf', digits(now), 'LIMIT', 0, most)) do
  local id, ask = at:sub(1, 22), at:sub(23)
  local found = call('HGET', call_keys .. id, 'x')
  if found then
    -- paste head_read
    local member = ask .. id .. owner
    call('ZREM', shard .. 'a', member)
    call('ZREM', shard .. 'o:' .. owner, member)
  end
end
return {0, now}
