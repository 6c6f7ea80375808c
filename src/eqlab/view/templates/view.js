// Numbers that arrive while you look, and keys. Without this script every page is complete when it is loaded again.
const own = document.querySelector("script[data-live]");
const merge = (here, there) => {
  const bodies = new Map([...here.querySelectorAll("tbody[data-key]")].map((body) => [body.dataset.key, body]));
  const table = here.querySelector("table.scores");
  if (!table || !bodies.size) {
    if (here.querySelector("details[open]") && here.textContent === there.textContent) return;
    if (here.innerHTML !== there.innerHTML && !here.contains(document.activeElement)) here.innerHTML = there.innerHTML;
    return;
  }
  // rows keep their place and their ticks; new ones come last, until the page is loaded again
  for (const body of there.querySelectorAll("tbody[data-key]")) {
    const old = bodies.get(body.dataset.key);
    if (!old) { table.append(document.adoptNode(body)); continue; }
    const ticked = old.querySelector("input[type=checkbox]")?.checked;
    if (old.textContent === body.textContent) continue;
    old.innerHTML = body.innerHTML;
    old.classList.add("changed");
    const box = old.querySelector("input[type=checkbox]");
    if (box) box.checked = Boolean(ticked);
  }
  const said = there.querySelector(".sentence");
  const saying = here.querySelector(".sentence");
  if (said && saying && saying.textContent !== said.textContent) saying.textContent = said.textContent;
};
const refresh = async () => {
  const reply = await fetch(location.href, { headers: { accept: "text/html" } });
  if (!reply.ok) return;
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  for (const there of page.querySelectorAll("[data-live]")) {
    const here = document.querySelector(`[data-live="${CSS.escape(there.dataset.live)}"]`);
    if (here) merge(here, there);
    else if (there.dataset.live) location.reload();
  }
};
if (own) {
  let last = null;
  let busy = false;
  let news = null;
  const listen = () => {
    news = new EventSource(new URL("../live", own.src));
    news.addEventListener("message", async (event) => {
      if (last === null || last === event.data || busy) { last ??= event.data; return; }
      last = event.data;
      busy = true;
      try { await refresh(); } finally { busy = false; }
    });
  };
  listen();
  // Firefox calls a stream that ends with its page an error; a page that stays, as with a download, listens again
  addEventListener("beforeunload", () => { news.close(); setTimeout(listen, 2000); });
}
const places = () => [...document.querySelectorAll(".versus-item, .scores tbody")];
const step = (by) => {
  const every = places();
  if (!every.length) return false;
  const now = every.findIndex((one) => one.contains(document.activeElement));
  const next = every[Math.max(0, Math.min(every.length - 1, now + by))];
  const into = next.querySelector("a, input, summary") ?? next;
  into.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
};
const follow = (rel) => {
  const link = document.querySelector(`a[rel=${rel}]`);
  if (link) location.assign(link.href);
  return Boolean(link);
};
const keys = {
  j: () => document.querySelector("[data-items]") ? follow("next") : step(1),
  k: () => document.querySelector("[data-items]") ? follow("prev") : step(-1),
  l: () => follow("next"),
  h: () => follow("prev"),
  x: () => {
    const row = document.activeElement?.closest("tbody[data-key]");
    const box = row?.querySelector("input[type=checkbox]");
    if (box) box.checked = !box.checked;
    return Boolean(box);
  },
  "/": () => { const field = document.querySelector("input[type=search]"); field?.focus(); return Boolean(field); },
  "?": () => { const help = document.querySelector(".keys"); help.open = !help.open; help.scrollIntoView(); return true; },
};
addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select")) return;
  const button = document.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
  if (button) { button.click(); event.preventDefault(); return; }
  if (keys[event.key]?.()) event.preventDefault();
});
