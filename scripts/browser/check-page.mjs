// Drives the page in a browser: node check-page.mjs PLAYWRIGHT CHROMIUM VOUCH FOLDER, for
// scripts/lib/check-page.
// It must never call the page's own functions: it clicks, types and reads, as a person does.
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { launched, served } from './shared.mjs';

const [playwright, chromium, vouch, folder] = process.argv.slice(2);
const browser = await launched(playwright, chromium);
const json = name => JSON.parse(readFileSync(join(folder, name), 'utf8'));
const report = json('report.json'), methods = json('methods.json').rows, threads = json('threads.json').rows;
const all = methods.length && json('methods.json').cpu_ms;

const check = (holds, what) => { if (!holds) throw new Error(what); console.log(`ok ${what}`); };
// `1234 ms` and `12.3 s` as milliseconds; how far a text may be from the number.
const millis = text => { const [, number, unit] = text.match(/([\d.]+) (ms|s)\b/); return number * (unit === 's' ? 1e3 : 1); };
const near = (text, figure, what) => check(Math.abs(millis(text) - figure) <= 0.6 + (figure >= 1e4 ? 50 : 0), `${what}: "${text}" is ${figure} ms`);

async function open(name) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
  const wrong = [];
  // The texts that are drawn on canvases.
  await page.addInitScript(() => {
    window.drawnTexts = [];
    const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { window.drawnTexts.push(text); draw.call(this, text, ...at); };
  });
  page.on('console', message => wrong.push(`console: ${message.text()}`));
  page.on('pageerror', error => wrong.push(`error: ${error.message}`));
  page.on('request', request => { if (request.url() !== 'file://' + join(folder, name)) wrong.push(`asks for ${request.url()}`); });
  await page.goto('file://' + join(folder, name));
  const status = () => page.textContent('#status');
  // The status line for each box of a row, with a position in it. It sends the page's own events: a
  // real move of the mouse takes ten milliseconds.
  const along = row => page.evaluate(row => {
    const canvas = document.getElementById('flames'), { left, top, width } = canvas.getBoundingClientRect(), told = {};
    for (let column = 1; column < width; column++) {
      const clientX = left + column, clientY = top + 18 * row + 9;
      canvas.dispatchEvent(new PointerEvent('pointermove', { clientX, clientY, bubbles: true }));
      const over = document.getElementById('over').textContent;
      if (over && !told[over]) told[over] = [18 * row + 9, column];
    }
    return told;
  }, row);
  // Clicks a box with this status line.
  const click = async wanted => {
    for (let row = 0; row < 40; row++) {
      const found = Object.entries(await along(row)).find(([over]) => wanted(over));
      if (found) return page.locator('#flames').click({ position: { x: found[1][1], y: found[1][0] } });
    }
    throw new Error('there is no such box');
  };
  return { page, wrong, status, along, click };
}

const { page, wrong, status, along, click } = await open('page.html');
check((await page.title()).includes('Vouch'), 'it has a title');
near(await status(), all, 'the whole');

const sum = Object.entries(report.weight_ms).filter(([fate]) => fate !== 'signals').reduce((sum, [, ms]) => sum + ms, 0);
for (const [fate, ms] of Object.entries(report.weight_ms)) {
  if (fate === 'signals' || !ms) continue;
  const label = await page.locator('#fates label').filter({ hasText: fate }).textContent();
  check(label.trim() === `${fate} ${(100 * ms / sum).toFixed(1)} %`, `"${label.trim()}" is the report's ${ms} ms of ${sum}`);
}

const run = methods.find(method => method.name === 'Demo$Pricing.run');
await page.fill('#search', '/^Demo\\$Pricing\\.run$/');
near((await status()).split('·')[1], run.total_ms, 'a search by a regular expression');
await page.fill('#search', 'demo$pricing.RUN');
near((await status()).split('·')[1], run.total_ms, 'a search for a part of a name');
await page.fill('#search', '/(/');
near((await status()).split('·')[1], 0, 'half of a regular expression');
await page.fill('#search', '');

await click(over => over.startsWith('Demo$Pricing.run ·'));
check(/^[\d.]+ m?s \([\d.]+ %\) in Demo\$Pricing\.run of /.test(await status()), `zoomed: "${await status()}"`);
await page.click('#out');
near(await status(), all, 'zoomed out');

