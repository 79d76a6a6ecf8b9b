// What is chosen, and the tree of the chosen samples.
const NODES = 1000000;

// The threads (null: all), fates and part of the time in µs (null: the whole time) that are shown;
// whether top methods that are a guess are; which way up; the root of the picture.
const shown = { threads: null, fates: new Set(FATES.keys()), guesses: true, range: null, inverted: false, search: null, root: 0 };
let tree = null;

// True if the stack is possible, and its top method is a guess.
const isGuess = stack => stacks.uncertain[stack] === 1 && FATES[stacks.fate[stack]] !== 'refuted';

const isShown = stack => shown.fates.has(stacks.fate[stack]) && (shown.guesses || !isGuess(stack));

// The weight of each stack among what is shown.
function weigh() {
  const weights = new Float64Array(stacks.function.length);
  let sum = 0;
  threads.forEach((thread, number) => {
    if (shown.threads && !shown.threads.has(number)) return;
    let time = 0;
    thread.stack.forEach((stack, at) => {
      time += thread.time[at];
      if (shown.range && (time < shown.range[0] || time > shown.range[1])) return;
      if (!isShown(stack)) return;
      weights[stack] += thread.weight[at];
      sum += thread.weight[at];
    });
  });
  return { weights, sum };
}

// Columns of nodes; 0 is the root of all. Callers come before callees.
function grow() {
  const { weights, sum } = weigh();
  const grown = { parent: [-1], function: [-1], total: [sum], self: [0], guess: [0], children: [undefined], sum, cut: 0 };
  const child = (parent, called) => {
    const children = grown.children[parent] ||= new Map();
    let node = children.get(called);
    if (node === undefined) {
      node = grown.parent.length;
      children.set(called, node);
      grown.parent.push(parent);
      grown.function.push(called);
      grown.total.push(0);
      grown.self.push(0);
      grown.guess.push(0);
      grown.children.push(undefined);
    }
    return node;
  };
  // The weight of each stack with all stacks that it is the beginning of.
  const above = Float64Array.from(weights);
  for (let stack = above.length - 1; stack >= 0; stack--) {
    if (stacks.parent[stack] >= 0) above[stacks.parent[stack]] += above[stack];
  }
  if (shown.inverted) {
    // All stacks go one step outwards at a time. Inverted stacks share little, so the last steps
    // may be left out.
    let active = [];
    weights.forEach((weight, stack) => { if (weight) active.push([stack, stack, 0]); });
    for (let depth = 0; active.length; depth++) {
      if (grown.parent.length + active.length > NODES) { grown.cut = depth; break; }
      active = active.filter(one => {
        const [stack, at, node] = one;
        one[2] = child(node, stacks.function[at]);
        grown.total[one[2]] += weights[stack];
        if (depth === 0) {
          grown.self[one[2]] += weights[stack];
          if (stacks.uncertain[stack]) grown.guess[one[2]] += weights[stack];
        }
        one[1] = stacks.parent[at];
        return one[1] >= 0;
      });
    }
  } else {
    const node = new Int32Array(weights.length);
    above.forEach((weight, stack) => {
      if (!weight) return;
      const parent = stacks.parent[stack];
      node[stack] = child(parent < 0 ? 0 : node[parent], stacks.function[stack]);
      grown.total[node[stack]] += weight;
      grown.self[node[stack]] += weights[stack];
      if (stacks.uncertain[stack]) grown.guess[node[stack]] += weights[stack];
    });
  }
  grown.weights = weights;
  grown.above = above;
  return grown;
}

// A function for each search: whether a function's name matches.
let found = null;
function search(text) {
  const regex = text.match(/^\/(.+)\/$/), lower = text.toLowerCase();
  let test = whole => whole.toLowerCase().includes(lower);
  if (regex) {
    // Half of a regular expression is no mistake: the user is still typing.
    try { const wanted = new RegExp(regex[1], 'i'); test = whole => wanted.test(whole); } catch { test = () => false; }
  }
  shown.search = text ? test : null;
  const byName = text ? names.map(test) : null;
  found = text ? Uint8Array.from(functions.name, name => (byName[name] ? 1 : 0)) : null;
}
const matches = called => found !== null && found[called] === 1;

// The weight of the shown stacks that have a matching function anywhere, or null without a search.
function matched() {
  if (!found) return null;
  const has = new Uint8Array(stacks.function.length);
  let sum = 0;
  for (let stack = 0; stack < has.length; stack++) {
    const parent = stacks.parent[stack];
    has[stack] = (parent >= 0 && has[parent]) || matches(stacks.function[stack]) ? 1 : 0;
    if (has[stack]) sum += tree.weights[stack];
  }
  return sum;
}
