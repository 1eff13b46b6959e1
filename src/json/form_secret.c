/*
 * json/form_secret: does a field ask for something that must not go through a form?
 *
 * What a person types into a form passes the client, its logs and perhaps a model. So a field that
 * asks for a password, a key or a card number is refused before it is shown. It is recognised by
 * words (words/secret_words) in its name, title and description and in the message above the form.
 * All are folded first (json/fold), so that zero-width characters, full-width letters and
 * look-alikes hide nothing.
 *
 *     a label        a name or title: the words are enough
 *     a description  the words, at its beginning or as something to give: "Paste your API key"
 *     a message      the words as something to give, and nothing else
 *
 * These take the suspicion away: a following word that makes it something about the secret
 * ("password length"); a preceding word that makes it a yes or no, or the opposite ("rotate the API
 * key", "public key"); a head that is no secret ("number of passwords"); a hint; a question that
 * asks for no secret; a warning ("do not enter your password").
 *
 * Only fields into which a value is typed count: a yes or no, or a choice among given values,
 * cannot carry a secret. This is a safety net, not a guarantee: recall and false alarms are
 * measured in tests/unit/json/secret_fields.c, on rows that were written without a look at this
 * file.
 */
#include "json/form.h"

#include <pthread.h>

#include "json/fold.h"
#include "words/secret_words.h"

enum {
    WORDS_MOST = 256,    /* words of a sentence; the rest is not looked at */
    START_WORDS = 6,     /* a description that begins with a secret asks for it */
    ONE_WORD = 1,        /* "PIN?" */
    SHORT_WORDS = 4,     /* "Your password?" */
    CODE_WORDS = 3,      /* words from "authenticator" to "code" */
    CODE_FROM_WORDS = 5, /* words between "code" and "authenticator" */
    CARD_DIGITS_MIN = 13,
    CARD_CHARACTERS_MAX = 23, /* nineteen digits in groups */
    LETTERS_MIN = 3,          /* p-i-n */
};

enum text_kind { TEXT_LABEL, TEXT_DESCRIPTION, TEXT_MESSAGE };

/* A sentence, folded and cut into words. */
struct sentence {
    enum text_kind kind;
    bool question;
    size_t count;
    struct str words[WORDS_MOST];
    struct folded folded;
};

/* --- looking into lists --- */

static bool has_text(struct str text, const char *const *list)
{
    for (; *list; list++)
        if (str_find(text, str_of(*list)) >= 0)
            return true;
    return false;
}

/* Does this phrase begin at a word of the sentence? Returns its number of words, or 0. */
static size_t phrase_at(const struct sentence *s, size_t at, const char *phrase)
{
    struct str rest = str_of(phrase), word;
    size_t count = 0;

    for (bool more = true; more; count++) {
        more = str_cut(rest, ' ', &word, &rest);
        if (at + count >= s->count || !str_eq(s->words[at + count], word))
            return 0;
    }
    return count;
}

static size_t among_at(const struct sentence *s, size_t at, const char *const *list)
{
    for (; *list; list++) {
        size_t len = phrase_at(s, at, *list);
        if (len)
            return len;
    }
    return 0;
}

static bool has_before(const struct sentence *s, size_t end, const char *const *list)
{
    for (size_t at = 0; at < end; at++)
        if (among_at(s, at, list))
            return true;
    return false;
}

static bool has_phrase(const struct sentence *s, const char *const *list)
{
    return has_before(s, s->count, list);
}

/* --- what takes the suspicion away --- */

/* "number of passwords", "email for the reset link": what is asked for is the head. */
static bool head_is_harmless(const struct sentence *s, size_t at)
{
    size_t begin = 0, end = 1;
    bool asked = false;

    while (end < at && !str_among(s->words[end], secret_prepositions))
        end++;
    if (end >= at)
        return false;
    for (size_t i = 0, len; i < end; i++)
        if ((len = among_at(s, i, secret_gives))) { /* "copy the value of" */
            asked = true;
            begin = i + len;
        }
    for (size_t i = begin; i < end; i++) {
        bool number = str_eq(s->words[i], STR("number")) && has_phrase(s, secret_cards);
        if (str_among(s->words[i], secret_about) && !number)
            return true;
        asked |= number || str_among(s->words[i], secret_heads);
    }
    return !asked;
}

static bool asks_for_it(const struct sentence *s)
{
    return has_phrase(s, secret_gives);
}

