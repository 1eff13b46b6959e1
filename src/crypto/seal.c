typedef int crypto_seal_not_yet;
