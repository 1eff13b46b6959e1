/* crypto/inner_seal: see inner_seal.h. */
#include "crypto/inner_seal.h"

#include "crypto/digest.h"

enum { INNER_BYTES_MAX = HIDDEN_MAX + SEAL_OVERHEAD }; /* of a sealed value */

nod_status inner_seal(struct keyring *ring, struct str kind, struct str key, struct str value,
                      struct buf *out)
{
    if (value.len > HIDDEN_MAX)
        return NOD_E_LIMIT;
    return seal_text(ring,
                     &(struct seal_for){
                         .purpose = STR("inner"), .scope = kind, .bound = &key, .bound_count = 1 },
                     value, out);
}

nod_status inner_open(struct keyring *ring, struct str kind, struct str key, struct str text,
                      struct hidden *value)
{
    struct seal_for what = {
        .purpose = STR("inner"), .scope = kind, .bound = &key, .bound_count = 1
    };
    struct arena arena;

    *value = (struct hidden){ 0 };
    if (text.len > base64url_len(INNER_BYTES_MAX))
        return NOD_E_REFUSED;
    arena_init(&arena, 2 * INNER_BYTES_MAX);
    nod_status status = seal_open_hidden(ring, &what, base64url_bytes(&arena, text), value);
    arena_finish(&arena);
    return status;
}
