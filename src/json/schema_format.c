/*
 * json/schema_format: what "format" means, if it is to be checked.
 *
 * Each format is one function over the bytes of a string, written after the grammar of its RFC:
 * 3339 for dates and times, 5321 for email, 3986 for URIs, 1123 for host names, 4122 for UUIDs,
 * 4291 for IPv6. All of them are ASCII: any other byte is refused if the grammar has no place for
 * it.
 *
 * Host names are checked as letters, digits and hyphens. Whether an "xn--" label decodes to
 * something that IDNA allows is not checked.
 */
#include "json/schema_inside.h"

enum {
    HOSTNAME_MOST = 253,   /* bytes of a host name */
    LABEL_MOST = 63,       /* bytes of one label of a host name */
    EMAIL_LOCAL_MOST = 64, /* bytes of an e-mail address before the @ */
    EMAIL_MOST = 254,      /* bytes of an e-mail address */
    REGEX_WHY_MOST = 4096,
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_alnum(char c)
{
    return is_alpha(c) || is_digit(c);
}

static bool is_hex(char c)
{
    return hex_digit(c) >= 0;
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

/* --- dates and times (RFC 3339) --- */

/* Takes `n` digits off the start. -1: there are fewer. */
static int take_digits(struct str *s, size_t n)
{
    int value = 0;

    if (s->len < n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (!is_digit(s->at[i]))
            return -1;
        value = value * 10 + (s->at[i] - '0');
    }
    *s = str_skip(*s, n);
    return value;
}

static bool take_char(struct str *s, char c)
{
    if (s->len == 0 || s->at[0] != c)
        return false;
    *s = str_skip(*s, 1);
    return true;
}

static int days_in(int year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

static bool take_date(struct str *s)
{
    int year = take_digits(s, 4);
    int month = year >= 0 && take_char(s, '-') ? take_digits(s, 2) : -1;
    int day = month >= 0 && take_char(s, '-') ? take_digits(s, 2) : -1;

    return month >= 1 && month <= 12 && day >= 1 && day <= days_in(year, month);
}

/* Z or +hh:mm; minutes east of UTC. */
static bool take_offset(struct str *s, int *minutes)
{
    *minutes = 0;
    if (take_char(s, 'Z') || take_char(s, 'z'))
        return true;
    int sign = take_char(s, '+') ? 1 : take_char(s, '-') ? -1 : 0;
    int hour = sign ? take_digits(s, 2) : -1;
    int minute = hour >= 0 && take_char(s, ':') ? take_digits(s, 2) : -1;
    *minutes = sign * (hour * 60 + minute);
    return hour >= 0 && hour <= 23 && minute >= 0 && minute <= 59;
}

static bool take_time(struct str *s)
{
    enum { DAY = 24 * 60 };
    int offset;
    int hour = take_digits(s, 2);
    int minute = hour >= 0 && take_char(s, ':') ? take_digits(s, 2) : -1;
    int second = minute >= 0 && take_char(s, ':') ? take_digits(s, 2) : -1;

    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60)
        return false;
    if (take_char(s, '.')) {
        if (take_digits(s, 1) < 0)
            return false;
        while (take_digits(s, 1) >= 0)
            continue;
    }
    if (!take_offset(s, &offset))
        return false;
    /* A leap second is only possible as the last second of a day in UTC. */
    int utc = ((hour * 60 + minute - offset) % DAY + DAY) % DAY;
    return second < 60 || utc == DAY - 1;
}

static bool format_date(struct str s)
{
    return take_date(&s) && s.len == 0;
}

static bool format_time(struct str s)
{
    return take_time(&s) && s.len == 0;
}

static bool format_date_time(struct str s)
{
    return take_date(&s) && (take_char(&s, 'T') || take_char(&s, 't')) && take_time(&s) &&
           s.len == 0;
}

/* --- addresses --- */

/* Four decimal octets without leading zeros. */
static bool format_ipv4(struct str s)
{
    for (int i = 0; i < 4; i++) {
        size_t n = 0;
        int octet = 0;
        while (n < s.len && n < 3 && is_digit(s.at[n]))
            octet = octet * 10 + (s.at[n++] - '0');
        if (n == 0 || octet > 255 || (n > 1 && s.at[0] == '0'))
            return false;
        s = str_skip(s, n);
        if (i < 3 && !take_char(&s, '.'))
            return false;
    }
    return s.len == 0;
}

/* Groups up to the end or to "::"; each counts one, a dotted tail two. -1: malformed. */
static int take_groups(struct str *s)
{
    int groups = 0;

    while (s->len && !str_starts(*s, STR("::"))) {
        size_t n = 0;
        if (groups && !take_char(s, ':'))
            return -1;
        while (n < s->len && n < 5 && is_hex(s->at[n]))
            n++;
        if (n < s->len && s->at[n] == '.') {
            bool dotted = format_ipv4(*s);
            *s = str_skip(*s, s->len);
            return dotted ? groups + 2 : -1;
        }
        if (n == 0 || n > 4)
            return -1;
        groups++;
        *s = str_skip(*s, n);
    }
    return groups;
}

static bool format_ipv6(struct str s)
{
    int before = take_groups(&s);

    if (before < 0)
        return false;
    if (s.len == 0)
        return before == 8;
    s = str_skip(s, 2);
    int after = take_groups(&s);
    return after >= 0 && s.len == 0 && before + after <= 7;
}

static bool format_hostname(struct str s)
{
    struct str label;
    bool more = true;

    if (s.len > HOSTNAME_MOST)
        return false;
    while (more) {
        more = str_cut(s, '.', &label, &s);
        if (label.len == 0 || label.len > LABEL_MOST || label.at[0] == '-' ||
            label.at[label.len - 1] == '-')
            return false;
        for (size_t i = 0; i < label.len; i++)
            if (!is_alnum(label.at[i]) && label.at[i] != '-')
                return false;
    }
    return true;
}

/* --- email (RFC 5321, 4.1.2) --- */

static bool quoted_fits(struct str s)
{
    for (size_t i = 1; i + 1 < s.len; i++) {
        char c = s.at[i];
        if (c < ' ' || c == 0x7f || c == '"')
            return false;
        if (c == '\\' && (++i + 1 >= s.len || s.at[i] < ' ' || s.at[i] == 0x7f))
            return false;
    }
    return s.len > 2 && s.at[s.len - 1] == '"';
}

static bool dotted_atoms_fit(struct str s)
{
    bool after_dot = true;

    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] == '.' ? after_dot
                           : !is_alnum(s.at[i]) && !is_one_of(s.at[i], "!#$%&'*+-/=?^_`{|}~"))
            return false;
        after_dot = s.at[i] == '.';
    }
    return !after_dot;
}

