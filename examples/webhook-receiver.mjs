// webhook-receiver: approves small expenses by itself, and leaves the rest to people. See docs/webhooks.md.
//
//     NOD_WEBHOOK_SECRET=whsec_... NOD_URL=http://127.0.0.1:8080 NOD_TOKEN=... node examples/webhook-receiver.mjs 9000
import { createServer } from 'node:http';
import { createHmac, timingSafeEqual } from 'node:crypto';

const { NOD_WEBHOOK_SECRET, NOD_URL, NOD_TOKEN, LIMIT = '500' } = process.env;
if (!NOD_WEBHOOK_SECRET || !NOD_URL || !NOD_TOKEN) throw new Error('set NOD_WEBHOOK_SECRET, NOD_URL and NOD_TOKEN');
const key = Buffer.from(NOD_WEBHOOK_SECRET.replace('whsec_', ''), 'base64');
const seen = new Set(); // the same event may come twice; a real receiver keeps these for a day

function isReal({ 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures = '' }, body) {
  const wanted = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64')}`);
  const signed = signatures.split(' ').some((one) => one.length === wanted.length && timingSafeEqual(Buffer.from(one), wanted));
  return signed && Math.abs(Date.now() / 1000 - Number(time)) < 300;
}

async function api(path, body) {
  const headers = { Authorization: `Bearer ${NOD_TOKEN}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${NOD_URL}/api/elicitation/${path}`, { method: body ? 'POST' : 'GET', headers, body: body && JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${(await response.json()).detail}`);
  return response.json();
}

async function decide({ id, executionId, tool }) {
  if (tool !== 'submit_expense') return;
  const { arguments: { amount, purpose } } = await api(id); // the event itself does not say what is asked
  if (amount > Number(LIMIT)) return console.log(`${purpose}: ${amount} is for people to decide`);
  console.log(`${purpose}:`, await api(`${id}/resolve`, { executionId, approved: true, reason: `not more than ${LIMIT}` }));
}

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  const real = isReal(request.headers, body);
  response.writeHead(real ? 204 : 401).end(); // first: a receiver that takes long is asked again
  const event = real && !seen.has(request.headers['webhook-id']) && JSON.parse(body);
  if (real) seen.add(request.headers['webhook-id']); // a forged one must not stand in the way of the real one
  if (event?.type === 'elicitation.created') decide(event.data).catch((error) => console.error(error.message));
});
server.listen(Number(process.argv[2] ?? 9000), '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
