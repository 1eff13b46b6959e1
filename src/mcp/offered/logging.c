/*
 * mcp/offered/logging: which log messages a session is sent.
 *
 * Until the client sets a level, it is sent everything from "info" up.
 */
#include "mcp/shared/request.h"
#include "mcp/era2025/session_store.h"

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

void logging_set_level(struct request *request)
{
    struct str level;

    if (!request_text(request, STR("level"), &level))
        return;
    if (!logging_level_find(level, &request->session->log_level))
        reply_error(request, RPC_INVALID_PARAMS,
                    STR("params.level must be one of debug, info, notice, warning, error, "
                        "critical, alert, emergency."));
    else {
        session_refresh(request->session, true);
        reply_empty(request);
    }
}
