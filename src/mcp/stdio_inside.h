/*
 * mcp/stdio_inside: the pipe as the files of mcp/ see it. (mcp_stdio_start is in server.h.) The
 * name is not stdio.h, which the C library has.
 */
#ifndef NOD_MCP_STDIO_INSIDE_H
#define NOD_MCP_STDIO_INSIDE_H

struct mcp_server;
struct session;

/* A call has ended: once the input has, too, the pipe may be closed. */
void mcp_stdio_check_drained(struct mcp_server *server);
/* Flushes and closes; server_check_drained follows. */
void mcp_stdio_close(struct mcp_server *server);
/* The server goes now. */
void mcp_stdio_stop(struct mcp_server *server);

/* mcp/stdio_orphans: what an earlier process has asked over its pipe is withdrawn. */
void stdio_orphans_withdraw(struct mcp_server *server);
/* A call of this session, on the pipe, waits for its client. */
void stdio_orphans_note(struct session *session);

#endif
