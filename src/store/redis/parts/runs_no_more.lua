-- Pasted: the call neither runs nor could be run from now on.
if handed == '1' then call('HDEL', live_key, id) end
call('ZREM', shard .. 'i', id)
