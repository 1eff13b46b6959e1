-- The head of a call: field x of its hash, one text, whose parts have these names (head_read, head_text). Numbers are read as text, and Lua
-- counts with them all the same; compare them as text with '0', or make them numbers first.
--
--   state        of enum call_state: '0' running, '1' waiting, '2' runnable, '3' finished, '4' cancelled
--   epoch        of the newest run
--   pending      asks that are pending
--   items        of the journal: fields j0, j1, ...
--   entries      in them
--   confidences  sensitive things that are to be erased when the call ends
--   keep_until   something lives until then that could bring it back; of an older record a time in milliseconds
--   opened       when it was opened
--   notices      that were sent
--   handed       '1': its client holds something to come back with
--   owner        its principal, as it is listed and counted; of an older record perhaps '-'
--   asks         ids of all its asks, one behind the other, or '-'
--   newest       token of the newest operation
--   node         the one it is with, on a line of its own
--   node_before  the one it was with before that, on a line of its own
local state, epoch, pending, items, entries, confidences, keep_until, opened, notices, handed, owner, asks, newest, node,
  node_before
