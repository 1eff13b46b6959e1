-- Pasted: puts an ask into the index of all asks and into that of its principal. The score is the time it was asked while
-- it is pending, and the negative time of its end from then on, so the move from one to the other is one command.
local member = ask .. id .. owner
call('ZADD', shard .. 'a', score, member)
call('ZADD', shard .. 'o:' .. owner, score, member)
