// The profile: its tables as arrays, its measures, and amounts and names as texts.
// A name is data: it must reach the page as text only, never as HTML.
'use strict';
const element = id => document.getElementById(id);
const make = (tag, text, parent) => {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
};

const data = JSON.parse(element('data').textContent);
const { names, functions, kinds, meta } = data;
const FATES = ['proven', 'plausible', 'refuted', 'unwalked', 'outside', 'dropped'];
const FATE_COLOURS = ['#3a9d5d', '#a3b93a', '#d33c3c', '#888888', '#6f8fb5', '#444444'];
// The Firefox Profiler's colours of categories, light enough for black text.
const COLOURS = {
  yellow: '#f5d54a', green: '#8fd171', blue: '#7db4f7', lightblue: '#a9dcf0', orange: '#dba552', gc: '#f4906c', jit: '#f7bd7e',
  darkgrey: '#b1b1ba', red: '#f28585', purple: '#c9a4f0', brown: '#cfa986', magenta: '#f09ee0', transparent: '#dde2ea', grey: '#cfcfd4',
};
const colourOf = kind => COLOURS[kinds[kind][1]] || COLOURS.grey;

// Stacks: the row of the caller (-1 for a root), the function, the fate and whether the top method
// is a guess. A row is after its caller's row.
const stacks = (() => {
  const { above, function: called, state } = data.stacks;
  const parent = Int32Array.from(above, (distance, row) => (distance ? row - distance : -1));
  const letters = Uint8Array.from(state, letter => letter.charCodeAt(0) - 97);
  return { parent, function: Int32Array.from(called), fate: letters.map(letter => letter >> 1), uncertain: letters.map(letter => letter & 1) };
})();

const NONE = { stack: [], weight: [], time: [] };
const samplesOf = (thread, key) => (key === 'cpu' ? thread : (thread.amounts || {})[key] || NONE);
// CPU time can always be chosen, another measure only if it was recorded.
const measures = data.measures.filter(({ key }) => key === 'cpu' || data.threads.some(thread => samplesOf(thread, key).stack.length));
let measure = measures.find(({ key }) => key === data.measure) || measures[0];
// The threads with their samples of the chosen measure.
let threads;

const SIZES = [[2 ** 40, 'TB'], [2 ** 30, 'GB'], [2 ** 20, 'MB'], [2 ** 10, 'kB'], [1, 'B']];
const amount = weight => {
  // Samples of another profiler need not count time.
  if (measure.unit === 'samples' || measure.unit === 'events') return `${weight.toLocaleString('en')} ${measure.unit}`;
  if (measure.unit === 'bytes') {
    const [size, unit] = SIZES.find(([size]) => weight >= size) || SIZES.at(-1);
    return `${(weight / size).toFixed(size > 1 ? 1 : 0)} ${unit}`;
  }
  const ms = weight * measure.each;
  return ms >= 1e4 ? (ms / 1e3).toFixed(1) + ' s' : ms.toFixed(ms < 10 ? 1 : 0) + ' ms';
};
const percent = (part, all) => (all ? 100 * part / all : 0).toFixed(1) + ' %';

const name = called => names[functions.name[called]];

// The forms of a function's name, from the whole to the shortest: `java.util.HashMap.get`,
// `HashMap.get`, `get`; `libjvm.so!Foo::bar`, `Foo::bar`, `bar`.
const forms = [];
function formsOf(called) {
  return forms[called] ||= shortened(name(called), kinds[functions.kind[called]][0]);
}
function shortened(whole, kind) {
  if (whole.startsWith('[')) return [whole];
  const symbol = whole.indexOf('!') + 1;
  if (symbol) {
    const short = whole.slice(symbol), scope = short.split(/[(<]/)[0].lastIndexOf('::');
    return [whole, short, scope < 0 ? short : short.slice(scope + 2)];
  }
  const end = whole.search(/[(/ ]/), head = end < 0 ? whole : whole.slice(0, end), tail = whole.slice(head.length);
  const parts = head.split('.');
  const last = count => parts.slice(-count).join('.') + tail;
  return kind === 'Allocated class' ? [whole, last(1)] : [whole, last(2), last(1)];
}
