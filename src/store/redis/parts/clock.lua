-- The time, by Redis's clock, and a function that writes a time in digits, however large it is.
local call = redis.call
local clock = call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local function digits(ms)
  return string.format('%d%06d', math.floor(ms / 1000000), ms % 1000000)
end
