-- uses clock head indexes tell
--
-- A call that its taker cannot read after all can be run by any node.
-- KEYS call, live.
-- ARGV as named below; its_epoch: the one that it was taken in.
local call_key = KEYS[1]
local taker, its_epoch, id, me, channels, in_use = unpack(ARGV)

local found = call('HGET', call_key, 'x')
if not found then return {1, now} end
-- paste head_read
if state ~= '0' or epoch ~= its_epoch or node ~= taker then return {2, now} end
state = '2'
local with = ''
-- paste runs
-- paste head_text
call('HSET', call_key, 'x', head)
-- The taker itself is not told: it would take the call again.
if node_before ~= taker and node_before ~= me then tell(node_before, me, channels, id) end
return {0, now}
