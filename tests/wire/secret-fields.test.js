// A field that asks for a secret is refused, unless the operator has allowed it.
import test from 'node:test';
import assert from 'node:assert/strict';
import { connect, startHttp } from './harness.js';

const answering = { answer: () => ({ action: 'accept', content: { pin: 'D13' } }) };

test('11.25: a field that looks like a secret is refused before anybody is asked, and the error says how it is allowed', async (t) => {
  let asked = 0;
  const session = await connect(t, 'http', 'probe', { answer: () => (asked++, { action: 'accept', content: { pin: '1' } }) });
  await assert.rejects(session.call('asks_for_pin'), (error) => {
    assert.equal(error.code, -32602);
    assert.match(error.message, /nod_secret asks for it on a page/);
    assert.match(error.message, /--allow-field asks_for_pin\.pin/);
    return true;
  });
  assert.equal(asked, 0);
});

test('11.25: an operator allows it by tool and field, and each use is logged', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--allow-field', 'asks_for_pin.pin'] });
  const session = await connect(t, 'http', 'probe', { ...answering, server });
  assert.equal(await session.text('asks_for_pin'), 'D13');
  await server.said(/operator allows.*asks_for_pin\.pin/s);
  await server.said(/looks like a secret is asked for.*tool=asks_for_pin.*field=pin/s);
});

test('11.25: allowing a field of one tool allows it for no other', async (t) => {
  const server = await startHttp(t, 'probe', { args: ['--allow-field', 'other.pin', '--allow-field=asks_for_pin.other'] });
  const session = await connect(t, 'http', 'probe', { ...answering, server });
  await assert.rejects(session.call('asks_for_pin'), /secret/);
});

test('the arguments that an approval shows are not taken for words that ask for a secret', async (t) => {
  for (const args of [{ topic: 'enter the password' }, { password: 'x' }, { subject: 'API key' }]) {
    const { text } = await connect(t, 'stdio', 'probe', { answer: () => ({ action: 'accept', content: { reason: 'fine' } }) });
    assert.match(await text('approve', args), /"approved":true/);
  }
});
