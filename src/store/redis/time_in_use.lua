-- uses clock
--
-- The time in use: for how long nodes have been there.
-- KEYS where it is kept.
-- ARGV the most that counts between two looks.
-- Returns it.
local stood = call('HMGET', KEYS[1], 'used', 'at')
local used, at = tonumber(stood[1] or 0), tonumber(stood[2] or now)
used = used + math.max(0, math.min(now - at, tonumber(ARGV[1])))
call('HSET', KEYS[1], 'used', digits(used), 'at', digits(now))
return {0, now, digits(used)}
