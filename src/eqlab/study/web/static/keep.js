// Keeps what was chosen on this page, and sends it until the server has it. Without this script the form still works.
"use strict";
(() => {
  const PREFIX = "eqlab:";
  const store = {
    get(key) { try { return JSON.parse(localStorage.getItem(key) || "{}"); } catch { return {}; } },
    set(key, value) { try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* private window: go on */ } },
    under(start) { try { return Object.keys(localStorage).filter((key) => key.startsWith(start)); } catch { return []; } },
    forget(keys) { try { for (const key of keys) localStorage.removeItem(key); } catch { /* nothing was kept */ } },
  };

  const forgetTab = (ours) => { // what a talk keeps for this tab alone
    try { for (const key of Object.keys(sessionStorage)) if (key.startsWith(ours)) sessionStorage.removeItem(key); } catch { /* nothing was kept */ }
  };
  addEventListener("storage", (event) => { // the end, in another tab
    if ((event.key || "").endsWith(":ended")) forgetTab(event.key.slice(0, -"ended".length));
  });

  const ended = document.querySelector("[data-forget]");
  if (ended) {
    const ours = `${PREFIX}${ended.dataset.forget}:`;
    store.set(`${ours}ended`, true); // other tabs hear of it
    store.forget(store.under(ours));
    forgetTab(ours);
    leaveSoon(document.getElementById("leave"));
    return;
  }
  const form = document.getElementById("page");
  if (!form) return;

  const field = (name) => form.elements.namedItem(name);
  const mine = `${PREFIX}${form.dataset.study}:${form.dataset.mark}:`;
  const changes = `${mine}change:`;
  const changing = Boolean(field("correct")); // an earlier page: what was written on the present one stays
  const key = `${changing ? changes : mine}${field("step").value}:${field("attempt").value}`;
  const past = store.under(changing ? changes : mine).filter((one) => one !== key && (changing || !one.startsWith(changes)));
  store.forget(past); // earlier pages have arrived
  const kept = { chosen: {}, away: 0, shown: field("shown").value, ...store.get(key) };
  let forgotten = false; // in another tab, with everything that was deleted there
  addEventListener("storage", (event) => { forgotten ||= event.key === key && event.newValue === null; });
  const remember = () => { if (!forgotten) store.set(key, kept); };

  // -- what was chosen, when the page was first seen, how long it was out of sight
  field("shown").value = kept.shown;
  // What is kept is newer than what the page brings: a page that was saved has another key. But answers that come back with
  // an error were sent after it, unless they have come back before: then this is a reload.
  const fields = [...form.querySelectorAll("input, textarea")].filter((one) => /^[vd]\./.test(one.name));
  const ticked = (one) => one.type === "radio" || one.type === "checkbox";
  const errors = document.getElementById("errors");
  if (errors) {
    const sent = {};
    for (const one of fields) sent[one.name] = ticked(one) ? (sent[one.name] || []).concat(one.defaultChecked ? one.value : []) : one.defaultValue;
    if (JSON.stringify(sent) !== kept.sent) Object.assign(kept, { sent: JSON.stringify(sent), chosen: sent });
  }
  for (const one of fields) {
    const value = kept.chosen[one.name];
    if (value === undefined) continue;
    if (ticked(one)) one.checked = [].concat(value).includes(one.value); else one.value = value;
  }
  remember();
  const chosen = (event) => {
    const one = event.target;
    if (!fields.includes(one)) return;
    const group = fields.filter((other) => other.name === one.name);
    kept.chosen[one.name] = ticked(one) ? group.filter((other) => other.checked).map((other) => other.value) : one.value;
    remember();
  };
  form.addEventListener("change", chosen);
  form.addEventListener("input", chosen);
  form.addEventListener("paste", (event) => {
    const pasted = event.clipboardData ? event.clipboardData.getData("text").length : 0;
    if (event.target.tagName === "TEXTAREA") kept.pasted = (kept.pasted || 0) + pasted;
    remember();
  });
  let hidden = document.hidden ? Date.now() : 0;
  const awayNow = () => kept.away + (hidden ? (Date.now() - hidden) / 1000 : 0);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { hidden = Date.now(); return; }
    kept.away = awayNow();
    hidden = 0;
    remember();
  });

  // -- sending: one post, the same until it has arrived
  const status = document.getElementById("sending");
  let timer = 0;
  let tries = 0;
  let busy = false;
  let clicked = null;
  form.addEventListener("click", (event) => {
    if (kept.post) event.preventDefault(); // where `inert` is not known either
    clicked = event.target.closest("button[type=submit]") || clicked;
  }, true);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (kept.post) return;
    field("away").value = awayNow().toFixed(1);
    field("pasted").value = kept.pasted || 0;
    const body = new URLSearchParams(new FormData(form));
    const button = event.submitter || clicked; // browsers of 2021 do not say which button it was
    if (button && button.name) body.set(button.name, button.value);
    kept.post = body.toString();
    remember();
    send();
  });

  async function send() {
    if (busy) return;
    busy = true;
    clearInterval(timer);
    form.inert = true; // what is on its way may not change
    say(tries ? form.dataset.notSavedNow : form.dataset.saving, tries > 0);
    let reply = null;
    const patience = new AbortController();
    const late = setTimeout(() => patience.abort(), 20000);
    try {
      const response = await fetch(form.action, {
        method: "POST", body: kept.post, credentials: "same-origin", redirect: "error", signal: patience.signal,
        headers: { "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded" },
      });
      const about = response.headers.get("content-type") || "";
      if (about.startsWith("application/json")) reply = await response.json(); // anything else is not from us
      else if (response.status >= 400 && response.status < 500 && response.status !== 429) reply = { outcome: "refused" };
    } catch { /* no network, or it broke off */ }
    clearTimeout(late);
    busy = false;
    if (reply && ["saved", "again", "ahead", "ended"].includes(reply.outcome)) {
      say(form.dataset.saved, false);
      store.forget([key]);
      location.replace(reply.next);
    } else if (reply && reply.outcome) {
      delete kept.post; // the server says why not, on a page
      remember();
      form.inert = false;
      form.submit();
    } else {
      wait();
    }
  }

  function wait() {
    tries += 1;
    let seconds = Math.min(15, 2 ** (tries - 1));
    const show = () => say(form.dataset.notSaved.replace("%s", seconds), true);
    show();
    timer = setInterval(() => {
      seconds -= 1;
      if (seconds <= 0) send(); else if (seconds % 5 === 0) show();
    }, 1000);
  }
  addEventListener("online", () => { if (kept.post) send(); });

  function say(text, waiting) {
    status.textContent = text;
    status.classList.toggle("waiting", waiting);
    if (!waiting || busy) return;
    const again = document.createElement("button");
    again.type = "button";
    again.textContent = form.dataset.retry;
    again.addEventListener("click", send);
    status.append(document.createElement("br"), again);
  }
  if (kept.post) send(); // the tab was closed, or reloaded, before it had arrived
  const leave = document.getElementById("leave-it");
  if (leave) leave.addEventListener("click", () => store.forget([key]));
  if (!changing) store.under(changes).forEach(sendChange);

  // -- a change of the page before that had not arrived when somebody went on
  async function sendChange(late) {
    const { post } = store.get(late);
    if (!post) return;
    try {
      const response = await fetch(form.action, {
        method: "POST", body: post, credentials: "same-origin", redirect: "error",
        headers: { "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded" },
      });
      if ((await response.json()).outcome) store.forget([late]);
    } catch { /* no network, or not from us: with the next page */ }
  }

  // -- keys: a digit chooses on a page with one scale; the switch turns this off for good
  const keys = document.getElementById("keys");
  if (keys) {
    keys.closest("label").hidden = false;
    keys.checked = store.get(`${PREFIX}keys`).off !== true;
    keys.addEventListener("change", () => store.set(`${PREFIX}keys`, { off: !keys.checked }));
    document.addEventListener("keydown", (event) => {
      if (!keys.checked || kept.post || event.ctrlKey || event.metaKey || event.altKey || !/^[0-9]$/.test(event.key)) return;
      const one = form.querySelector(`input[type=radio][value="${event.key}"]`);
      if (!one) return;
      one.focus();
      one.checked = true;
      one.dispatchEvent(new Event("change", { bubbles: true }));
    });
  }
  // -- points dealt out over the scales: how many are left
  const dealt = form.querySelector("[data-total]");
  if (dealt) {
    const left = document.getElementById("left");
    const count = () => {
      const points = [...dealt.querySelectorAll("input:checked")].reduce((sum, one) => sum + Number(one.value), 0);
      left.textContent = Number(dealt.dataset.total) - points;
      left.classList.toggle("none", points === Number(dealt.dataset.total));
    };
    form.addEventListener("change", count);
    count();
  }
  if (errors) errors.focus();

  function leaveSoon(link) {
    if (!link) return;
    const line = document.getElementById("leaving");
    let seconds = 20;
    const text = document.createElement("span");
    const stay = document.createElement("button");
    stay.type = "button";
    stay.className = "secondary";
    stay.textContent = link.dataset.stay;
    line.append(text, " ", stay);
    const show = () => { text.textContent = link.dataset.soon.replace("%s", seconds); };
    show();
    const tick = setInterval(() => {
      seconds -= 1;
      if (seconds <= 0) { clearInterval(tick); location.assign(link.href); } else if (seconds % 5 === 0) show();
    }, 1000);
    stay.addEventListener("click", () => { clearInterval(tick); line.textContent = ""; });
  }
})();
