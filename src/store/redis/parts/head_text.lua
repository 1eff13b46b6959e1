-- Pasted: makes the head that is to be written.
local head = state .. ' ' .. epoch .. ' ' .. pending .. ' ' .. items .. ' ' .. entries .. ' ' .. confidences .. ' '
  .. keep_until .. ' ' .. opened .. ' ' .. notices .. ' ' .. handed .. ' ' .. owner .. ' ' .. asks .. ' ' .. newest
  .. '\n' .. node .. '\n' .. node_before .. (deaths == '' and '' or '\n' .. deaths)
