/* json/secret_words: see secret_words.h. */
#include "json/secret_words.h"

#include <stddef.h>

/* clang-format off */
const struct secret_phrase secret_phrases[] = {
    { "username and password", SECRET_SURE }, { "user name and password", SECRET_SURE }, { "login and password", SECRET_SURE }, { "user id and password", SECRET_SURE },
    /* Passwords. */
    { "password", SECRET_ANYWHERE }, { "passwords", SECRET_ANYWHERE }, { "passwd", SECRET_ANYWHERE }, { "losungswort", SECRET_ANYWHERE }, { "parool", SECRET_ANYWHERE }, { "zaporka", SECRET_ANYWHERE }, { "mima", SECRET_ANYWHERE }, { "kouling", SECRET_ANYWHERE }, { "miyao", SECRET_ANYWHERE }, { "siyao", SECRET_ANYWHERE }, { "yanzhengma", SECRET_ANYWHERE }, { "pasuwado", SECRET_ANYWHERE }, { "anshobango", SECRET_ANYWHERE }, { "ansho bango", SECRET_ANYWHERE }, { "bimilbeonho", SECRET_ANYWHERE }, { "kalimat al murur", SECRET_ANYWHERE }, { "kalimat almurur", SECRET_ANYWHERE }, { "kalimat sirr", SECRET_ANYWHERE }, { "clave acceso", SECRET_ANYWHERE }, { "mot passe", SECRET_ANYWHERE }, { "logon credentials", SECRET_ANYWHERE }, { "keypass", SECRET_ANYWHERE }, { "pword", SECRET_ANYWHERE }, { "p word", SECRET_ANYWHERE }, { "p wd", SECRET_ANYWHERE }, { "contrasenya", SECRET_ANYWHERE }, { "secretword", SECRET_ANYWHERE }, { "passw 0 rd", SECRET_ANYWHERE }, { "pazzword", SECRET_ANYWHERE }, { "motpasse", SECRET_ANYWHERE }, { "logon pw", SECRET_ANYWHERE }, { "pswrd", SECRET_ANYWHERE }, { "passw", SECRET_ANYWHERE }, { "paswd", SECRET_ANYWHERE }, { "psswd", SECRET_ANYWHERE }, { "pwrd", SECRET_ANYWHERE }, { "pssw", SECRET_ANYWHERE }, { "passwds", SECRET_ANYWHERE }, { "pwds", SECRET_ANYWHERE }, { "sekret", SECRET_ANYWHERE }, { "credz", SECRET_ANYWHERE },
    { "passwrd", SECRET_ANYWHERE }, { "pasword", SECRET_ANYWHERE }, { "passwort", SECRET_ANYWHERE },
    { "pwd", SECRET_ANYWHERE }, { "pswd", SECRET_ANYWHERE }, { "psw", SECRET_ANYWHERE },
    { "passphrase", SECRET_ANYWHERE }, { "passphrases", SECRET_ANYWHERE },
    { "passcode", SECRET_ANYWHERE }, { "passcodes", SECRET_ANYWHERE }, { "passkey", SECRET_ANYWHERE },
    { "pass word", SECRET_ANYWHERE }, { "pass phrase", SECRET_ANYWHERE }, { "pass code", SECRET_ANYWHERE },
    { "pass key", SECRET_ANYWHERE }, { "secret word", SECRET_ANYWHERE }, { "secret phrase", SECRET_ANYWHERE },
    { "login pass", SECRET_ANYWHERE },
    { "wifi pass", SECRET_ANYWHERE },
    { "confirm pass", SECRET_ANYWHERE },
    { "pass", SECRET_PASS },
    { "pw", SECRET_ANYWHERE },
    { "kennwort", SECRET_ANYWHERE }, { "geheimwort", SECRET_ANYWHERE }, { "losung", SECRET_ALONE }, /* de */
    { "contrasena", SECRET_ANYWHERE }, { "contrasenas", SECRET_ANYWHERE }, { "contrasenia", SECRET_ANYWHERE },
    { "clave", SECRET_ALONE }, { "clave de acceso", SECRET_ANYWHERE }, { "clave secreta", SECRET_ANYWHERE },
    { "clave de usuario", SECRET_ANYWHERE }, { "clave del usuario", SECRET_ANYWHERE },
    { "clave bancaria", SECRET_ANYWHERE }, { "nueva clave", SECRET_ANYWHERE }, { "su clave", SECRET_ANYWHERE }, { "tu clave", SECRET_ANYWHERE }, { "mi clave", SECRET_ANYWHERE }, { "la clave", SECRET_ANYWHERE }, { "clave actual", SECRET_ANYWHERE }, { "clave nueva", SECRET_ANYWHERE }, { "clave personal", SECRET_ANYWHERE }, { "clave numerica", SECRET_ANYWHERE }, { "clave de la tarjeta", SECRET_ANYWHERE }, { "clave de tarjeta", SECRET_ANYWHERE }, { "clave de cajero", SECRET_ANYWHERE }, { "clave del cajero", SECRET_ANYWHERE }, { "clave dinamica", SECRET_ANYWHERE }, { "clave telefonica", SECRET_ANYWHERE }, { "palabra secreta", SECRET_ANYWHERE },
    { "palabra de paso", SECRET_ANYWHERE }, { "clave de la cuenta", SECRET_ANYWHERE }, /* es */
    { "senha", SECRET_ANYWHERE }, { "senhas", SECRET_ANYWHERE }, { "palavra passe", SECRET_ANYWHERE },
    { "palavra chave secreta", SECRET_ANYWHERE }, { "palavra secreta", SECRET_ANYWHERE }, /* pt */
    { "mot de passe", SECRET_ANYWHERE }, { "motdepasse", SECRET_ANYWHERE }, { "mots de passe", SECRET_ANYWHERE }, { "mdp", SECRET_ANYWHERE },
    { "code secret", SECRET_ANYWHERE }, { "code confidentiel", SECRET_ANYWHERE }, { "identifiants de connexion", SECRET_ANYWHERE }, { "code de carte", SECRET_ANYWHERE }, { "code de la carte", SECRET_ANYWHERE }, { "codes d acces", SECRET_ANYWHERE },
    { "mot secret", SECRET_ANYWHERE }, { "phrase secrete", SECRET_ANYWHERE }, { "code d acces", SECRET_ANYWHERE }, /* fr */
    { "parola d ordine", SECRET_ANYWHERE }, { "parola segreta", SECRET_ANYWHERE },
    { "parola di accesso", SECRET_ANYWHERE }, { "codice segreto", SECRET_ANYWHERE },
    { "codice di accesso", SECRET_ANYWHERE }, { "parola", SECRET_ALONE }, /* it, tr */
    { "sifre", SECRET_ANYWHERE }, { "mevcut parola", SECRET_ANYWHERE }, { "eski parola", SECRET_ANYWHERE }, { "gecerli parola", SECRET_ANYWHERE }, { "parola tekrar", SECRET_ANYWHERE }, { "parola girin", SECRET_ANYWHERE }, { "parola onayi", SECRET_ANYWHERE }, { "gizli parola", SECRET_ANYWHERE }, { "banka parolasi", SECRET_ANYWHERE }, { "giris parolasi", SECRET_ANYWHERE }, { "guvenlik numarasi", SECRET_ANYWHERE }, { "tek seferlik", SECRET_ANYWHERE }, { "kartin arkasindaki", SECRET_ANYWHERE }, { "kartinin arkasindaki", SECRET_ANYWHERE }, { "kartinizin arkasindaki", SECRET_ANYWHERE }, { "erisim kodu", SECRET_ANYWHERE }, { "giris kodu", SECRET_ANYWHERE }, { "gizli anahtari", SECRET_ANYWHERE }, { "kurtarma ifadesi", SECRET_ANYWHERE }, { "kurtarma kelimeleri", SECRET_ANYWHERE }, { "gizli ifade", SECRET_ANYWHERE }, { "kurtarma anahtari", SECRET_ANYWHERE }, { "sifreleme anahtari", SECRET_ANYWHERE }, { "banka sifresi", SECRET_ANYWHERE }, { "hesap sifresi", SECRET_ANYWHERE }, { "sifreniz", SECRET_ANYWHERE }, { "sifresi", SECRET_ANYWHERE },
    { "sifrenizi", SECRET_ANYWHERE }, { "sifreyi", SECRET_ANYWHERE }, { "parolaniz", SECRET_ANYWHERE },
    { "parolanizi", SECRET_ANYWHERE }, { "parolasi", SECRET_ANYWHERE }, { "yeni parola", SECRET_ANYWHERE }, /* tr */
    { "kata sandi", SECRET_ANYWHERE }, { "katasandi", SECRET_ANYWHERE }, { "kata laluan", SECRET_ANYWHERE },
    { "katalaluan", SECRET_ANYWHERE }, { "kata kunci rahasia", SECRET_ANYWHERE }, { "sandi", SECRET_ALONE },
    { "frasa sandi", SECRET_ANYWHERE }, { "kata rahasia", SECRET_ANYWHERE }, { "kode sandi", SECRET_ANYWHERE }, { "sandi wifi", SECRET_ANYWHERE }, { "sandi baru", SECRET_ANYWHERE }, { "sandi lama", SECRET_ANYWHERE }, { "sandi anda", SECRET_ANYWHERE }, { "sandi akun", SECRET_ANYWHERE }, { "sandi masuk", SECRET_ANYWHERE }, /* id, ms */
    { "mat khau", SECRET_ANYWHERE }, { "mat ma", SECRET_ANYWHERE }, { "ma so bi mat", SECRET_ANYWHERE }, { "ma so pin", SECRET_ANYWHERE }, { "matkhau", SECRET_ANYWHERE }, { "cum mat khau", SECRET_ANYWHERE }, /* vi */
    { "wachtwoord", SECRET_ANYWHERE }, { "losenord", SECRET_ANYWHERE }, { "haslo", SECRET_ANYWHERE },
    { "heslo", SECRET_ANYWHERE }, { "jelszo", SECRET_ANYWHERE }, { "nenosiri", SECRET_ANYWHERE },
    { "lozinka", SECRET_ANYWHERE }, { "salasana", SECRET_ANYWHERE }, { "adgangskode", SECRET_ANYWHERE },
    { "passord", SECRET_ANYWHERE }, { "parol", SECRET_ANYWHERE }, { "parole", SECRET_ALONE },
    { "fjalekalim", SECRET_ANYWHERE },

    /* PINs and one-time codes. */
    { "pin", SECRET_LAST }, { "p i n", SECRET_ANYWHERE }, { "pin code", SECRET_ANYWHERE }, { "pincode", SECRET_ANYWHERE },
    { "pin number", SECRET_ANYWHERE }, { "pin nummer", SECRET_ANYWHERE }, { "card pin", SECRET_ANYWHERE },
    { "your pin", SECRET_ANYWHERE }, { "digit pin", SECRET_ANYWHERE }, { "atm pin", SECRET_ANYWHERE },
    { "sim pin", SECRET_ANYWHERE }, { "user pin", SECRET_ANYWHERE }, { "account pin", SECRET_ANYWHERE },
    { "login pin", SECRET_ANYWHERE }, { "security pin", SECRET_ANYWHERE }, { "secret pin", SECRET_ANYWHERE },
    { "bank pin", SECRET_ANYWHERE }, { "new pin", SECRET_ANYWHERE }, { "current pin", SECRET_ANYWHERE },
    { "confirm pin", SECRET_ANYWHERE }, { "device pin", SECRET_ANYWHERE }, { "wallet pin", SECRET_ANYWHERE },
    { "unlock pin", SECRET_ANYWHERE }, { "debit pin", SECRET_ANYWHERE }, { "transaction pin", SECRET_ANYWHERE },
    { "upi pin", SECRET_ANYWHERE }, { "mpin", SECRET_ANYWHERE }, { "m pin", SECRET_ANYWHERE },
    { "tpin", SECRET_ANYWHERE }, { "pin anda", SECRET_ANYWHERE }, { "kode pin", SECRET_ANYWHERE },
    { "nomor pin", SECRET_ANYWHERE }, { "no pin", SECRET_ANYWHERE }, { "ma pin", SECRET_ANYWHERE },
    { "codigo pin", SECRET_ANYWHERE }, { "numero pin", SECRET_ANYWHERE }, { "code pin", SECRET_ANYWHERE },
    { "codice pin", SECRET_ANYWHERE }, { "pin kodu", SECRET_ANYWHERE }, { "pin kod", SECRET_ANYWHERE },
    { "geheimzahl", SECRET_ANYWHERE }, { "geheimnummer", SECRET_ANYWHERE }, { "puk", SECRET_LAST },
    { "puk code", SECRET_ANYWHERE }, { "otp", SECRET_ANYWHERE }, { "otps", SECRET_ANYWHERE },
    { "totp", SECRET_ANYWHERE }, { "hotp", SECRET_ANYWHERE }, { "tan", SECRET_ALONE },
    { "mfa", SECRET_ALONE }, { "mfa code", SECRET_ANYWHERE }, { "tfa", SECRET_ALONE }, { "geheim", SECRET_ALONE }, { "m tan", SECRET_ANYWHERE }, { "mtan", SECRET_ANYWHERE }, { "chip tan", SECRET_ANYWHERE }, { "itan", SECRET_ANYWHERE }, { "tan number", SECRET_ANYWHERE }, { "second factor code", SECRET_ANYWHERE }, { "otac", SECRET_ANYWHERE }, { "challenge code", SECRET_ANYWHERE }, { "challenge response", SECRET_ANYWHERE }, { "confirm code", SECRET_ANYWHERE }, { "verify code", SECRET_ANYWHERE }, { "puk 2", SECRET_ANYWHERE }, { "sms otp", SECRET_ANYWHERE }, { "esign pin", SECRET_ANYWHERE }, { "mfa response", SECRET_ANYWHERE }, { "mfa input", SECRET_ANYWHERE }, { "mfa value", SECRET_ANYWHERE }, { "mfa digits", SECRET_ANYWHERE }, { "mfa number", SECRET_ANYWHERE }, { "mfa pin", SECRET_ANYWHERE }, { "2 fa response", SECRET_ANYWHERE }, { "2 fa input", SECRET_ANYWHERE }, { "2 fa value", SECRET_ANYWHERE }, { "2 fa digits", SECRET_ANYWHERE }, { "2 fa number", SECRET_ANYWHERE }, { "2 fa pin", SECRET_ANYWHERE }, { "two factor response", SECRET_ANYWHERE }, { "two factor pin", SECRET_ANYWHERE }, { "two factor token", SECRET_ANYWHERE }, { "authenticator", SECRET_ANYWHERE }, { "authenticator digits", SECRET_ANYWHERE }, { "auth app code", SECRET_ANYWHERE }, { "2 fa key", SECRET_ANYWHERE }, { "2 fa seed", SECRET_ANYWHERE }, { "2 fa secret", SECRET_ANYWHERE }, { "2 fa", SECRET_ALONE },
    { "2 fa code", SECRET_ANYWHERE }, { "2 fa token", SECRET_ANYWHERE }, { "two factor", SECRET_ALONE },
    { "tfa code", SECRET_ANYWHERE }, { "two factor code", SECRET_ANYWHERE },
    { "two factor authentication code", SECRET_ANYWHERE }, { "2 factor code", SECRET_ANYWHERE },
    { "authenticator code", SECRET_ANYWHERE },
    { "authentication code", SECRET_ANYWHERE }, { "auth code", SECRET_ANYWHERE },
    { "authcode", SECRET_ANYWHERE }, { "authorization code", SECRET_ANYWHERE },
    { "authorisation code", SECRET_ANYWHERE }, { "verification code", SECRET_ANYWHERE },
    { "verify code", SECRET_ANYWHERE }, { "confirmation code sms", SECRET_ANYWHERE },
    { "sms code", SECRET_ANYWHERE }, { "sms verification", SECRET_ANYWHERE }, { "code from sms", SECRET_ANYWHERE },
    { "code by sms", SECRET_ANYWHERE }, { "security code", SECRET_ANYWHERE }, { "secret code", SECRET_ANYWHERE },
    { "access code", SECRET_ANYWHERE }, { "login code", SECRET_ANYWHERE }, { "guard code", SECRET_ANYWHERE }, { "sign in code", SECRET_ANYWHERE },
    { "recovery code", SECRET_ANYWHERE }, { "recovery codes", SECRET_ANYWHERE },
    { "backup code", SECRET_ANYWHERE }, { "backup codes", SECRET_ANYWHERE }, { "scratch code", SECRET_ANYWHERE },
    { "scratch codes", SECRET_ANYWHERE }, { "one time code", SECRET_ANYWHERE }, { "one time pin", SECRET_ANYWHERE },
    { "onetime code", SECRET_ANYWHERE }, { "unlock code", SECRET_ANYWHERE }, { "digit code", SECRET_ALONE },
    { "reset code", SECRET_ANYWHERE }, { "alarm code", SECRET_ANYWHERE }, { "door code", SECRET_ANYWHERE }, { "env file", SECRET_ANYWHERE }, { "dotenv file", SECRET_ANYWHERE }, { "dogrulama kodunu", SECRET_ANYWHERE }, { "onay kodunu", SECRET_ANYWHERE }, { "guvenlik kodunu", SECRET_ANYWHERE }, { "kart numaranizi", SECRET_ANYWHERE }, { "authorization bearer", SECRET_ANYWHERE }, { "unlock your phone", SECRET_ANYWHERE }, { "unlock your computer", SECRET_ANYWHERE }, { "at the cash machine", SECRET_ANYWHERE }, { "at the atm", SECRET_ANYWHERE }, { "after your username", SECRET_ANYWHERE }, { "yedek kodlar", SECRET_ANYWHERE }, { "yedek kodlari", SECRET_ANYWHERE }, { "kurtarma kodlari", SECRET_ANYWHERE }, { "gizli kelime", SECRET_ANYWHERE }, { "gizli soz", SECRET_ANYWHERE }, { "codici di backup", SECRET_ANYWHERE }, { "codigos de backup", SECRET_ANYWHERE }, { "codes de recuperation", SECRET_ANYWHERE }, { "code de recuperation", SECRET_ANYWHERE }, { "geheimes wort", SECRET_ANYWHERE }, { "sperrcode", SECRET_ANYWHERE }, { "entsperrcode", SECRET_ANYWHERE }, { "schlusselphrase", SECRET_ANYWHERE }, { "schluesselphrase", SECRET_ANYWHERE }, { "numbers wey we send", SECRET_ANYWHERE }, { "numbers we send", SECRET_ANYWHERE }, { "numbers for back of", SECRET_ANYWHERE }, { "code wey", SECRET_ANYWHERE }, { "digits wey", SECRET_ANYWHERE }, { "number wey dey", SECRET_ANYWHERE }, { "kode cadangan", SECRET_ANYWHERE }, { "kode konfirmasi sms", SECRET_ANYWHERE }, { "clave del wifi", SECRET_ANYWHERE }, { "clave de wifi", SECRET_ANYWHERE }, { "clave wifi", SECRET_ANYWHERE }, { "clave del banco", SECRET_ANYWHERE }, { "clave de internet", SECRET_ANYWHERE }, { "codigo recebido", SECRET_ANYWHERE }, { "code envoye", SECRET_ANYWHERE }, { "kode yang dikirim", SECRET_ANYWHERE }, { "kode yang anda terima", SECRET_ANYWHERE }, { "code in the e mail", SECRET_ANYWHERE }, { "code in the email", SECRET_ANYWHERE }, { "code from the email", SECRET_ANYWHERE }, { "tan eingeben", SECRET_ANYWHERE }, { "iban tan", SECRET_ANYWHERE }, { "psd 2 tan", SECRET_ANYWHERE }, { "ihre tan", SECRET_ANYWHERE }, { "die tan", SECRET_ANYWHERE }, { "your cookies", SECRET_ANYWHERE }, { "browser cookies", SECRET_ANYWHERE }, { "cookies from your", SECRET_ANYWHERE }, { "session cookies from", SECRET_ANYWHERE }, { "kod z sms", SECRET_ANYWHERE }, { "gate code", SECRET_ANYWHERE }, { "safe code", SECRET_ANYWHERE }, { "entry code", SECRET_ANYWHERE }, { "lockbox code", SECRET_ANYWHERE }, { "keypad code", SECRET_ANYWHERE }, { "lock code", SECRET_ANYWHERE }, { "vault code", SECRET_ANYWHERE }, { "twofa", SECRET_ANYWHERE }, { "twofactor", SECRET_ANYWHERE }, { "twofa code", SECRET_ANYWHERE }, { "code we sent", SECRET_ANYWHERE }, { "code sent to", SECRET_ANYWHERE }, { "code we emailed", SECRET_ANYWHERE }, { "code we texted", SECRET_ANYWHERE }, { "code that we sent", SECRET_ANYWHERE }, { "code you received", SECRET_ANYWHERE }, { "code just sent", SECRET_ANYWHERE }, { "code from the app", SECRET_ANYWHERE }, { "code from the sms", SECRET_ANYWHERE }, { "code in the sms", SECRET_ANYWHERE }, { "code from your phone", SECRET_ANYWHERE }, { "code on your phone", SECRET_ANYWHERE }, { "digits we texted", SECRET_ANYWHERE }, { "digits we sent", SECRET_ANYWHERE }, { "tan code", SECRET_ANYWHERE }, { "push tan", SECRET_ANYWHERE }, { "photo tan", SECRET_ANYWHERE }, { "geheimcode", SECRET_ANYWHERE }, { "zahlencode", SECRET_ANYWHERE }, { "codigo que", SECRET_ANYWHERE }, { "code recu", SECRET_ANYWHERE }, { "codigo recibido", SECRET_ANYWHERE }, { "codigo enviado", SECRET_ANYWHERE }, { "codice ricevuto", SECRET_ANYWHERE }, { "safe combination", SECRET_ANYWHERE }, { "lock combination", SECRET_ANYWHERE }, { "locker combination", SECRET_ANYWHERE }, { "padlock combination", SECRET_ANYWHERE }, { "combination code", SECRET_ANYWHERE }, { "memorable word", SECRET_ANYWHERE }, { "memorable information", SECRET_ANYWHERE }, { "security word", SECRET_ANYWHERE }, { "security number", SECRET_ANYWHERE }, { "keystore json", SECRET_ANYWHERE }, { "voice password", SECRET_ANYWHERE }, { "telephone banking code", SECRET_ANYWHERE }, { "ve parola", SECRET_ANYWHERE }, { "parola ve", SECRET_ANYWHERE }, { "kullanici parola", SECRET_ANYWHERE }, { "vault combination", SECRET_ANYWHERE }, { "combination of the safe", SECRET_ANYWHERE }, { "combination of the lock", SECRET_ANYWHERE }, { "combination to the safe", SECRET_ANYWHERE }, { "combination for the safe", SECRET_ANYWHERE }, { "login details", SECRET_ANYWHERE }, { "log in details", SECRET_ANYWHERE }, { "sign in details", SECRET_ANYWHERE }, { "login info", SECRET_ANYWHERE }, { "sign in info", SECRET_ANYWHERE }, { "logon details", SECRET_ANYWHERE },
    { "sicherheitscode", SECRET_ANYWHERE }, { "bestatigungscode", SECRET_ANYWHERE },
    { "verifizierungscode", SECRET_ANYWHERE }, { "zugangscode", SECRET_ANYWHERE },
    { "einmalcode", SECRET_ANYWHERE }, { "wiederherstellungscode", SECRET_ANYWHERE },
    { "einmalkennwort", SECRET_ANYWHERE }, { "freischaltcode", SECRET_ANYWHERE },
    { "wiederherstellungsschlussel", SECRET_ANYWHERE }, { "wiederherstellungsschluessel", SECRET_ANYWHERE }, { "prufziffer der karte", SECRET_ANYWHERE }, /* de */
    { "codigo de verificacion", SECRET_ANYWHERE }, { "codigo verificacion", SECRET_ANYWHERE }, { "codigo seguridad", SECRET_ANYWHERE }, { "codigo seguranca", SECRET_ANYWHERE }, { "codigo verificacao", SECRET_ANYWHERE }, { "code verification", SECRET_ANYWHERE }, { "code securite", SECRET_ANYWHERE }, { "codice verifica", SECRET_ANYWHERE }, { "codice sicurezza", SECRET_ANYWHERE }, { "numero carte", SECRET_ANYWHERE }, { "numero tarjeta", SECRET_ANYWHERE }, { "numero cartao", SECRET_ANYWHERE }, { "codigo de seguridad", SECRET_ANYWHERE },
    { "codigo de un solo uso", SECRET_ANYWHERE }, { "codigo secreto", SECRET_ANYWHERE },
    { "codigo de acceso", SECRET_ANYWHERE }, { "codigo de recuperacion", SECRET_ANYWHERE },
    { "codigo de respaldo", SECRET_ANYWHERE }, { "codigo de autenticacion", SECRET_ANYWHERE },
    { "codigos de respaldo", SECRET_ANYWHERE }, { "codigos de recuperacion", SECRET_ANYWHERE }, /* es */
    { "codigo de verificacao", SECRET_ANYWHERE }, { "codigo de seguranca", SECRET_ANYWHERE },
    { "codigo de uso unico", SECRET_ANYWHERE }, { "codigo de acesso", SECRET_ANYWHERE },
    { "codigo de recuperacao", SECRET_ANYWHERE }, { "codigo de autenticacao", SECRET_ANYWHERE },
    { "codigos de recuperacao", SECRET_ANYWHERE }, { "codigo de backup", SECRET_ANYWHERE }, /* pt */
    { "code de verification", SECRET_ANYWHERE }, { "code de securite", SECRET_ANYWHERE },
    { "code a usage unique", SECRET_ANYWHERE }, { "code de recuperation", SECRET_ANYWHERE },
    { "code de secours", SECRET_ANYWHERE }, { "codes de secours", SECRET_ANYWHERE },
    { "code d authentification", SECRET_ANYWHERE }, { "code de validation", SECRET_ANYWHERE },
    { "cryptogramme", SECRET_ANYWHERE }, { "cryptogramme visuel", SECRET_ANYWHERE }, /* fr */
    { "codice di verifica", SECRET_ANYWHERE }, { "codice di sicurezza", SECRET_ANYWHERE },
    { "codice di recupero", SECRET_ANYWHERE }, { "codice otp", SECRET_ANYWHERE }, { "codice monouso", SECRET_ANYWHERE }, { "codigo unico", SECRET_ANYWHERE }, { "code unique", SECRET_ANYWHERE }, { "code recu par sms", SECRET_ANYWHERE }, { "codigo sms", SECRET_ANYWHERE }, { "code sms", SECRET_ANYWHERE }, { "codice sms", SECRET_ANYWHERE }, { "sms kodu", SECRET_ANYWHERE }, { "kode sms", SECRET_ANYWHERE },
    { "codici di recupero", SECRET_ANYWHERE }, { "codice di backup", SECRET_ANYWHERE }, /* it */
    { "dogrulama kodu", SECRET_ANYWHERE }, { "guvenlik kodu", SECRET_ANYWHERE },
    { "onay kodu", SECRET_ANYWHERE }, { "kurtarma kodu", SECRET_ANYWHERE }, { "tek kullanimlik", SECRET_ANYWHERE },
    { "yedek kodu", SECRET_ANYWHERE }, { "yedek kod", SECRET_ANYWHERE }, { "gizli kod", SECRET_ANYWHERE }, /* tr */
    { "kode verifikasi", SECRET_ANYWHERE }, { "kode keamanan", SECRET_ANYWHERE },
    { "kode rahasia", SECRET_ANYWHERE }, { "kode otp", SECRET_ANYWHERE }, { "kode pemulihan", SECRET_ANYWHERE },
    { "kode cadangan", SECRET_ANYWHERE }, { "kod pengesahan", SECRET_ANYWHERE }, { "kod keselamatan", SECRET_ANYWHERE },
    { "kode sekali pakai", SECRET_ANYWHERE }, { "kode akses", SECRET_ANYWHERE }, /* id, ms */
    { "ma xac minh", SECRET_ANYWHERE }, { "ma xac thuc", SECRET_ANYWHERE }, { "ma xac nhan", SECRET_ANYWHERE },
    { "ma otp", SECRET_ANYWHERE }, { "ma bao mat", SECRET_ANYWHERE }, { "ma khoi phuc", SECRET_ANYWHERE },
    { "ma du phong", SECRET_ANYWHERE }, { "ma bi mat", SECRET_ANYWHERE }, /* vi */

    /* Keys, tokens, and whatever else gives a program access. */
    { "secret", SECRET_ANYWHERE }, { "secrets", SECRET_ANYWHERE }, { "api key", SECRET_ANYWHERE },
    { "api keys", SECRET_ANYWHERE }, { "apikey", SECRET_ANYWHERE }, { "apikeys", SECRET_ANYWHERE },
    { "key api", SECRET_ANYWHERE }, { "access key", SECRET_ANYWHERE }, { "access keys", SECRET_ANYWHERE },
    { "accesskey", SECRET_ANYWHERE }, { "secretkey", SECRET_ANYWHERE }, { "auth key", SECRET_ANYWHERE },
    { "authkey", SECRET_ANYWHERE }, { "private key", SECRET_ANYWHERE }, { "private keys", SECRET_ANYWHERE },
    { "privatekey", SECRET_ANYWHERE }, { "privkey", SECRET_ANYWHERE }, { "priv key", SECRET_ANYWHERE },
    { "signing key", SECRET_ANYWHERE }, { "signature key", SECRET_ANYWHERE }, { "encryption key", SECRET_ANYWHERE },
    { "decryption key", SECRET_ANYWHERE }, { "enc key", SECRET_ANYWHERE }, { "hmac key", SECRET_ANYWHERE },
    { "aes key", SECRET_ANYWHERE }, { "account key", SECRET_ANYWHERE }, { "storage key", SECRET_ANYWHERE },
    { "master key", SECRET_ANYWHERE }, { "service role key", SECRET_ANYWHERE }, { "role key", SECRET_ANYWHERE }, { "write key", SECRET_ANYWHERE }, { "vault key", SECRET_ANYWHERE }, { "fi key", SECRET_ANYWHERE }, { "fi security key", SECRET_ANYWHERE }, { "network security key", SECRET_ANYWHERE }, { "wifi security key", SECRET_ANYWHERE }, { "rapid api key", SECRET_ANYWHERE }, { "rapidapi key", SECRET_ANYWHERE }, { "service account json", SECRET_ANYWHERE }, { "credentials json", SECRET_ANYWHERE }, { "kubeconfig", SECRET_ANYWHERE }, { "kube config", SECRET_ANYWHERE }, { "azure sas", SECRET_ANYWHERE }, { "sas url", SECRET_ANYWHERE }, { "community string", SECRET_ANYWHERE }, { "wif key", SECRET_ANYWHERE }, { "xprv", SECRET_ANYWHERE }, { "filevault key", SECRET_ANYWHERE }, { "bitlocker key", SECRET_ANYWHERE }, { "disk key", SECRET_ANYWHERE }, { "app key", SECRET_ANYWHERE }, { "consumer key", SECRET_ANYWHERE }, { "application key", SECRET_ANYWHERE }, { "client key", SECRET_ANYWHERE }, { "integration key", SECRET_ANYWHERE }, { "symmetric key", SECRET_ANYWHERE }, { "pem key", SECRET_ANYWHERE }, { "root key", SECRET_ANYWHERE }, { "kms key", SECRET_ANYWHERE }, { "bot key", SECRET_ANYWHERE }, { "server key", SECRET_ANYWHERE }, { "production key", SECRET_ANYWHERE }, { "live key", SECRET_ANYWHERE }, { "test key secret", SECRET_ANYWHERE }, { "key secret", SECRET_ANYWHERE }, { "sk live", SECRET_ANYWHERE }, { "data key", SECRET_ANYWHERE }, { "private seed", SECRET_ANYWHERE }, { "metamask seed", SECRET_ANYWHERE }, { "hd seed", SECRET_ANYWHERE }, { "ledger seed", SECRET_ANYWHERE }, { "trezor seed", SECRET_ANYWHERE }, { "master seed", SECRET_ANYWHERE }, { "word seed", SECRET_ANYWHERE }, { "words seed", SECRET_ANYWHERE }, { "seed word", SECRET_ANYWHERE }, { "restore your wallet", SECRET_ANYWHERE }, { "restores your wallet", SECRET_ANYWHERE }, { "restore the wallet", SECRET_ANYWHERE }, { "restore my wallet", SECRET_ANYWHERE }, { "wallet words", SECRET_ANYWHERE }, { "24 words of", SECRET_ANYWHERE }, { "12 words of", SECRET_ANYWHERE }, { "secret seed", SECRET_ANYWHERE }, { "shared key", SECRET_ANYWHERE }, { "pre shared key", SECRET_ANYWHERE },
    { "psk", SECRET_ANYWHERE }, { "ssh key", SECRET_ANYWHERE }, { "ssh keys", SECRET_ANYWHERE },
    { "sshkey", SECRET_ANYWHERE }, { "pgp key", SECRET_ANYWHERE }, { "gpg key", SECRET_ANYWHERE },
    { "rsa key", SECRET_ANYWHERE }, { "tls key", SECRET_ANYWHERE }, { "ssl key", SECRET_ANYWHERE },
    { "deploy key", SECRET_ANYWHERE }, { "service key", SECRET_ANYWHERE }, { "service account key", SECRET_ANYWHERE },
    { "subscription key", SECRET_ANYWHERE }, { "wifi key", SECRET_ANYWHERE },
    { "wpa key", SECRET_ANYWHERE }, { "network key", SECRET_ANYWHERE }, { "recovery key", SECRET_ANYWHERE },
    { "host key", SECRET_ALONE }, { "openai key", SECRET_ANYWHERE }, { "stripe key", SECRET_ANYWHERE },
    { "aws key", SECRET_ANYWHERE }, { "gcp key", SECRET_ANYWHERE }, { "azure key", SECRET_ANYWHERE },
    { "github key", SECRET_ANYWHERE }, { "wallet key", SECRET_ANYWHERE }, { "webhook key", SECRET_ANYWHERE },
    { "token", SECRET_COUNTABLE }, { "tokens", SECRET_COUNTABLE }, { "tok", SECRET_ALONE },
    { "auth tok", SECRET_ANYWHERE }, { "access tok", SECRET_ANYWHERE }, { "api tok", SECRET_ANYWHERE },
    { "accesstoken", SECRET_ANYWHERE }, { "saml assertion", SECRET_ANYWHERE }, { "saml response", SECRET_ANYWHERE }, { "auth ticket", SECRET_ANYWHERE }, { "kerberos ticket", SECRET_ANYWHERE }, { "keytab", SECRET_ANYWHERE }, { "macaroon", SECRET_ANYWHERE }, { "session key", SECRET_ANYWHERE }, { "api auth", SECRET_ANYWHERE }, { "bot tok", SECRET_ANYWHERE }, { "npm tok", SECRET_ANYWHERE }, { "user tok", SECRET_ANYWHERE }, { "refresh tok", SECRET_ANYWHERE }, { "id tok", SECRET_ANYWHERE }, { "session tok", SECRET_ANYWHERE }, { "tkn", SECRET_ANYWHERE }, { "auth tkn", SECRET_ANYWHERE }, { "bearer tok", SECRET_ANYWHERE }, { "session id value", SECRET_ANYWHERE }, { "sessionid value", SECRET_ANYWHERE }, { "reset token", SECRET_ANYWHERE }, { "invite token", SECRET_ANYWHERE }, { "csrf token", SECRET_ANYWHERE }, { "xsrf token", SECRET_ANYWHERE }, { "push token", SECRET_ANYWHERE }, { "device token", SECRET_ANYWHERE }, { "fcm token", SECRET_ANYWHERE }, { "context token", SECRET_ANYWHERE }, { "user token", SECRET_ANYWHERE }, { "input token value", SECRET_ANYWHERE }, { "authtoken", SECRET_ANYWHERE }, { "apitoken", SECRET_ANYWHERE },
    { "pat", SECRET_ALONE }, { "github pat", SECRET_ANYWHERE }, { "git hub pat", SECRET_ANYWHERE }, { "gitlab pat", SECRET_ANYWHERE }, { "azure pat", SECRET_ANYWHERE }, { "devops pat", SECRET_ANYWHERE }, { "jwt", SECRET_ANYWHERE }, { "bearer", SECRET_ALONE }, { "bearer token", SECRET_ANYWHERE }, { "bearer header", SECRET_ANYWHERE }, { "twitter bearer", SECRET_ANYWHERE },
    { "credential", SECRET_ANYWHERE }, { "credentials", SECRET_ANYWHERE }, { "creds", SECRET_ANYWHERE },
    { "cred", SECRET_ALONE }, { "connection string", SECRET_ANYWHERE }, { "connectionstring", SECRET_ANYWHERE }, { "url with password", SECRET_ANYWHERE }, { "dsn with password", SECRET_ANYWHERE }, { "string with password", SECRET_ANYWHERE }, { "url including password", SECRET_ANYWHERE }, { "connection uri with", SECRET_ANYWHERE }, { "basic auth header", SECRET_ANYWHERE }, { "basic auth credentials", SECRET_ANYWHERE },
    { "conn string", SECRET_ANYWHERE }, { "conn str", SECRET_ANYWHERE }, { "connstr", SECRET_ANYWHERE },
    { "database url with password", SECRET_ANYWHERE }, { "session cookie", SECRET_ANYWHERE }, { "sessionid cookie", SECRET_ANYWHERE }, { "session id cookie value", SECRET_ANYWHERE }, { "cookie value", SECRET_ANYWHERE }, { "cookie string", SECRET_ANYWHERE }, { "at cookie", SECRET_ANYWHERE }, { "sid cookie", SECRET_ANYWHERE }, { "sessid", SECRET_ANYWHERE }, { "phpsessid", SECRET_ANYWHERE }, { "jsessionid", SECRET_ANYWHERE }, { "login cookies", SECRET_ANYWHERE }, { "session cookies", SECRET_ANYWHERE },
    { "auth cookie", SECRET_ANYWHERE }, { "session id cookie", SECRET_ANYWHERE }, { "login cookie", SECRET_ANYWHERE },
    { "cookie header", SECRET_ANYWHERE }, { "authorization header", SECRET_ANYWHERE },
    { "seed phrase", SECRET_ANYWHERE }, { "seed words", SECRET_ANYWHERE }, { "wallet seed", SECRET_ANYWHERE },
    { "mnemonic", SECRET_ANYWHERE }, { "mnemonic phrase", SECRET_ANYWHERE }, { "recovery phrase", SECRET_ANYWHERE },
    { "recovery words", SECRET_ANYWHERE }, { "backup phrase", SECRET_ANYWHERE }, { "security answer", SECRET_ANYWHERE },
    { "keystore", SECRET_ALONE }, { "basic auth", SECRET_ALONE }, { "id rsa", SECRET_ANYWHERE },
    { "zugangsdaten", SECRET_ANYWHERE }, { "anmeldedaten", SECRET_ANYWHERE }, { "geheimnis", SECRET_ANYWHERE },
    { "api schlussel", SECRET_ANYWHERE }, { "api schluessel", SECRET_ANYWHERE }, { "apischlussel", SECRET_ANYWHERE }, { "apischluessel", SECRET_ANYWHERE },
    { "privater schlussel", SECRET_ANYWHERE }, { "privater schluessel", SECRET_ANYWHERE }, { "privaten schlussel", SECRET_ANYWHERE }, { "privaten schluessel", SECRET_ANYWHERE },
    { "geheimer schlussel", SECRET_ANYWHERE }, { "geheimer schluessel", SECRET_ANYWHERE }, { "geheimen schlussel", SECRET_ANYWHERE }, { "geheimen schluessel", SECRET_ANYWHERE },
    { "zugangsschlussel", SECRET_ANYWHERE }, { "zugangsschluessel", SECRET_ANYWHERE }, { "zugriffsschlussel", SECRET_ANYWHERE }, { "zugriffsschluessel", SECRET_ANYWHERE },
    { "zugriffstoken", SECRET_ANYWHERE }, { "wlan schlussel", SECRET_ANYWHERE }, { "wlan schluessel", SECRET_ANYWHERE },
    { "ssh schlussel", SECRET_ANYWHERE }, { "ssh schluessel", SECRET_ANYWHERE }, { "verschlusselungsschlussel", SECRET_ANYWHERE }, { "verschluesselungsschluessel", SECRET_ANYWHERE }, /* de */
    { "clave api", SECRET_ANYWHERE }, { "clave de api", SECRET_ANYWHERE }, { "clave de la api", SECRET_ANYWHERE },
    { "clave privada", SECRET_ANYWHERE }, { "llave privada", SECRET_ANYWHERE }, { "llave secreta", SECRET_ANYWHERE },
    { "clave ssh", SECRET_ANYWHERE }, { "secreto", SECRET_ALONE }, { "secreto del cliente", SECRET_ANYWHERE },
    { "credenciales", SECRET_ANYWHERE }, { "frase semilla", SECRET_ANYWHERE }, { "clave de cifrado", SECRET_ANYWHERE },
    { "frase de recuperacion", SECRET_ANYWHERE }, { "frase de contrasena", SECRET_ANYWHERE }, /* es */
    { "chave api", SECRET_ANYWHERE }, { "chave de api", SECRET_ANYWHERE }, { "chave da api", SECRET_ANYWHERE },
    { "chave privada", SECRET_ANYWHERE }, { "chave secreta", SECRET_ANYWHERE }, { "chave de acesso", SECRET_ANYWHERE },
    { "chave ssh", SECRET_ANYWHERE }, { "segredo", SECRET_ANYWHERE }, { "credenciais", SECRET_ANYWHERE },
    { "frase de recuperacao", SECRET_ANYWHERE }, { "frase semente", SECRET_ANYWHERE }, /* pt */
    { "cle api", SECRET_ANYWHERE }, { "cle d api", SECRET_ANYWHERE }, { "cle de l api", SECRET_ANYWHERE },
    { "cle privee", SECRET_ANYWHERE }, { "cle secrete", SECRET_ANYWHERE }, { "cle d acces", SECRET_ANYWHERE },
    { "cle ssh", SECRET_ANYWHERE }, { "cle de chiffrement", SECRET_ANYWHERE }, { "cle wifi", SECRET_ANYWHERE },
    { "jeton", SECRET_COUNTABLE }, { "jeton d acces", SECRET_ANYWHERE }, { "jeton d authentification", SECRET_ANYWHERE },
    { "identifiants bancaires", SECRET_ANYWHERE }, { "phrase de recuperation", SECRET_ANYWHERE }, /* fr */
    { "chiave api", SECRET_ANYWHERE }, { "chiave privata", SECRET_ANYWHERE }, { "chiave segreta", SECRET_ANYWHERE },
    { "chiave di accesso", SECRET_ANYWHERE }, { "chiave ssh", SECRET_ANYWHERE }, { "segreto", SECRET_ALONE },
    { "credenziali", SECRET_ANYWHERE }, { "frase di recupero", SECRET_ANYWHERE }, /* it */
    { "api anahtari", SECRET_ANYWHERE }, { "ozel anahtar", SECRET_ANYWHERE }, { "gizli anahtar", SECRET_ANYWHERE },
    { "erisim anahtari", SECRET_ANYWHERE }, { "erisim belirteci", SECRET_ANYWHERE },
    { "erisim jetonu", SECRET_ANYWHERE }, { "ssh anahtari", SECRET_ANYWHERE }, /* tr */
    { "kunci api", SECRET_ANYWHERE }, { "kunci rahasia", SECRET_ANYWHERE }, { "kunci pribadi", SECRET_ANYWHERE },
    { "kunci privat", SECRET_ANYWHERE }, { "kunci peribadi", SECRET_ANYWHERE }, { "kunci akses", SECRET_ANYWHERE },
    { "kunci ssh", SECRET_ANYWHERE }, { "kunci enkripsi", SECRET_ANYWHERE }, { "frasa pemulihan", SECRET_ANYWHERE },
    { "frasa benih", SECRET_ANYWHERE }, /* id, ms */
    { "khoa api", SECRET_ANYWHERE }, { "khoa bi mat", SECRET_ANYWHERE }, { "khoa rieng", SECRET_ANYWHERE },
    { "khoa rieng tu", SECRET_ANYWHERE }, { "khoa truy cap", SECRET_ANYWHERE }, { "khoa ssh", SECRET_ANYWHERE },
    { "ma truy cap", SECRET_ANYWHERE }, { "cum tu khoi phuc", SECRET_ANYWHERE }, /* vi */

    /* Payment. */
    { "cvv", SECRET_ANYWHERE }, { "ccv", SECRET_ANYWHERE }, { "digits on the back", SECRET_ANYWHERE }, { "number on the front", SECRET_ANYWHERE }, { "number on the back", SECRET_ANYWHERE }, { "digit code", SECRET_ANYWHERE }, { "sms tan", SECRET_ANYWHERE }, { "tan aus", SECRET_ANYWHERE }, { "tan nummer", SECRET_ANYWHERE }, { "cvc", SECRET_ANYWHERE }, { "cvn", SECRET_ANYWHERE }, { "csc", SECRET_ALONE },
    { "cvv code", SECRET_ANYWHERE }, { "card security code", SECRET_ANYWHERE },
    { "card verification", SECRET_ANYWHERE }, { "credit card", SECRET_ANYWHERE }, { "debit card", SECRET_ANYWHERE },
    { "creditcard", SECRET_ANYWHERE }, { "cc number", SECRET_ANYWHERE }, { "ccnr", SECRET_ANYWHERE }, { "cc nr", SECRET_ANYWHERE }, { "ccn", SECRET_ANYWHERE }, { "card nr", SECRET_ANYWHERE }, { "cardnr", SECRET_ANYWHERE }, { "kreditkartennr", SECRET_ANYWHERE }, { "card cid", SECRET_ANYWHERE }, { "cvv no", SECRET_ANYWHERE }, { "kartennr", SECRET_ANYWHERE }, { "primary account number", SECRET_ANYWHERE }, { "card code", SECRET_ANYWHERE }, { "card security", SECRET_ANYWHERE }, { "visa number", SECRET_ANYWHERE }, { "mastercard number", SECRET_ANYWHERE }, { "amex number", SECRET_ANYWHERE }, { "card full number", SECRET_ANYWHERE }, { "full card", SECRET_ANYWHERE }, { "track 2", SECRET_ANYWHERE }, { "magstripe", SECRET_ANYWHERE }, { "magnetic stripe", SECRET_ANYWHERE }, { "cc code", SECRET_ANYWHERE }, { "cc full", SECRET_ANYWHERE }, { "cc data", SECRET_ANYWHERE }, { "card data", SECRET_ANYWHERE }, { "card details", SECRET_ANYWHERE }, { "card credentials", SECRET_ANYWHERE }, { "cc details", SECRET_ANYWHERE }, { "credit card details", SECRET_ANYWHERE }, { "cc num", SECRET_ANYWHERE },
    { "ccnum", SECRET_ANYWHERE }, { "cc no", SECRET_ANYWHERE }, { "card number", SECRET_CARD }, { "number of the card", SECRET_CARD }, { "number of your card", SECRET_CARD }, { "card digits", SECRET_CARD },
    { "card no", SECRET_CARD }, { "card num", SECRET_CARD }, { "cardnumber", SECRET_CARD }, { "cardno", SECRET_CARD },
    { "number on the card", SECRET_CARD }, { "number on your card", SECRET_CARD }, { "card pan", SECRET_ANYWHERE },
    { "payment card", SECRET_ANYWHERE }, { "bank card", SECRET_ANYWHERE }, { "bank login", SECRET_ANYWHERE },
    { "kreditkartennummer", SECRET_ANYWHERE }, { "kreditkarte", SECRET_ANYWHERE }, { "debitkarte", SECRET_ANYWHERE }, { "debitkartennummer", SECRET_ANYWHERE }, { "ec karte", SECRET_ANYWHERE }, { "girokarte", SECRET_ANYWHERE }, { "bankkarte", SECRET_ANYWHERE }, { "kartennummer", SECRET_CARD },
    { "kartenprufnummer", SECRET_ANYWHERE }, { "prufnummer", SECRET_ALONE }, /* de */
    { "numero de tarjeta", SECRET_CARD }, { "numero de la tarjeta", SECRET_CARD }, { "tarjeta de credito", SECRET_ANYWHERE },
    { "tarjeta de debito", SECRET_ANYWHERE }, /* es */
    { "numero do cartao", SECRET_CARD }, { "numero de cartao", SECRET_CARD }, { "cartao de credito", SECRET_ANYWHERE },
    { "cartao de debito", SECRET_ANYWHERE }, /* pt */
    { "numero de carte", SECRET_CARD }, { "numero de la carte", SECRET_CARD }, { "carte de credit", SECRET_ANYWHERE },
    { "carte bancaire", SECRET_ANYWHERE }, { "carte bleue", SECRET_ANYWHERE }, /* fr */
    { "numero di carta", SECRET_CARD }, { "numero della carta", SECRET_CARD }, { "carta di credito", SECRET_ANYWHERE }, { "carta di debito", SECRET_ANYWHERE }, { "bancomat pin", SECRET_ANYWHERE }, { "numero carta", SECRET_ANYWHERE }, /* it */
    { "kart numarasi", SECRET_CARD }, { "kredi karti", SECRET_ANYWHERE }, { "banka karti", SECRET_ANYWHERE }, /* tr */
    { "nomor kartu", SECRET_CARD }, { "kartu kredit", SECRET_ANYWHERE }, { "kartu debit", SECRET_ANYWHERE },
    { "kad kredit", SECRET_ANYWHERE }, { "nombor kad", SECRET_CARD }, /* id, ms */
    { "so the", SECRET_CARD }, { "the tin dung", SECRET_ANYWHERE }, { "so the tin dung", SECRET_ANYWHERE },
    { "the ghi no", SECRET_ANYWHERE }, /* vi */
    { "ssn", SECRET_ANYWHERE }, { "social security", SECRET_ANYWHERE }, { "social security number", SECRET_ANYWHERE }, { "social security no", SECRET_ANYWHERE },
    { NULL, SECRET_ANYWHERE },
};