/* Makes the whole sentence harmless, whatever secret it names. */
static bool sentence_is_harmless(const struct sentence *s)
{
    if (has_phrase(s, secret_yes_or_no) || has_phrase(s, secret_elsewhere))
        return true;
    bool yours = s->count && s->count <= SHORT_WORDS && str_among(s->words[0], secret_yours);
    if (s->question && s->count > ONE_WORD && !yours && !asks_for_it(s) &&
        !has_phrase(s, secret_what_is))
        return true;
    if (s->kind == TEXT_LABEL || s->count == 0)
        return false;
    return str_eq(s->words[0], STR("whether")) ||
           (str_among(s->words[0], secret_whether) && !asks_for_it(s));
}

/* "The password is read from the vault" tells of it. "is needed" asks for it. */
static bool is_told_of(const struct sentence *s, size_t next)
{
    static const char *const is[] = { "is", "are", NULL };
    static const char *const asked[] = { "needed", "required", "missing", "necessary", NULL };

    return s->kind == TEXT_DESCRIPTION && next + 1 < s->count && str_among(s->words[next], is) &&
           !str_among(s->words[next + 1], asked);
}

/* "Rotate the API key": a label that is an action, or a yes or no. */
static bool is_deed(const struct sentence *s, size_t at)
{
    if (at == 0 || !str_among(s->words[0], secret_first) || asks_for_it(s))
        return false;
    for (size_t i = 1; i < at; i++)
        if (!str_among(s->words[i], secret_articles))
            return false;
    return true;
}

/* "Never enter your password": a warning before it. */
static bool is_warned_of(const struct sentence *s, size_t at)
{
    return s->kind != TEXT_LABEL && has_before(s, at, secret_warnings);
}

/* Does nothing follow a PIN, or something that goes with a secret number? */
static bool goes_with_pin(const struct sentence *s, size_t next, struct str before)
{
    if (next >= s->count || str_among(s->words[next], secret_after_pin))
        return true;
    if (str_eq(s->words[next], STR("to")))
        return next + 1 < s->count && str_among(s->words[next + 1], secret_pin_to);
    return s->kind != TEXT_LABEL &&
           (str_among(before, secret_yours) || has_phrase(s, secret_what_is));
}

static bool rule_allows(const struct sentence *s, const struct secret_phrase *phrase, size_t at,
                        size_t len)
{
    struct str before = at ? s->words[at - 1] : STR_NONE;
    struct str next = at + len < s->count ? s->words[at + len] : STR_NONE;

    switch (phrase->rule) {
    case SECRET_ALONE:
        return s->count > len;
    case SECRET_LAST:
        return !goes_with_pin(s, at + len, before) || str_among(before, secret_other_pins);
    case SECRET_PASS:
        return (next.len && !str_among(next, secret_after_pass)) ||
               str_among(before, secret_other_passes);
    case SECRET_COUNTABLE:
        return str_among(before, secret_before_token) ||
               (str_eq(s->words[at], STR("tokens")) && str_among(before, secret_before_tokens)) ||
               (next.len && str_eq(next, STR("per"))) ||
               (s->count == 1 && str_eq(s->words[at], STR("tokens")));
    case SECRET_CARD:
        return has_phrase(s, secret_other_cards);
    case SECRET_ANYWHERE:
    case SECRET_SURE:
        return false;
    }
    return false;
}

/* Is the phrase at this place the secret itself, and is it asked for? */
static bool is_asked_at(const struct sentence *s, const struct secret_phrase *phrase, size_t at,
                        size_t len)
{
    if (phrase->rule == SECRET_SURE)
        return !is_warned_of(s, at);
    if (rule_allows(s, phrase, at, len))
        return false;
    bool contents = at && str_eq(s->words[at + len < s->count ? at + len : at], STR("file")) &&
                    has_phrase(s, secret_contents);
    if (at + len < s->count && str_among(s->words[at + len], secret_about) && !contents)
        return false;
    /* "Pista de la contrasena": a hint that precedes it. One that follows is in secret_about. */
    if (is_warned_of(s, at) || is_deed(s, at) || has_before(s, at, secret_hints) ||
        is_told_of(s, at + len))
        return false;
    bool label = s->kind == TEXT_LABEL;
    bool asked_which = has_phrase(s, secret_what_is);
    if (at && !asked_which &&
        str_among(s->words[at - 1], label ? secret_before : secret_before_prose))
        return false;
    if (head_is_harmless(s, at))
        return false;
    /* "Password, please." and "Passphrase of the key:" are labels, wherever they occur. */
    bool short_one = s->count <= SHORT_WORDS || str_eq(s->words[s->count - 1], STR("please"));
    return label || short_one || asks_for_it(s) || asked_which ||
           (s->kind == TEXT_DESCRIPTION && (at < START_WORDS || has_phrase(s, secret_yours)));
}

