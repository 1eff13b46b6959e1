/* core/json_digest: see json_digest.h. */
#include "core/json_digest.h"

#include "base/buf.h"
#include "json/write.h"

nod_status digest_of_json(const struct json *value, struct digest *out)
{
    struct buf text;
    nod_status status = NOD_OK;

    buf_init(&text, DIGEST_JSON_MAX);
    if (json_write_canonical(&text, value))
        digest_of(buf_str(&text), out);
    else
        status = text.overflow ? NOD_E_LIMIT : NOD_E_INVALID;
    buf_finish(&text);
    return status;
}

void digest_of_args(const struct json *args, struct digest *out)
{
    static const struct json nothing = { .type = JSON_OBJECT };

    *out = (struct digest){ 0 };
    digest_of_json(args ? args : &nothing, out);
}
