/*
 * mcp/era2025/stdio_orphans: questions that a pipe has left behind.
 */
#ifndef NOD_MCP_ERA2025_STDIO_ORPHANS_H
#define NOD_MCP_ERA2025_STDIO_ORPHANS_H

struct mcp_server;
struct session;

/* Withdraws what an earlier process has asked over its pipe. */
void stdio_orphans_withdraw(struct mcp_server *server);
/* A call of this session, on the pipe, waits for its client. */
void stdio_orphans_note(struct session *session);

#endif
