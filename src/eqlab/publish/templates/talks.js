// Filters the list of talks, shows two talks of one persona at a time, and goes from talk to talk by arrow keys.
// Without this script all of them are there.
const filter = document.querySelector("[data-filter]");
if (filter) {
  const rows = [...document.querySelectorAll("tr[data-words]")];
  const search = filter.querySelector("input");
  const choices = [...filter.querySelectorAll("select")];
  const said = filter.querySelector("[role=status]");
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const wanted = choices.every((one) => !one.value || row.dataset[one.dataset.by] === one.value)
        && words.every((word) => row.dataset.words.includes(word));
      row.hidden = !wanted;
      shown += wanted;
    }
    said.textContent = `${shown} of ${rows.length} talks`;
  };
  const asked = new URLSearchParams(location.hash.slice(1)); // index.html#listener=NAME: as a model's page links here
  for (const one of choices) {
    const value = asked.get(one.dataset.by);
    if (value && [...one.options].some((option) => option.value === value)) one.value = value;
  }
  filter.hidden = false;
  filter.addEventListener("input", show);
  filter.addEventListener("submit", (event) => event.preventDefault());
  show();
}
const pick = document.querySelector("[data-pick]");
if (pick) {
  const talks = [...document.querySelectorAll(".beside > section")];
  const sides = [...pick.querySelectorAll("select")];
  const place = (id) => talks.findIndex((talk) => talk.id === id);
  const show = () => {
    const chosen = sides.map((side) => place(side.value));
    talks.forEach((talk, number) => { talk.hidden = !chosen.includes(number); });
    const [left, right] = chosen.map((number) => talks[number]);
    if (left !== right) left.after(right);
  };
  const first = Math.max(0, place(location.hash.slice(1)));
  const other = talks.findIndex((talk, number) => number !== first && talk.getAttribute("aria-label") !== talks[first].getAttribute("aria-label"));
  if (talks.length > 1) {
    sides[0].value = talks[first].id;
    sides[1].value = talks[other < 0 ? (first + 1) % talks.length : other].id;
    pick.hidden = false;
    pick.addEventListener("input", show);
    show();
    addEventListener("load", () => requestAnimationFrame(() => scrollTo(0, 0))); // not past the choice, to the talk named
  }
}
const step = { ArrowLeft: "prev", ArrowRight: "next" };
addEventListener("keydown", (event) => {
  const link = step[event.key] && document.querySelector(`a[rel=${step[event.key]}]`);
  if (link && !event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey) location.assign(link.href);
});
