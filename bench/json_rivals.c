/* bench/json_rivals: see json_rivals.h. */
#include "json_rivals.h"

#include <cjson/cJSON.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

size_t rival_jansson(const char *text, size_t len)
{
    json_t *v = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    char *out = v ? json_dumps(v, JSON_COMPACT) : NULL;
    size_t written = out ? strlen(out) : 0;

    free(out);
    json_decref(v);
    return written;
}

size_t rival_cjson(const char *text, size_t len)
{
    cJSON *v = cJSON_ParseWithLength(text, len);
    char *out = v ? cJSON_PrintUnformatted(v) : NULL;
    size_t written = out ? strlen(out) : 0;

    cJSON_free(out);
    cJSON_Delete(v);
    return written;
}
