// A page is looked at as it is: axe-core finds nothing serious in either theme, nothing is wider than the screen, and there is a
// screenshot of it at each width.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { shot } from './browser.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SIZES = [[1280, 800], [768, 1024], [360, 740]];
const SOAK = Boolean(process.env.NOD_SOAK); // every state at every width in both themes

// What does not depend on colours is looked at in one theme.
async function check(page, what, theme) {
  if (!(await page.evaluate(() => Boolean(window.axe)))) await page.evaluate(axe);
  // Of two hundred rows that are alike a few are looked at.
  const options = { resultTypes: ['violations'], ...(theme === 'dark' && !SOAK ? { runOnly: ['color-contrast'] } : {}) };
  const { violations } = await page.evaluate((options) => window.axe.run({ exclude: ['#list li:nth-child(n + 5)'] }, options), options);
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes[0].html} ${nodes[0].failureSummary}`), [], what);
}

export async function look(page, name, everywhere = SOAK) {
  for (const theme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    await check(page, `${name}, ${theme}`, theme);
    for (const [width, height] of everywhere ? SIZES : [theme === 'light' ? SIZES[0] : SIZES[2]]) {
      await page.setViewportSize({ width, height });
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} fits into ${width} px`);
      assert.ok(await page.evaluate(() => [...document.querySelectorAll('nav a, #menu summary')].every((one) => one.clientHeight <= 44)), `${name}: no word of the header is broken at ${width} px`);
      await shot(page, `${name}-${width}-${theme}`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  }
}
