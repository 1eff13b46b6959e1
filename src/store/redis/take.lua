-- uses clock head indexes
--
-- take.
-- KEYS call, live.
-- ARGV as named below; is_gone: the node that it runs on, in that epoch, was found to be gone; why: see enum take_why.
-- Returns the call's hash; or 3, its node and its epoch: it runs there; or 2 and 1: it was given back on probation.
local call_key = KEYS[1]
local token, taker, id, is_gone, gone_node, gone_epoch, in_use, why = unpack(ARGV)
local LATE, PROBATION, TRIED, MOST = 16, 256, 65536, 15 -- see deaths_pack

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
  local counted = tonumber(deaths) or 0
  local on_probation = math.floor(counted / PROBATION) % 2 == 1
  if state == '2' and why == '0' and on_probation then return {2, now, 1} end
  if state == '0' and why == '2' then
    local early, late = counted % LATE, math.floor(counted / LATE) % LATE
    if on_probation then early = math.min(early + 1, MOST) else late = math.min(late + 1, MOST) end
    deaths = digits(early + LATE * late + PROBATION + TRIED * math.ceil(now / 1000))
  end
  if node ~= taker then node_before = node end
  newest, state, epoch, node = token, '0', epoch + 1, taker
  -- paste no_life
  -- paste head_text
  call('HSET', call_key, 'x', head)
  local with = node
  -- paste runs
end
return {0, now, call('HGETALL', call_key)}