// Back by the keyboard, and through the boxes by it.
await click(over => over.startsWith('Demo$Pricing.run ·'));
const zoomed = await status();
await page.locator('#flames').press('ArrowDown');
const below = await page.textContent('#over');
check(below && !below.startsWith('Demo$Pricing.run ·'), `the arrow chooses a callee: "${below}"`);
await page.locator('#flames').press('Enter');
check((await status()).includes(` in ${below.split(' ·')[0]} of `), `Enter zooms: "${await status()}"`);
await page.keyboard.press('Escape');
check((await status()) === zoomed, 'Escape goes back one step');
await page.keyboard.press('Escape');
near(await status(), all, 'Escape again shows all');

// Narrow boxes have short names, and the line above the picture has the whole name.
const drawn = new Set(await page.evaluate(() => window.drawnTexts));
check(drawn.has('Pricing.run') || drawn.has('Demo$Pricing.run'), 'a box has a name');
const whole = methods.map(({ name }) => name).filter(name => /^[a-z]+\./.test(name));
const short = whole.filter(name => drawn.has(name.split('.').slice(-2).join('.')) || drawn.has(name.split('.').at(-1)));
check(short.length > 3, `narrow boxes have short names, such as ${short[0]}`);
const cut = [...drawn].filter(text => /^(java|jdk|sun|com)\.\S*…$/.test(text));
check(!cut.length, `no box begins with a package that is cut off: ${cut}`);

// The legend has each kind of function with its share.
const legend = (await page.locator('#legend > span').allTextContents()).map(text => text.match(/^(.*) ([\d.]+) %$/).slice(1));
for (const kind of ['Application', 'JDK', 'Refuted']) check(legend.some(([label]) => label === kind), `the legend has ${kind}`);
const shares = legend.reduce((total, [, share]) => total + Number(share), 0);
check(Math.abs(shares - 100) < 0.06 * legend.length, `its shares are ${shares} % together`);