const char *const secret_other_scripts[] = {
    /* Chinese, both forms */
    "密码", "密碼", "api鎖匙", "api锁匙", "授权码", "授權碼", "恢复短语", "恢復短語", "種子短語", "种子短语", "助记短语", "银行卡", "銀行卡", "口令", "通行码", "通行碼", "密钥", "密鑰", "金鑰", "私钥", "私鑰", "密匙", "令牌", "权杖", "權杖",
    "验证码", "驗證碼", "动态码", "動態碼", "安全码", "安全碼", "校验码", "恢复码", "恢復碼", "备份码", "備份碼", "备用码",
    "備用碼", "备用代码", "助记词", "助記詞", "信用卡", "借记卡", "提款卡", "银行卡号", "銀行卡號", "卡背面", "暗号", "识别码密",
    "访问密", "連線字串", "连接字符串", "憑證密", "救援碼", "復原碼", "一次性", "动态口", "凭据", "憑據",
    /* Japanese */
    "パスワード", "アクセスコード", "回復コード", "認証番号", "ニーモニック", "プライベートキー", "秘密キー", "セキュリティ番号", "暗証", "パスコード", "パスフレーズ", "暗証番号", "合言葉", "秘密鍵", "シークレット", "トークン", "apiキー", "アクセスキー",
    "認証コード", "確認コード", "ワンタイム", "セキュリティコード", "リカバリーコード", "バックアップコード", "復旧コード",
    "クレジットカード", "デビットカード", "カード番号", "二段階認証コード", "暗号鍵", "復元フレーズ", "リカバリーフレーズ", "シードフレーズ",
    "sshキー", "sshの鍵", "秘密の鍵",
    /* Korean */
    "비밀번호", "비밀문구", "비밀구문", "비밀코드", "프라이빗키", "시드구문", "니모닉", "액세스코드", "보안번호", "보안카드", "암호", "패스워드", "비번", "인증번호", "인증코드", "확인코드", "보안코드", "토큰", "비밀키", "개인키", "api키",
    "액세스키", "시크릿", "카드번호", "신용카드", "체크카드", "복구코드", "백업코드", "복구문구", "복구구문", "시드문구", "일회용", "핀번호", "핀코드",
    "pin번호",
    /* Hindi, Marathi */
    "पासवर्ड", "पासवार्ड", "कूटशब्द", "संकेतशब्द", "सङ्केतशब्द", "परवलीचाशब्द", "पासकोड", "गुप्तकोड", "गुप्तशब्द", "गुप्तकुंजी",
    "गोपनीयकोड", "गोपनीयकुंजी", "निजीकुंजी", "खाजगीकी", "खासगीकी", "एपीआईकुंजी", "एपीआईकी", "एपीआयकी", "apiकुंजी", "apiकी", "ओटीपी",
    "पिनडालें", "पिननंबर", "पिनदर्ज", "एटीएमपिन", "यूपीआईपिन", "आपलापिन", "आपकापिन", "अंकोंकापिन", "अंकीपिन", "टोकन", "सीवीवी",
    "क्रेडिटकार्ड", "डेबिटकार्ड", "कार्डनंबर", "सत्यापनकोड", "पुनर्प्राप्तीकोड", "पुनर्प्राप्तिकोड", "गुप्तकी", "रिकव्हरीकोड", "पासफ्रेज", "गुप्तवाक्य", "गुप्तक्रमांक", "गुप्तपिन", "सांकेतिक", "कार्डक्रमांक", "कार्डसंख्या", "रहस्यसंख्या", "पडताळणीकोड", "सुरक्षाकोड", "सिक्रेट", "सीक्रेट", "रिकवरीकोड", "बैकअपकोड",
    /* Bengali */
    "পাসওয়ার্ড", "পাসওয়ার্ড", "পাসকোড", "গোপনকোড", "গোপনচাবি", "গোপননম্বর", "গোপনশব্দ", "ওটিপি", "পিনকোড", "পিননম্বর",
    "আপনারপিন", "এটিএমপিন", "টোকেন", "apiকী", "এপিআইকী", "ব্যক্তিগতকী", "প্রাইভেটকী", "গোপনকী", "ক্রেডিটকার্ড", "ডেবিটকার্ড", "কার্ডনম্বর",
    "যাচাইকরণকোড", "পুনরুদ্ধারকোড", "ব্যাকআপকোড", "যাচাইকোড", "গোপনপিন", "কার্ডেরনম্বর", "সিভিভি", "নিরাপত্তাকোড",
    /* Arabic */
    "كلمةالمرور", "مفتاحssh", "رمزapi", "رموزالنسخالاحتياطي", "رمزالنسخالاحتياطي", "بياناتالدخول", "بياناتتسجيلالدخول", "بطاقةالخصم", "رموزالاسترداد", "كلمةسرية", "كودالتحقق", "كودالتفعيل", "رمزالتفعيل", "الكودالسري", "كودسري", "رقمالتعريفالشخصي", "باسورد", "باسوورد", "رمزpin", "رمزotp", "كلمةمرور", "كلمةالسر", "كلمةسر", "كلماتالمرور", "الرقمالسري", "رقمسري", "الرمزالسري", "رمزسري", "رمزالتحقق",
    "رمزتحقق", "رمزالدخول", "رمزالامان", "رمزالوصول", "رمزالمصادقة", "رمزالاسترداد", "رمزالاستعادة", "رمزالتاكيد", "عبارةالمرور", "مفتاحapi", "مفتاحواجهة",
    "المفتاحالخاص", "مفتاحخاص", "المفتاحالسري", "مفتاحسري", "مفتاحالوصول", "مفتاحالتشفير", "رقمالبطاقة", "رقمبطاقة", "بطاقةالائتمان", "بطاقةائتمان", "العبارةالسرية",
    "عبارةالاسترداد", "توكن", "بياناتالاعتماد", "الرقمالتعريفيالشخصي",
    /* Urdu */
    "پاسورڈ", "ريكوريكوڈ", "بيكاپكوڈ", "خفيهپن", "پاسكوڈ", "خفيهكوڈ", "خفيهكليد", "خفيهلفظ", "خفيهنمبر", "خفيهچابي", "اوٹيپي", "پنكوڈ", "ٹيايمپن", "پننمبر", "ٹوكن", "تصديقيكوڈ", "كريڈٹكارڈ",
    "ڈيبٹكارڈ", "كارڈنمبر", "سيكيورٹيكوڈ", "نجيكليد", "apiكليد", "رمزعبور",
    /* Russian */
    "парол", "оборотекарты", "оборотебанковскои", "обратноисторонекарты", "кодизписьма", "дебетов", "кредитк", "кодотсеифа", "данныекарты", "реквизитыкарты", "фразавосстановления", "фразувосстановления", "пин-код", "пинкод", "пинкарты", "pinкод", "pin-код", "секретныиключ", "секретногоключа", "закрытыиключ", "приватныиключ", "закрытогоключа", "приватногоключа",
    "ключapi", "apiключ", "ключдоступа", "ключшифрования", "sshключ", "токен", "кодподтверждения", "кодпроверки", "кодбезопасности", "одноразов",
    "кодизсмс", "кодизsms", "смс-код", "смскод", "кодвосстановления", "резервныикод", "резервныекоды", "кодовоеслово", "секретноеслово", "секретныикод",
    "секреткли", "секретприло", "кодовуюфраз", "сид-фраз", "сидфраз", "мнемоническ", "номеркарты", "номербанковскоикарты", "номеркредитн", "кредитнаякарта", "строкаподключения", "строкуподключения",
    "кодаутентификации", "кодавторизации", "учетныеданные", "cvvкод", "cvcкод",
    /* Telugu */
    "పాస్వర్డ్", "పాస్వార్డ్", "పాస్కోడ్", "రహస్యపదం", "భద్రతాకోడ్", "రికవరీకోడ్", "బ్యాకప్కోడ్", "రహస్యసంఖ్య", "కార్డుసంఖ్య", "కార్డ్సంఖ్య", "రహస్యకోడ్", "రహస్యకీ", "ఓటీపీ", "ఓటిపి", "పిన్కోడ్", "పిన్నంబర్", "మీపిన్", "టోకెన్", "apiకీ", "ప్రైవేట్కీ",
    "ప్రైవేటుకీ", "ధృవీకరణకోడ్", "ధ్రువీకరణకోడ్", "క్రెడిట్కార్డ్", "డెబిట్కార్డ్", "కార్డ్నంబర్", "కార్డునంబరు", "సివివి",
    /* Tamil */
    "கடவுச்சொல்", "பாதுகாப்புக்குறியீடு", "பாதுகாப்புகுறியீடு", "மீட்புக்குறியீடு", "மீட்புகுறியீடு", "கடவுச்சொற்", "கடவுக்குறியீடு", "பாஸ்வேர்ட்", "பாஸ்வேர்டு", "பாஸ்வேர்ட", "இரகசியகுறியீடு", "ரகசியகுறியீடு", "ரகசியகுறியீட்டு", "ரகசியஎண்", "இரகசியஎண்", "ரகசியவிசை", "இரகசியவிசை",
    "தனிப்பட்டவிசை", "தனியார்விசை", "ஓடிபி", "ஒடிபி", "பின்எண்", "ஏடிஎம்பின்", "அட்டைபின்", "பின்குறியீடு", "டோக்கன்", "apiவிசை", "ஏபிஐவிசை", "சரிபார்ப்புக்குறியீடு", "சரிபார்ப்புகுறியீடு", "கிரெடிட்கார்டு",
    "கடன்அட்டை", "அட்டைஎண்", "டெபிட்கார்டு", "சிவிவி",
    /* Thai, Persian, Greek, Hebrew, Ukrainian */
    "รหัสผ่าน", "رمزعبور", "كلمهعبور", "гесл", "лозинк", "коддоступ", "κωδικοςπροσβασης", "κωδικοσπροσβασησ", "סיסמה", "סיסמא",
    NULL,
};

