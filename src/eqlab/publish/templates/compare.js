// The difference of two subjects by the rule of comparison/verdict.py (pair): paired over items (Student, or the exact
// test of signs where few differ), or from both intervals (MOVER) where one has no points by item. Told apart: p below
// 5 %, for the better one with its lost answers as the worst, too.
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const [ID, NAME, VALUE, LOW, HIGH, N, ROW, LOST] = [0, 1, 2, 3, 4, 5, 6, 7];
const have = (model) => model[ROW].filter((place) => place >= 0).length;

// A minus B on what both answered; who is better there must be so with its lost answers as the worst, too
function pair(table, a, b) {
  const found = answered(table, a, b);
  found.better = better(table, a, b, found);
  const [first, second] = found.better === a ? [a, b] : [b, a];
  if (!found.better || !first[LOST] || !first[LOST].items.some((index) => second[ROW][index] >= 0)) return found;
  const worst = Object.assign([...first], { [ROW]: first[LOST].worst, [LOST]: null });
  const less = first === a ? answered(table, worst, b) : answered(table, a, worst);
  const left = first === a ? better(table, worst, b, less) : better(table, a, worst, less);
  found.worst = less;
  if (left !== worst) Object.assign(found, { apart: false, better: null, leads: first, turned: left === second });
  return found;
}

const answered = (table, a, b) => (have(a) && have(b) ? paired(table, a, b) : fromIntervals(a, b));

function better(table, a, b, found) {
  if (!found.apart || !found.value) return null;
  return found.value > 0 === (table.better === "higher") ? a : b;
}

function paired(table, a, b) {
  const items = [];
  a[ROW].forEach((place, index) => {
    const other = b[ROW][index];
    if (place >= 0 && other >= 0) {
      const [x, y] = [table.values[place], table.values[other]];
      items.push({ item: table.items[index], a: x, b: y, gap: x - y });
    }
  });
  const n = items.length;
  const found = { n, items, value: null, low: null, high: null, se: null, above: null, apart: null, why: "" };
  if (!n) return found;
  const sum = (list) => list.reduce((total, value) => total + value, 0);
  found.value = sum(items.map((one) => one.gap)) / n;
  found.a = sum(items.map((one) => one.a)) / n;
  found.b = sum(items.map((one) => one.b)) / n;
  found.above = sum(items.map((one) => (one.gap > 0 ? 1 : one.gap === 0 ? 0.5 : 0))) / n;
  if (n < data.fewest) return Object.assign(found, { why: `too few for a comparison: at least ${data.fewest} are needed` });
  if (n < Math.min(have(a), have(b)) / 2) return Object.assign(found, { why: "they share too few items; 'eqlab compare' compares all items of both" });
  found.se = Math.sqrt(sum(items.map((one) => (one.gap - found.value) ** 2)) / (n - 1) / n);
  const largest = Math.max(...items.map((one) => Math.max(Math.abs(one.a), Math.abs(one.b))));
  if (found.se * Math.sqrt(n) <= 1e-12 * largest) found.se = 0; // rounding is no spread
  const differ = items.filter((one) => one.gap !== 0).length;
  if (found.se > 0) {
    const reach = data.t[n - 2] * found.se;
    found.low = found.value - reach;
    found.high = found.value + reach;
  }
  // the same gap on every item: no spread to judge it by, but all signs agree (2/2ⁿ)
  found.apart = found.se > 0 ? found.low > 0 || found.high < 0 : found.value !== 0 && 2 ** (1 - n) < 0.05;
  if (!differ) Object.assign(found, { apart: false, low: null, high: null, why: "they are the same" });
  else if (differ < Math.min(data.differ, n)) {
    const p = signs(items.map((one) => one.gap));
    Object.assign(found, { apart: p < 0.05, low: null, high: null, exact: `exact test of the ${differ} on which they differ, p = ${p.toFixed(4)}`, why: `they differ on ${differ} of ${n}` });
  }
  return found;
}

// the exact test of random signs: in what share of all ways to give the gaps a sign is their sum as far from 0
function signs(gaps) {
  const sizes = gaps.map(Math.abs).filter((size) => size > 0);
  const whole = sizes.reduce((total, size) => total + size, 0);
  const seen = Math.abs(gaps.reduce((total, gap) => total + gap, 0)) - 1e-9 * whole;
  let far = 0;
  for (let way = 0; way < 2 ** sizes.length; way += 1) {
    const sum = sizes.reduce((total, size, place) => total + ((way >> place) & 1 ? size : -size), 0);
    if (Math.abs(sum) >= seen) far += 1;
  }
  return far / 2 ** sizes.length;
}

function fromIntervals(a, b) {
  const found = { n: a[N] + b[N], items: [], value: null, low: null, high: null, se: null, above: null, apart: null, why: "" };
  if (a[VALUE] === null || b[VALUE] === null) return found;
  [found.a, found.b] = [a[VALUE], b[VALUE]];
  found.value = a[VALUE] - b[VALUE];
  if ([a[LOW], a[HIGH], b[LOW], b[HIGH]].includes(null)) return found;
  found.low = found.value - Math.hypot(a[VALUE] - a[LOW], b[HIGH] - b[VALUE]);
  found.high = found.value + Math.hypot(a[HIGH] - a[VALUE], b[VALUE] - b[LOW]);
  found.apart = found.low > 0 || found.high < 0;
  const reach = found.value > 0 ? found.value - found.low : found.high - found.value;
  if (found.value && !reach) Object.assign(found, { apart: null, why: "neither varies, so there is nothing to test the difference with" });
  return found;
}

