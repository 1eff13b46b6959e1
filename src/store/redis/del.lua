-- del: a small record.
-- KEYS record, list.
-- ARGV its member in the list.
-- Returns 1 if there was one.
local call = redis.call
local shard, owner, grown, spares = KEYS[2]:sub(1, -2), '', 0, 0
local kept_text = call('HGET', KEYS[1], 'o')
-- paste small_goes
if grown ~= 0 then
  -- paste kept
end
call('ZREM', KEYS[2], ARGV[1])
return call('DEL', KEYS[1])
