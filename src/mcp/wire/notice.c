/*
 * mcp/wire/notice: see notice.h. The callers decide whether and to whom a notice is sent.
 */
#include "mcp/wire/notice.h"

#include <math.h>

#include "rpc/message.h"

static const struct str levels[] = {
    [NOD_LOG_DEBUG] = STR_INIT("debug"),   [NOD_LOG_INFO] = STR_INIT("info"),
    [NOD_LOG_NOTICE] = STR_INIT("notice"), [NOD_LOG_WARNING] = STR_INIT("warning"),
    [NOD_LOG_ERROR] = STR_INIT("error"),   [NOD_LOG_CRITICAL] = STR_INIT("critical"),
    [NOD_LOG_ALERT] = STR_INIT("alert"),   [NOD_LOG_EMERGENCY] = STR_INIT("emergency"),
};

bool logging_level_find(struct str name, uint8_t *out)
{
    for (uint8_t i = 0; i <= NOD_LOG_EMERGENCY; i++) {
        if (str_eq(levels[i], name)) {
            *out = i;
            return true;
        }
    }
    return false;
}

struct str logging_level_name(int level)
{
    return level >= NOD_LOG_DEBUG && level <= NOD_LOG_EMERGENCY ? levels[level]
                                                                : levels[NOD_LOG_INFO];
}

bool notice_write_log(struct buf *out, const struct notice *notice)
{
    struct json_writer w;

    rpc_begin(&w, out, STR_NONE, STR("notifications/message"));
    jw_key_str(&w, STR("level"), logging_level_name(notice->level));
    if (notice->logger.len)
        jw_key_str(&w, STR("logger"), notice->logger);
    jw_key_str(&w, STR("data"), notice->text);
    return rpc_end(&w);
}

bool notice_write_progress(struct buf *out, struct str token, double progress, double total,
                           struct str message)
{
    struct json_writer w;

    rpc_begin(&w, out, STR_NONE, STR("notifications/progress"));
    jw_key_raw(&w, STR("progressToken"), token);
    jw_key(&w, STR("progress"));
    jw_double(&w, progress);
    if (isfinite(total) && total > 0) {
        jw_key(&w, STR("total"));
        jw_double(&w, total);
    }
    if (message.len)
        jw_key_str(&w, STR("message"), message);
    return rpc_end(&w);
}