const char *const secret_about[] = {
    "id", "ids", "identifier", "name", "names", "label", "alias", "title", "count", "counter", "length", "limit", "limits", "budget", "type", "types", "kind",
    "path", "file", "filename", "policy", "policies", "s", "used", "left", "remaining", "spent", "consumed", "available", "expire", "expiry", "expires", "expired", "age", "days", "expiration", "ttl", "strength", "arn", "usage", "symbol",
    "price", "cost", "supply", "address", "balance", "decimals", "window", "size", "amount", "url", "uri", "rotation", "rotated", "scope", "scopes", "issuer",
    "manager", "version", "format", "endpoint", "provider", "algorithm", "santa", "hint", "hints", "reminder", "required", "requirements", "requirement",
    "needed", "enabled", "disabled", "protected", "protection", "less", "reset", "resets", "complexity", "rules", "rule", "status", "state", "store", "storage", "vault", "location", "owner",
    "holder", "category", "description", "purpose", "reason", "notes", "comment", "language", "style", "theme", "design", "offer", "ingredient", "ingredients", "recipe",
    "garden", "menu", "history", "date", "created", "issued", "updated", "changed", "deadline", "frequency", "interval", "support", "supported", "method", "methods", "delivery", "channel", "attempts", "retries", "mode",
    "fingerprint", "prefix", "rate", "quota", "pool", "economy", "sale", "ring", "ratio", "pair", "slot", "rack", "tag", "color", "colour", "board", "message", "messages", "post", "posts", "location", "map", "service", "agent", "admirer", "ballot", "society", "sauce", "level", "gate", "area", "point", "points", "road", "lane", "door", "number", "shop", "fee", "fees", "brand", "issue", "network", "last", "ending", "accepted", "application", "design", "surcharge", "template", "blacklist", "blocklist", "dictionary", "generator", "page", "screen", "dialog", "visibility", "timeout", "consumption", "estimate", "bonus", "award", "program", "programme", "reader", "readers", "standard", "region", "lifetime", "validity", "since", "until", "after", "source", "helper", "engine", "backend", "scanner", "scanning", "detection", "audience", "claims", "renewal", "retention", "compliance", "awareness", "bucket", "domain", "ref", "reference", "pointer", "lookup", "min", "max", "minimum", "maximum", "maksimum", "downloaded", "saved", "stored", "printed", "exists", "present", "configured", "revoked", "refresh", "attempt", "failures", "column", "index", "training", "course", "audit", "report", "leak", "leaks", "breach", "encryption", "hashing", "hash", "check", "checks", "free", "env", "variable", "var", "sayisi", "adi", "sayi", "sayisini", "name", "nombre", "nom", "nome", "nama", "ten", "should", "must", "may", "can", "comes", "lives", "stays", "goes", "belongs", "vs", "has", "was", "will", "were", "have",
    /* de, es, fr, pt, it, tr, id, vi */
    "hinweis", "lange", "richtlinie", "ablauf", "anzeigen", "erforderlich", "pista", "longitud", "politica", "caducidad", "indice", "longueur", "expiration", "dica", "tamanho",
    "validade", "suggerimento", "lunghezza", "scadenza", "ipucu", "uzunlugu", "politikasi", "ipucusu", "petunjuk", "panjang", "kebijakan", "goi", NULL,
};

