// Opens profiles in the real front-end, in a browser: node front-end.mjs PLAYWRIGHT CHROMIUM VOUCH
// UI FOLDER, for scripts/front-end. FOLDER has NAME.json.gz and NAME.report.json of each program,
// and gets the pictures. It must never call the front-end's own code: it clicks, types and reads,
// as a person does. From a canvas it reads the text that is drawn.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launched, served } from './shared.mjs';

const [playwright, chromium, vouch, ui, folder] = process.argv.slice(2);
const browser = await launched(playwright, chromium);
const WIDTH = 1400, HEIGHT = 900;

const check = (holds, what) => { if (!holds) throw new Error(what); };
const grouped = count => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

// Opens the profile of a program, uses it, and compares what every reader sees with its report.
async function read(name, look) {
  const { address, end } = await served(vouch, join(folder, `${name}.json.gz`), ui);
  try {
    await opened(name, address, look);
  } finally {
    end();
  }
}

async function opened(name, address, look) {
  const page = await browser.newPage({ viewport: { width: WIDTH, height: HEIGHT } });
  const wrong = [];
  // A development build has no service worker, which it looks for and does without.
  const own = text => /service ?worker|fetching the script/i.test(text);
  page.on('console', message => { if (message.type() === 'error' && !own(message.text())) wrong.push(message.text()); });
  page.on('pageerror', error => { if (!own(error.message)) wrong.push(error.message); });
  page.on('request', request => { if (new URL(request.url()).origin !== new URL(address).origin && /^http/.test(request.url())) wrong.push(`asks ${request.url()}`); });
  await page.addInitScript(() => {
    window.written = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
      window.written.push(text);
      return write.call(this, text, ...where);
    };
  });
  const began = Date.now();
  await page.goto(address);
  await page.waitForSelector('.treeViewRow');
  const took = Date.now() - began;

  const reader = {
    page,
    tab: async tab => {
      await page.evaluate(() => { window.written = []; });
      await page.locator('.tabBarTab', { hasText: tab }).click();
    },
    // What is written on the tab's canvases, once that is true of it.
    written: async (holds, what) => {
      let written = [];
      for (let times = 0; times < 100; times++) {
        written = await page.evaluate(() => window.written);
        if (holds(written)) return written;
        await page.waitForTimeout(50);
      }
      throw new Error(`${name}: ${what}, among ${[...new Set(written)].slice(0, 30).join(' | ')}`);
    },
    thread: thread => page.locator('.timelineTrackNameButton', { hasText: new RegExp(`^${thread}`) }).first().click(),
    // Leaves the stacks with this text in the tree.
    search: text => page.locator('.idleSearchFieldInput').first().fill(text),
    rows: async () => (await page.locator('.treeViewRowScrolledColumns').allInnerTexts()).map(row => row.split('\n')[0]),
    picture: (picture, clip) => page.screenshot({ path: join(folder, `${picture}.png`), clip }),
  };

  check((await page.title()).includes('Vouch'), `${name}: the title is ${await page.title()}`);
  await panel(name, page);
  await look(reader);
  check(wrong.length === 0, `${name}: the console says ${wrong.join('; ')}`);
  await page.close();
  console.log(`ok ${name}: loaded in ${took} ms`);
}

// The info panel has the report's values, each once.
async function panel(name, page) {
  const report = JSON.parse(readFileSync(join(folder, `${name}.report.json`), 'utf8'));
  await page.getByText('Profile Info').click();
  await page.getByText('Show more').click();
  const told = await page.locator('.arrowPanelContent').first().innerText();
  for (const fate of ['proven', 'plausible', 'refuted', 'unwalked', 'outside']) {
    const share = (100 * report.weight_ms[fate] / report.weight_ms.signals).toFixed(1);
    const row = `${fate[0].toUpperCase()}${fate.slice(1)}\n${grouped(report.samples[fate])} (${share} %)`;
    if (report.samples[fate]) check(told.split(row).length === 2, `${name}: the panel has not "${row}" but ${told}`);
  }
  check(told.includes(`${grouped(report.samples.signals)} signals`), `${name}: the panel has not ${report.samples.signals} signals: ${told}`);
  await page.keyboard.press('Escape');
  await page.waitForSelector('.arrowPanelContent', { state: 'hidden' });
}

// A method of a thread is in the flame graph.
const drawn = (thread, method) => async reader => {
  await reader.thread(thread);
  await reader.tab('Flame Graph');
  await reader.written(written => written.includes(method), `the flame graph has no ${method}`);
};

// A thread that runs without a rest has boxes with names in the stack chart.
const labelled = thread => async reader => {
  await reader.thread(thread);
  const [root] = await reader.rows();
  await reader.tab('Stack Chart');
  await reader.written(written => written.includes(root), `no box of the stack chart is as wide as "${root}"`);
};

await read('demo', async reader => {
  await reader.thread('pricing');
  // The call tree, from the root down its heaviest path, as the front-end opens it.
  check((await reader.rows()).includes('Demo$Pricing.run'), `demo: the tree has no Demo$Pricing.run: ${await reader.rows()}`);
  await reader.picture('demo');
  await reader.page.locator('.panelSettingsListItem', { hasText: 'Invert' }).locator('input').check();
  await reader.search('Demo$Pricing.discount');
  await reader.page.locator('.treeViewRowScrolledColumns', { hasText: 'Demo$Pricing.discount' }).first().dblclick();
  const source = reader.page.locator('.bottom-box');
  await source.getByText('double discount(').first().waitFor();
  await reader.picture('source');
});

await read('refuted', async reader => {
  await reader.thread('pricing');
  await reader.search('✗ no such call');
  // The tree is another one a moment later.
  await reader.page.waitForFunction(() => document.querySelector('.treeViewRowScrolledColumns')?.textContent.includes('[refuted: '));
  await reader.page.locator('.treeViewRow').first().click();
  await reader.page.keyboard.press('*');
  const edge = reader.page.locator('.treeViewRowScrolledColumns', { hasText: '[✗ no such call: the bytecode calls ' });
  await edge.first().waitFor();
  const red = await reader.page.locator('.treeViewRow .colored-square').first().evaluate(square => getComputedStyle(square).backgroundColor);
  const [r, g, b] = red.match(/\d+/g).map(Number);
  check(r > 180 && g < 60 && b < 90, `refuted: its category is ${red}`);
  await reader.picture('edge');
  await reader.tab('Marker Chart');
  await reader.written(written => written.includes('Refuted: no such call'), 'no row of its markers has a name');
  const canvas = await reader.page.locator('.chartCanvas').first().boundingBox();
  const tooltip = reader.page.locator('.tooltip');
  for (let x = 200; x < canvas.width && !(await tooltip.count()); x++) await reader.page.mouse.move(canvas.x + x, canvas.y + 22);
  const told = await tooltip.innerText();
  for (const part of ['Refuted: no such call', 'The walk claimed:', 'Stack:', '[✗ no such call: the bytecode calls ']) {
    check(told.includes(part), `refuted: a marker has no "${part}": ${told}`);
  }
  await reader.picture('refuted', { x: 0, y: 0, width: WIDTH, height: 800 });
});

await read('mix', labelled('main'));
// Not every JDK has what it compiles.
if (existsSync(join(folder, 'javac.json.gz'))) await read('javac', labelled('main'));
await read('deep', drawn('pool-', 'Deep.sum'));
await read('virtual', drawn('ForkJoinPool-', 'java.lang.VirtualThread.run'));
await browser.close();
