// The threads over time, the choice of threads, and the choice of a part of the time.
const TRACKS = 12;

// The end of the recording in µs. It is one axis for all measures, so that a chosen part of the
// time stays what it is.
const end = data.threads.flatMap(thread => measures.map(({ key }) => samplesOf(thread, key).time.reduce((sum, delta) => sum + delta, 0)))
  .reduce((last, end) => Math.max(last, end), 1);
const choosePart = (from, to) => {
  shown.range = from > 0 || to < end ? [Math.round(from), Math.round(to)] : null;
  drawTracks();
  refresh();
};

function timeline() {
  let all = false;
  const rows = [];
  const draw = () => {
    rows.forEach(({ canvas, thread }) => {
      const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
      if (!width) return;
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      const context = canvas.getContext('2d');
      context.scale(ratio, ratio);
      const sums = FATES.map(() => new Float64Array(width));
      let time = 0;
      thread.stack.forEach((stack, at) => {
        time += thread.time[at];
        sums[stacks.fate[stack]][Math.min(width - 1, Math.floor(time / end * width))] += thread.weight[at];
      });
      // A bucket in which the thread ran all the time is as high as the track. If no time is
      // counted, the largest bucket is.
      const most = () => Math.max(...sums[0].map((_, x) => sums.reduce((sum, of) => sum + of[x], 0)));
      const full = measure.unit === 'ms' ? end / 1e3 / measure.each / width : most();
      for (let x = 0; x < width; x++) {
        let y = height;
        sums.forEach((sum, fate) => {
          if (!sum[x]) return;
          const high = Math.min(y, sum[x] / full * height);
          context.fillStyle = FATE_COLOURS[fate];
          context.fillRect(x, y - high, 1, high);
          y -= high;
        });
      }
      if (shown.range) {
        context.fillStyle = '#8886';
        const [from, to] = shown.range.map(time => time / end * width);
        context.fillRect(0, 0, from, height);
        context.fillRect(to, 0, width - to, height);
      }
    });
  };
  const tick = () => rows.forEach(({ box, number }) => { box.checked = !shown.threads || shown.threads.has(number); });
  const list = () => {
    element('tracks').replaceChildren();
    rows.length = 0;
    threads.slice(0, all ? threads.length : TRACKS).forEach((thread, number) => {
      const row = make('div', undefined, element('tracks'));
      row.className = 'track';
      const label = make('label', undefined, row);
      const box = make('input', undefined, label);
      box.type = 'checkbox';
      box.dataset.thread = thread.name;
      const choose = threads => { shown.threads = threads; tick(); refresh(); };
      box.onchange = () => {
        const chosen = new Set(shown.threads || threads.keys());
        chosen[box.checked ? 'add' : 'delete'](number);
        choose(chosen.size === threads.length ? null : chosen);
      };
      const only = make('button', 'only', row);
      only.dataset.only = thread.name;
      only.onclick = () => choose(new Set([number]));
      label.append(' ' + (thread.name.trim() || '(no name)'));
      label.title = thread.name;
      const canvas = make('canvas', undefined, row);
      rows.push({ canvas, thread, box, number });
      let from = null;
      const at = event => Math.max(0, Math.min(1, event.offsetX / canvas.clientWidth)) * end;
      canvas.onpointerdown = event => { from = at(event); canvas.setPointerCapture(event.pointerId); };
      canvas.onpointercancel = () => { from = null; };
      canvas.onpointerup = event => {
        if (from === null) return;
        const to = at(event);
        const one = from;
        from = null;
        if (Math.abs(to - one) < end / 500) choosePart(0, end);
        else choosePart(Math.min(one, to), Math.max(one, to));
      };
    });
    element('more').hidden = all || threads.length <= TRACKS;
    element('more').textContent = `${threads.length - TRACKS} more threads`;
    tick();
    draw();
  };
  // The part of the time by the keyboard; an empty field is the beginning or the end.
  const typed = () => {
    const seconds = id => element(id).valueAsNumber * 1e6;
    const from = seconds('from') || 0, to = seconds('to') || end;
    choosePart(Math.min(from, to), Math.max(from, to));
  };
  for (const id of ['from', 'to']) {
    element(id).placeholder = id === 'from' ? '0' : (end / 1e6).toFixed(2);
    element(id).onchange = typed;
  }
  element('more').onclick = () => { all = true; list(); };
  element('whole').onclick = () => choosePart(0, end);
  element('all').onclick = () => { shown.threads = null; tick(); refresh(); };
  list();
  return draw;
}

