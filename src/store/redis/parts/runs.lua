-- Pasted: the call runs on this node from now on or, if that is '', could be run by any.
if handed == '1' then call('HSET', live_key, id, with) end
call('ZADD', shard .. 'i', in_use, id)
