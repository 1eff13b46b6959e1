-- The indexes of the call's shard. KEYS[2] is the index of calls that run or could be run, and are handed. It ends with its
-- letter; the keys of the other indexes differ only in that letter.
local live_key = KEYS[2]
local shard = live_key:sub(1, -2)
