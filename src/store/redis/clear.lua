-- uses clock head
--
-- A run is no longer on probation.
-- KEYS call.
-- ARGV as named below.
local call_key = KEYS[1]
local its_epoch = unpack(ARGV)
local PROBATION = 256 -- see deaths_pack

local found = call('HGET', call_key, 'x')
if not found then return {1, now} end
-- paste head_read
if epoch ~= its_epoch or state ~= '0' then return {2, now} end
if deaths ~= '' and tonumber(deaths) >= PROBATION then
  deaths = string.format('%d', deaths % PROBATION)
  -- paste head_text
  call('HSET', call_key, 'x', head)
end
return {0, now}