const shown = (value, digits) => (value === null || value === undefined ? "undefined" : value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1"));

function sentence(a, b, found, digits) {
  if (found.value === null) return `${a[NAME]} and ${b[NAME]} have no items in common, so they cannot be compared.`;
  const size = shown(Math.abs(found.value), digits);
  if (found.apart === null) return `${a[NAME]} and ${b[NAME]} differ by ${size} points: ${found.why || "without intervals this cannot be tested"}.`;
  const [low, high] = found.value < 0 ? [-found.high, -found.low] : [found.low, found.high];
  const basis = found.low === null ? `${found.exact || "the same on each"}, n = ${found.n}` : `95 % interval ${shown(low, digits)} to ${shown(high, digits)}, n = ${found.n}`;
  if (found.leads) {
    const other = found.leads === a ? b : a;
    const left = found.turned ? `${other[NAME]} is better` : "the two cannot be told apart";
    return `${found.leads[NAME]} is better than ${other[NAME]} on what it answered, by ${size} points (${basis}); with ${found.leads[LOST].words} counted as the worst answers ${left}.`;
  }
  if (!found.apart && found.why && !found.value) return `${a[NAME]} and ${b[NAME]} cannot be told apart: ${found.why} on ${found.n} shared items.`;
  if (!found.apart && found.why) return `${a[NAME]} and ${b[NAME]} cannot be told apart: ${found.why} shared items only (${size} points in all).`;
  if (!found.apart) return `${a[NAME]} and ${b[NAME]} cannot be told apart: a difference of ${size} points (${basis}).`;
  return `${found.better[NAME]} is better than ${(found.better === a ? b : a)[NAME]} by ${size} points (${basis}).`;
}

function line(name, value) {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  head.scope = "row";
  head.textContent = name;
  const cell = document.createElement("td");
  cell.className = "num";
  cell.textContent = value;
  row.append(head, cell);
  return row;
}

function gapRow(one, digits) {
  const row = line(one.item, shown(one.a, digits));
  for (const value of [one.b, one.gap]) row.append(Object.assign(document.createElement("td"), { className: "num", textContent: shown(value, digits) }));
  return row;
}

function draw() {
  const table = data.tables[at("table").value];
  if (!table) return;
  const [a, b] = [table.models[at("a").value], table.models[at("b").value]];
  const items = have(a) > 0 && have(b) > 0;
  const found = pair(table, a, b);
  const d = table.digits;
  at("said").textContent = a === b ? "Choose two different ones." : sentence(a, b, found, d);
  const facts = [["A on the shared items", shown(found.a, d)], ["B on the shared items", shown(found.b, d)], ["Difference A − B", shown(found.value, d)],
    ["95 % interval", found.low === null ? "undefined" : `${shown(found.low, d)} to ${shown(found.high, d)}`], [items ? "n (items that both have)" : "n (of both together)", String(found.n)]];
  if (items) facts.push(["Standard error", shown(found.se, d)], ["Items on which A is higher, ties half", found.above === null ? "undefined" : `${(100 * found.above).toFixed(0)} %`]);
  if (found.worst) facts.push([`The same with ${(found.leads || found.better)[LOST].words} of ${(found.leads || found.better)[NAME]} as the worst answers`, `${shown(found.worst.value, d)}${found.worst.low === null ? "" : ` (${shown(found.worst.low, d)} to ${shown(found.worst.high, d)})`}`]);
  at("facts").replaceChildren(...facts.map(([name, value]) => line(name, value)));
  at("how").textContent = (items ? "Paired over items: Student's t, or the exact test of signs where they differ on few. Who is better must be so with its own refused, unreadable or failed answers as the worst, too." : "From both intervals, taken for independent (Zou & Donner 2008); the score is not a mean over items.") + " This pair by itself: the rank ranges take into account how many are compared.";
  at("by-item").hidden = !items;
  const largest = [...found.items].sort((x, y) => Math.abs(y.gap) - Math.abs(x.gap)).slice(0, 20);
  at("gaps").replaceChildren(...largest.map((one) => gapRow(one, d)));
  history.replaceState(null, "", `#a=${a[ID]}&b=${b[ID]}`);
}

function fill(chosen) {
  const table = data.tables[at("table").value];
  ["a", "b"].forEach((side, index) => {
    at(side).replaceChildren(...table.models.map((model, place) => new Option(model[NAME], String(place))));
    at(side).value = String(chosen[index]);
  });
  draw();
}

function start() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const find = (id) => data.tables.findIndex((table) => table.models.some((model) => model[ID] === id));
  const table = Math.max(0, find(asked.get("a")));
  at("table").value = String(table);
  const place = (id, other) => { const found = data.tables[table].models.findIndex((model) => model[ID] === id); return found < 0 ? other : found; };
  const a = place(asked.get("a"), 0);
  fill([a, place(asked.get("b"), a === 0 ? 1 : 0)]);
}

if (data.tables.length) {
  at("table").replaceChildren(...data.tables.map((table, index) => new Option(table.title, String(index))));
  at("table").addEventListener("change", () => fill([0, 1]));
  ["a", "b"].forEach((side) => at(side).addEventListener("change", draw));
  at("swap").addEventListener("click", () => fill([at("b").value, at("a").value]));
  window.addEventListener("hashchange", start);
  start();
} else {
  at("said").textContent = "No table has two to compare.";
}