const char *const secret_before[] = {
    "public", "publishable", "require", "requires", "required", "requiring", "rotate", "rotates", "rotating", "show", "hide", "enable", "disable", "allow", "enforce", "revoke",
    "has", "no", "without", "forgot", "forgotten", "lost", "reset", "resets", "expire", "weak", "breached", "leaked", "victoria", "victorias", "trade", "hashed", "regenerate",
    "via", "by", "with", "using", "non", "which", "many", "often", "invalidate", "deleting", "revoking", "dirty", "kept",
    "mostrar", "requerir", "exigir", "afficher", "exiger", "zeigen", "anfordern", "exibir", "mostra", "richiedi", "renouveler", "rotar", "rotacionar", "wajibkan", "tampilkan", NULL,
};

const char *const secret_articles[] = {
    "the", "a", "an", "your", "my", "our", "all", "any", "each", "every", "this", "that", "stored", "saved", "new", "old", "strong", "weak", "plain", "for", "user", "users", "la", "le", "el", "das", "o", "de", "del", "du", "do", "da", "della", "client", "api", "access", "app", NULL,
};

const char *const secret_before_prose[] = { "public", "publishable", "no", "without", "non", "hashed", "lost", "forgot", "forgotten", "reset", "which", "by", NULL };

const char *const secret_first[] = {
    "require", "requires", "rotate", "rotates", "show", "shows", "hide", "display", "mask", "enable", "disable", "allow", "enforce", "revoke", "has", "have",
    "is", "use", "uses", "remember", "forgot", "generate", "regenerate", "auto", "delete", "remove", "expire", "invalidate", "reset", "resets", "needs", "skip",
    "keep", "ask", "should", "must", "can", "force", "expose", "log", "logs", "accept", "accepts", "rename", "renew", "extend", "validate", "check", "support", "supports",
    "exclude", "include", "store", "save", "send", "sends", "resend", "notify", "lock", "block", "cancel", "replace", "report", "freeze", "order", "encrypt", "hash", "without", "no", "which",
    "how", "who", "when", "where", "audit", "scan", "issue", "create", "max", "min", "maximum", "minimum", "strong", "weak", "minimum", "prompt", "num", "nr", "total", "avg", "is", "are", "was", "does", "do", "did", "will",
    "mostrar", "requerir", "exigir", "afficher", "exiger", "zeigen", "exibir", "mostra", "richiedi", "renouveler", "rotar", "rotacionar", "wajibkan", "tampilkan",
    "longitud", "longueur", "lunghezza", "comprimento", "tamanho", "fecha", "caducidad", "vencimiento", "politica", "politique", "duree", "duracion", "panjang", "kebijakan", "jumlah", "cantidad", "nombre", "nom", "nome", "nama", "tipo",
    "anzahl", "ten", "adi", "ablaufdatum", "richtlinie", "exige", "exigez", "do", "hanya", "apakah", "dai", "ist", "soll", "wird", "darf", "gilt", NULL,
};

