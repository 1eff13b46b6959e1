-- uses clock
--
-- For how long nodes were there.
-- KEYS where that stands.
-- ARGV how much counts between two looks at most.
-- Says it.
local stood = call('HMGET', KEYS[1], 'used', 'at')
local used, at = tonumber(stood[1] or 0), tonumber(stood[2] or now)
used = used + math.max(0, math.min(now - at, tonumber(ARGV[1])))
call('HSET', KEYS[1], 'used', digits(used), 'at', digits(now))
return {0, now, digits(used)}
