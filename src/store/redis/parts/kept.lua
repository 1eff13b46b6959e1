-- Pasted: so many bytes more are kept (grown), and so many more of them may go (spares), of the principal and in all.
call('HINCRBY', shard .. 'b', owner, grown)
call('HINCRBY', shard .. 'b', '*', grown)
if spares ~= 0 then
  call('HINCRBY', shard .. 'b', 's' .. owner, spares)
  call('HINCRBY', shard .. 'b', 's*', spares)
end
