/*
 * json/form_secret: does a field ask for something that must not go through a form?
 *
 * What a person types into a form passes the client, its logs and perhaps a model. A field that
 * asks for a password, a key or a card number is therefore refused before it is shown. It is
 * recognised by the words of its name and its title: words, so that "secretary", "keyboard" and
 * "tokenize" are left alone, cut at camelCase, digits and punctuation, so that "dbPassword" and
 * "api-key" are found.
 *
 * Only fields that a value is typed into count: a yes or no and a choice among given ones cannot
 * carry a secret. A word that says what is asked for is something about the secret, not the secret
 * ("password length", "api key name", "max tokens"), takes the suspicion away.
 */
#include "json/form.h"

enum { WORDS_MOST = 64, TEXT_MOST = 512, PHRASE_WORDS = 4 };

struct words {
    size_t count;
    struct str at[WORDS_MOST];
    char text[TEXT_MOST]; /* lower case */
};

/* How a phrase is to be read. */
enum phrase_rule {
    ANYWHERE,
    COUNTABLE, /* also the word of language models and paging: what stands before it matters */
    ALONE,     /* too common a word unless it is all there is */
};

struct phrase {
    const char *words[PHRASE_WORDS];
    enum phrase_rule rule;
};

static const struct phrase phrases[] = {
    { { "password" }, ANYWHERE },
    { { "passwords" }, ANYWHERE },
    { { "passwd" }, ANYWHERE },
    { { "pwd" }, ANYWHERE },
    { { "passphrase" }, ANYWHERE },
    { { "passcode" }, ANYWHERE },
    { { "passkey" }, ANYWHERE },
    { { "pass", "word" }, ANYWHERE },
    { { "pass", "phrase" }, ANYWHERE },
    { { "pass", "code" }, ANYWHERE },
    { { "passwort" }, ANYWHERE },
    { { "kennwort" }, ANYWHERE },
    { { "contraseña" }, ANYWHERE },
    { { "contrasena" }, ANYWHERE },
    { { "senha" }, ANYWHERE },
    { { "mot", "de", "passe" }, ANYWHERE },
    { { "secret" }, ANYWHERE },
    { { "secrets" }, ANYWHERE },
    { { "clientsecret" }, ANYWHERE },
    { { "api", "key" }, ANYWHERE },
    { { "api", "keys" }, ANYWHERE },
    { { "apikey" }, ANYWHERE },
    { { "apikeys" }, ANYWHERE },
    { { "access", "key" }, ANYWHERE },
    { { "accesskey" }, ANYWHERE },
    { { "secretkey" }, ANYWHERE },
    { { "auth", "key" }, ANYWHERE },
    { { "private", "key" }, ANYWHERE },
    { { "privatekey" }, ANYWHERE },
    { { "signing", "key" }, ANYWHERE },
    { { "encryption", "key" }, ANYWHERE },
    { { "account", "key" }, ANYWHERE },
    { { "token" }, COUNTABLE },
    { { "tokens" }, COUNTABLE },
    { { "accesstoken" }, ANYWHERE },
    { { "authtoken" }, ANYWHERE },
    { { "apitoken" }, ANYWHERE },
    { { "jwt" }, ANYWHERE },
    { { "bearer" }, ANYWHERE },
    { { "credential" }, ANYWHERE },
    { { "credentials" }, ANYWHERE },
    { { "connection", "string" }, ANYWHERE },
    { { "session", "cookie" }, ANYWHERE },
    { { "auth", "code" }, ANYWHERE },
    { { "authorization", "code" }, ANYWHERE },
    { { "verification", "code" }, ANYWHERE },
    { { "security", "code" }, ANYWHERE },
    { { "recovery", "code" }, ANYWHERE },
    { { "recovery", "codes" }, ANYWHERE },
    { { "backup", "codes" }, ANYWHERE },
    { { "one", "time", "code" }, ANYWHERE },
    { { "mfa", "code" }, ANYWHERE },
    { { "2", "fa", "code" }, ANYWHERE },
    { { "otp" }, ANYWHERE },
    { { "totp" }, ANYWHERE },
    { { "seed", "phrase" }, ANYWHERE },
    { { "recovery", "phrase" }, ANYWHERE },
    { { "pin" }, ALONE },
    { { "pin", "code" }, ANYWHERE },
    { { "pin", "number" }, ANYWHERE },
    { { "card", "pin" }, ANYWHERE },
    { { "your", "pin" }, ANYWHERE },
    { { "cvv" }, ANYWHERE },
    { { "cvc" }, ANYWHERE },
    { { "credit", "card" }, ANYWHERE },
    { { "debit", "card" }, ANYWHERE },
    { { "creditcard" }, ANYWHERE },
    { { "card", "number" }, ANYWHERE },
    { { "cardnumber" }, ANYWHERE },
    { { "ssn" }, ANYWHERE },
    { { "social", "security" }, ANYWHERE },
};