const char *const secret_before_token[] = {
    "page", "next", "continuation", "cursor", "per", "max", "min", "maximum", "minimum", "stop", "end", "start", "sync", "of", "total", "pad", "padding", "many", "remaining", "nft", "erc", "game", "board",
    "arcade", "bus", "parking", "unknown", "mask", "reward", "governance", "design", "css", "color", "colour", "number", "buy", "sell", "swap", "parser", "lexer", "syntax", "bonus", "laundry", "poker", "casino", "utility",
    "jumlah", "numero", "anzahl", "sayisi", "cantidad", "quantidade", "so", "luong", "maks", "maksimum", "maximale", "maximaler", "maximal", "maximo", "massimo", "azami", "toi", "da", "de", "nombre", NULL,
};

const char *const secret_before_tokens[] = {
    "prompt", "input", "output", "completion", "used", "special", "cached", "reasoning", "average", "context", "native", "sample", "previous", "estimated", "count", "spent", "free", "player", "extra", "more", "fewer", "most", "least", NULL,
};

const char *const secret_other_cards[] = {
    "library", "loyalty", "membership", "member", "business", "gift", "id", "identity", "report", "score", "index", "punch", "time", "sim", "memory", "graphics", "video", "network", "sound", "sd",
    "insurance", "health", "green", "residence", "student", "employee", "staff", "transit", "bus", "oyster", "trello", "kanban", "flash", "playing", "trading", "postcard", "boarding", "kanban", "access", "key", "badge", "club", "frequent", "discount", "rewards", "points", "fuel", "fidelity", "vaccination", "patient", "visitor", "story", "wild", "info",
    "biblioteca", "fidelidad", "socio", "bibliotheque", "fidelite", "membre", "bibliotheks", "kunden", "mitglieds", "fidelidade", "tessera", "fedelta", "perpustakaan", "anggota", "kutuphane", "visite", "identite", "sejour", "identidad", "identidade", "vitale", "etudiant", NULL,
};

