-- Pasted: what a small record has counted so far is no longer counted. Its field o is its principal and its member in the
-- index e of that principal, which is gone if it was found there after its time.
if kept_text then
  local owner_was, member_was, bytes_was = kept_text:match('^(%S+) (%S+ (%d+))$')
  owner = owner_was
  if call('ZREM', shard .. 'e:' .. owner, member_was) == 1 then grown = -bytes_was end
end
