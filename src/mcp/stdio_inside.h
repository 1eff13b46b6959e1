/*
 * mcp/stdio_inside: the pipe as the files of mcp/ see it. (mcp_stdio_start is in server.h.) It is
 * not called stdio.h, because that is a header of the C library.
 */
#ifndef NOD_MCP_STDIO_INSIDE_H
#define NOD_MCP_STDIO_INSIDE_H

struct mcp_server;

/* A call has ended: if the input has ended too, the pipe may be closed. */
void mcp_stdio_check_drained(struct mcp_server *server);
/* Flushes and closes; server_check_drained follows. */
void mcp_stdio_close(struct mcp_server *server);
/* The server is being destroyed. */
void mcp_stdio_stop(struct mcp_server *server);

#endif
