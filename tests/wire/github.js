// A stand-in for GitHub: the issues of one repository, for whoever has a token that the service has given out.
//
//   const github = await GitHub.start(t, service)      service: an AuthorizationServer
//   github.issues                                      what was made, the oldest first
//   github.requests                                    "POST /repos/ada/engine/issues", ...
import http from 'node:http';
import { once } from 'node:events';

export class GitHub {
  issues = [];
  requests = [];
  pulls = [{ number: 100, state: 'open', title: 'A pull request', body: null, pull_request: {} }]; // which it lists with the issues
  says = null; // [status, message]: it refuses every change with that

  static async start(t, service) {
    const github = Object.assign(new GitHub(), { service });
    const server = http.createServer((request, response) => github.#serve(request, response).catch((error) => response.writeHead(500).end(String(error))));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    github.api = `http://127.0.0.1:${server.address().port}`;
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    return github;
  }

  async #serve(request, response) {
    const { pathname, searchParams } = new URL(request.url, this.api);
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const json = (status, value) => response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    const [, , , number] = /^\/repos\/ada\/engine\/(issues)(\/(\d+))?$/.exec(pathname) ?? [];
    this.requests.push(`${request.method} ${pathname}`);
    if (!this.service.accesses.has((request.headers.authorization ?? '').replace('Bearer ', ''))) return json(401, { message: 'Bad credentials' });
    if (!/^\/repos\/ada\/engine\/issues/.test(pathname)) return json(404, { message: 'Not Found' });
    if (request.method === 'GET') {
      const all = searchParams.get('state') === 'all';
      return json(200, [...this.issues, ...this.pulls].filter(({ state }) => all || state === 'open').toReversed().slice(0, Number(searchParams.get('per_page') ?? 30)));
    }
    if (this.says) return json(this.says[0], { message: this.says[1] });
    if (request.method === 'POST') {
      const id = this.issues.length + 1;
      this.issues.push({ number: id, state: 'open', html_url: `https://github.com/ada/engine/issues/${id}`, ...JSON.parse(body) });
      return json(201, this.issues.at(-1));
    }
    const issue = this.issues[Number(number) - 1];
    return issue ? json(200, Object.assign(issue, JSON.parse(body))) : json(404, { message: 'Not Found' });
  }
}
