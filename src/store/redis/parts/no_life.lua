-- Pasted: an older record has a time to live in Redis, and a duration in keep_until instead of a time: both are changed.
if #keep_until < 13 then
  keep_until = digits(now + keep_until)
  call('PERSIST', call_key)
end
