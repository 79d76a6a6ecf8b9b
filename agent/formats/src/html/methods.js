// The table of methods.
const METHODS = 25;

// True for a stack if no caller of its leaf has the same name. It visits callers before callees,
// and a stack's callees before its next sibling.
const outermost = (() => {
  const count = stacks.function.length, outer = new Uint8Array(count), below = new Int32Array(names.length);
  const first = new Int32Array(count).fill(-1), next = new Int32Array(count).fill(-1);
  let root = -1;
  for (let stack = count - 1; stack >= 0; stack--) {
    const parent = stacks.parent[stack];
    if (parent < 0) { next[stack] = root; root = stack; } else { next[stack] = first[parent]; first[parent] = stack; }
  }
  for (let stack = root; stack >= 0;) {
    const called = functions.name[stacks.function[stack]];
    outer[stack] = below[called] === 0 ? 1 : 0;
    if (first[stack] >= 0) { below[called]++; stack = first[stack]; continue; }
    while (stack >= 0 && next[stack] < 0) {
      stack = stacks.parent[stack];
      if (stack >= 0) below[functions.name[stacks.function[stack]]]--;
    }
    if (stack >= 0) stack = next[stack];
  }
  return outer;
})();

function methods() {
  const self = new Float64Array(names.length), total = new Float64Array(names.length), uncertain = new Float64Array(names.length);
  const above = Float64Array.from(tree.weights);
  for (let stack = above.length - 1; stack >= 0; stack--) {
    if (!above[stack]) continue;
    const called = functions.name[stacks.function[stack]];
    self[called] += tree.weights[stack];
    if (stacks.uncertain[stack]) uncertain[called] += tree.weights[stack];
    if (outermost[stack]) total[called] += above[stack];
    if (stacks.parent[stack] >= 0) above[stacks.parent[stack]] += above[stack];
  }
  const order = [...self.keys()].filter(called => self[called]).sort((one, other) => self[other] - self[one]);
  const body = element('methods').tBodies[0];
  body.replaceChildren();
  for (const called of order.slice(0, METHODS)) {
    const row = make('tr', undefined, body);
    make('td', `${amount(self[called])}  ${percent(self[called], tree.sum)}`, row).className = 'number';
    make('td', uncertain[called] ? percent(uncertain[called], self[called]) : '', row).className = 'number';
    make('td', `${amount(total[called])}  ${percent(total[called], tree.sum)}`, row).className = 'number';
    make('td', names[called], row).className = 'mono';
  }
}

