/*
 * front/pages: what a browser is told with every page of ours and with what the page fetches.
 *
 * The headers let a page load scripts, styles and images from here alone, be in no frame, share
 * nothing with the window that opened it, tell no other site where it came from, and be stored
 * nowhere.
 */
#include "front/front_inside.h"

const struct str page_lines = STR_INIT(
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src "
    "'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Cache-Control: no-store\r\n");
