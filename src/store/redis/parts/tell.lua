-- Tells a node that a call is worth a look: another node by a message, this very one by the reply.
local woken = 0
local function tell(whom, me, channels, id)
  if whom == '' then return end
  if whom == me then woken = 1 else call('PUBLISH', channels .. whom, id) end
end
