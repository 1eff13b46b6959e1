-- Pasted: it does not run, and nobody could run it on.
if handed == '1' then call('HDEL', live_key, id) end
call('ZREM', shard .. 'i', id)
