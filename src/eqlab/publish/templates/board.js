// A filter box over each large table. Without this script the tables are complete.
for (const table of document.querySelectorAll("table[data-filter]")) {
  const bodies = [...table.tBodies];
  if (bodies.length < 8) continue;
  const label = document.createElement("label");
  const input = document.createElement("input");
  const said = document.createElement("span");
  input.type = "search";
  label.append("Filter " + table.dataset.filter + " ", input);
  said.setAttribute("role", "status");
  said.className = "quiet";
  const box = document.createElement("div");
  box.className = "filter";
  box.append(label, said);
  table.closest("figure").before(box);
  const texts = bodies.map((body) => body.textContent.toLowerCase());
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    bodies.forEach((body, index) => {
      body.hidden = !words.every((word) => texts[index].includes(word));
      shown += !body.hidden;
    });
    said.textContent = words.length ? `${shown} of ${bodies.length} rows` : "";
  });
}
