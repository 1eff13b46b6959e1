/*
 * mcp/offered/logging: which log messages a session is sent.
 *
 * Until the client sets a level, it is sent everything from "info" up.
 */
#include "mcp/shared/request.h"
#include "mcp/era2025/session_store.h"
#include "mcp/wire/notice.h"

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
