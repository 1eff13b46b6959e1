-- uses clock
--
-- put: a small record.
-- KEYS record, list.
-- ARGV version or 0 or new, ttl or 0, value, its member in the list.
-- Returns its version, which always grows, even after a removal: it follows the clock.
local over, ttl, value, member = unpack(ARGV)
local version = call('HGET', KEYS[1], 'v')
if over ~= '0' and (version or 'new') ~= over then return {2, now} end
local newer = string.format('%.0f', math.max(clock[1] * 1000000 + clock[2], tonumber(version or 0) + 1))
call('HSET', KEYS[1], 'v', newer, 'd', value)
if not version then call('ZADD', KEYS[2], 0, member) end
if ttl ~= '0' then
  call('PEXPIRE', KEYS[1], ttl)
elseif version then
  call('PERSIST', KEYS[1])
end
return {0, now, newer}
