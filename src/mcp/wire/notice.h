/*
 * mcp/wire/notice: progress and log messages as notifications, the same in both eras.
 */
#ifndef NOD_MCP_WIRE_NOTICE_H
#define NOD_MCP_WIRE_NOTICE_H

#include "base/buf.h"
#include "core/caller.h"

/* "info" and so on. False: MCP has no such level. */
bool logging_level_find(struct str name, uint8_t *out);
struct str logging_level_name(int level);

/* Each writes one whole message into `out`, which is cleared first. False: it could not be
 * written. */
bool notice_write_log(struct buf *out, const struct notice *notice);
/* `token` is JSON text. A total that is not positive is left out. */
bool notice_write_progress(struct buf *out, struct str token, double progress, double total,
                           struct str message);

#endif
