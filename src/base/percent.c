/* base/percent: see percent.h. */
#include "base/percent.h"

bool percent_decode(struct str text, char *out, size_t room, size_t *len)
{
    *len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '%') {
            int high = i + 2 < text.len ? hex_digit(text.at[i + 1]) : -1;
            int low = i + 2 < text.len ? hex_digit(text.at[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0' || *len + 1 >= room)
            return false;
        out[(*len)++] = c;
    }
    out[*len] = '\0';
    return true;
}
