// What is wrong with the layout of a page at the window's width, one thing a line; nothing if all is well. For
// laid_out in browser.bash.
(() => {
  const LINE = 24; // pixels of a line in a table, with room to spare
  const wrong = [];
  const box = (node) => node.getBoundingClientRect();
  const shown = (node) => node.getClientRects().length > 0;
  const style = (node) => getComputedStyle(node);
  const named = (node) => {
    const words = node.textContent.trim().replace(/\s+/g, ' ').slice(0, 40);
    return `#${node.closest('section, header')?.id} ${node.tagName.toLowerCase()} "${words}"`;
  };
  const ofText = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return box(range);
  };

  const scrollers = [...document.querySelectorAll('body *')].filter((node) => ['auto', 'scroll'].includes(style(node).overflowX));
  const room = document.documentElement.clientWidth;
  const whole = document.documentElement.scrollWidth;
  if (whole > room) wrong.push(`the page scrolls sideways: ${whole} of ${room}`);
  for (const node of document.querySelectorAll('body *')) {
    if (!shown(node) || node.closest('svg, #tip')) continue;
    const { left, right, width } = box(node);
    const outside = width > 0 && (right > room + 1 || left < -1);
    if (outside && !scrollers.some((scroller) => scroller !== node && scroller.contains(node))) {
      wrong.push(`${named(node)} sticks out of the page: from ${left} to ${right}`);
    }
    const cut = node.scrollWidth > node.clientWidth + 1;
    if (cut && style(node).overflowX === 'hidden') wrong.push(`${named(node)} is cut off`);
    if (cut && node.matches('.scroll') && node.tabIndex !== 0) wrong.push(`${named(node)} can't be scrolled by keys`);
  }

  // The rows' names stay where they are while a table scrolls: beside them each column can be seen whole.
  function columns(table, view) {
    const names = [...table.querySelectorAll('tbody th')].filter((name) => shown(name) && name.colSpan === 1 && style(name).position === 'sticky');
    const kept = Math.max(0, ...names.map((name) => box(name).width));
    const fits = table.offsetWidth <= view.clientWidth + 1;
    if (kept > view.clientWidth / 2 && !fits) wrong.push(`${named(table)}: its names take ${kept} of ${view.clientWidth}`);
    for (const cell of table.querySelectorAll('th, td')) {
      if (!shown(cell) || cell.colSpan > 1) continue;
      const free = view.clientWidth - (names.includes(cell) || cell.cellIndex === 0 ? 0 : kept);
      if (box(cell).width > free + 1 && !fits) wrong.push(`${named(cell)} is ${box(cell).width} wide, of which ${free} can be seen`);
      if (cell.scrollWidth > cell.clientWidth + 1) wrong.push(`${named(cell)} sticks out of its cell`);
    }
    // A table across the page with so few columns is not scrolled at all on a wide screen.
    const count = Math.max(...[...table.rows].map((row) => [...row.cells].reduce((sum, cell) => sum + cell.colSpan, 0)));
    if (innerWidth >= 1400 && view.clientWidth > 1200 && count <= 10 && !fits) {
      wrong.push(`${named(table)}: ${count} columns are ${table.offsetWidth} wide in ${view.clientWidth}`);
    }
    if (table.caption && shown(table.caption) && ofText(table.caption).width > view.clientWidth + 1) {
      wrong.push(`${named(table.caption)}, the caption, is cut off`);
    }
  }

  // A row is as high as what can be seen of it before the table is scrolled sideways.
  function rows(table, view) {
    const edge = box(view).left + view.clientWidth;
    const high = (cell) => Math.max(ofText(cell).height, ...[...cell.querySelectorAll('svg')].map((picture) => box(picture).height));
    for (const row of table.rows) {
      const cells = [...row.cells].filter((cell) => shown(cell) && box(cell).left < edge - LINE);
      if (!cells.length || [...row.cells].some((cell) => cell.rowSpan > 1)) continue;
      const heights = cells.map(high);
      const stacked = style(row).display !== 'table-row';
      const content = stacked ? heights.reduce((sum, height) => sum + height, 0) : Math.max(...heights);
      const empty = Math.round(box(row).height - content - 8);
      if (empty > 2 * LINE) wrong.push(`${named(row)}: ${empty} of ${Math.round(box(row).height)} pixels of the row are empty`);
    }
  }

  for (const table of document.querySelectorAll('table')) {
    if (!shown(table)) continue;
    const view = table.closest('.scroll') ?? table.parentElement;
    columns(table, view);
    rows(table, view);
  }
  return wrong.join('\n');
})()
