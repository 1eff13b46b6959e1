-- A record that was sealed anew replaces the old one, if that is still what was read.
-- KEYS its key.
-- ARGV field ('': the whole value), old, new.
-- Returns 1 if it was replaced.
local call, key = redis.call, KEYS[1]
local field, old, new = unpack(ARGV)
if field == '' then
  if call('GET', key) ~= old then return 0 end
  call('SET', key, new, 'KEEPTTL')
else
  if call('HGET', key, field) ~= old then return 0 end
  call('HSET', key, field, new)
end
return 1
