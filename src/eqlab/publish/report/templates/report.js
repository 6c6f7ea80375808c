// Sortable score tables. Without this script the tables are complete and in the order of the run.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const heads = [...table.tHead.rows[0].cells];
  const bodies = [...table.tBodies];
  const valueOf = (body, column, kind) => {
    const cell = body.rows[0].cells[column];
    const value = cell.dataset.value ?? cell.textContent;
    const number = Number.parseFloat(value);
    return kind === "text" ? value : Number.isNaN(number) ? null : number;
  };
  const compare = (kind) => kind === "text"
    ? (a, b) => a.localeCompare(b, "en", { numeric: true })
    : (a, b) => a - b;
  const sort = (column, direction) => {
    const kind = heads[column].dataset.sort;
    const by = compare(kind);
    const keyed = bodies.map((body) => [valueOf(body, column, kind), body]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null); // undefined comes last, both ways
      return direction === "ascending" ? by(a, b) : by(b, a);
    });
    table.append(...keyed.map(([, body]) => body));
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", direction);
  };
  if (bodies.length < 2) continue;
  heads.forEach((head, column) => {
    if (!head.dataset.sort) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => {
      const first = head.dataset.sort === "text" || head.textContent.trim() === "Rank" ? "ascending" : "descending";
      const other = first === "ascending" ? "descending" : "ascending";
      sort(column, head.getAttribute("aria-sort") === first ? other : first);
    });
    head.append(button);
  });
}
