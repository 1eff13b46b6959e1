-- uses clock mark head indexes tell
--
-- park, append.
-- KEYS call, live, due.
-- ARGV as named below, and for each ask: id, asked, expires, ttl, sensitive, attempt, record.
-- Returns whether this very node is to be woken.
local ASK_FIRST, ASK_WORDS = 21, 7
local call_key, due_key = KEYS[1], KEYS[3]
local token, its_epoch, its_node, its_notices, what, opens, call_record, entries_record, entry_count, id, me, channels,
  erased_record, no_room, its_owner, hands, keep_ms, in_use, small_record, version = unpack(ARGV, 1, ASK_FIRST - 1)
local open, parks, now_text = opens == '1', what == 'p', digits(now)

local fields = call('HMGET', call_key, 'x', 'b')
local found, kept_text = fields[1], fields[2]
local behind = false
if found then
  -- paste head_read
  if newest == token then return {0, now, 0} end
  behind = open and parks and state == '1' and tonumber(entries) < tonumber(entry_count)
  if not behind and (open or epoch ~= its_epoch or (state ~= '0' and state ~= '1')) then return {2, now} end
elseif not open then
  return {1, now}
end
if no_room == '1' then return {4, now} end
if not found then kept_text = '0' end
-- paste kept_before
if behind then
  -- The call has gone on where this store is not shared: the stored one is replaced.
  for i = 1, #asks - 21, 22 do
    local ask = asks:sub(i, i + 21)
    local member = ask .. id .. owner
    call('ZREM', due_key, id .. ask)
    call('ZREM', shard .. 'a', member)
    call('ZREM', shard .. 'o:' .. owner, member)
  end
  call('DEL', call_key)
  was, grown, found = 0, grown - was, false
end

local set = {'x', ''}
if found then
  -- paste no_life
else
  owner, handed = its_owner, '0'
  epoch, pending, items, entries, confidences, keep_until = '1', '0', '0', '0', '0', '0000000000000'
  opened, asks, node_before, deaths = now_text, '-', '', ''
  set[3], set[4] = 'c', call_record
  was, grown = was + MARK + #call_record, grown + MARK + #call_record
  set[5], set[6] = 'v', version
  if small_record ~= '' then
    set[7], set[8] = 'k', small_record
  end
end
local newly_handed = hands == '1' and handed ~= '1'
if newly_handed then handed = '1' end
-- paste keep
-- A call that waits may have a node in its place that waits as well, and is told what is new.
if found and node ~= its_node then node_before = node end
newest, notices, node = token, its_notices, its_node
if entries_record ~= '' or #ARGV >= ASK_FIRST then deaths = '' end

if entries_record ~= '' then
  set[#set + 1] = 'j' .. items
  set[#set + 1] = entries_record
  if erased_record ~= '' then
    set[#set + 1] = 'y' .. items
    set[#set + 1] = erased_record
    confidences = confidences + 1
  end
  items, entries = items + 1, entries + entry_count
  was, grown = was + #entries_record, grown + #entries_record
end

local new_asks = ''
for i = ASK_FIRST, #ARGV, ASK_WORDS do
  local ask, score, till = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if score == '0' then score = now_text end
  if till == '0' then till = digits(score + ARGV[i + 3]) end
  local at = #set
  set[at + 1] = 'm' .. ask
  set[at + 2] = '0 ' .. score .. ' ' .. till .. ' 0 0 ' .. ARGV[i + 4] .. '  ' .. ARGV[i + 5] .. ' '
  set[at + 3] = 'q' .. ask
  set[at + 4] = ARGV[i + 6]
  was, grown = was + MARK + #ARGV[i + 6], grown + MARK + #ARGV[i + 6]
  call('ZADD', due_key, till, id .. ask)
  -- paste ask_stands
  new_asks, pending = new_asks .. ask, pending + 1
end
if new_asks ~= '' then
  asks = asks == '-' and new_asks or asks .. new_asks
  call('PUBLISH', channels, '+' .. owner .. id .. new_asks)
end

if not parks and tonumber(pending) > 0 then
  state = '1'
elseif not parks then
  if handed == '1' and (newly_handed or not found) then call('HSET', live_key, id, node) end
  call('ZADD', shard .. 'i', in_use, id)
  state = '0'
elseif tonumber(pending) > 0 then
  if found and state ~= '1' then
    -- paste runs_no_more
  end
  state = '1'
  -- Its client may be there as well, and has these questions to answer.
  if node_before ~= node then tell(node_before, me, channels, id) end
else
  local with = ''
  -- paste runs
  state = '2'
  tell(node, me, channels, id)
  if node_before ~= node then tell(node_before, me, channels, id) end
end
-- paste head_text
set[2] = head
set[#set + 1] = 'b'
set[#set + 1] = was
call('HSET', call_key, unpack(set))
if grown ~= 0 then
  -- paste kept
end
return {0, now, woken}
