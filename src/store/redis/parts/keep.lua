-- Pasted: it is kept for so long at least.
if keep_ms ~= '0' and now + keep_ms > tonumber(keep_until) then keep_until = digits(now + keep_ms) end
