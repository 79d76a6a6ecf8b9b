// The heat map: a column for each second or more, and a row for each part of it. It shows moments
// with much work, and how regular they are.
const HEAT_ROWS = 40, NARROWEST = 3, SPANS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600];
let cells = null;

// The weights of what is shown, by cell, in the whole time and not only in the chosen part.
function heatCells(width) {
  const most = Math.max(1, Math.floor(width / NARROWEST));
  const span = 1e6 * (SPANS.find(seconds => end / 1e6 / seconds <= most) || Math.ceil(end / 1e6 / most));
  const columns = Math.ceil(end / span), weights = new Float64Array(columns * HEAT_ROWS);
  threads.forEach((thread, number) => {
    if (shown.threads && !shown.threads.has(number)) return;
    let time = 0;
    thread.stack.forEach((stack, at) => {
      time += thread.time[at];
      if (isShown(stack)) weights[Math.min(weights.length - 1, Math.floor(time / span * HEAT_ROWS))] += thread.weight[at];
    });
  });
  return { span, columns, weights, wide: width / columns };
}
const heatTime = cell => cell * cells.span / HEAT_ROWS;

function heat() {
  const canvas = element('heat'), ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width) return;
  cells = heatCells(width);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const context = canvas.getContext('2d'), high = height / HEAT_ROWS, largest = cells.weights.reduce((one, other) => Math.max(one, other), 0);
  context.scale(ratio, ratio);
  cells.weights.forEach((weight, cell) => {
    if (!weight) return;
    const column = Math.floor(cell / HEAT_ROWS), row = cell % HEAT_ROWS;
    const chosen = !shown.range || (heatTime(cell) < shown.range[1] && heatTime(cell + 1) > shown.range[0]);
    context.fillStyle = chosen ? '#c9252d' : '#8a8a93';
    context.globalAlpha = 0.15 + 0.85 * weight / largest;
    context.fillRect(column * cells.wide, height - (row + 1) * high, Math.max(1, cells.wide - 0.5), Math.max(1, high - 0.5));
  });
  const busiest = cells.weights.indexOf(largest);
  element('heatHelp').textContent = `Each column is ${cells.span / 1e6} s, from its beginning at the bottom to its end; the stronger the colour, the more work. The busiest moment is ${heatText(busiest)}. Drag to choose a part.`;
  canvas.setAttribute('aria-label', `Heat map of the time. ${element('heatHelp').textContent}`);
}
const heatText = cell => `${(heatTime(cell) / 1e6).toFixed(3)} to ${(heatTime(cell + 1) / 1e6).toFixed(3)} s: ${amount(cells.weights[cell])}`;

function listenToHeat() {
  const canvas = element('heat');
  let from = null;
  const at = event => {
    const column = Math.floor(event.offsetX / cells.wide), row = HEAT_ROWS - 1 - Math.floor(event.offsetY / canvas.clientHeight * HEAT_ROWS);
    const inside = value => Math.max(0, Math.min(cells.weights.length - 1, value));
    return inside(column * HEAT_ROWS + Math.max(0, Math.min(HEAT_ROWS - 1, row)));
  };
  canvas.onpointermove = event => { element('cell').textContent = heatText(at(event)); };
  canvas.onpointerleave = () => { element('cell').textContent = ''; };
  canvas.onpointerdown = event => { from = at(event); canvas.setPointerCapture(event.pointerId); };
  canvas.onpointercancel = () => { from = null; };
  canvas.onpointerup = event => {
    if (from === null) return;
    const to = at(event), one = from;
    from = null;
    choosePart(heatTime(Math.min(one, to)), Math.min(end, heatTime(Math.max(one, to) + 1)));
  };
}