static bool domain_fits(struct str s)
{
    if (s.len < 2 || s.at[0] != '[')
        return format_hostname(s);
    if (s.at[s.len - 1] != ']')
        return false;
    struct str literal = str_n(s.at + 1, s.len - 2);
    if (str_starts(literal, STR("IPv6:")))
        return format_ipv6(str_skip(literal, 5));
    return format_ipv4(literal);
}

static bool format_email(struct str s)
{
    size_t at = s.len;

    while (at > 0 && s.at[at - 1] != '@')
        at--;
    if (at < 2 || at - 1 > EMAIL_LOCAL_MOST || s.len > EMAIL_MOST)
        return false;
    struct str local = str_n(s.at, at - 1);
    bool fits = local.at[0] == '"' ? quoted_fits(local) : dotted_atoms_fit(local);
    return fits && domain_fits(str_skip(s, at));
}

/* --- uri (RFC 3986) --- */

/* Unreserved, percent-encoded, sub-delimiters, and what else this part allows. */
static bool part_fits(struct str s, const char *also)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.at[i] == '%') {
            if (i + 2 >= s.len || !is_hex(s.at[i + 1]) || !is_hex(s.at[i + 2]))
                return false;
            i += 2;
        } else if (!is_alnum(s.at[i]) && !is_one_of(s.at[i], "-._~!$&'()*+,;=") &&
                   !is_one_of(s.at[i], also)) {
            return false;
        }
    }
    return true;
}

