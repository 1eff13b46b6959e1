-- uses clock head indexes
--
-- A call has run for very long. If its node is gone it is runnable, and whoever comes may take it; if nobody does, it is
-- abandoned after its time.
-- KEYS call, live.
-- ARGV as the names say.
local call_key = KEYS[1]
local id, its_node, its_epoch, is_gone, in_use = unpack(ARGV)

local found = call('HGET', call_key, 'x')
if not found then return {1, now} end
head_read(found)
if state ~= '0' or node ~= its_node or epoch ~= its_epoch then return {2, now} end
idle_add(id, in_use)
if is_gone == '1' then
  state = '2'
  live_add(id, '')
  call('HSET', call_key, 'x', head_text())
end
return {0, now}
