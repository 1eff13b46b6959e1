-- uses clock
--
-- put: a small record.
-- KEYS record, list.
-- ARGV as named below. over: a version, 0 or new; ttl: or 0; member: its own in the list; whose: the principal, as it is
-- counted, or '': as it was; no_room '1': it is refused if it is not there yet.
-- Returns its version, which always grows, even after a removal: it follows the clock.
local over, ttl, value, member, whose, bytes, no_room = unpack(ARGV)
local fields = call('HMGET', KEYS[1], 'v', 'o')
local version, kept_text = fields[1], fields[2]
if over ~= '0' and (version or 'new') ~= over then return {2, now} end
if no_room == '1' and not version then return {4, now} end
local newer = string.format('%.0f', math.max(clock[1] * 1000000 + clock[2], tonumber(version or 0) + 1))
local shard, owner, grown, spares = KEYS[2]:sub(1, -2), '', 0, 0
-- paste small_goes
if whose == '' then whose = owner end
if owner ~= whose and grown ~= 0 then
  -- paste kept
  grown = 0
end
if whose ~= '' then
  owner, grown = whose, grown + bytes
  -- The version is in the name, so that no two records, and no two states of one, have the same.
  kept_text = newer .. redis.sha1hex(member):sub(1, 8) .. ' ' .. bytes
  call('ZADD', shard .. 'e:' .. owner, ttl == '0' and '+inf' or digits(now + ttl), kept_text)
  call('HSET', KEYS[1], 'v', newer, 'd', value, 'o', owner .. ' ' .. kept_text)
  if grown ~= 0 then
    -- paste kept
  end
else
  call('HSET', KEYS[1], 'v', newer, 'd', value)
end
if not version then call('ZADD', KEYS[2], 0, member) end
if ttl ~= '0' then
  call('PEXPIRE', KEYS[1], ttl)
elseif version then
  call('PERSIST', KEYS[1])
end
return {0, now, newer, owner}
