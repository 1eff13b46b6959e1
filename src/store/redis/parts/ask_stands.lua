-- Pasted: an ask stands in the index of all and in that of its principal, by when it was asked while it is pending, and by
-- when it ended, as a negative number, from then on: the move from one to the other is one command.
local member = ask .. id .. owner
call('ZADD', shard .. 'a', score, member)
call('ZADD', shard .. 'o:' .. owner, score, member)
