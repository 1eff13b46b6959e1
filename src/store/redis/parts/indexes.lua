-- The indexes of the call's shard. KEYS[2] is that of the calls that run or could be run and are handed; it ends with its
-- letter, and the others have other letters.
local live_key = KEYS[2]
local shard = live_key:sub(1, -2)
