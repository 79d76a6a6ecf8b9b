// The callers and callees of the chosen method. They are counted as `vouch top --callers` does: a
// sample counts once for each method that calls the chosen one, or that it calls.
const NEIGHBOURS = 25, NO_CALLER = '[no caller: the outermost frame]', NO_CALLEE = '[no callee: the method itself]';
// The index of the chosen method's name, or null.
let selected = null;

function select(name) {
  selected = name;
  methods();
  neighbours();
}

const nameAt = stack => functions.name[stacks.function[stack]];

// True if an outer call in this stack is between the same two methods.
function repeated(stack, caller, callee) {
  for (let at = stacks.parent[stack]; at >= 0; at = stacks.parent[at]) {
    const outer = stacks.parent[at];
    if (nameAt(at) === callee && (outer < 0 ? -1 : nameAt(outer)) === caller) return true;
  }
  return false;
}

// The weights of callers and callees by name; -1 is for no caller, or for the method itself.
function countNeighbours() {
  const callers = new Map(), callees = new Map();
  const add = (map, name, weight) => { if (weight) map.set(name, (map.get(name) || 0) + weight); };
  for (let stack = 0; stack < tree.above.length; stack++) {
    if (!tree.above[stack]) continue;
    const parent = stacks.parent[stack], caller = parent < 0 ? -1 : nameAt(parent), callee = nameAt(stack);
    if (callee !== selected && caller !== selected) continue;
    if (callee === selected) add(callees, -1, tree.weights[stack]);
    if (repeated(stack, caller, callee)) continue;
    if (callee === selected) add(callers, caller, tree.above[stack]);
    if (caller === selected) add(callees, callee, tree.above[stack]);
  }
  return { callers, callees };
}

function neighbours() {
  element('around').hidden = selected === null;
  if (selected === null) return;
  const { total = 0, self = 0 } = listed.find(({ name }) => name === selected) || {};
  element('selected').textContent = names[selected];
  element('selectedAmounts').textContent = `total ${amount(total)} (${percent(total, tree.sum)}), self ${amount(self)} (${percent(self, tree.sum)})`;
  const { callers, callees } = countNeighbours();
  list('callers', callers, total, NO_CALLER);
  list('callees', callees, total, NO_CALLEE);
}

function list(id, weights, total, none) {
  const body = element(id).tBodies[0];
  body.replaceChildren();
  const rows = [...weights].sort(([, one], [, other]) => other - one);
  for (const [name, weight] of rows.slice(0, NEIGHBOURS)) {
    const row = make('tr', undefined, body);
    cell(row, amount(weight));
    cell(row, percent(weight, total));
    const method = make('td', undefined, row);
    if (name < 0) make('span', none, method).className = 'mono';
    else methodButton(method, names[name], () => { select(name); element('around').focus(); });
  }
  if (rows.length > NEIGHBOURS) make('td', `${rows.length - NEIGHBOURS} more`, make('tr', undefined, body)).colSpan = 3;
}

function listenToNeighbours() {
  element('find').onclick = () => {
    const exact = names[selected].replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
    element('search').value = `/^${exact}$/`;
    element('search').oninput({ target: element('search') });
  };
  element('close').onclick = () => { select(null); element('flames').focus({ preventScroll: true }); };
}
