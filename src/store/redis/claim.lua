-- uses clock mark head indexes tell
--
-- claim.
-- KEYS call, live, due.
-- ARGV as named below (taker: the node that takes the call, or ''; its_epoch: '' or the only one in which this counts), and for each item: ask, outcome, answer, the answer
-- without its content ('': the same), the offer or 0, 1 if it is put up again or two characters if a later turn has come
-- (store/claim_rules.h), 1 if it is known to have ended with this very answer.
-- Returns the epoch that was taken, whether this very node is to be woken, 0 or 2 (refused) or 5 (submissions would mix),
-- which items were won, and if the call was not taken the meta, record and answer of each ask. If it was taken, the node
-- reads its hash right after this: a plain command costs a third of what it would cost in the script.
local ITEM_FIRST, ITEM_WORDS = 11, 7
-- The parts of an ask's meta, field m of the call. While it is pending, VIA is the turn that has come early, or empty.
local STATE, EXPIRES, ENDED, TOOK, TOKEN, ATTEMPT, VIA = 1, 3, 4, 5, 7, 8, 9
local call_key, due_key = KEYS[1], KEYS[3]
local token, taker, id, me, channels, via, whole, hands, in_use, its_epoch = unpack(ARGV, 1, ITEM_FIRST - 1)

local function asks_shown()
  local names = {}
  for i = ITEM_FIRST, #ARGV, ITEM_WORDS do
    local ask, at = ARGV[i], #names
    names[at + 1], names[at + 2], names[at + 3] = 'm' .. ask, 'q' .. ask, 'a' .. ask
  end
  return call('HMGET', call_key, unpack(names))
end

local metas, wins, names, mixes = {}, {}, {}, false
for i = ITEM_FIRST, #ARGV, ITEM_WORDS do names[#names + 1] = 'm' .. ARGV[i] end
names[#names + 1] = 'b'
local fields = call('HMGET', call_key, 'x', unpack(names))
local found, kept_text = fields[1], fields[#names + 1]
if not found then return {1, now} end
for i = ITEM_FIRST, #ARGV, ITEM_WORDS do
  local text = fields[#metas + 2]
  if not text then return {1, now} end
  local meta = {text:match('^(%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%d+) (%d) (%S*) ?(%d*) ?(%S*)$')}
  if meta[ATTEMPT] == '' or meta[ATTEMPT] == '0' then meta[ATTEMPT] = '1' end
  mixes = mixes or (whole == '1' and meta[STATE] ~= '0' and meta[TOKEN] ~= token and meta[VIA] == via
    and ARGV[i + 6] ~= '1')
  metas[#metas + 1] = meta
end
if mixes then
  for nth = 1, #metas do wins[nth] = 0 end
  return {0, now, '0', 0, 5, wins, asks_shown()}
end

-- paste head_read
local now_text = digits(now)
local set, refused, won, fresh, ended, again, over, moved, answers = {}, false, false, false, {}, false, '', '', 0
for nth, meta in ipairs(metas) do
  local i = ITEM_FIRST + ITEM_WORDS * (nth - 1)
  local ask, outcome, offer, more = ARGV[i], ARGV[i + 1], ARGV[i + 4], ARGV[i + 5] == '1'
  local due = now >= tonumber(meta[EXPIRES])
  -- A person's word that comes too late: accepted, declined, cancelled, or not fitting.
  local late = due and (more or outcome == '1' or outcome == '2' or outcome == '3' or outcome == '7')
  local win = meta[TOKEN] == token
  if #ARGV[i + 5] == 2 and meta[STATE] == '0' then
    if ARGV[i + 5] > meta[VIA] then meta[VIA] = ARGV[i + 5] end
    win, fresh, moved = true, true, moved .. ask
    set[#set + 1] = 'm' .. ask
    set[#set + 1] = table.concat(meta, ' ')
  elseif meta[STATE] == '0' and not (more and win) then
    if (offer ~= '0' and offer ~= meta[ATTEMPT]) or (its_epoch ~= '' and its_epoch ~= epoch)
      or (outcome == '4' and not more and not due) then
      refused = true
    elseif more and not late then
      meta[ATTEMPT], meta[TOKEN] = string.format('%d', meta[ATTEMPT] + 1), token
      win, fresh, again = true, true, true
      set[#set + 1] = 'm' .. ask
      set[#set + 1] = table.concat(meta, ' ')
    else
      meta[STATE], meta[ENDED], meta[TOKEN] = late and '4' or outcome, now_text, token
      meta[VIA] = late and 'clock' or via
      win, fresh = true, true
      ended[#ended + 1] = nth
      local at = #set
      set[at + 1], set[at + 2] = 'j' .. items, '@' .. ask
      pending, items, entries = math.max(pending - 1, 0), items + 1, entries + 1
      if not late then
        set[at + 3], set[at + 4] = 'a' .. ask, ARGV[i + 2]
        answers = answers + #ARGV[i + 2]
        if ARGV[i + 3] ~= '' then
          confidences = confidences + 1
          set[at + 5], set[at + 6] = 'z' .. ask, ARGV[i + 3]
        end
      end
      call('ZREM', due_key, id .. ask)
      local score = '-' .. now_text
      -- paste ask_stands
      over = over .. ask
    end
  end
  wins[nth] = win and 1 or 0
  won = won or win
end

local took = '0'
if fresh then
  if hands == '1' then handed = '1' end
  if #ended > 0 and tonumber(pending) == 0 and state == '1' then
    local with = taker
    if taker ~= '' then
      state, epoch = '0', epoch + 1
      took = string.format('%d', epoch)
      if node ~= taker then node_before = node end
      if node_before ~= taker then tell(node_before, me, channels, id) end
      node = taker
    else
      state = '2'
      tell(node, me, channels, id)
      if node_before ~= node then tell(node_before, me, channels, id) end
    end
    -- paste runs
  elseif again or #ended > 0 then
    -- Others that wait for it show the older offer, or a question that has ended.
    if node ~= me then tell(node, me, channels, id) end
    if node_before ~= node and node_before ~= me then tell(node_before, me, channels, id) end
  end
  for _, nth in ipairs(ended) do
    metas[nth][TOOK] = took
    set[#set + 1] = 'm' .. ARGV[ITEM_FIRST + ITEM_WORDS * (nth - 1)]
    set[#set + 1] = table.concat(metas[nth], ' ')
  end
  if over ~= '' then call('PUBLISH', channels, '-' .. owner .. id .. over) end
  if moved ~= '' then call('PUBLISH', channels, '+' .. owner .. id .. moved) end
  -- paste no_life
  -- paste head_text
  if answers > 0 then
    -- paste kept_before
    grown = grown + answers
    set[#set + 1] = 'b'
    set[#set + 1] = was + answers
    -- paste kept
  end
  call('HSET', call_key, 'x', head, unpack(set))
else
  for nth, meta in ipairs(metas) do
    if wins[nth] == 1 and meta[STATE] ~= '0' and meta[TOOK] ~= '0' then took = meta[TOOK] end
  end
end
local verdict = refused and not won and 2 or 0
if took ~= '0' then return {0, now, took, woken, verdict, wins} end
return {0, now, '0', woken, verdict, wins, asks_shown()}
