-- uses clock head indexes
--
-- take.
-- KEYS call, live.
-- ARGV as named below; is_gone: the node that it runs on, in that epoch, was found to be gone.
-- Returns the call's hash; or 3, its node and its epoch: it runs there.
local call_key = KEYS[1]
local token, taker, id, is_gone, gone_node, gone_epoch, in_use = unpack(ARGV)

local found = call('HGET', call_key, 'x')
if not found then return {1, now} end
-- paste head_read
if newest ~= token then
  local gone = is_gone == '1' and node == gone_node and epoch == gone_epoch
  if state == '0' and not gone then return {3, now, node, epoch} end
  if state == '1' and node ~= taker then
    -- It waits: the node that wanted it is hinted first.
    node_before, node = node, taker
    -- paste head_text
    call('HSET', call_key, 'x', head)
  end
  if state ~= '2' and state ~= '0' then return {2, now} end
  if node ~= taker then node_before = node end
  newest, state, epoch, node = token, '0', epoch + 1, taker
  -- paste no_life
  -- paste head_text
  call('HSET', call_key, 'x', head)
  local with = node
  -- paste runs
end
return {0, now, call('HGETALL', call_key)}