static bool is_ascii(struct str word)
{
    for (size_t i = 0; i < word.len; i++)
        if ((unsigned char)word.at[i] >= 0x80)
            return false;
    return true;
}

/* "dbpassword" and "sifreniz" in one word, but not "compass". */
static bool runs_together(struct str word)
{
    if (!is_ascii(word) || str_among(word, secret_not_endings))
        return false;
    for (const char *const *ending = secret_endings; *ending; ending++)
        if (str_ends(word, str_of(*ending)) && !str_eq(word, STR("pass")))
            return true;
    for (const char *const *beginning = secret_beginnings; *beginning; beginning++)
        if (str_starts(word, str_of(*beginning)))
            return true;
    return false;
}

/* "OpenAI key", "authenticator app code": returns the number of words, from here. */
static size_t pair_at(const struct sentence *s, size_t at)
{
    size_t len = among_at(s, at, secret_vendors);

    if (len && at + len < s->count &&
        (str_eq(s->words[at + len], STR("key")) || str_eq(s->words[at + len], STR("pat"))))
        return len + 1;
    len = among_at(s, at, secret_codes);
    for (size_t end = at + len; len && end < s->count && end < at + len + CODE_WORDS; end++)
        if (str_eq(s->words[end], STR("code")) || str_eq(s->words[end], STR("codes")))
            return end + 1 - at;
    if (!str_eq(s->words[at], STR("code")) && !str_eq(s->words[at], STR("digits")))
        return 0;
    for (size_t from = at + 1; from < s->count && from <= at + CODE_FROM_WORDS; from++)
        if ((len = among_at(s, from, secret_code_from)))
            return from + len - at;
    return 0;
}

/* "The number on the front of your card." */
static bool names_card_number(const struct sentence *s)
{
    return has_phrase(s, secret_cards) && has_phrase(s, secret_card_sides) &&
           has_phrase(s, secret_card_parts) && !has_phrase(s, secret_other_cards);
}

/* "Codice di conferma via SMS" */
static bool names_sms_code(const struct sentence *s)
{
    static const char *const sms[] = { "sms", NULL };

    return has_phrase(s, sms) && has_phrase(s, secret_code_words) && !is_deed(s, 1);
}

/*
 * Most words begin no phrase and end in nothing suspicious. A table of bits says so at once, so
 * that looking at a message costs no more than reading it.
 */
enum { HINT_BITS = 1 << 14, ENDING_BYTES = 3 };
static unsigned char hints[HINT_BITS / 8];
static pthread_once_t hints_made = PTHREAD_ONCE_INIT;

static size_t hint_of(struct str word, char kind)
{
    size_t hash = (size_t)kind;

    for (size_t i = 0; i < word.len; i++)
        hash = hash * 31 + (unsigned char)word.at[i];
    return (hash ^ hash >> 14) % HINT_BITS;
}

static void hint_set(struct str phrase, char kind)
{
    struct str word, rest;

    if (kind == 'e')
        word = str_skip(phrase, phrase.len - ENDING_BYTES);
    else
        str_cut(phrase, ' ', &word, &rest);
    size_t at = hint_of(word, kind);
    hints[at / 8] |= (unsigned char)(1u << at % 8);
}

static bool hint_is_set(struct str word, char kind)
{
    size_t at = hint_of(word, kind);

    return hints[at / 8] >> at % 8 & 1;
}

static void hints_make(void)
{
    for (const struct secret_phrase *phrase = secret_phrases; phrase->words; phrase++)
        hint_set(str_of(phrase->words), 'b');
    for (const char *const *word = secret_vendors; *word; word++)
        hint_set(str_of(*word), 'b');
    for (const char *const *word = secret_codes; *word; word++)
        hint_set(str_of(*word), 'b');
    for (const char *const *word = secret_beginnings; *word; word++)
        hint_set(str_n(*word, ENDING_BYTES), 's');
    hint_set(STR("code"), 'b');
    hint_set(STR("digits"), 'b');
    for (const char *const *ending = secret_endings; *ending; ending++)
        hint_set(str_of(*ending), 'e');
}

