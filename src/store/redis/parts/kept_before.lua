-- Pasted: what is kept of the call so far. A record of an older version was not counted yet: it is, from now on.
local was, grown, spares = tonumber(kept_text or ''), 0, 0
if not was then
  was = MARK
  for _, text in ipairs(call('HVALS', call_key)) do was = was + #text end
  grown = was
end
