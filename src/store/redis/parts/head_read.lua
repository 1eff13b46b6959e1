-- Pasted: reads the parts of the head that was found.
state, epoch, pending, items, entries, confidences, keep_until, opened, notices, handed, owner, asks, newest, node,
  node_before, deaths = string.match(found, '^(%d) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d) (%S+) (%S+) (%S+)'
  .. '\n([^\n]*)\n([^\n]*)\n?(%d*)$')