// Text can be read on both backgrounds.
const contrast = selector => page.evaluate(selector => {
  const luminance = color => {
    const [red, green, blue] = color.match(/\d+/g).map(value => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [one, other] = [luminance(getComputedStyle(document.querySelector(selector)).color), luminance(getComputedStyle(document.body).backgroundColor)];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}, selector);
for (const colorScheme of ['dark', 'light']) {
  await page.emulateMedia({ colorScheme });
  for (const selector of ['body', '#command', '#panel dt']) check((await contrast(selector)) >= 4.5, `${selector} can be read on ${colorScheme}`);
}

// Guesses of possible stacks; those of refuted stacks are switched with these.
const guesses = methods.reduce((total, method) => total + (method.self_uncertain_ms || 0), 0) - report.weight_ms.refuted;
await page.uncheck('input[data-fate=guess]');
near(await status(), all - guesses, 'without guessed top methods');
await page.check('input[data-fate=guess]');

await page.uncheck('input[data-fate=proven]');
near(await status(), all - report.weight_ms.proven, 'without what is proven');
await page.check('input[data-fate=proven]');
near(await status(), all, 'with it again');

const pricing = threads.find(thread => thread.name === 'pricing');
await page.click('input[data-thread=pricing]');
near(await status(), all - pricing.ms, 'all but a thread');
await page.click('button[data-only=pricing]');
near(await status(), pricing.ms, 'that thread alone');
await page.click('#all');
near(await status(), all, 'all threads');

// The other measure of the profile, and back.
const { bytes, rows: classes } = json('allocated.json');
const SIZES = { B: 1, kB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 };
const nearBytes = (text, wanted, what) => {
  const [, number, unit] = text.match(/([\d.]+) (B|kB|MB|GB)\b/);
  // Rounded to a tenth of the unit.
  check(Math.abs(number - wanted / SIZES[unit]) <= 0.06, `${what}: "${text}" is ${wanted} bytes`);
};
await page.selectOption('#measure', 'alloc');
nearBytes(await status(), bytes, 'all that was allocated');
const allocatedMost = await page.locator('#methods tbody tr').first().locator('td').allTextContents();
check(allocatedMost[3] === classes[0].name, `${classes[0].name} has most bytes`);
nearBytes(allocatedMost[0], classes[0].self_bytes, 'its bytes');
await page.selectOption('#measure', 'cpu');
near(await status(), all, 'CPU time again');

const hottest = methods.reduce((one, other) => (other.self_ms > one.self_ms ? other : one));
await page.check('#invert');
// Refuted samples are apart from the rest: the method has two boxes then, each with its kind after
// its time.
const parts = Object.keys(await along(0)).filter(over => over.startsWith(hottest.name + ' ·'));
const leaves = parts.reduce((sum, over) => sum + millis(over.split('·')[1]), 0);
// Boxes of less than a pixel are hit by chance, and two of one time look alike.
check(leaves > 0.8 * hottest.self_ms && leaves <= hottest.self_ms + parts.length, `from the leaves, ${hottest.name} has ${leaves} of its own ${hottest.self_ms} ms in ${parts.length} boxes`);
await page.uncheck('#invert');
const first = await page.locator('#methods tbody tr').first().locator('td').allTextContents();
check(first[3] === hottest.name, `the table begins with ${hottest.name}`);
near(first[0], hottest.self_ms, 'and its own time');
near(first[2], hottest.total_ms, 'and its time with what it calls');
for (const cells of await page.locator('#methods tbody tr').all()) {
  const [, uncertain, , name] = await cells.locator('td').allTextContents();
  const { self_ms: self, self_uncertain_ms: guess } = methods.find(method => method.name === name);
  const expected = guess ? (100 * guess / self).toFixed(1) + ' %' : '';
  check(uncertain === expected, `the part of ${name} that is a guess is "${expected}"`);
}

// The table by each column, by the mouse and by the keyboard.
const header = column => page.locator(`#methods th[data-column=${column}]`);
const firstName = () => page.locator('#methods tbody tr').first().locator('td').nth(3).textContent();
await header('total').locator('button').click();
check((await header('total').getAttribute('aria-sort')) === 'descending' && (await header('self').getAttribute('aria-sort')) === 'none', 'it is sorted by total');
near((await page.locator('#methods tbody tr').first().locator('td').allTextContents())[2], Math.max(...methods.map(method => method.total_ms)), 'the largest total');
await header('name').locator('button').press('Enter');
const listed = methods.filter(method => method.total_ms).map(method => method.name).sort();
check((await header('name').getAttribute('aria-sort')) === 'ascending' && (await firstName()) === listed[0], `the first name is ${listed[0]}`);
await header('name').locator('button').press('Enter');
check((await header('name').getAttribute('aria-sort')) === 'descending' && (await firstName()) === listed.at(-1), `the last name is ${listed.at(-1)}`);
await header('self').locator('button').click();
await page.click('#moreMethods');
check((await page.locator('#methods tbody tr').count()) === Math.min(225, listed.length), 'more methods are shown');

// The search limits the table. A method of it shows the callers and callees that `vouch top` has.
const SORT = 'java.util.DualPivotQuicksort.sort';
await page.fill('#search', SORT);
const rows = await page.locator('#methods tbody tr td:last-child').allTextContents();
check(rows.length === methods.filter(({ name }) => name.toLowerCase().includes(SORT.toLowerCase())).length && rows.every(name => name.includes(SORT)), `the table has the ${rows.length} methods that are searched for`);
await page.locator('#methods tbody button').filter({ hasText: new RegExp(`^${SORT.replaceAll('.', '\\.')}$`) }).press('Enter');
check((await page.textContent('#selected')) === SORT, 'the keyboard chooses a method');
for (const side of ['callers', 'callees']) {
  const expected = json(`${side}.json`).rows, texts = [];
  for (const row of await page.locator(`#${side} tbody tr`).all()) texts.push(await row.locator('td').allTextContents());
  check(texts.length === expected.length, `it has ${expected.length} ${side}`);
  for (const { name, ms, share } of expected) {
    const cells = texts.find(cells => cells[2] === name);
    near(cells[0], ms, `one of its ${side}, ${name}`);
    check(cells[1] === `${(100 * share).toFixed(1)} %`, `its share is ${cells[1]}`);
  }
}
await page.fill('#search', '');
await page.click('#find');
near((await status()).split('·')[1], methods.find(({ name }) => name === SORT).total_ms, 'the method is found in the flame graph');
await page.fill('#search', '');
const caller = page.locator('#callers button').first(), callerName = await caller.textContent();
await caller.click();
check((await page.textContent('#selected')) === callerName, `a caller can be chosen in turn: ${callerName}`);
await page.click('#close');
check(!(await page.locator('#around').isVisible()), 'the choice ends');
await click(over => over.startsWith('Demo$Pricing.run ·'));
check((await page.textContent('#selected')) === 'Demo$Pricing.run', 'a click on a box chooses its method, too');
await page.click('#out');
await page.keyboard.press('Tab');
const outline = await page.evaluate(() => [document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]);
check(outline[1] === 'solid', `what has the focus is outlined: ${outline}`);
const unnamed = await page.evaluate(() => [...document.querySelectorAll('button, input, select, canvas[tabindex]')].filter(one => !(one.textContent.trim() || one.getAttribute('aria-label') || one.closest('label') || one.hidden)).map(one => one.outerHTML));
check(!unnamed.length, `each control has a name for screen readers: ${unnamed}`);

await page.locator('.track canvas').nth(1).scrollIntoViewIfNeeded();
const track = await page.locator('.track canvas').nth(1).boundingBox();
await page.mouse.move(track.x + track.width / 2, track.y + 5);
await page.mouse.down();
await page.mouse.move(track.x + track.width - 1, track.y + 5);
await page.mouse.up();
const half = millis(await status());
check(half > 0 && half < all, `half of the time has ${half} ms of ${all}`);
await page.click('#whole');
near(await status(), all, 'the whole time again');
// The same by the keyboard: two halves are the whole.
const middle = (Number(await page.getAttribute('#to', 'placeholder')) / 2).toFixed(2);
await page.fill('#to', middle);
await page.locator('#to').press('Enter');
const before = millis(await status());
check(before > 0 && before < all, `before ${middle} s are ${before} ms`);
await page.click('#whole');
await page.fill('#from', middle);
await page.locator('#from').press('Enter');
const after = millis(await status());
check(Math.abs(before + after - all) <= 3, `from then on are ${after} ms, the rest of ${all}`);
await page.click('#whole');
near(await status(), all, 'the whole time once more');

// The heat map: the busiest cell has the amount that a click on it shows.
const heat = page.locator('#heat');
await heat.scrollIntoViewIfNeeded();
const [, busyFrom, busyText] = (await page.textContent('#heatHelp')).match(/busiest moment is ([\d.]+) to [\d.]+ s: (.*?)\. Drag/);
const [span, size] = [Number((await page.textContent('#heatHelp')).match(/^Each column is ([\d.]+) s/)[1]), await heat.boundingBox()];
const cellAt = (seconds, columns) => {
  const column = Math.floor(seconds / span), row = Math.round((seconds - column * span) / span * 40);
  return { x: (column + 0.5) * size.width / columns, y: size.height * (1 - (row + 0.5) / 40) };
};
const columns = Math.ceil(Number(await page.getAttribute('#to', 'placeholder')) / span);
// What is below the table of methods moves when a part is chosen, so the text is read before.
await heat.hover({ position: cellAt(Number(busyFrom), columns) });
check((await page.textContent('#cell')).endsWith(busyText), `the busiest cell is where it is said to be: ${busyText}`);
await heat.click({ position: cellAt(Number(busyFrom), columns) });
check(Math.abs(millis(await status()) - millis(busyText)) <= 2, `a click on it shows its ${busyText}: "${await status()}"`);
await page.click('#whole');
near(await status(), all, 'the whole time after the heat map');
// What is typed is kept as it is.
await page.fill('#from', '0.1234');
await page.locator('#from').press('Enter');
check((await page.inputValue('#from')) === '0.1234', `a typed time is not rounded: ${await page.inputValue('#from')}`);
await page.click('#whole');

// The focus stays on the same method when a choice draws the table anew.
await page.fill('#search', SORT);
await page.locator('#methods tbody button').first().press('Enter');
const focused = await page.evaluate(() => document.activeElement.closest('#methods') && document.activeElement.title);
check(focused && focused.includes(SORT), `the chosen method keeps the focus: ${focused}`);
await page.locator('#callers button').first().press('Enter');
check((await page.evaluate(() => document.activeElement.id)) === 'around', 'the focus goes to what was chosen');
await page.click('#close');
await page.fill('#search', '');

// Sorted as the column is shown: by the uncertain share.
await header('uncertain').locator('button').click();
const uncertainShares = (await page.locator('#methods tbody tr td:nth-child(2)').allTextContents()).map(text => parseFloat(text) || 0);
check(uncertainShares.every((share, at) => !at || share <= uncertainShares[at - 1]), `sorted by the uncertain share: ${uncertainShares.slice(0, 4)}`);
await header('self').locator('button').click();

const refuted = report.refutations[0];
const row = page.locator('#refutations tr').first();
check((await row.textContent()).startsWith(`#${refuted.number}${refuted.count} ×${refuted.kind}`), 'what is refuted most often comes first');
await row.locator('summary').click();
check(await row.locator('pre').first().isVisible(), 'its stack opens');
check(!wrong.length, `nothing is asked for and nothing complained of: ${wrong}`);

// The same page with 100,000 different stacks. Their names look like parts of a page.
const text = readFileSync(join(folder, 'page.html'), 'utf8');
const [begin, end] = ['<script id="data" type="application/json">', '</script>'];
const from = text.indexOf(begin) + begin.length, to = text.indexOf(end, from);
const big = JSON.parse(text.slice(from, to));
const count = 100_000, depth = 20;
big.names = ['<img src=x onerror=alert(1)>', ...Array.from({ length: 5000 }, (_, at) => `com.example.Class${at}.method`)];
big.functions = { name: big.names.map((_, at) => at), kind: big.names.map(() => 1) };
big.stacks = { above: [], function: [], state: '' };
const tops = [];
for (let number = 0; number < count; number++) {
  // The first frames are shared, the last ones are not.
  let parent = number < 64 ? -1 : (number % 64) * depth + 9;
  for (let at = number < 64 ? 0 : 10; at < depth; at++) {
    const row = big.stacks.above.length;
    big.stacks.above.push(parent < 0 ? 0 : row - parent);
    big.stacks.function.push(number === 0 && at === 0 ? 0 : 1 + (number * 31 + at * 7919) % 5000);
    parent = row;
  }
  tops.push(parent);
}
big.stacks.state = 'a'.repeat(big.stacks.above.length);
big.threads = [{ name: '<b>thread</b>', stack: tops, weight: tops.map(() => 1), time: tops.map(() => 100) }];
writeFileSync(join(folder, 'big.html'), text.slice(0, from) + JSON.stringify(big).replaceAll('<', '\\u003c') + text.slice(to));
const large = await open('big.html');
near(await large.status(), count, '100,000 stacks');
await large.page.fill('#search', '/^com\\.example\\.Class7\\.method$/');
check(millis((await large.status()).split('·')[1]) > 0, 'a search in them');
await large.page.check('#invert');
near(await large.status(), count, 'from the leaves');
await large.page.uncheck('#invert');
await large.click(over => over.includes('com.example.Class'));
check((await large.status()).includes(' in com.example.Class') || (await large.status()).includes(' in <img'), `zoomed: "${await large.status()}"`);
check(!large.wrong.length && !(await large.page.locator('img, #tracks b').count()), `no name is taken for markup: ${large.wrong}`);

// `vouch view` with a local front-end: its page reads the profile. A page of another origin can
// neither read nor load it.
mkdirSync(join(folder, 'ui'));
writeFileSync(join(folder, 'ui', 'index.html'), '<title>a front-end</title>');
const view = await served(vouch, join(folder, 'page.json'), join(folder, 'ui'));
const profile = decodeURIComponent(view.address.split('/from-url/')[1]);
const stranger = createServer((_, answer) => answer.end('<title>a stranger</title>'));
await once(stranger.listen(0, '127.0.0.1'), 'listening');
const visit = async url => {
  const visitor = await browser.newPage();
  await visitor.goto(url);
  return visitor;
};
const read = visitor => visitor.evaluate(url => fetch(url).then(answer => answer.json()).then(profile => profile.meta.product, () => null), profile);
const load = visitor => visitor.evaluate(url => new Promise(resolve => {
  const script = document.createElement('script');
  script.src = url;
  script.onload = () => resolve('loaded');
  script.onerror = () => resolve('refused');
  document.head.append(script);
}), profile);
const own = await visit(view.address), other = await visit(`http://127.0.0.1:${stranger.address().port}/`);
check((await own.title()) === 'a front-end' && (await read(own)) !== null, 'the front-end that vouch view serves reads the profile');
check((await read(other)) === null && (await load(other)) === 'refused', 'a page of another origin does not');
view.end();
stranger.close();
await browser.close();
