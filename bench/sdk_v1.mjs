// bench/sdk_v1: the same tool as bench/ask_server.c, written with the official TypeScript SDK v1.
// `node sdk_v1.mjs` speaks stdio; `node sdk_v1.mjs http` serves Streamable HTTP with sessions.
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

function askServer() {
  const server = new McpServer({ name: "ask", version: "1" });
  server.registerTool("ask", { description: "Asks, then says what was answered" }, async (extra) => {
    const answer = await server.server.elicitInput(
      {
        message: "Delete 3 files? This cannot be undone.",
        requestedSchema: {
          type: "object",
          properties: { confirmed: { type: "boolean", title: "Confirm" } },
          required: ["confirmed"],
        },
      },
      { relatedRequestId: extra.requestId },
    );
    const yes = answer.action === "accept" && answer.content?.confirmed === true;
    return { content: [{ type: "text", text: yes ? "confirmed" : "not confirmed" }] };
  });
  return server;
}

async function serveHttp() {
  const sessions = new Map();
  const http = createServer(async (req, res) => {
    const id = req.headers["mcp-session-id"];
    let transport = id && sessions.get(id);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (fresh) => sessions.set(fresh, transport),
      });
      await askServer().connect(transport);
    }
    await transport.handleRequest(req, res);
  });
  http.keepAliveTimeout = 0; // idle connections are the clients' business
  http.listen(0, "127.0.0.1", () => console.error(`listening url=http://127.0.0.1:${http.address().port}/mcp`));
}

if (process.argv[2] === "http") await serveHttp();
else await askServer().connect(new StdioServerTransport());
