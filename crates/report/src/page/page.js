'use strict';
// Filters, details of figures, copying. The page is complete without it.
(() => {
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const tip = document.getElementById('tip');
  const form = document.getElementById('filters');
  const name = document.getElementById('by-name');
  const category = document.getElementById('by-category');
  const boxes = all('.by-platform');
  const show = (node, yes) => node.toggleAttribute('hidden', !yes);
  const count = (nodes) => nodes.filter((node) => !node.hasAttribute('hidden')).length;

  // The platform of each column of the table of all benchmarks.
  const columns = all('#table thead tr:first-child th')
    .flatMap((head) => Array(head.colSpan).fill(head.dataset.p));
  const rows = all('#table tbody tr');

  function filter() {
    const wanted = name.value.trim().toLowerCase();
    const categories = new Map(rows.map((row) => [row.dataset.b, row.dataset.c]));
    const fits = (benchmark) => benchmark.toLowerCase().includes(wanted)
      && (category.value === '' || categories.get(benchmark) === category.value);
    for (const node of all('[data-b]')) show(node, fits(node.dataset.b));
    const on = new Set(boxes.filter((box) => box.checked).map((box) => box.value));
    for (const node of all('[data-p]')) show(node, on.has(node.dataset.p));
    for (const row of rows) {
      for (const cell of row.cells) {
        const platform = columns[cell.cellIndex];
        if (platform !== undefined) show(cell, on.has(platform));
      }
    }
    document.getElementById('shown').textContent =
      `${count(rows)} of ${rows.length} benchmarks, ${on.size} of ${boxes.length} platforms`;
  }
  if (form) {
    form.addEventListener('input', filter);
    form.addEventListener('submit', (event) => event.preventDefault());
    show(form, true);
    filter();
  }

  // The details of a cell: its own text, or made from its numbers and the table's heads.
  function behind(cell) {
    if (cell.dataset.t) return cell.dataset.t;
    if (!cell.dataset.q) return '';
    const parts = cell.dataset.q.split('|');
    return cell.closest('#table') ? behindFigure(cell, parts) : behindBoot(cell, parts);
  }
  const plural = (count, noun) => `${count} ${noun}${count === '1' ? '' : 's'}`;
  function behindFigure(cell, [boots, samples, least, greatest, agreement, check, outside]) {
    const heads = cell.closest('table').tHead.rows[1].cells;
    const unit = heads[cell.cellIndex - 2].textContent;
    return [
      `${cell.firstChild.textContent.replace(' ?', '')} ${unit}: ${unit === 'insns' ? 'mode' : 'median'} of `
        + `${plural(boots, 'boot')}, ${plural(samples, 'sample')}`,
      `least ${least}, greatest ${greatest}`,
      agreement === 'exact' ? 'exact: every boot gave the same samples'
        : agreement && `spread between boots ${agreement}`,
      check,
      outside && `${outside} as the host timed it`,
    ].filter(Boolean).join('; ');
  }
  function behindBoot(cell, [samples, operations, least, from, to, greatest]) {
    const head = cell.closest('table').tHead.rows[0].cells[cell.cellIndex].textContent;
    const row = cell.closest('tr').cells[0].textContent;
    const spread = least === undefined ? 'all samples alike'
      : `middle half ${from} to ${to}, least ${least}, greatest ${greatest}`;
    return `${row}, ${head}: ${cell.textContent}; ${spread}; `
      + `${plural(samples, 'sample')} of ${plural(operations, 'operation')}`;
  }

  // The table cell with the details of a mark in a plot.
  function cellOf(mark) {
    const row = mark.closest('[data-r]');
    const table = mark.closest('.card').querySelector('tbody');
    const within = mark.dataset.k ?? all('use', row).indexOf(mark);
    return table.rows[row.dataset.r].cells[1 + Number(within)];
  }

  let hit = null;
  function tell(text, x, y) {
    tip.textContent = text;
    show(tip, text !== '');
    if (text === '') return;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 4))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18}px`;
  }
  function quiet() {
    hit?.classList.remove('hit');
    hit = null;
    tell('', 0, 0);
  }
  // The mark nearest to the pointer, since marks are small.
  function nearest(svg, x, y) {
    let best = null, least = 14 * 14;
    for (const mark of all('use', svg)) {
      const box = mark.getBoundingClientRect();
      if (box.width === 0) continue;
      const away = (box.x + box.width / 2 - x) ** 2 + (box.y + box.height / 2 - y) ** 2;
      if (away < least) [best, least] = [mark, away];
    }
    return best;
  }
  function point(event) {
    const cell = event.target.closest('[data-t], [data-q]');
    if (cell) {
      tell(behind(cell), event.clientX, event.clientY);
      return;
    }
    const svg = event.target.closest('.card svg[role=img]');
    const mark = svg && nearest(svg, event.clientX, event.clientY);
    if (!mark) {
      if (document.activeElement.closest('[data-t], [data-q]') === null || hit) quiet();
      return;
    }
    hit?.classList.remove('hit');
    hit = mark;
    mark.classList.add('hit');
    tell(behind(cellOf(mark)), event.clientX, event.clientY);
  }
  document.addEventListener('pointermove', point);
  document.addEventListener('pointerdown', point); // a finger does not hover

  // One cell of each table is in the tab order; arrow keys move on from there.
  for (const table of all('table.grid')) {
    const cells = all('[data-t], [data-q]', table);
    for (const cell of cells) cell.tabIndex = -1;
    if (cells.length > 0) cells[0].tabIndex = 0;
  }
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  function next(cell, [down, right]) {
    let row = cell.parentElement, column = cell.cellIndex;
    for (;;) {
      if (down !== 0) row = down > 0 ? row.nextElementSibling : row.previousElementSibling;
      column += right;
      const there = row?.cells?.[column];
      if (!there) return null;
      if (there.tabIndex >= -1 && there.matches('[data-t], [data-q]') && there.offsetParent) return there;
    }
  }
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') quiet();
    const cell = event.target.closest?.('table.grid td[tabindex]');
    const there = cell && steps[event.key] && next(cell, steps[event.key]);
    if (!there) return;
    event.preventDefault();
    cell.tabIndex = -1;
    there.tabIndex = 0;
    there.focus();
  });
  document.addEventListener('focusin', (event) => {
    const cell = event.target.closest('[data-t], [data-q]');
    if (!cell) return quiet();
    cell.setAttribute('aria-describedby', 'tip');
    const box = cell.getBoundingClientRect();
    tell(behind(cell), box.left, box.bottom - 10);
  });

  // In some browsers a local file cannot use the clipboard API.
  for (const button of all('.copy')) {
    const words = button.textContent;
    show(button, true);
    button.addEventListener('click', async () => {
      const code = button.parentElement.querySelector('code');
      getSelection().selectAllChildren(code);
      let done = false;
      try {
        await navigator.clipboard.writeText(code.textContent);
        done = true;
      } catch {
        done = document.execCommand('copy');
      }
      button.textContent = done ? 'Copied' : 'Selected: press Ctrl+C';
      setTimeout(() => { button.textContent = words; }, 3000);
    });
  }

  // Open all tables for printing.
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = all('details:not([open])');
    for (const one of closed) one.open = true;
  });
  addEventListener('afterprint', () => { for (const one of closed) one.open = false; });
})();