const char *const secret_about_others[] = {
    "ميعاد", "تاريخ", "तारीख", "तिथि", "दिनांक", "তারিখ", "తేదీ", "தேதி", "日期", "日付", "期限", "날짜", "기한", "дата", "дату", "дней", "टोकनकानाम", "اسمالرمز", "اسمالتوكن", "имятокена", "названиетокена", "令牌名称", "ٹوكنكانام",
    "提示", "长度", "長度", "策略", "强度", "強度", "过期", "到期", "有效期", "名称", "名稱", "类型", "類型", "数量", "數量", "管理器", "менеджер", "公钥", "公鑰", "公開金鑰", "公开密钥", "额度", "額度", "账单", "賬單", "帳單", "还款", "還款", "是否", "是或否", "重置", "更换", "輪換", "轮换", "类别",
    "ヒント", "長さ", "ポリシー", "有効期限", "強度", "名前", "公開鍵", "トークン数", "トークン名", "令牌数", "令牌數", "令牌名", "토큰수", "토큰이름", "최대토큰", "必要", "表示", "変更日", "リセット", "会員カード", "図書", "ポイントカード", "種類",
    "힌트", "길이", "정책", "만료", "강도", "이름", "공개키", "공개 키", "여부", "개수", "도서관", "회원카드", "멤버십", "재설정", "유형",
    "подсказ", "длина", "длину", "политик", "сложност", "срок", "истеч", "количество", "открытыиключ", "публичныиключ", "библиотечн", "сброс", "требовать", "клиентскои", "имятокена", "число", "тип",
    "पासवर्डसंकेत", "पासवर्डकासंकेत", "संकेतदिखाएँ", "संकेतदिखाएं", "लंबाई", "नीति", "समाप्ति", "टोकनकीसंख्या", "टोकनोंकीसंख्या", "टोकनसंख्या", "अधिकतम", "डाक", "पुस्तकालय", "सार्वजनिक", "लांबी", "ग्रंथालय", "इशारा", "अनिवार्य", "आवश्यक", "सूचना",
    "ইঙ্গিত", "দৈর্ঘ্য", "নীতি", "মেয়াদ", "টোকেনসংখ্যা", "টোকেনেরসংখ্যা", "লাইব্রেরি", "পাবলিককী", "ডাক", "প্রয়োজন",
    "تلميح", "طول", "سياسة", "انتهاء", "عدد", "المكتبة", "العام", "العضوية", "نوع", "هليجب", "تدوير", "قوة", "اشاره", "لمبائي", "پاليسي", "لائبريري", "ڈاك", "مدت", "تعداد",
    "సూచన", "పొడవు", "విధానం", "గడువు", "టోకెన్లసంఖ్య", "టోకెన్సంఖ్య", "లైబ్రరీ", "గ్రంథాలయ", "పబ్లిక్", "తపాలా", "అవసరమా",
    "குறிப்பு", "நீளம்", "கொள்கை", "காலாவதி", "எண்ணிக்கை", "நூலக", "பொதுவிசை", "அஞ்சல்", "தேவையா",
    NULL,
};



