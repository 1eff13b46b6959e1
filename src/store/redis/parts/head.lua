-- The head of a call: field x of its hash, one text, whose parts have these names (head_read, head_text). Numbers are read
-- as text. Lua calculates with them as they are, but compare them as text ('0'), or convert them first.
--
--   state        of enum call_state: '0' running, '1' waiting, '2' runnable, '3' finished, '4' cancelled
--   epoch        of the newest run
--   pending      asks that are pending
--   items        of the journal: fields j0, j1, ...
--   entries      how many are in these
--   confidences  sensitive texts that are to be erased when the call ends
--   keep_until   until then something could bring it back; in an older record a duration in milliseconds
--   opened       when it was opened
--   notices      how many were sent
--   handed       '1': its client holds something to come back with
--   owner        its principal, as it is listed and counted; in an older record perhaps '-'
--   asks         ids of all its asks, one after the other, or '-'
--   newest       token of the newest operation
--   node         the node that has it, on a line of its own
--   node_before  the node that had it before, on a line of its own
local state, epoch, pending, items, entries, confidences, keep_until, opened, notices, handed, owner, asks, newest, node,
  node_before
