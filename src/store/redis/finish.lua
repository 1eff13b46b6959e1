-- uses clock mark head indexes tell
--
-- finish, cancel.
-- KEYS call, live, due.
-- ARGV as named below; epoch '': any.
-- Returns the principal, as it is counted.
local call_key, due_key = KEYS[1], KEYS[3]
local token, its_epoch, its_state, result_record, id, me, channels, ends_kept_ms, keep_ms, hands, fetched = unpack(ARGV)

local fields = call('HMGET', call_key, 'x', 'b')
local found, kept_text = fields[1], fields[2]
if not found then return {1, now} end
-- paste head_read
if newest == token then return {0, now} end
if state == '3' or state == '4' or (its_epoch ~= '' and epoch ~= its_epoch) then return {2, now} end

local over = ''
if pending ~= '0' or confidences ~= '0' then
  -- Pending asks are withdrawn, and sensitive content is erased.
  for i = 1, #asks - 21, 22 do
    local ask = asks:sub(i, i + 21)
    local fields = call('HMGET', call_key, 'm' .. ask, 'z' .. ask)
    local ask_state, times, rest = fields[1]:match('^(%d+) (%-?%d+ %-?%d+) %-?%d+ (.*)$')
    if ask_state == '0' then
      call('HSET', call_key, 'm' .. ask, '5 ' .. times .. ' ' .. digits(now) .. ' ' .. rest)
      call('ZREM', due_key, id .. ask)
      local score = '-' .. digits(now)
      -- paste ask_stands
      over = over .. ask
    elseif fields[2] then
      call('HSET', call_key, 'a' .. ask, fields[2])
      call('HDEL', call_key, 'z' .. ask)
    end
  end
  for i = 0, confidences == '0' and -1 or items - 1 do
    local erased = call('HGET', call_key, 'y' .. i)
    if erased then
      call('HSET', call_key, 'j' .. i, erased)
      call('HDEL', call_key, 'y' .. i)
    end
  end
end
if state ~= '1' then
  -- paste runs_no_more
end
-- paste no_life
-- paste keep
if hands == '1' then handed = '1' end
state, newest, pending = its_state, token, '0'
-- paste head_text
-- paste kept_before
local till = digits(math.max(tonumber(keep_until), now + ends_kept_ms))
was, grown = was + #result_record, grown + #result_record
kept_text = string.format('%d ', was) .. till
call('HSET', call_key, 'x', head, 'r', result_record, 'b', kept_text)
call('PEXPIREAT', call_key, till)
if fetched == '1' or its_state == '4' then
  spares = was - MARK
  call('ZADD', shard .. 'f:' .. owner, digits(now), id .. ' ' .. kept_text)
else
  call('ZADD', shard .. 'e:' .. owner, till, id .. ' ' .. kept_text)
end
-- paste kept
if over ~= '' then call('PUBLISH', channels, '-' .. owner .. id .. over) end
if node ~= me then tell(node, me, channels, id) end
if node_before ~= node and node_before ~= me then tell(node_before, me, channels, id) end
return {0, now, owner}
