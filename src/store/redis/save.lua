-- uses clock head indexes tell
--
-- park, append.
-- KEYS call, live, due.
-- ARGV as the names say; and of each ask: id, asked, expires, ttl, sensitive, attempt, record.
-- Says whether this very node is to be woken.
local ASK_FIRST, ASK_WORDS = 19, 7
local call_key, due_key = KEYS[1], KEYS[3]
local token, its_epoch, its_node, its_notices, what, opens, call_record, entries_record, entry_count, id, me, channels,
  erased_record, no_room, its_owner, hands, keep_ms, in_use = unpack(ARGV, 1, ASK_FIRST - 1)
local open, parks = opens == '1', what == 'p'

local found = call('HGET', call_key, 'x')
local behind = false
if found then
  head_read(found)
  if newest == token then return {0, now, 0} end
  behind = open and parks and state == '1' and tonumber(entries) < tonumber(entry_count)
  if not behind and (open or epoch ~= its_epoch or state ~= '0') then return {2, now} end
elseif not open then
  return {1, now}
end
if no_room == '1' then return {4, now} end
if behind then
  -- It has gone on elsewhere: what is here is replaced.
  for i = 1, #asks - 21, 22 do
    local ask = asks:sub(i, i + 21)
    call('ZREM', due_key, id .. ask)
    ask_goes(ask, id)
  end
  call('DEL', call_key)
  found = false
end

local set = {'x', ''}
if not found then
  owner, handed = its_owner, '0'
  epoch, pending, items, entries, confidences, keep_until = '1', '0', '0', '0', '0', '0000000000000'
  opened, asks, node_before = digits(now), '-', ''
  set[3], set[4] = 'c', call_record
end
local newly_handed = hands == '1' and handed ~= '1'
if newly_handed then handed = '1' end
keep_for(keep_ms)
newest, notices, node = token, its_notices, its_node

if entries_record ~= '' then
  set[#set + 1] = 'j' .. items
  set[#set + 1] = entries_record
  if erased_record ~= '' then
    set[#set + 1] = 'y' .. items
    set[#set + 1] = erased_record
    confidences = confidences + 1
  end
  items, entries = items + 1, entries + entry_count
end

local new_asks = ''
for i = ASK_FIRST, #ARGV, ASK_WORDS do
  local ask, asked, expires = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  if asked == 0 then asked = now end
  if expires == 0 then expires = asked + ARGV[i + 3] end
  local since, till = digits(asked), digits(expires)
  local at = #set
  set[at + 1] = 'm' .. ask
  set[at + 2] = '0 ' .. since .. ' ' .. till .. ' 0 0 ' .. ARGV[i + 4] .. '  ' .. ARGV[i + 5] .. ' '
  set[at + 3] = 'q' .. ask
  set[at + 4] = ARGV[i + 6]
  call('ZADD', due_key, till, id .. ask)
  ask_stands(ask, id, since)
  new_asks, pending = new_asks .. ask, pending + 1
end
if new_asks ~= '' then
  asks = asks == '-' and new_asks or asks .. new_asks
  tell_asks(channels, '+', id, new_asks)
end

if not parks then
  if not found or newly_handed then live_add(id, node) end
  idle_add(id, in_use)
  state = '0'
elseif tonumber(pending) > 0 then
  if found then
    if handed == '1' then call('HDEL', live_key, id) end
    call('ZREM', idle_key, id)
  end
  state = '1'
else
  live_add(id, '')
  idle_add(id, in_use)
  state = '2'
  tell(node, me, channels, id)
  if node_before ~= node then tell(node_before, me, channels, id) end
end
set[2] = head_text()
call('HSET', call_key, unpack(set))
-- An older record may have a time to live.
if found then call('PERSIST', call_key) end
return {0, now, woken}
