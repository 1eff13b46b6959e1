-- Pasted: calls of the principal `owner` whose time was over are no longer counted. Looks at `most` of them.
grown, spares = 0, 0
for _, member in ipairs(call('ZRANGEBYSCORE', shard .. 'e:' .. owner, '-inf', digits(now), 'LIMIT', 0, most)) do
  grown = grown - member:match('^%S+ (%d+)')
  call('ZREM', shard .. 'e:' .. owner, member)
end
for _, member in ipairs(call('ZRANGE', shard .. 'f:' .. owner, 0, most)) do
  local bytes, till = member:match('^%S+ (%d+) (%d+)$')
  if tonumber(till) <= now then
    grown, spares = grown - bytes, spares - (bytes - MARK)
    call('ZREM', shard .. 'f:' .. owner, member)
  end
end
if grown ~= 0 then
  -- paste kept
end
