-- uses clock mark head indexes
--
-- The result of an ended call was handed out: its content may go, to make room. The result itself is not read: it may be large, and whoever
-- fetches it often says so often.
-- KEYS call, live.
-- ARGV its id.
local call_key, id = KEYS[1], ARGV[1]
local fields = call('HMGET', call_key, 'x', 'b')
local found, kept_text = fields[1], fields[2]
if not found or not kept_text or call('HEXISTS', call_key, 'r') == 0 then return {1, now} end
-- paste head_read
local bytes = kept_text:match('^(%d+) %d+$')
local member = id .. ' ' .. kept_text
if not bytes or call('ZREM', shard .. 'e:' .. owner, member) == 0 then return {2, now} end
call('ZADD', shard .. 'f:' .. owner, digits(now), member)
local grown, spares = 0, bytes - MARK
-- paste kept
return {0, now}
