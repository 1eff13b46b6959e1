-- uses clock head indexes
--
-- A call has run for very long. If its node is gone it is runnable, and any node may take it. If nobody does, it is
-- abandoned after its time.
-- KEYS call, live.
-- ARGV as named below.
local call_key = KEYS[1]
local id, its_node, its_epoch, is_gone, in_use = unpack(ARGV)

local found = call('HGET', call_key, 'x')
if not found then return {1, now} end
-- paste head_read
if state ~= '0' or node ~= its_node or epoch ~= its_epoch then return {2, now} end
if is_gone == '1' then
  state = '2'
  if handed == '1' then call('HSET', live_key, id, '') end
  -- paste head_text
  call('HSET', call_key, 'x', head)
end
call('ZADD', shard .. 'i', in_use, id)
return {0, now}
