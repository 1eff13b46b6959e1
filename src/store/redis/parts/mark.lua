-- The bytes that a call counts beside its texts, and that the mark of an ended call counts: KEPT_CALL_BYTES.
local MARK = 512
