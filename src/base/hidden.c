/* base/hidden: see hidden.h. */
#include "base/hidden.h"

#include <string.h>
#include <unistd.h>

#include "base/os.h"

bool hidden_make(struct hidden *hidden, size_t len)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (len + page) / page * page; /* with room for the NUL */

    *hidden = (struct hidden){ 0 };
    if (len > HIDDEN_MAX)
        return false;
    hidden->at = os_hidden_pages(size);
    if (!hidden->at)
        return false;
    hidden->len = len;
    hidden->size = size;
    return true;
}

bool hidden_copy(struct hidden *hidden, struct str bytes)
{
    if (!hidden_make(hidden, bytes.len))
        return false;
    if (bytes.len)
        memcpy(hidden->at, bytes.at, bytes.len);
    return true;
}

void hidden_wipe(struct hidden *hidden)
{
    if (!hidden->at)
        return;
    explicit_bzero(hidden->at, hidden->size);
    os_hidden_free(hidden->at, hidden->size);
    *hidden = (struct hidden){ 0 };
}
