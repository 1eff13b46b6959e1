/*
 * provider/handler_notice: telling the client something while the call goes on.
 *
 * The core counts what a call has sent, so that a replay sends nothing twice. run->emit decides
 * where a notice goes.
 */
#include <math.h>

#include "provider/local_inside.h"

static void say(nod_call *call, const struct notice *notice)
{
    if (call->completion || call->stopped)
        return;
    if (!call->step)
        run_notice(call->run, notice);
    else if (!atomic_load(&call->run->cancelled))
        call->run->emit(call->run, notice);
}

void nod_progress(nod_call *call, double progress, double total, const char *message)
{
    struct notice notice = {
        .kind = NOTICE_PROGRESS,
        .progress = progress,
        .total = total > 0 && isfinite(total) ? total : 0,
        .text = call_text(call, message),
    };

    if (isfinite(progress))
        say(call, &notice);
}

void nod_log(nod_call *call, nod_log_level level, const char *logger, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    struct str text = arena_vfmt(&call->run->arena, format, args);
    va_end(args);
    struct notice notice = {
        .kind = NOTICE_LOG,
        .level = (int)level,
        .logger = call_text(call, logger),
        .text = text_clean(&call->run->arena, text),
    };
    if (level >= NOD_LOG_DEBUG && level <= NOD_LOG_EMERGENCY)
        say(call, &notice);
}

void nod_notify(nod_call *call, const char *method, const char *params)
{
    struct json *parsed = params ? call_parse(call, str_of(params)) : NULL;

    if (!method || !*method || (params && !json_is(parsed, JSON_OBJECT))) {
        run_bug(call->run,
                "The %s " STR_FMT
                " calls nod_notify without a method, or with params that are not a JSON object",
                call_what(call), STR_ARG(call_name(call)));
        return;
    }
    struct notice notice = {
        .kind = NOTICE_OTHER,
        .method = call_text(call, method),
        .params = parsed ? call_json(call, parsed) : STR_NONE,
    };
    say(call, &notice);
}