/* After a phrase: something about the secret, which may be asked. */
static const char *const about[] = {
    "id",     "ids",     "name",    "names",  "label",      "alias",    "count",     "length",
    "limit",  "budget",  "type",    "kind",   "path",       "file",     "filename",  "policy",
    "expiry", "expires", "age",     "days",   "expiration", "ttl",      "strength",  "arn",
    "usage",  "symbol",  "price",   "cost",   "supply",     "address",  "balance",   "decimals",
    "window", "size",    "amount",  "url",    "uri",        "rotation", "scope",     "scopes",
    "issuer", "manager", "version", "format", "endpoint",   "provider", "algorithm", "santa",
};

/* Before "token": one that counts words or pages, and opens nothing. */
static const char *const before_token[] = {
    "page",    "next",       "continuation", "cursor", "per",  "max",    "min",
    "maximum", "minimum",    "stop",         "end",    "sync", "prompt", "input",
    "output",  "completion", "of",           "total",  "pad",  "many",
};

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Between the bytes i-1 and i: aB, ABc before B, a1, 1a. */
static bool word_begins(struct str s, size_t i)
{
    char was = s.at[i - 1];
    char is = s.at[i];

    if (is_digit(was) != is_digit(is))
        return true;
    if (is_upper(is) && is_lower(was))
        return true;
    return is_upper(is) && is_upper(was) && i + 1 < s.len && is_lower(s.at[i + 1]);
}

static void words_of(struct words *words, struct str s)
{
    size_t begin = 0;
    size_t end = 0;

    words->count = 0;
    for (size_t i = 0; i < s.len && i < TEXT_MOST && words->count < WORDS_MOST; i++) {
        bool inside = is_upper(s.at[i]) || is_lower(s.at[i]) || is_digit(s.at[i]);
        if (end > begin && (!inside || word_begins(s, i))) {
            words->at[words->count++] = str_n(words->text + begin, end - begin);
            begin = end;
        }
        if (inside)
            words->text[end++] = (char)(is_upper(s.at[i]) ? s.at[i] | 0x20 : s.at[i]);
    }
    if (end > begin && words->count < WORDS_MOST)
        words->at[words->count++] = str_n(words->text + begin, end - begin);
}

static bool is_among(struct str word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_eq(word, str_of(list[i])))
            return true;
    return false;
}

static size_t phrase_len(const struct phrase *phrase)
{
    size_t len = 0;

    while (len < PHRASE_WORDS && phrase->words[len])
        len++;
    return len;
}

static bool phrase_at(const struct phrase *phrase, const struct words *words, size_t at)
{
    size_t len = phrase_len(phrase);

    if (at + len > words->count)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!str_eq(words->at[at + i], str_of(phrase->words[i])))
            return false;
    if (phrase->rule == ALONE && words->count > 1)
        return false;
    if (phrase->rule == COUNTABLE && at > 0 &&
        is_among(words->at[at - 1], before_token, sizeof(before_token) / sizeof(before_token[0])))
        return false;
    return at + len == words->count ||
           !is_among(words->at[at + len], about, sizeof(about) / sizeof(about[0]));
}

/* "dbpassword" in one word; but never "passwordless". */
static bool ends_in_password(const struct words *words, size_t at)
{
    bool last = at + 1 == words->count;

    return (str_ends(words->at[at], STR("password")) || str_ends(words->at[at], STR("passwd"))) &&
           (last || !is_among(words->at[at + 1], about, sizeof(about) / sizeof(about[0])));
}

static bool text_asks(struct str text)
{
    struct words words;

    words_of(&words, text);
    for (size_t at = 0; at < words.count; at++) {
        if (ends_in_password(&words, at))
            return true;
        for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++)
            if (phrase_at(&phrases[i], &words, at))
                return true;
    }
    return false;
}

static bool is_typed_in(const struct json *field)
{
    struct str type = json_get_str(field, STR("type"));

    if (json_get(field, STR("enum")) || json_get(field, STR("oneOf")))
        return false;
    return !str_eq(type, STR("boolean")) && !str_eq(type, STR("array"));
}

bool form_asks_secret(const struct json *schema, struct str *field)
{
    JSON_EACH(property, json_get(schema, STR("properties")))
    {
        bool password = str_eq(json_get_str(property, STR("format")), STR("password"));
        if (!password && !is_typed_in(property))
            continue;
        if (password || text_asks(property->key) ||
            text_asks(json_get_str(property, STR("title")))) {
            *field = property->key;
            return true;
        }
    }
    return false;
}