const char *const secret_warnings_others[] = {
    "لاتشارك", "لاتعط", "不要", "请勿", "請勿", "切勿", "无需", "無需", "不需要", "不会", "不會", "勿", "しないで", "不要です", "ないでください", "마세요", "마십시오", "никогда", "невводите", "неуказываите", "несообщаите", "ненужен", "नकरें", "নাদিন", "لاتدخل", "لاتكتب", "لانطلب", "نه", "நாங்கள்கேட்கமாட்டோம்", NULL,
};
const char *const secret_endings[] = {
    "password", "passwd", "passwort", "pwd", "passphrase", "passcode", "apikey", "secretkey", "secret", "accesskey", "sharedkey", "bearerauth", "authtoken",
    "accesstoken", "kennwort", "clientsecret", "appsecret", "contrasena", "sshkey", "privatekey",
    "wachtwoord", "sifre", "refreshtoken", "bearertoken", "bottoken", "usertoken", "sessiontoken", "otpcode",
    "cardcvv", "cardcvc", "privkey", "creditcardnumber", "creditcardno", "seedphrase", "userpw", "dbpw", "adminpw",
    "rootpw", "pass", "mdp", "accesstok", "authtok", "securitycode", "verificationcode", "authcode", "smscode", "recoverycode", "backupcode", "accesscode", "mfacode", "logincode", "factorcode", "onetimecode", "cardnumber", "cardno", "cardnum", "debitcard", "creditcard", "bankcard", "cardpin", "atmpin", "bankpin", "simpin", "upipin", "userpin", "loginpin", "pinno", "pinnum", "cardcode", "idtoken", "apptoken", "logintoken", "jwttoken", "oauthtoken", "webtoken", NULL,
};

const char *const secret_beginnings[] = { "sifre", "parolan", "parolay", "parolam", "contrasen", "wachtwoord", "haslem", NULL };

const char *const secret_not_endings[] = {
    "passwordless", "passwordlength", "passwordhint", "passwordpolicy", "apikeyid", "apikeyname",
    "sifreleme", "sifreli", "passwortlange", "passwortlaenge", "passworthinweis", "passwortrichtlinie", "passwortmanager", "passwortstarke", "passwortschutz", "passwortlos", "passwortanderung", "topsecret",
    "compass", "bypass", "trespass", "overpass", "underpass", "surpass", "encompass", "lowpass", "highpass",
    "bandpass", "multipass", "buspass", "skipass", "seasonpass", "boardingpass", "firstpass", "onepass",
    "hallpass", "impass", "marchpass", "repass", "eurailpass", "daypass", NULL,
};

const char *const secret_after_pin[] = {
    "code", "number", "no", "nr", "nummer", "atm", "del", "de", "der", "di", "do", "da", "dari", "anda", "kodu", "kode", "of",
    "for", "from", "and", "or", "please", "cua", "la", "le", "kartu", "bank", "2", "code", "digits", "again", "karty", "carte", "bancaire", "ng", "des", "du", "ein", "you", "entry", "confirm", "confirmation", "eingeben", "repeat", "new", "old", "1", "value", "input", "text", "verify", "iniz", "inizi", "ini", "i", "im", "imi", "kodunuz", "kodunuzu", "numarasi", NULL,
};

const char *const secret_other_pins[] = {
    "gpio", "bowling", "rolling", "hair", "cotter", "map", "lapel", "push", "drop", "firing", "safety", "enamel", "tie", "dowel",
    "output", "input", "chip", "connector", "ground", "reset", "clock", "drawing", "hat", "split", "linch", "kingpin", "location", "data", "led", "arduino", "board", "header", "cs", "tx", "rx", "sda", "scl", "analog", "digital", "interrupt", "postal", "area", "delivery", NULL,
};

const char *const secret_other_passes[] = {
    "bus", "ski", "season", "hall", "boarding", "mountain", "day", "rail", "travel", "low", "high", "band", "first", "second", "third", "single", "backstage", "guest", "visitor", "parking",
    "press", "museum", "annual", "monthly", "weekly", "yearly", "free", "festival", "event", "gym", "gate", "eurail", "interrail", "city", "tourist", "fast", "forward", "no", "back", "one", "two", "multi", "a", "the", "vip", "access", "club",
    "kids", "night", "battle", "game", "xbox", "stage", "media", "team", "train", "tram", "metro", "ferry", "lounge", "school", "student", "library", "concert", "conference", "holiday", "family", "or", "and", "must", "will", "to", "test", "tests",
    "by", "lift", "swim", "pool", "park", "weekend", "touchdown", "through", "optimizer", "compiler", "render", "final", "of", "alpine", "khyber", NULL,
};

const char *const secret_after_pass[] = { "confirm", "confirmation", "again", "repeat", "new", "old", "1", "2", "3", "value", "input", "text", "verify", NULL };

const char *const secret_pin_to[] = { "unlock", "confirm", "open", "authorize", "authorise", "withdraw", "sign", "access", "log", "pay", "enter", "verify", NULL };

const char *const secret_prepositions[] = { "of", "for", "on", "about", "whose", "that", "before", "after", "with", "where", "pour", "para", "fur", "zum", "hasta", "untuk", "icin", "bis", "jusqu", "above", "below", "beside", NULL };

const char *const secret_heads[] = {
    "value", "values", "contents", "content", "text", "copy", "string", "digits", "characters", "half", "part", "one", "any", "each", "repeat", "repetition", "confirmation", "details", "header", "login", "username", "user", "user", NULL,
};

const char *const secret_whether[] = { "whether", "if", "we", "shown", "appears", "how", "which", "where", "when", "who", "why", NULL };

const char *const secret_contents[] = { "contents", "content", "text", "copy", "paste", NULL };

