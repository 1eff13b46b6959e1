// The stores that outlive a process, one row each, as the tests of durability see them: where they are, what lies on the
// disk, and how somebody who can write there would tamper with it. A server must not own them meanwhile, except for `bytes`.
import { DatabaseSync } from 'node:sqlite';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { scratchFolder } from './modern.js';

class SqliteFile {
  constructor(t) {
    this.folder = scratchFolder(t);
    this.file = path.join(this.folder, 'store.db');
    this.address = `sqlite:${this.file}`;
  }

  // Everything that lies on the disk: the file, its log and the index of that, the lock.
  bytes() {
    return readdirSync(this.folder).map((name) => ({ name, bytes: readFileSync(path.join(this.folder, name)) }));
  }

  #with(use) {
    const db = new DatabaseSync(this.file);
    try {
      return use(db);
    } finally {
      db.close();
    }
  }

  // The records of the questions that wait, oldest first.
  questions() {
    return this.#with((db) => db.prepare('SELECT id, record FROM asks WHERE state = 0 ORDER BY n').all())
      .map(({ id, record }) => ({ id, record: Buffer.from(record) }));
  }

  putQuestion(id, record) {
    this.#with((db) => db.prepare('UPDATE asks SET record = ? WHERE id = ?').run(record, id));
  }
}

export const stores = [{ name: 'sqlite', create: (t) => new SqliteFile(t) }];
