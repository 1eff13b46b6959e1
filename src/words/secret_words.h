/*
 * words/secret_words: the words by which people ask for secrets, in many languages.
 *
 * The words are in secret_words.txt, from which the build makes these tables (scripts/embed-words);
 * json/form_secret.c says how they are used. Latin words are written as json/fold
 * leaves them: lower case, without accents, with single spaces. Words of other scripts are searched
 * for without regard to spaces, because those scripts have none, or attach articles and endings.
 *
 * To add a word, put it where its kind is, with its language beside it, and add a row to
 * tests/unit/json/secret_fields_seen.jsonl. A phrase is followed by its rule, (alone) or another,
 * unless it may be anywhere.
 */
#ifndef NOD_WORDS_SECRET_WORDS_H
#define NOD_WORDS_SECRET_WORDS_H

/* How a phrase is to be read. */
enum secret_rule {
    SECRET_ANYWHERE,
    SECRET_SURE,      /* whatever is around it, except a warning */
    SECRET_COUNTABLE, /* also a word of language models and paging: the word before it matters */
    SECRET_ALONE,     /* too common a word, unless it is the only one */
    SECRET_LAST,      /* the same, unless it is the last, or what follows goes with it: a PIN */
    SECRET_PASS,      /* the last word, unless it is for riding or entering something: a ski pass */
    SECRET_CARD,      /* a card's number: of a payment card, unless another is named */
};

struct secret_phrase {
    const char *words;
    enum secret_rule rule;
};

/* Each list ends with NULL. */
extern const struct secret_phrase secret_phrases[]; /* Latin script, whole words */
extern const char *const secret_endings[];          /* attached to what is before them: dbpass */
extern const char *const secret_beginnings[];       /* words that take endings: sifreniz */
extern const char *const secret_not_endings[];      /* words that only look like those: compass */
extern const char *const secret_other_scripts[];    /* anywhere in the text, without spaces */

/* What takes the suspicion away. */
extern const char *const secret_about[];         /* after it: something about the secret */
extern const char *const secret_before[];        /* before it: a yes or no, or the opposite */
extern const char *const secret_before_prose[];  /* the same, in prose, where verbs mean nothing */
extern const char *const secret_elsewhere[];     /* "not here" */
extern const char *const secret_before_tokens[]; /* the same, before "tokens" */
extern const char *const secret_before_token[];  /* a token that counts, and gives no access */
extern const char *const secret_after_pin[];     /* goes with a PIN */
extern const char *const secret_other_pins[];    /* pins that are not numbers */
extern const char *const secret_after_pass[];    /* goes with a password: "pass2" */
extern const char *const secret_pin_to[];        /* "PIN to unlock" */
extern const char *const secret_other_passes[];  /* passes that are not passwords */
extern const char *const secret_other_cards[];   /* cards that are not for payment */
extern const char *const secret_whether[];       /* at the beginning of prose */
extern const char *const secret_contents[];      /* "the CONTENTS of the key file" */
extern const char *const secret_prepositions[];  /* "number OF passwords" */
extern const char *const secret_heads[];         /* "VALUE of the password" is the password */
extern const char *const secret_hints[];         /* "password hint" */
extern const char *const secret_yes_patterns[];  /* nothing but yes or no can be typed */
extern const char *const secret_yes_or_no[];     /* says itself that it is yes or no */
extern const char *const secret_about_others[];  /* as secret_about, other scripts */
extern const char *const secret_first[];         /* "ROTATE the key", at the beginning of a label */
extern const char *const secret_articles[];      /* "rotate THE key": what may be between */
extern const char *const secret_warnings[];      /* "never enter your password" */
extern const char *const secret_warnings_others[]; /* the same, other scripts */

/* A word that has a harmless sense if another is near: in the name, title, description or
 * message. */
struct secret_sense {
    const char *word, *near;
};
extern const struct secret_sense secret_senses[];
extern const char *const secret_postal_others[]; /* a PIN code of a place, other scripts */
extern const char *const secret_plain[];         /* in a label: no other sense counts */

/* Words that ask together. */
extern const char *const secret_vendors[];    /* "OpenAI key" */
extern const char *const secret_codes[];      /* "authenticator app code" */
extern const char *const secret_code_from[];  /* "the code from your authenticator" */
extern const char *const secret_code_words[]; /* with "SMS" */
extern const char *const secret_payments[];   /* with a pattern of a card's length */
extern const char *const secret_cards[];      /* "the NUMBER on the FRONT of your CARD" */
extern const char *const secret_card_sides[];
extern const char *const secret_card_parts[];
extern const char *const secret_prefixes[]; /* how well-known tokens begin, as they are written */
extern const char *const secret_other_words[];       /* whole words of scripts that have spaces */
extern const char *const secret_other_words_about[]; /* after one of those: another sense */

/* What makes prose a request. */
extern const char *const secret_gives[];    /* "paste", "enter" */
extern const char *const secret_gives_it[]; /* "paste it here", of the sentence before */
extern const char *const secret_yours[];    /* "your" */
extern const char *const secret_what_is[];  /* a question that is a request */
extern const char *const secret_what_is_others[];

#endif
