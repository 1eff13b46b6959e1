typedef int crypto_token_not_yet;
