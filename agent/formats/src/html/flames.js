// The flame graph: drawing, the box under the pointer, zoom, and the keyboard.
const ROW = 18, SMALLEST = 0.4, TALLEST = 32000, CALLERS = 40, SHADES = 4;
const MATCH = '#d98cff', FADED = 0.65;
let boxes = [];
// The node that the keyboard or the pointer has chosen, and the roots before the last zooms.
let chosen = null, visited = [];

// Shades of each kind's colour, so that boxes side by side differ.
const lighter = (values, part) => values.map(value => Math.round(value + (255 - value) * part));
const shades = kinds.map((_, kind) => {
  const base = [1, 3, 5].map(at => parseInt(colourOf(kind).slice(at, at + 2), 16));
  return Array.from({ length: SHADES }, (_, shade) => lighter(base, shade * 0.11));
});
// A box that no search has found is light, not transparent, so that its name can be read on any
// background.
const colourOfBox = (called, faded) => {
  const shade = shades[functions.kind[called]][(called * 7) % SHADES];
  return `rgb(${(faded ? lighter(shade, FADED) : shade).join(' ')})`;
};

// Boxes from the root of the picture: its callers first, each as wide as the whole.
function layout(width) {
  const rows = [];
  const add = (node, x, wide, row) => { (rows[row] ||= []).push({ node, x, wide, row }); };
  const path = [];
  for (let node = shown.root; node > 0; node = tree.parent[node]) path.push(node);
  path.reverse();
  // Only the last callers, so that the chosen box is in sight.
  if (path.length > CALLERS) path.splice(0, path.length - CALLERS);
  path.forEach((node, row) => add(node, 0, width, row));
  const left = [[shown.root, 0, width, path.length]];
  // Row after row, so that the boxes of a row are in order.
  for (let next = 0; next < left.length; next++) {
    const [node, x, wide, row] = left[next];
    const scale = wide / (tree.total[node] || 1);
    let at = x;
    for (const child of childrenOf(node)) {
      const size = tree.total[child] * scale;
      if (size < SMALLEST) break;
      add(child, at, size, row);
      left.push([child, at, size, row + 1]);
      at += size;
    }
  }
  return rows;
}
const childrenOf = node => [...(tree.children[node] || []).values()].sort((one, other) => tree.total[other] - tree.total[one]);

function flames() {
  const canvas = element('flames'), ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
  boxes = layout(width);
  // A canvas has a largest height. Deeper rows are counted below it.
  const seen = Math.min(boxes.length, Math.floor(TALLEST / ratio / ROW));
  element('deep').textContent = seen < boxes.length ? `${boxes.length - seen} more rows are below: click on a box to see what it calls` : '';
  boxes.length = seen;
  const height = Math.max(1, seen) * ROW;
  canvas.style.height = height + 'px';
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  context.font = '12px ui-monospace, monospace';
  context.textBaseline = 'middle';
  const letter = context.measureText('m').width;
  for (const row of boxes) for (const box of row || []) drawBox(context, box, letter);
}

function drawBox(context, { node, x, wide, row }, letter) {
  const called = tree.function[node], top = row * ROW, hit = matches(called);
  const faded = found !== null && !hit;
  context.fillStyle = hit ? MATCH : colourOfBox(called, faded);
  context.fillRect(x, top, Math.max(SMALLEST, wide - 0.5), ROW - 1);
  if (wide > 4 && tree.guess[node] * 2 > tree.self[node]) hatch(context, x, top, wide - 0.5);
  const text = fitting(called, Math.floor((wide - 6) / letter));
  if (text) {
    context.fillStyle = faded ? '#555' : '#000';
    context.fillText(text, x + 3, top + ROW / 2);
  }
  if (node === chosen) {
    context.strokeStyle = '#000';
    context.lineWidth = 2;
    context.strokeRect(x + 1, top + 1, Math.max(1, wide - 2.5), ROW - 3);
  }
}

// Marks a box with a method that is a guess, by lines along its lower edge.
function hatch(context, x, top, wide) {
  context.fillStyle = '#333';
  for (let at = 0; at < wide; at += 4) context.fillRect(x + at, top + ROW - 3, Math.min(2, wide - at), 2);
}

// The longest form of a name that has at most this many letters.
function fitting(called, letters) {
  if (letters < 3) return '';
  const all = formsOf(called), last = all[all.length - 1];
  return all.find(form => form.length <= letters) || last.slice(0, letters - 1) + '…';
}

function describe(node) {
  const called = tree.function[node];
  const self = shown.inverted ? '' : `, self ${amount(tree.self[node])}`;
  const guess = tree.guess[node] ? `, ${percent(tree.guess[node], tree.self[node])} of self uncertain` : '';
  return `${name(called)} · ${amount(tree.total[node])} (${percent(tree.total[node], tree.sum)})${self}${guess} · ${kinds[functions.kind[called]][0]}`;
}

const say = node => { element('over').textContent = node ? describe(node) : ''; };

function zoom(node) {
  if (node === shown.root) return;
  visited.push(shown.root);
  shown.root = node;
  chosen = node || null;
  redraw();
}
function back() {
  if (!visited.length) return;
  shown.root = visited.pop();
  chosen = shown.root || null;
  redraw();
  say(chosen);
}

function under(event) {
  const row = boxes[Math.floor(event.offsetY / ROW)] || [];
  return row.find(({ x, wide }) => event.offsetX >= x && event.offsetX < x + wide);
}

// The box beside, above or below the chosen one.
function neighbour(key) {
  const first = (boxes.find(row => row) || [])[0];
  if (!chosen) return first && first.node;
  const at = boxes.flat().find(box => box && box.node === chosen);
  if (!at) return first && first.node;
  const row = boxes[at.row], column = row.indexOf(at);
  if (key === 'ArrowLeft' || key === 'ArrowRight') return (row[column + (key === 'ArrowLeft' ? -1 : 1)] || at).node;
  if (key === 'ArrowUp') return tree.parent[chosen] > 0 ? tree.parent[chosen] : chosen;
  // A callee that is too narrow to be drawn cannot be chosen.
  const below = (boxes[at.row + 1] || []).find(({ node }) => tree.parent[node] === chosen);
  return below ? below.node : chosen;
}

// Scrolls to the row of the chosen box.
function reveal() {
  const picture = element('picture'), row = boxes.findIndex(row => row && row.some(({ node }) => node === chosen));
  const top = row * ROW, { scrollTop, clientHeight } = picture;
  if (top < scrollTop) picture.scrollTop = top;
  else if (top + ROW > scrollTop + clientHeight) picture.scrollTop = top + ROW - clientHeight;
}

function listenToFlames() {
  const canvas = element('flames');
  canvas.onpointermove = event => {
    const box = under(event);
    say(box && box.node);
  };
  canvas.onpointerleave = () => say(chosen);
  canvas.onclick = event => {
    const box = under(event);
    if (!box) return;
    zoom(box.node);
    select(functions.name[tree.function[box.node]]);
  };
  canvas.onkeydown = event => {
    if (event.key === 'Enter' && chosen) {
      select(functions.name[tree.function[chosen]]);
      zoom(chosen);
    } else if (event.key.startsWith('Arrow')) {
      chosen = neighbour(event.key) || null;
      flames();
      reveal();
      say(chosen);
    } else return;
    event.preventDefault();
  };
  document.addEventListener('keydown', event => {
    if (event.target.matches('input, select')) return;
    if (event.key === 'Escape' || event.key === 'Backspace') back();
    else if (event.key === '/') { element('search').focus(); event.preventDefault(); }
  });
}