static bool may_begin(struct str word)
{
    if (hint_is_set(word, 'b'))
        return true;
    return word.len >= ENDING_BYTES && (hint_is_set(str_n(word.at, ENDING_BYTES), 's') ||
                                        hint_is_set(str_skip(word, word.len - ENDING_BYTES), 'e'));
}

static bool words_ask(const struct sentence *s)
{
    static const struct secret_phrase whole = { "", SECRET_ANYWHERE };

    if (s->kind != TEXT_MESSAGE && (names_card_number(s) || names_sms_code(s)))
        return true;
    pthread_once(&hints_made, hints_make);
    for (size_t at = 0; at < s->count; at++) {
        if (!may_begin(s->words[at]))
            continue;
        if (runs_together(s->words[at]) && is_asked_at(s, &whole, at, 1))
            return true;
        size_t pair = pair_at(s, at);
        if (pair && is_asked_at(s, &whole, at, pair))
            return true;
        for (const struct secret_phrase *phrase = secret_phrases; phrase->words; phrase++) {
            size_t len = phrase_at(s, at, phrase->words);
            if (len && is_asked_at(s, phrase, at, len))
                return true;
        }
    }
    return false;
}

static bool has_other_word(const struct sentence *s)
{
    for (size_t at = 0; at < s->count; at++)
        if (str_among(s->words[at], secret_other_words) &&
            !(at + 1 < s->count && str_among(s->words[at + 1], secret_other_words_about)))
            return true;
    return false;
}

/* Scripts whose words are not cut. */
static bool others_ask(const struct sentence *s)
{
    struct folded dense;

    fold_dense(&dense, &s->folded);
    struct str text = folded_str(&dense);
    if (!has_text(text, secret_other_scripts) && !has_other_word(s))
        return false;
    if (has_text(text, secret_about_others))
        return false;
    if (s->question && !has_text(text, secret_what_is_others))
        return false;
    return !has_text(text, secret_warnings_others);
}

/* --- sentences --- */

static void sentence_cut(struct sentence *s, struct str text, enum fold_how how)
{
    size_t kept = 0;

    fold(&s->folded, text, how);
    struct str rest = str_trim(folded_str(&s->folded));
    s->count = 0;
    while (rest.len && s->count < WORDS_MOST)
        str_cut(rest, ' ', &s->words[s->count++], &rest);
    /* "P-A-S-S" is one word. The letters follow each other, with a space between. */
    for (size_t at = 0; at < s->count;) {
        size_t end = at;
        while (end < s->count && s->words[end].len == 1)
            end++;
        if (end - at < LETTERS_MIN) {
            s->words[kept++] = s->words[at++];
            continue;
        }
        char *to = s->folded.text + (s->words[at].at - s->folded.text);
        for (size_t i = at; i < end; i++)
            to[i - at] = *s->words[i].at;
        s->words[kept++] = str_n(to, end - at);
        at = end;
    }
    s->count = kept;
}

static bool sentence_asks(struct sentence *s, struct str text)
{
    bool foreign = false; /* letters beyond ASCII */
    bool signs = false;   /* digits and signs that may stand for letters */

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        foreign |= c >= 0x80;
        signs |= (c >= '0' && c <= '9') || c == '@' || c == '$' || c == '!';
    }
    for (enum fold_how how = FOLD_PLAIN; how <= FOLD_DIGITS; how++) {
        if ((how == FOLD_LATIN && !foreign) || (how == FOLD_DIGITS && !signs))
            continue;
        sentence_cut(s, text, how);
        if (words_ask(s) && !sentence_is_harmless(s))
            return true;
        if (how == FOLD_PLAIN && foreign && s->kind != TEXT_LABEL && others_ask(s))
            return true;
    }
    return false;
}

/* "postgres://user:password@host", whatever is around it. */
static bool has_url_with_password(struct str text)
{
    ptrdiff_t at = str_find(text, STR("://"));

    if (at < 0)
        return false;
    struct str rest = str_skip(text, (size_t)at + 3), user, host;
    return str_cut(rest, '@', &user, &host) && str_find(user, STR(":")) > 0 &&
           str_find(user, STR("/")) < 0 && str_find(user, STR(" ")) < 0;
}

