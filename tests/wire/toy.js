// The people behind the toy surface (toy_surface.c): what is up there, what is taken down, and answers.
import net from 'node:net';
import { once } from 'node:events';
import { Inbox, within, PATIENCE_MS } from './harness.js';

export class Toy {
  #n = 0;
  #socket;
  #answers = new Map();

  static async at(t, server) {
    const toy = new Toy();
    const port = Number((await server.said(/^toy=\d+$/)).slice(4));
    toy.offers = new Inbox();
    toy.withdrawals = new Inbox();
    toy.#socket = net.connect(port, '127.0.0.1');
    toy.#socket.on('error', () => {}); // its server was killed
    t.after(() => toy.#socket.destroy());
    await once(toy.#socket, 'connect');
    let text = '';
    toy.#socket.setEncoding('utf8').on('data', (data) => {
      const lines = (text + data).split('\n');
      text = lines.pop();
      lines.map((line) => JSON.parse(line)).forEach((line) => toy.#take(line));
    });
    return toy;
  }

  #take({ offer, withdraw, answered }) {
    if (offer) this.offers.push(offer);
    if (withdraw) this.withdrawals.push(withdraw);
    if (answered) this.#answers.get(answered.n)?.(answered);
  }

  offer(tag) {
    return this.offers.next(({ message }) => message.startsWith(`${tag},`), `${tag} is up on the toy`);
  }

  withdrawn({ id }) {
    return this.withdrawals.next((one) => one.id === id, 'it is taken down from the toy');
  }

  // Nobody there takes it.
  refuse({ id }) {
    this.#socket.write(`${JSON.stringify({ refuse: id })}\n`);
  }

  // Resolves to what became of it.
  answer({ id, principal }, text, { by = principal, roles = ['answer'] } = {}) {
    const n = ++this.#n;
    const done = new Promise((resolve) => this.#answers.set(n, resolve));
    this.#socket.write(`${JSON.stringify({ n, id, action: text ? 'accept' : 'decline', content: text ? { word: text } : null, by, roles })}\n`);
    return within(PATIENCE_MS, 'the toy is told what became of its answer', done);
  }
}