/* v1.something: a future kind of address. */
static bool future_address_fits(struct str s)
{
    struct str version;
    struct str rest;

    if (!str_cut(s, '.', &version, &rest) || version.len < 2 || (version.at[0] | 0x20) != 'v')
        return false;
    for (size_t i = 1; i < version.len; i++)
        if (!is_hex(version.at[i]))
            return false;
    return rest.len > 0 && !memchr(rest.at, '%', rest.len) && part_fits(rest, ":");
}

static bool port_fits(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_digit(s.at[i]))
            return false;
    return true;
}

static bool authority_fits(struct str s)
{
    struct str user;
    struct str host;
    struct str port;

    if (str_cut(s, '@', &user, &host)) {
        if (!part_fits(user, ":"))
            return false;
        s = host;
    }
    if (s.len == 0 || s.at[0] != '[') {
        str_cut(s, ':', &host, &port);
        return part_fits(host, "") && port_fits(port);
    }
    if (!str_cut(str_skip(s, 1), ']', &host, &port) || (port.len && port.at[0] != ':'))
        return false;
    return (format_ipv6(host) || future_address_fits(host)) && port_fits(str_skip(port, 1));
}

static bool format_uri(struct str s)
{
    struct str scheme;
    struct str part;
    struct str rest;

    if (!str_cut(s, ':', &scheme, &s) || scheme.len == 0 || !is_alpha(scheme.at[0]))
        return false;
    for (size_t i = 1; i < scheme.len; i++)
        if (!is_alnum(scheme.at[i]) && !is_one_of(scheme.at[i], "+-."))
            return false;
    str_cut(s, '#', &s, &part);
    if (!part_fits(part, ":@/?"))
        return false;
    str_cut(s, '?', &s, &part);
    if (!part_fits(part, ":@/?"))
        return false;
    if (!str_starts(s, STR("//")))
        return part_fits(s, ":@/");
    s = str_skip(s, 2);
    size_t n = 0;
    while (n < s.len && s.at[n] != '/')
        n++;
    rest = str_skip(s, n);
    return authority_fits(str_n(s.at, n)) && part_fits(rest, ":@/");
}

/* --- the others --- */

static bool format_uuid(struct str s)
{
    if (s.len != 36)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s.at[i] != '-' : !is_hex(s.at[i]))
            return false;
    }
    return true;
}

static bool format_regex(struct str s)
{
    struct arena arena;
    struct str why;

    arena_init(&arena, REGEX_WHY_MOST);
    struct pattern *pattern = pattern_compile(s, &arena, &why);
    arena_finish(&arena);
    pattern_destroy(pattern);
    return pattern != NULL;
}

static const struct format formats[] = {
    { STR_INIT("email"), "an email address", format_email },
    { STR_INIT("uri"), "a URI, such as https://example.org/", format_uri },
    { STR_INIT("date"), "a date, such as 2026-07-28", format_date },
    { STR_INIT("time"), "a time with its offset, such as 09:30:00Z", format_time },
    { STR_INIT("date-time"), "a date and time, such as 2026-07-28T09:30:00Z", format_date_time },
    { STR_INIT("uuid"), "a UUID", format_uuid },
    { STR_INIT("ipv4"), "an IPv4 address", format_ipv4 },
    { STR_INIT("ipv6"), "an IPv6 address", format_ipv6 },
    { STR_INIT("hostname"), "a host name", format_hostname },
    { STR_INIT("regex"), "a regular expression", format_regex },
};

const struct format *format_find(struct str name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (str_eq(name, formats[i].name))
            return &formats[i];
    return NULL;
}