const char *const secret_hints[] = {
    "tarikh", "tarikh luput", "tanggal kedaluwarsa", "do dai", "chinh sach", "ngay het han", "thoi han", "so luong", "ten cua", "panjang", "kebijakan", "jumlah", "tanggal", "masa berlaku", "longitud", "longueur", "lunghezza", "comprimento", "lange der", "gecerlilik", "son kullanma", "date d expiration", "fecha de", "data de validade", "data di scadenza", "ablaufdatum", "gestor", "gestionnaire", "gerenciador", "gestore", "politique", "politica", "regles", "reglas", "regras", "regole", "requisitos", "aturan", "syarat",
    "hint", "hints", "reminder", "hinweis", "pista", "indice", "dica", "suggerimento", "ipucu", "ipucusu", "petunjuk", "goi y", "gedachtnisstutze", NULL,
};

const char *const secret_elsewhere[] = { "not here", "elsewhere", "on the provider", "own page", NULL };

const char *const secret_yes_or_no[] = { "si o no", "sim ou nao", "oui ou non", "ja oder nein", "yes or no", "yes no", "true or false", NULL };

const struct secret_sense secret_senses[] = {
    { "pin code", "postal" }, { "pin code", "zip" }, { "pin code", "postcode" }, { "pin code", "india" }, { "pin code", "address" }, { "pin code", "area" },
    { "pin code", "district" }, { "pincode", "postal" }, { "pincode", "zip" }, { "pincode", "postcode" }, { "pincode", "india" },
    { "pincode", "address" }, { "pincode", "area" }, { "pincode", "district" }, { "pincode", "delivery" }, { "pin code", "delivery" },
    { "pin", "bowling" }, { "pin", "gpio" }, { "pin", "arduino" }, { "pin", "connector" }, { "pin", "lapel" }, { "pin", "postal" },
    { "mfa", "fine arts" }, { "mfa", "degree" }, { "mfa", "arts" }, { "credentials", "letters after" }, { "credentials", "professional" },
    { "credentials", "academic" }, { "credentials", "diploma" }, { "credentials", "qualifications" }, { "credentials", "degrees" }, { "cvc", "consonant" },
    { "cvc", "phonics" }, { "pwd", "directory" }, { "pwd", "disability" }, { "pwd", "disabilities" }, { "senha", "fila" }, { "senha", "atendimento" },
    { "otp", "one time programmable" }, { "otp", "one true pairing" }, { "token", "appreciation" }, { "token", "ticker" }, { "token", "symbol" }, { "token", "coin" }, { "token", "crypto" }, { "token", "eth" }, { "token", "board game" }, { "token", "game piece" }, { "token", "arcade" }, { "token", "nft" },
    { "token", "blockchain" }, { "token", "css" }, { "token", "syntax" }, { "token", "ticker" }, { "secret", "recipe" }, { "secret", "santa" }, { "secret", "garden" },
    { "secret", "menu" }, { "pass", "mountain" }, { "pass", "bus" }, { "pass", "ski" }, { "pass", "fail" }, { "tan", "colour" },
    { "tan", "color" }, { "pat", "testing" }, { "pat", "appliance" }, { "psk", "modulation" }, { "pem", "format" }, { "clave", "sol" },
    { "parola", "dizionario" }, { "sifre", "oyun" }, { "csc", "college" }, { "pw", "week" }, { "jwt", "course" }, { "token", "words per" }, { "access code", "dress" },
    { "security code", "building code" }, { "master key", "piano" }, { "access key", "shortcut" }, { "access key", "html" }, { "access key", "keyboard" },
    { NULL, NULL },
};

const char *const secret_warnings[] = {
    "never", "not", "don t", "dont", "do not", "nunca", "jamais", "ne pas", "nicht", "nao", "jangan", "khong", "without", "sin",
    "sans", "ohne", "sem", "senza", "keine", "kein", "cannot", "phishing", "leaked", "leave", "omit", "exclude", "remove", "strip", "redact", "instead of", NULL,
};

const char *const secret_gives[] = {
    "gimme", "necesito", "preciso", "brauche", "benotige", "benotigen", "ich bendtige", "j ai besoin", "ho bisogno", "cole", "copia", "copie", "copiala", "pega", "incolla", "incollare", "kopieren", "einfugen", "einfuegen", "tippe", "nenne", "nennen", "dime", "dame", "diga", "mande", "envie", "envia", "schick", "sende", "senden", "donnez", "donne moi", "yapistirin", "yaz", "gonderin", "tulis", "kirim", "kirimkan", "gui", "cho toi", "cung cap", "berikan", "fornisci", "forneca", "facilite", "proporciona", "mind sharing", "sharing", "giving", "entering", "typing", "pasting", "let me have", "let us have", "hand me", "confirm your identity", "verify your identity", "prove", "show me", "i require", "we require", "must have your", "want your", "enter", "reenter", "re enter", "type", "paste", "provide", "supply", "give", "input", "submit", "share", "insert", "tell us",
    "tell me", "fill in", "put", "copy", "write", "set", "choose", "repeat", "retype", "drop", "abeg", "send me", "send us", "i need", "we need", "confirm with",
    "verify with", "sign in with", "log in with", "authenticate with", "needs your", "requires your", "need your", "is needed", "are needed", "is required", "needs the", "need the", "requires the", "require the", "waiting for the", "reply with", "respond with", "answer with", "go type", "hand over", "read out", "send your", "send the", "introduce", "introduzca", "ingrese", "ingresa",
    "escribe", "escriba", "proporcione", "pegue", "saisissez", "saisir", "entrez", "indiquez", "fournissez", "collez", "tapez", "geben", "gib",
    "eingeben", "bitte", "tippen", "digite", "insira", "informe", "inserisci", "inserire", "inserite", "digita", "girin", "giriniz", "yazin",
    "yaziniz", "masukkan", "masukan", "ketik", "nhap mat", "nhap ma", "nhap so", "nhap khoa", "vui long nhap", "hay nhap", "wpisz", "voer", NULL,
};

const char *const secret_gives_it[] = { "type the new one", "enter the new one", "what is it", "mind sharing it", "copiala", "enter it", "paste it", "type it", "put it", "give it", "drop it", "send it", "share it", "provide it", NULL };

const char *const secret_yours[] = { "your", "my", "votre", "ton", "ihr", "ihre", "ihren", "dein", "tu", "su", "sua", "seu", "tua", "tuo", "anda", NULL };

const char *const secret_what_is[] = { "which password", "which pin", "what pin", "what password", "what token", "what key", "what are your", "what are the", "nedir", "apa", "berapa", "la gi", "welches", "wie ist", "quelle est", "qual o", "what should", "what is", "what s", "whats", "wetin be", "cual es", "quel est", "qual e", "was ist", "wie lautet", NULL };

/* Companies that give out keys: "OpenAI key" is one. Camel case is cut: "open ai". */
const char *const secret_vendors[] = {
    "ai", "openai", "anthropic", "claude", "gemini", "mistral", "groq", "cohere", "huggingface", "hugging face", "stripe", "paypal", "aws", "azure", "gcp",
    "google", "github", "gitlab", "git hub", "git lab", "gh", "git", "bitbucket", "slack", "discord", "telegram", "twilio", "sendgrid", "send grid", "mailgun", "datadog", "cloudflare",
    "heroku", "digitalocean", "digital ocean", "algolia", "firebase", "supabase", "notion", "airtable", "asana", "figma", "linear", "devops", "jira", "shopify", "binance", "coinbase", "root", "admin", "server", "ssh", "deploy", "live", "prod", "production", "wallet", NULL,
};

const char *const secret_codes[] = {
    "authenticator", "authentication", "verification", "otp", "totp", "mfa", "2 fa", "two factor", "2 factor", "two step", "2 step", "sms", "backup", "recovery",
    "one time", "onetime", "single use", "security", "login", "sign in", "passcode", "unlock", "text message", "texted", "secret", "duo", "okta", "pairing", "authy", "emergency", "disarm", "alarm", NULL,
};

const char *const secret_code_from[] = { "verification", "two step", "authenticator", "sms", "text message", "texted", "two factor", "2 fa", "mfa", "google authenticator", "authy", "banking app", NULL };

const char *const secret_code_words[] = { "code", "codes", "codigo", "codigos", "codice", "codici", "kode", "kod", "kodu", "kodlar", "ma", "koden", "digits", "zahlen", NULL };

const char *const secret_payments[] = { "pan", "payment", "checkout", "pay with", NULL };

const char *const secret_plain[] = { "password", "passphrase", "passcode", "api key", "private key", "atm pin", "bank pin", "cvv", "access token", "credit card", NULL };

const char *const secret_yes_patterns[] = { "yes|no", "true|false", "y|n", "是|否", "si|no", "oui|non", "ja|nein", "sim|nao", NULL };

const char *const secret_cards[] = { "card", "karte", "carte", "tarjeta", "cartao", "carta", "kart", "kartu", "kartin", "kad", "visa", "mastercard", "kreditkarte", "debitkarte", "payment card", "cards", NULL };
const char *const secret_card_sides[] = { "front", "back", "reverse", "behind", "ruckseite", "reverso", "dorso", "verso", "retro", "arka", "belakang", "arkasindaki", NULL };
const char *const secret_card_parts[] = { "number", "digits", "digit", "code", "numbers", "numero", "nummer", "zahlen", "ziffern", "cifras", "digitos", "chiffres", "cifre", "angka", "code", "codigo", NULL };

const char *const secret_prefixes[] = {
    "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "sk-", "sk_live", "sk_test", "rk_live", "xox", "otpauth://", "xapp-", "AKIA", "ASIA", "AIza", "npm_", "hf_", "shpat_",
    "SG.", "eyJ", "-----BEGIN PRIVATE", "PRIVATE KEY", "-----BEGIN RSA", "-----BEGIN EC", "-----BEGIN OPENSSH", "-----BEGIN ENCRYPTED", "whsec_", "pypi-", "dop_v1_", "AGE-SECRET-KEY", "xprv", "ATATT", "EAAC", "LTAI", "sq0", "ya29.", NULL,
};

const char *const secret_what_is_others[] = { "是多少", "是什么", "是什麼", "係咩", "係乜", "何ですか", "は何", "무엇", "какои", "какова", "ماهي", "ماهو", "क्याहै", "কায়আহে", "काय", "কী?", "কিআছে", "কত", "كياهے", "كياهي", "ఏమిటి", "என்ன", "入力", "输入", "輸入", "입력", "введите", "укажите", "ادخل", "دخال", "दर्ज", "डालें", "टाका", "লিখুন", "দিন", "درج", "నమోదు", "உள்ளிடவும்", NULL };

const char *const secret_postal_others[] = { "डाक", "ডাক", "తపాలా", "அஞ்சல்", "ڈاك", "टपाल", NULL };

const char *const secret_other_words[] = { "पिन", "পিন", "పిన్", "పిన్ను", "پن", "пин", "핀", NULL };
const char *const secret_other_words_about[] = { "कोड", "কোড", "కోడ్", "كوڈ", NULL };
/* clang-format on */
