/*
 * surface/openapi: the description of the API, which programs read.
 *
 * It is the file openapi.json beside this one, embedded when nod is built. The tests check every
 * operation of the running server against it, so change both together.
 */
#include "surface/inbox_inside.h"

struct web_file {
    struct str name;
    struct str text;
};

#include "openapi_file.h" /* web_files, made by scripts/embed-web */

void openapi_serve(const struct front_request *request, void *data)
{
    (void)data;
    http_reply_json(request->exchange, 200, web_files[0].text);
}
