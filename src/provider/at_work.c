/*
 * provider/at_work: see at_work.h.
 */
#include "provider/at_work.h"

#include "base/log.h"
#include "provider/local_inside.h"

static _Thread_local struct at_work at_work;

struct at_work at_work_enter(struct at_work now)
{
    struct at_work before = at_work;

    at_work = now;
    return before;
}

void at_work_leave(struct at_work before)
{
    at_work = before;
}

nod_call *at_work_call(void)
{
    return at_work.call;
}

nod_call *handler_enter(nod_call *call)
{
    nod_call *outer = at_work.call;

    at_work.call = call;
    return outer;
}

size_t at_work_words(struct log_field *fields)
{
    const nod_call *call = at_work.call;
    const struct target *target = call && call->target ? &call->target->base : NULL;
    struct str name = target ? target->name : at_work.target;
    struct str id = call && call->run ? call->run->call_id : at_work.call_id;
    struct str plugin = at_work.plugin.len ? at_work.plugin : target ? target->from : STR_NONE;
    size_t count = 0;

    if (at_work.hook.len)
        fields[count++] = LOG_STR("hook", at_work.hook);
    if (at_work.stage)
        fields[count++] = LOG_CSTR("stage", at_work.stage);
    if (name.len)
        fields[count++] = LOG_STR("target", name);
    if (plugin.len)
        fields[count++] = LOG_STR("plugin", plugin);
    if (id.len)
        fields[count++] = LOG_STR("call", id);
    if (target && target->source.len && !at_work.stage)
        fields[count++] = LOG_STR("registered", target->source);
    if (at_work.file)
        fields[count++] = LOG_CSTR("file", at_work.file);
    return count;
}
