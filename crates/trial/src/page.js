'use strict';
// Sorts tables. The page is complete without it.
(() => {
  const all = (what, where = document) => [...where.querySelectorAll(what)];

  // A click on a column's head sorts by it: numbers from the greatest, text from A. A second one reverses the order.
  for (const button of all('th button')) {
    button.addEventListener('click', () => {
      const head = button.parentElement;
      const table = head.closest('table');
      const key = (row) => row.cells[head.cellIndex].dataset.v ?? row.cells[head.cellIndex].textContent;
      const rows = all('tbody tr', table);
      const isText = rows.some((row) => Number.isNaN(Number(key(row))));
      const [first, second] = isText ? ['ascending', 'descending'] : ['descending', 'ascending'];
      const order = head.getAttribute('aria-sort') === first ? second : first;
      for (const other of all('th', table)) other.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', order);
      const compared = (a, b) => (isText ? a.localeCompare(b) : Number(a) - Number(b));
      rows.sort((one, other) => compared(key(one), key(other)));
      table.tBodies[0].append(...(order === 'ascending' ? rows : rows.reverse()));
    });
  }
})();
