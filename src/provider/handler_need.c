/*
 * provider/handler_need: values that a handler is given and no journal holds.
 *
 * Such a value is fetched between two runs (core/need.h). The handler only sees NOD_PENDING, as
 * when it asks a person, and is run again when the value is there.
 */
#include "core/need.h"
#include "provider/local_inside.h"

nod_status call_need(nod_call *call, const struct need_spec *spec, struct str *value)
{
    nod_status status = run_need(call->run, spec, value);

    call->stopped |= status == NOD_PENDING;
    return status;
}
