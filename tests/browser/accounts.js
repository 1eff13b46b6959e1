// An account is connected in a real browser: from the page of the question to the service, which is another site, and back;
// then it is on the page of accounts, and is disconnected there.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, startHttp } from '../wire/harness.js';
import { tokenFile } from '../wire/credentials.js';
import { AuthorizationServer } from '../wire/authorization-server.js';
import { SECRET, URL_MODE, numberOf, oauthFile } from '../wire/accounts.js';
import { PEOPLE, button, goOf, live, notTaken, pagesOf, soon, stranger } from './browser.js';
import { look } from './look.js';

test('an account is connected at another site, listed, and disconnected', async (t) => {
  pagesOf(t);
  const service = await AuthorizationServer.start(t, { decision: 'ask' });
  const elsewhere = `http://localhost:${service.port}`; // another site than 127.0.0.1
  const file = oauthFile(t, service.section('github', {
    title: 'GitHub', scopes: 'repo', authorization_endpoint: `${elsewhere}/authorize`, token_endpoint: `${service.issuer}/token`, revocation_endpoint: `${service.issuer}/revoke`,
  }));
  const server = await startHttp(t, 'accounts', { env: { ...SECRET, ...service.env }, args: ['--token-file', tokenFile(t, PEOPLE), '--oauth', file] });
  server.origin = new URL(server.url).origin;
  const page = await stranger(t, { server, name: 'ada' });
  const session = await connect(t, 'http', 'accounts', { server, token: PEOPLE[0].token, capabilities: URL_MODE });
  const call = session.text('use');
  const question = await session.question();
  question.accept();
  await page.goto(question.params.url);
  await page.getByText('Asked of ada; you are signed in as ada').waitFor();
  assert.deepEqual(await page.locator('dl > div').allTextContents(), ['Account ofada', 'ServiceGitHub', `Address${elsewhere}/authorize`]);
  await page.getByText('The whole address').click();
  await page.locator('.address', { hasText: `${elsewhere}/authorize?` }).waitFor();
  await page.getByText('The whole address').click();
  assert.equal(service.asked.authorize ?? 0, 0, 'it says where it leads before it does');
  await look(page, 'connect');
  await button(page, `Continue to localhost:${service.port}`).click();
  await page.waitForURL(`${elsewhere}/**`);
  await page.getByRole('link', { name: 'Authorize' }).click();
  await page.getByText('You can close this page.').waitFor();
  if (process.env.NOD_SOAK) await look(page, 'connected');
  assert.equal(await soon('the result', call), numberOf([...service.accesses.keys()].at(-1)));
  assert.deepEqual(service.referers, [], 'the service learns nothing of where the person comes from');

  await page.goto(server.origin);
  await live(page);
  await page.getByRole('link', { name: 'Accounts', exact: true }).click();
  const row = page.locator('.sheet li', { hasText: 'GitHub' });
  await row.getByText('repo').waitFor();
  await look(page, 'accounts');
  await button(page, 'Disconnect').click();
  await button(page, 'Press again to disconnect').click();
  await page.getByText('Disconnected. Tools can no longer use it.').waitFor();
  await page.reload();
  await page.getByText('No accounts are connected.').waitFor();
  assert.equal(service.asked.revoke, 1);
});

// A call of Ada's waits for her account at a service, which lets her decide.
async function asksForAccount(t) {
  pagesOf(t);
  const service = await AuthorizationServer.start(t, { decision: 'ask' });
  const file = oauthFile(t, service.section('github', { title: 'GitHub', scopes: 'repo', authorization_endpoint: `${service.issuer}/authorize`, token_endpoint: `${service.issuer}/token` }));
  const server = await startHttp(t, 'accounts', { env: { ...SECRET, ...service.env }, args: ['--token-file', tokenFile(t, PEOPLE), '--oauth', file] });
  server.origin = new URL(server.url).origin;
  const [{ token }] = PEOPLE;
  const session = await connect(t, 'http', 'accounts', { server, token, capabilities: URL_MODE });
  const call = session.text('use');
  const question = await session.question();
  question.accept();
  return { service, server, token, call, question };
}

test('what one browser has begun at a service, another one of the same person does not end', async (t) => {
  const { service, server, token, call, question } = await asksForAccount(t);
  const [one, two] = await Promise.all([0, 1].map(() => stranger(t, { server, name: 'ada', allow: /409/ })));
  await one.goto(question.params.url);
  await one.getByText('The whole address').click();
  for (const begun of [await one.locator('.address').textContent(), (await goOf(question, token)).href]) {
    await two.goto(begun);
    await two.getByRole('link', { name: 'Authorize' }).click();
    await two.getByText('This was begun in another browser, or by another sign-in: what the other site has sent was not taken. Open the question here, and begin again.').waitFor();
    await two.waitForFunction(() => !location.search);
  }
  await look(two, 'begun-elsewhere');
  assert.equal(service.asked.code, 0, 'the code was not used');
  // Each of them can still begin, and end what it has begun.
  await two.goto(question.params.url);
  await one.locator('#form .primary[aria-disabled=false]').click();
  await one.getByRole('link', { name: 'Authorize' }).click();
  await one.getByText('You can close this page.').waitFor();
  await soon('the result', call);
});

test('the account of somebody who is not signed in here is not connected for who sent them to the service', async (t) => {
  const { service, server, token, call, question } = await asksForAccount(t);
  const page = await stranger(t, { allow: /40[14]/ });
  await page.goto((await goOf(question, token)).href);
  await page.getByRole('link', { name: 'Authorize' }).click();
  await page.waitForURL(`${server.origin}/**`);
  await notTaken(page, server, token);
  assert.equal(service.asked.code, 0, 'the code was taken to nobody');
  await page.goto(question.params.url); // it still waits
  await button(page, 'Decline').click();
  await soon('the result', call);
});
