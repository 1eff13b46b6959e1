-- Pasted: the call is kept for at least so long.
if keep_ms ~= '0' and now + keep_ms > tonumber(keep_until) then keep_until = digits(now + keep_ms) end
