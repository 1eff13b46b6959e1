// bench/sdk_v2: the same tool as bench/ask_server.c, written with the official TypeScript SDK v2.
// `node sdk_v2.mjs 2026` serves the stateless protocol; `node sdk_v2.mjs 2025` sessions, as sdk_v1.mjs does.
import { createServer } from "node:http";
import { randomBytes, randomUUID } from "node:crypto";
import { McpServer, createMcpHandler, createRequestStateCodec, inputRequired, inputResponse } from "@modelcontextprotocol/server";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";

const question = {
  message: "Delete 3 files? This cannot be undone.",
  requestedSchema: {
    type: "object",
    properties: { confirmed: { type: "boolean", title: "Confirm" } },
    required: ["confirmed"],
  },
};
const about = { description: "Asks, then says what was answered" };
const said = (answer) => {
  const yes = answer.action === "accept" && answer.content?.confirmed === true;
  return { content: [{ type: "text", text: yes ? "confirmed" : "not confirmed" }] };
};

// The state says which call it is of, and is signed, as the specification wants it.
const codec = createRequestStateCodec({ key: randomBytes(32), bind: (ctx) => ctx.mcpReq.method });

function modernServer() {
  const server = new McpServer({ name: "ask", version: "1" }, { requestState: { verify: codec.verify } });
  server.registerTool("ask", about, async (ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "sure");
    if (answer.kind === "elicit" && ctx.mcpReq.requestState()) return said(answer);
    return inputRequired({
      inputRequests: { sure: inputRequired.elicit(question) },
      requestState: await codec.mint({ call: randomUUID() }, ctx),
    });
  });
  return server;
}

function sessionServer() {
  const server = new McpServer({ name: "ask", version: "1" });
  server.registerTool("ask", about, async (ctx) => said(await ctx.mcpReq.elicitInput(question, { relatedRequestId: ctx.mcpReq.id })));
  return server;
}

const sessions = new Map();
async function serveSession(req, res) {
  const id = req.headers["mcp-session-id"];
  let transport = id && sessions.get(id);
  if (!transport) {
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (fresh) => sessions.set(fresh, transport),
    });
    await sessionServer().connect(transport);
  }
  await transport.handleRequest(req, res);
}

const serve = process.argv[2] === "2025" ? serveSession : toNodeHandler(createMcpHandler(modernServer, { legacy: "reject" }));
const http = createServer((req, res) => serve(req, res));
http.keepAliveTimeout = 0; // idle connections are the clients' business
http.listen(0, "127.0.0.1", () => console.error(`listening url=http://127.0.0.1:${http.address().port}/mcp`));
