-- uses clock mark
--
-- Calls of a principal that Redis has removed, because their time was over, are no longer counted.
-- KEYS the bytes of the shard.
-- ARGV as named below; most: how many are looked at.
local shard = KEYS[1]:sub(1, -2)
local owner, most = unpack(ARGV)
local grown, spares
-- paste kept_over
return {0, now}