static bool ends_as_question(struct str text)
{
    while (text.len && (text.at[text.len - 1] == ' ' || text.at[text.len - 1] == ')'))
        text.len--;
    return str_ends(text, STR("?")) || str_ends(text, STR("？")) || str_ends(text, STR("؟"));
}

/* The length of what separates the parts of a label: "Token (service account)". 0: nothing does. */
static size_t part_at(struct str text)
{
    static const char *const parts[] = { "(", ")",  ":",  ",",  "/",  "|", "–",
                                         "—", "（", "）", "：", "、", NULL };

    for (const char *const *part = parts; *part; part++)
        if (str_starts(text, str_of(*part)))
            return strlen(*part);
    return 0;
}

/* The length of the end of a sentence that begins here; 0: none does. */
static size_t end_at(struct str text, bool *question)
{
    static const char *const ends[] = { "。", "！", "؛", "।", "\n", NULL };
    static const char *const questions[] = { "？", "؟", "?", NULL };

    for (const char *const *end = questions; *end; end++)
        if (str_starts(text, str_of(*end))) {
            *question = true;
            return strlen(*end);
        }
    for (const char *const *end = ends; *end; end++)
        if (str_starts(text, str_of(*end)))
            return strlen(*end);
    bool stop = text.at[0] == '.' || text.at[0] == '!' || text.at[0] == ';';
    return stop && (text.len == 1 || text.at[1] == ' ') ? 1 : 0;
}

static bool text_asks(struct str text, enum text_kind kind)
{
    struct sentence s; /* some 8 KiB, of which only what is used is written */

    if (text.len > FOLD_TEXT_MAX)
        text.len = FOLD_TEXT_MAX;
    if (kind != TEXT_LABEL && has_url_with_password(text))
        return true;
    /* "Do you have a code? Enter it here": one sentence names it, the next asks for it. */
    s.kind = kind;
    s.question = false;
    sentence_cut(&s, text, FOLD_PLAIN);
    bool given =
        has_phrase(&s, secret_gives_it) ||
        (kind == TEXT_LABEL && (has_phrase(&s, secret_gives) || has_phrase(&s, secret_what_is)));
    if (given && words_ask(&s))
        return true;
    bool question = kind == TEXT_LABEL && ends_as_question(text);
    s.question = question;
    if (kind == TEXT_LABEL && !is_ascii(text) && others_ask(&s))
        return true;
    while (text.len) {
        size_t len = 0, end = 0;
        s.question = question;
        for (; len < text.len; len++) {
            struct str rest = str_skip(text, len);
            end = end_at(rest, &s.question);
            if (!end && kind == TEXT_LABEL)
                end = part_at(rest);
            if (end)
                break;
        }
        if (sentence_asks(&s, str_n(text.at, len)))
            return true;
        text = str_skip(text, len + end);
    }
    return false;
}

/* --- fields --- */

/* Words elsewhere that give a doubtful name its harmless sense: a postal PIN code, a degree. */
static bool explained(const struct json *field, struct str message)
{
    struct str parts[] = { field->key, json_get_str(field, STR("title")),
                           json_get_str(field, STR("description")), message };
    enum { PARTS = sizeof(parts) / sizeof(parts[0]), DESCRIPTION = 2 };
    struct sentence s[PARTS];

    for (size_t i = 0; i < PARTS; i++)
        sentence_cut(&s[i], parts[i], FOLD_PLAIN);
    if (has_phrase(&s[DESCRIPTION], secret_yes_or_no))
        return true;
    if (has_phrase(&s[0], secret_plain) || has_phrase(&s[1], secret_plain))
        return false;
    static const char *const pin[] = { "pin", "pincode", NULL };
    if (has_phrase(&s[0], pin) || has_phrase(&s[1], pin))
        for (size_t i = 0; i < PARTS; i++)
            if (has_text(parts[i], secret_postal_others))
                return true;
    for (const struct secret_sense *sense = secret_senses; sense->word; sense++) {
        const char *word[] = { sense->word, NULL }, *near[] = { sense->near, NULL };
        bool here = false, there = false;
        for (size_t i = 0; i < PARTS; i++) {
            here |= i < DESCRIPTION && has_phrase(&s[i], word);
            there |= has_phrase(&s[i], near);
        }
        if (here && there)
            return true;
    }
    return false;
}

