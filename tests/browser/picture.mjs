// Makes docs/inbox.webp: the page with three accounts to delete, one of them in view. scripts/inbox-picture calls this.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const server = spawn(path.join(process.env.NOD_BIN_DIR, 'examples/delete-account'), ['--http', '127.0.0.1:0'], { stdio: ['ignore', 'ignore', 'pipe'] });
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync'] });
try {
  const link = await new Promise((resolve) => {
    createInterface(server.stderr).on('line', (line) => {
      const found = /http\S+\/login\/[\w-]+/.exec(line);
      if (found) resolve(found[0]);
    });
  });
  const client = new Client({ name: 'your assistant', version: '1' }, { capabilities: {} });
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', link)));
  const page = await browser.newPage({ viewport: { width: 1120, height: 640 }, locale: 'en-GB', reducedMotion: 'reduce' });
  await page.goto(link);
  await page.locator('#go:enabled').click();
  await page.waitForSelector('body[data-live=live]');
  for (const [i, userId] of ['ada', 'alan', 'grace'].entries()) {
    client.callTool({ name: 'delete_account', arguments: { userId } }).catch(() => {});
    await page.locator('#list li').nth(i).waitFor();
  }
  await page.getByLabel('Confirm deletion').check();
  await page.waitForFunction(() => document.querySelector('.ask .primary').ariaDisabled === 'false');
  const picture = (await page.screenshot()).toString('base64');
  const small = await (await browser.newPage()).evaluate(async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext('2d').drawImage(image, 0, 0);
    return canvas.toDataURL('image/webp', 0.85).split(',')[1];
  }, picture);
  writeFileSync(process.argv[2], Buffer.from(small, 'base64'));
} finally {
  await browser.close();
  const ended = once(server, 'close');
  server.kill();
  await ended;
}
process.exit(); // the calls are not waited for
