// The table of methods: sorted by a column, limited by the search, and with a method to choose.
const METHODS = 25, MORE_METHODS = 200;
// Each column's value for a method, as it is shown; names begin with the first letter, amounts with
// the largest.
const COLUMNS = {
  self: method => method.self,
  uncertain: method => method.uncertain / (method.self || 1),
  total: method => method.total,
  name: method => names[method.name],
};
let listed = [], sorted = { column: 'self', up: false }, visible = METHODS;

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

// The methods of what is shown, by name.
function count() {
  const self = new Float64Array(names.length), total = new Float64Array(names.length), uncertain = new Float64Array(names.length);
  const { above } = tree;
  for (let stack = 0; stack < above.length; stack++) {
    if (!above[stack]) continue;
    const called = functions.name[stacks.function[stack]];
    self[called] += tree.weights[stack];
    if (stacks.uncertain[stack]) uncertain[called] += tree.weights[stack];
    if (outermost[stack]) total[called] += above[stack];
  }
  listed = [];
  total.forEach((amount, name) => { if (amount) listed.push({ name, self: self[name], total: amount, uncertain: uncertain[name] }); });
}

function compare(one, other) {
  const [a, b] = [one, other].map(COLUMNS[sorted.column]);
  const order = a < b ? -1 : a > b ? 1 : 0;
  return (sorted.up ? order : -order) || other.self - one.self || other.total - one.total;
}

function methods() {
  const wanted = listed.filter(({ name }) => !shown.search || shown.search(names[name])).sort(compare);
  const body = element('methods').tBodies[0];
  // The button with the focus is made anew, and the keyboard goes on from there.
  const focused = body.contains(document.activeElement) ? document.activeElement.title : null;
  body.replaceChildren();
  for (const method of wanted.slice(0, visible)) {
    const row = make('tr', undefined, body);
    cell(row, `${amount(method.self)}  ${percent(method.self, tree.sum)}`);
    cell(row, method.uncertain ? percent(method.uncertain, method.self) : '');
    cell(row, `${amount(method.total)}  ${percent(method.total, tree.sum)}`);
    methodButton(make('td', undefined, row), names[method.name], () => select(method.name));
    const button = row.querySelector('button');
    if (method.name === selected) button.setAttribute('aria-current', 'true');
    if (button.title === focused) button.focus({ preventScroll: true });
  }
  element('fewer').textContent = `${wanted.length.toLocaleString('en')} methods`;
  element('moreMethods').hidden = wanted.length <= visible;
  element('moreMethods').textContent = `${Math.min(MORE_METHODS, wanted.length - visible)} more methods`;
}

const cell = (row, text) => { make('td', text, row).className = 'number'; };

// A button with a method's name. Its package is cut off first if the name is too long.
function methodButton(parent, whole, choose) {
  const button = make('button', undefined, parent), short = shortened(whole, '')[1];
  button.className = 'method mono';
  button.title = whole;
  if (short) make('span', whole.slice(0, whole.length - short.length), button).className = 'package';
  make('span', short || whole, button).className = 'short';
  button.onclick = choose;
}

function listenToMethods() {
  const headers = [...element('methods').tHead.rows[0].cells];
  const mark = () => headers.forEach(header => {
    const { column } = header.dataset;
    header.setAttribute('aria-sort', column === sorted.column ? (sorted.up ? 'ascending' : 'descending') : 'none');
  });
  for (const header of headers) {
    header.firstElementChild.onclick = () => {
      const { column } = header.dataset;
      sorted = { column, up: column === sorted.column ? !sorted.up : column === 'name' };
      mark();
      methods();
    };
  }
  element('moreMethods').onclick = () => { visible += MORE_METHODS; methods(); };
  mark();
}
