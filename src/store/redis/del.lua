-- del: a small record.
-- KEYS record, list.
-- ARGV its member in the list.
-- Returns 1 if there was one.
redis.call('ZREM', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])
