-- Pasted: it runs or could be run from now on, with its node or, if that is to be '', with none.
if handed == '1' then call('HSET', live_key, id, with) end
call('ZADD', shard .. 'i', in_use, id)
