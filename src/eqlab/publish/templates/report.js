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
      const first = head.dataset.first ?? "descending";
      const other = first === "ascending" ? "descending" : "ascending";
      sort(column, head.getAttribute("aria-sort") === first ? other : first);
    });
    head.append(button);
  });
}

// Every drawing can be kept as a file of its own. Colours and sizes are those of the page at this moment.
const KEPT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "font-family", "font-size", "font-weight", "paint-order"];
for (const drawing of document.querySelectorAll("figure > svg:not(.narrow)")) {
  const save = document.createElement("button");
  save.type = "button";
  save.className = "save";
  save.textContent = "Save as SVG";
  save.setAttribute("aria-label", `Save as SVG: ${drawing.querySelector("title")?.textContent ?? "drawing"}`);
  save.addEventListener("click", () => {
    const copy = drawing.cloneNode(true);
    const from = [drawing, ...drawing.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((node, index) => {
      const style = getComputedStyle(from[index]);
      for (const name of KEPT) node.style.setProperty(name, style.getPropertyValue(name));
      node.removeAttribute("href");
    });
    const { width, height } = drawing.getBoundingClientRect();
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.style.background = getComputedStyle(document.body).backgroundColor;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    link.download = "eqlab.svg";
    link.click();
    URL.revokeObjectURL(link.href);
  });
  drawing.parentElement.append(save);
}
