'use strict';
// Zooms, searches and walks through flame graphs. The page is complete without it.
(() => {
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const LETTER = 6.7;
  for (const graph of all('.graph')) {
    const svg = graph.querySelector('svg');
    const width = svg.viewBox.baseVal.width;
    const calls = all('g', svg).map((node) => ({
      node, rect: node.querySelector('rect'), text: node.querySelector('text'),
      x: Number(node.dataset.x), w: Number(node.dataset.w), depth: Number(node.dataset.d), name: node.dataset.n,
      added: node.hasAttribute('data-e'), gone: false,
    }));
    const [reset, search, said, added] = ['.reset', '.search', 'output', '.added'].map((what) => graph.querySelector(what));
    graph.querySelector('.tools').hidden = false;
    let root = null;

    // The calls that the emulator adds leave no gap: what is beside them fills the whole width.
    const whole = calls.map(({ x, w }) => [x, w]);
    const outermost = calls.filter((one) => one.added && !calls.some((other) => other.added && other.depth < one.depth
      && other.x <= one.x + 1e-6 && one.x + one.w <= other.x + other.w + 1e-6)).map(({ x, w }) => [x, w]);
    function leave(without) {
      const gone = (from, to) => without ? outermost.reduce((sum, [x, w]) => sum + (x >= from - 1e-6 && x + w <= to + 1e-6 ? w : 0), 0) : 0;
      const scale = width / (width - gone(0, width));
      calls.forEach((one, index) => {
        const [x, w] = whole[index];
        one.gone = without && one.added;
        one.x = (x - gone(0, x)) * scale;
        one.w = one.gone ? 0 : (w - gone(x, x + w)) * scale;
      });
      zoom(root && root.gone ? null : root);
      find();
    }
    // What is inside of the call or around it is shown; what is around it fills the whole width.
    function zoom(call) {
      root = call;
      const [from, span] = call ? [call.x, call.w] : [0, width];
      for (const one of calls) {
        const around = call && one.depth < call.depth && one.x <= from + 1e-6 && one.x + one.w >= from + span - 1e-6;
        const x = around ? 0 : (one.x - from) * width / span;
        const w = around ? width : one.w * width / span;
        const shown = around || (one.x >= from - 1e-6 && one.x + one.w <= from + span + 1e-6 && (!call || one.depth >= call.depth));
        one.node.toggleAttribute('hidden', !shown || one.gone || w < 0.3);
        one.rect.setAttribute('x', x);
        one.rect.setAttribute('width', w);
        one.text.setAttribute('x', x + 3);
        const letters = Math.floor((w - 6) / LETTER);
        one.text.textContent = one.name.length <= letters ? one.name : letters < 4 ? '' : `${one.name.slice(0, letters - 2)}..`;
      }
      reset.hidden = call === null;
    }
    function find() {
      const wanted = search.value.trim().toLowerCase();
      let found = 0;
      for (const one of calls) {
        const is = wanted !== '' && !one.gone && one.name.toLowerCase().includes(wanted);
        one.node.classList.toggle('found', is);
        if (is) found += 1;
      }
      said.textContent = wanted === '' ? '' : `${found} ${found === 1 ? 'call' : 'calls'}`;
    }
    const shown = (one) => !one.node.hasAttribute('hidden');
    // The call that the keys lead to: a caller above, a callee below, a neighbour at its side.
    function beside(one, key) {
      const at = (depth) => calls.filter((other) => other.depth === depth && shown(other));
      const middle = one.x + one.w / 2;
      if (key === 'ArrowUp') return at(one.depth - 1).find((other) => other.x <= middle && middle <= other.x + other.w);
      if (key === 'ArrowDown') {
        const below = at(one.depth + 1).filter((other) => other.x >= one.x - 1e-6 && other.x + other.w <= one.x + one.w + 1e-6);
        return below.sort((a, b) => b.w - a.w)[0];
      }
      const row = at(one.depth).sort((a, b) => a.x - b.x);
      return row[row.indexOf(one) + (key === 'ArrowRight' ? 1 : -1)];
    }
    function focus(one) {
      for (const other of calls) other.node.tabIndex = -1;
      one.node.tabIndex = 0;
      one.node.focus();
    }
    for (const one of calls) {
      one.node.addEventListener('click', () => { zoom(root === one ? null : one); focus(one); });
      one.node.addEventListener('keydown', (event) => {
        if (event.key === 'Enter' || event.key === ' ') zoom(root === one ? null : one);
        else if (event.key === 'Escape') zoom(null);
        else {
          const there = event.key.startsWith('Arrow') && beside(one, event.key);
          if (!there) return;
          focus(there);
        }
        event.preventDefault();
      });
    }
    if (calls.length > 0) calls[0].node.tabIndex = 0;
    reset.addEventListener('click', () => zoom(null));
    search.addEventListener('input', find);
    if (added) added.addEventListener('change', () => leave(added.checked));
    search.addEventListener('keydown', (event) => { if (event.key === 'Escape') { search.value = ''; find(); } });
  }
})();
