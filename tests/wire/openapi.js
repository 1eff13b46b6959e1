// What a server says of its API, and whether its replies keep to it: described(api) gives checks of a request's reply, and
// remembers which operations and statuses were seen.
import assert from 'node:assert/strict';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export class Description {
  seen = new Set(); // "get /api/me 200"

  constructor(document) {
    this.document = document;
    this.ajv = new Ajv2020({ strict: false, allErrors: true });
    addFormats(this.ajv);
    this.ajv.addSchema({ $id: 'api', components: document.components });
  }

  // The schemas name each other by "#/components/...", which is a place in the document.
  validator(schema) {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"api#/components');
    return this.ajv.compile(JSON.parse(text));
  }

  schema(name) {
    return this.validator({ $ref: `#/components/schemas/${name}` });
  }

  #template(path) {
    const fits = (template) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', '\\.')}$`).test(path);
    const found = Object.keys(this.document.paths).filter(fits).sort((a, b) => a.split('{').length - b.split('{').length);
    assert.ok(found.length, `${path} is described`);
    return found[0];
  }

  operations() {
    return Object.entries(this.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) => Object.keys(responses).map((status) => `${method} ${path} ${status}`)));
  }

  check(method, target, { status, type, text }) {
    const path = this.#template(target.split('?')[0]);
    const operation = this.document.paths[path][method.toLowerCase()];
    assert.ok(operation, `${method} ${path} is described`);
    let response = operation.responses[status];
    assert.ok(response, `${method} ${path}: ${status} is described; it said: ${text}`);
    if (response.$ref) response = this.document.components.responses[response.$ref.split('/').at(-1)];
    this.seen.add(`${method.toLowerCase()} ${path} ${status}`);
    if (!response.content) return;
    const media = type.split(';')[0];
    assert.ok(response.content[media], `${method} ${path} ${status}: ${media} is described`);
    if (!/json/.test(media)) return;
    const valid = this.validator(response.content[media].schema);
    assert.ok(valid(JSON.parse(text)), `${method} ${target} ${status}: ${this.ajv.errorsText(valid.errors)}\n${text}`);
  }

  // The body of a request, as it is described.
  takes(method, path, body) {
    const { schema } = this.document.paths[path][method.toLowerCase()].requestBody.content['application/json'];
    return this.validator(schema)(body);
  }
}
