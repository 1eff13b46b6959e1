typedef int crypto_digest_not_yet;
