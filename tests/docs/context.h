/*
 * What the blocks of the documentation leave to the reader: their blocks of C are compiled behind this. A block that needs another
 * function of the reader's declares it here, or itself.
 */
#include <nod/nod.h>

nod_step_fn delete_row, restart_host, unlink_file;
long long balance_of(const char *account);
bool bank_send(const char *account, const char *key);
bool is_working_hours(void);
nod_log_fn show_line;
