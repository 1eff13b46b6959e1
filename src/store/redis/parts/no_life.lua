-- Pasted: an older record has a time to live, and a life in milliseconds in place of the time until which it is kept.
if #keep_until < 13 then
  keep_until = digits(now + keep_until)
  call('PERSIST', call_key)
end
