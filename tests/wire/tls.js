// Certificates for this machine, and fetch over connections of one's own: TLS with an authority that only the test
// believes, or a Unix socket.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { Readable } from 'node:stream';

// fetch, but over what http.request is told to use: a Unix socket, or a connection of its own.
export function fetchOver(request, options) {
  return async (url, { method = 'GET', headers = {}, body, signal } = {}) => {
    const sent = request(url, { ...options, method, headers: Object.fromEntries(new Headers(headers)), signal });
    sent.end(body);
    const [response] = await once(sent, 'response');
    const bodiless = [101, 204, 205, 304].includes(response.statusCode);
    return new Response(bodiless ? null : Readable.toWeb(response), {
      status: response.statusCode,
      headers: Object.entries(response.headers).flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
    });
  };
}

// A self-signed certificate for this machine; { cert, key, ca } are file names and the authority to believe.
export function certificate(dir, name, names = 'DNS:localhost,IP:127.0.0.1') {
  const cert = path.join(dir, `${name}.crt`);
  const key = path.join(dir, `${name}.key`);
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', `/CN=${name}`,
    '-addext', `subjectAltName=${names}`, '-keyout', key, '-out', cert], { stdio: 'pipe' });
  return { cert, key, ca: readFileSync(cert) };
}

export const overTls = (ca, agent) => fetchOver(https.request, { ca, agent });
