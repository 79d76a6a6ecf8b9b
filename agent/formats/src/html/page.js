// The rest of the page: what it says first, what may be switched, and what is refuted.
const REFUTED = 10;
// What the legend calls kinds of functions, where their names alone would be unclear.
const LEGEND = { JVM: 'JVM (called by the program)', VM: 'JVM threads' };

function summary() {
  document.title = meta.product + ' · Vouch';
  element('product').textContent = meta.product;
  element('command').textContent = meta.command;
  element('bar').replaceChildren();
  element('fates').replaceChildren();
  const weights = FATES.map(() => 0);
  let guesses = 0;
  for (const thread of threads) {
    thread.stack.forEach((stack, at) => {
      weights[stacks.fate[stack]] += thread.weight[at];
      if (isGuess(stack)) guesses += thread.weight[at];
    });
  }
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  FATES.forEach((fate, at) => {
    if (!weights[at]) return;
    const part = make('div', undefined, element('bar'));
    part.style.width = 100 * weights[at] / all + '%';
    part.style.background = FATE_COLOURS[at];
    part.title = `${fate} ${percent(weights[at], all)}`;
    const swatch = choice(fate, `${fate} ${percent(weights[at], all)}`, shown.fates.has(at), on => shown.fates[on ? 'add' : 'delete'](at));
    swatch.style.background = FATE_COLOURS[at];
  });
  if (guesses) choice('guess', `top method uncertain ${percent(guesses, all)}`, shown.guesses, on => { shown.guesses = on; }).classList.add('guess');
}

// A box that shows or hides samples. Returns the swatch before its text.
function choice(key, text, checked, change) {
  const label = make('label', undefined, element('fates'));
  const box = make('input', undefined, label);
  box.type = 'checkbox';
  box.checked = checked;
  box.dataset.fate = key;
  box.onchange = () => { change(box.checked); refresh(); };
  const swatch = make('span', undefined, label);
  swatch.className = 'swatch';
  label.append(text);
  return swatch;
}

// The kinds of functions with samples, each with its colour and its share of self.
function legend() {
  const sums = kinds.map(() => 0);
  tree.weights.forEach((weight, stack) => { sums[functions.kind[stacks.function[stack]]] += weight; });
  const present = new Set(tree.function.slice(1).map(called => functions.kind[called]));
  element('legend').replaceChildren();
  [...present].sort((one, other) => sums[other] - sums[one]).forEach(kind => {
    const entry = make('span', undefined, element('legend'));
    entry.setAttribute('role', 'listitem');
    const swatch = make('span', undefined, entry);
    swatch.className = 'swatch';
    swatch.style.background = colourOf(kind);
    entry.append(`${LEGEND[kinds[kind][0]] || kinds[kind][0]} ${percent(sums[kind], tree.sum)}`);
    entry.title = 'share of self';
  });
}

function panel() {
  for (const [name, value] of data.panel) { make('dt', name, element('panel')); make('dd', value, element('panel')); }
}

// The choice of the measure; a page with one measure has none.
function choices() {
  element('measures').hidden = measures.length < 2;
  for (const { key, name } of measures) {
    const choice = make('option', name, element('measure'));
    choice.value = key;
    choice.selected = key === measure.key;
  }
  element('measure').onchange = event => {
    measure = measures.find(({ key }) => key === event.target.value);
    show();
  };
}

function refutations() {
  element('refuted').hidden = !data.refutations.length;
  const rest = element('rest');
  rest.hidden = data.refutations.length <= REFUTED;
  rest.textContent = `${data.refutations.length - REFUTED} more`;
  rest.onclick = () => {
    rest.hidden = true;
    element('refutations').querySelectorAll('tr').forEach(row => { row.hidden = false; });
  };
  for (const [place, one] of data.refutations.entries()) {
    const row = make('tr', undefined, element('refutations').tBodies[0]);
    row.hidden = place >= REFUTED;
    make('td', '#' + one.number, row).className = 'number';
    make('td', one.count + ' ×', row).className = 'number';
    make('td', one.kind, row);
    const details = make('details', undefined, make('td', undefined, row));
    make('summary', one.caller ? `${one.caller} at bci ${one.bci}: ${one.expected}${one.found ? '; the walk claimed ' + one.found : ''}` : one.expected + ' ' + one.found, details).className = 'mono';
    make('pre', one.stack.map((frame, at) => (at === one.at ? '→ ' : '  ') + frame).join('\n'), details).className = 'mono';
    if (one.code.length) make('pre', one.code.join('\n'), details).className = 'mono';
  }
}

function report() {
  const of = shown.root ? `${amount(tree.total[shown.root])} (${percent(tree.total[shown.root], tree.sum)}) in ${name(tree.function[shown.root])} of ` : '';
  const found = matched();
  element('status').textContent = `${of}${amount(tree.sum)}${found === null ? '' : ` · ${amount(found)} (${percent(found, tree.sum)}) match`}${tree.cut ? ` · the first ${tree.cut} callers of each` : ''}`;
  element('out').hidden = !shown.root;
  element('whole').hidden = !shown.range;
  // Exact, since the other end may be typed next.
  ['from', 'to'].forEach((id, at) => { element(id).value = shown.range ? String(Math.round(shown.range[at]) / 1e6) : ''; });
  element('when').textContent = shown.range ? `${(shown.range[0] / 1e6).toFixed(2)} to ${(shown.range[1] / 1e6).toFixed(2)} s` : '';
}

function redraw() { flames(); report(); }
function refresh() {
  element('over').textContent = '';
  shown.root = 0;
  chosen = null;
  visited = [];
  tree = grow();
  heat();
  legend();
  redraw();
  count();
  methods();
  neighbours();
}

let drawTracks;
function show() {
  threads = data.threads.map(thread => ({ name: thread.name, ...samplesOf(thread, measure.key), amounts: undefined }));
  summary();
  drawTracks = timeline();
  refresh();
}

element('out').onclick = () => { visited = []; shown.root = 0; chosen = null; redraw(); };
element('invert').onchange = event => { shown.inverted = event.target.checked; refresh(); };
element('search').oninput = event => { search(event.target.value); visible = METHODS; redraw(); methods(); };
window.addEventListener('resize', () => { drawTracks(); heat(); redraw(); });
listenToFlames();
listenToMethods();
listenToNeighbours();
listenToHeat();
panel();
choices();
refutations();
show();