/* "Starts with ghp_": as it is written, at the beginning of a word. */
static bool has_prefix(struct str text)
{
    for (const char *const *prefix = secret_prefixes; *prefix; prefix++) {
        ptrdiff_t at = str_find(text, str_of(*prefix));
        char before = at > 0 ? text.at[at - 1] : ' ';
        bool inside = (before >= 'a' && before <= 'z') || (before >= 'A' && before <= 'Z') ||
                      (before >= '0' && before <= '9') || before == '_' || before == '-';
        if (at >= 0 && !inside)
            return true;
    }
    return false;
}

/* Does it allow as many digits as a card has, or four groups of four? */
static bool has_card_length(struct str pattern)
{
    size_t fours = 0;

    for (size_t i = 0; i < pattern.len; i++) {
        int64_t low = 0, high = 0;
        struct str inside, rest, least, most;

        if (pattern.at[i] != '{' || !str_cut(str_skip(pattern, i + 1), '}', &inside, &rest))
            continue;
        bool range = str_cut(inside, ',', &least, &most);
        if (!str_to_i64(least, &low) || (range && !str_to_i64(most, &high)))
            continue;
        fours += low == 4 && !range;
        if (low >= CARD_DIGITS_MIN - 1 && (range ? high : low) <= CARD_CHARACTERS_MAX &&
            (range ? high : low) >= CARD_DIGITS_MIN)
            return true;
    }
    return fours >= 2 || (fours && str_find(pattern, STR("){3}")) >= 0);
}

/* A pattern of so many digits shows that it is a card number, or a code. */
static bool pattern_asks(const struct json *field, struct str message)
{
    struct str pattern = json_get_str(field, STR("pattern"));
    struct str labels[] = { field->key, json_get_str(field, STR("title")),
                            json_get_str(field, STR("description")), message };
    bool digits = str_find(pattern, STR("\\d")) >= 0 || str_find(pattern, STR("[0-9]")) >= 0;
    bool words = str_find(pattern, STR("[a-z]+")) >= 0;

    if (words && (str_find(pattern, STR("{11}")) >= 0 || str_find(pattern, STR("{23}")) >= 0))
        return true; /* twelve words, or twenty-four */
    for (size_t i = 0; digits && i < sizeof(labels) / sizeof(labels[0]); i++) {
        struct sentence s;
        sentence_cut(&s, labels[i], FOLD_PLAIN);
        bool card = has_phrase(&s, secret_cards) || has_phrase(&s, secret_payments);
        if (has_card_length(pattern) && card && !has_phrase(&s, secret_other_cards))
            return true;
        if (str_find(pattern, STR("{6}")) >= 0 && s.count == 1 && str_eq(s.words[0], STR("code")) &&
            i <= 1 && (i == 1 || labels[1].len == 0))
            return true;
    }
    return false;
}

/* The message above a form applies to each of its fields, but is read at most once. */
struct above {
    struct str message;
    bool read;
    bool asks;
};

static bool field_asks(const struct json *field, struct above *above)
{
    struct str message = above->message, type = json_get_str(field, STR("type"));
    struct str pattern = json_get_str(field, STR("pattern"));

    if (str_eq(json_get_str(field, STR("format")), STR("password")))
        return true;
    if (json_get(field, STR("enum")) || json_get(field, STR("oneOf")) ||
        str_eq(type, STR("boolean")) || str_eq(type, STR("array")) ||
        has_text(pattern, secret_yes_patterns))
        return false; /* nothing is typed in, or only a yes */
    if (has_prefix(pattern) || has_prefix(message) || has_url_with_password(pattern) ||
        has_prefix(json_get_str(field, STR("description"))) || pattern_asks(field, message))
        return true;
    if (!text_asks(field->key, TEXT_LABEL) &&
        !text_asks(json_get_str(field, STR("title")), TEXT_LABEL) &&
        !text_asks(json_get_str(field, STR("description")), TEXT_DESCRIPTION)) {
        if (!above->read)
            above->asks = text_asks(message, TEXT_MESSAGE);
        above->read = true;
        if (!above->asks)
            return false;
    }
    return !explained(field, message);
}

bool form_asks_secret(const struct json *schema, struct str message, form_allowed *allowed,
                      const void *data, struct str *field)
{
    struct above above = { .message = message };

    JSON_EACH (property, json_get(schema, STR("properties"))) {
        if (!field_asks(property, &above))
            continue;
        if (allowed && allowed(data, property->key))
            continue;
        *field = property->key;
        return true;
    }
    return false;
}
