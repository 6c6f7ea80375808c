// A talk without reloading: sends a turn once, shows the reply as it is written. Without this script the forms still work.
"use strict";
(() => {
  let talk = document.getElementById("talk");
  const announce = document.getElementById("announce");
  if (!talk) return;
  document.documentElement.classList.add("scripted");
  const page = `/s/${talk.dataset.study}/page`;
  let source = null;
  let busy = false; // from a press until the page shows what has come of it
  let pressed = null;
  let newest = 0; // the number of what the page waits for: only the last may change it
  document.addEventListener("click", (event) => { pressed = event.target.closest("button[type=submit]"); }, true);

  // What this browser keeps of a talk, by name: what is written and told at a turn (its number), the post that has not
  // arrived, and what another tab was quicker than, until there is a place for it again.
  const POST = "post", UNSENT = "unsent";
  const start = `eqlab:${talk.dataset.study}:${talk.dataset.mark}:talk:`;
  const kept = {
    own: {}, // of this tab, also after a reload: all there is where a private window keeps nothing
    gone: false, // with everything that was deleted
    key: (name) => `${start}${talk.dataset.step}:${name}`,
    read(name) {
      try { return this.own[this.key(name)] || JSON.parse(localStorage.getItem(this.key(name))) || {}; } catch { return {}; }
    },
    write(name, value) {
      if (this.gone) return;
      this.own[this.key(name)] = value;
      try { localStorage.setItem(this.key(name), JSON.stringify(value)); } catch { /* private window: go on */ }
      this.save();
    },
    forget(name) {
      delete this.own[this.key(name)];
      try { localStorage.removeItem(this.key(name)); } catch { /* nothing was kept */ }
      this.save();
    },
    forgetAllBut(names) { // and returns what this tab had written at other turns of this talk
      const past = (key) => key.startsWith(start) && !names.map(this.key).includes(key);
      const own = Object.keys(this.own).filter(past);
      const lost = own.filter((key) => key.startsWith(this.key(""))).map((key) => this.own[key]);
      for (const key of own) delete this.own[key];
      try { for (const key of Object.keys(localStorage)) if (past(key)) localStorage.removeItem(key); } catch { /* nothing was kept */ }
      this.save();
      return lost.find((one) => one.says || one.feeling);
    },
    save() { try { sessionStorage.setItem(start, JSON.stringify(this.own)); } catch { /* private window: go on */ } },
  };
  try { kept.own = JSON.parse(sessionStorage.getItem(start)) || {}; } catch { /* nothing was kept */ }
  let draft = {};
  const keep = (more) => { if (!busy) kept.write(talk.dataset.turn, Object.assign(draft, more)); }; // busy: where `inert` is not known

  addEventListener("storage", (event) => { // the end, or a deletion, in another tab: the server says which
    if (event.key !== `eqlab:${talk.dataset.study}:ended` || !event.newValue) return;
    kept.gone = true;
    kept.forgetAllBut([]);
    location.reload();
  });

  function init(first) {
    const form = document.getElementById("turn");
    const feel = document.getElementById("feel");
    const message = document.getElementById("message");
    const why = document.getElementById("feeling");
    const { post } = first ? kept.read(POST) : {};
    const lost = kept.forgetAllBut([talk.dataset.turn, POST, UNSENT, new URLSearchParams(post).get("turn")]);
    if (lost && !said(lost.says)) kept.write(UNSENT, { ...lost, told: talk.dataset.dropped }); // another tab has sent that turn
    draft = kept.read(talk.dataset.turn);
    const { says, feeling, pasted, told } = kept.read(UNSENT);
    if (message && told) { // the first place for it
      const both = (one, other, between) => one === other ? one : [one, other].filter(Boolean).join(between);
      keep({ says: both(says, draft.says, "\n\n"), pasted: (draft.pasted || 0) + (pasted || 0) });
      if (why) keep({ feeling: both(feeling, draft.feeling, " ") });
      kept.forget(UNSENT);
    }
    if (feel) {
      const felt = document.getElementById("felt");
      const show = () => { felt.textContent = feel.value; feel.dataset.moved = "1"; };
      const touch = () => { show(); keep({ emotion: feel.value }); };
      felt.textContent = "–";
      if (draft.emotion) { feel.value = draft.emotion; show(); }
      feel.addEventListener("input", touch);
      feel.addEventListener("change", touch);
      feel.addEventListener("pointerup", touch);
      feel.addEventListener("keydown", (event) => { if (event.key === " " || event.key === "Enter") { event.preventDefault(); touch(); } });
    }
    if (why) {
      why.value ||= draft.feeling || "";
      why.addEventListener("input", () => keep({ feeling: why.value }));
    }
    if (message) {
      message.value ||= draft.says || "";
      const count = document.getElementById("count");
      const show = () => {
        keep({ says: message.value });
        const left = message.maxLength - message.value.length;
        count.textContent = left < 200 ? talk.dataset.count.replace("{left}", left) : "";
      };
      message.addEventListener("input", show);
      message.addEventListener("paste", (event) => {
        const more = event.clipboardData ? event.clipboardData.getData("text").length : 0;
        keep({ pasted: (draft.pasted || 0) + more });
      });
      message.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); document.getElementById("send").click(); }
      });
    }
    for (const one of talk.querySelectorAll("form")) if (one.method === "post") one.addEventListener("submit", submitted);
    if (told) say(told);
    if (talk.dataset.state === "wait") listen();
    const errors = document.getElementById("errors");
    if (errors) errors.focus();
    else if (!first && form) (feel || message || form.querySelector("button")).focus({ preventScroll: true });
    if (!first) {
      const last = talk.querySelector(".lines li:last-child");
      if (last) last.scrollIntoView({ block: "nearest" });
    }
    if (post) send(post); // the tab was closed, or reloaded, before it had arrived
  }

  const said = (text) => Boolean(text) && [...talk.querySelectorAll(".line.you p")].some((line) => line.textContent === text.trim());

  function say(text) {
    const line = document.getElementById("sending");
    if (line) line.textContent = text;
  }

  async function submitted(event) {
    event.preventDefault();
    if (busy) return;
    const form = event.target;
    const body = new URLSearchParams(new FormData(form));
    const button = event.submitter || (pressed && form.contains(pressed) ? pressed : null); // browsers of 2021 do not say which it was
    if (button && button.name) body.set(button.name, button.value);
    if (body.has("v.says")) body.set("pasted", draft.pasted || 0);
    const feel = document.getElementById("feel");
    if (feel && form.id === "turn" && body.get("do") !== "close") {
      body.set("script", "1");
      body.set("moved", feel.dataset.moved ? "1" : "0");
      if (!feel.dataset.moved) { say(talk.dataset.moved); feel.focus(); return; }
    }
    await send(body.toString());
  }

  // What takes longer hangs on a connection that has died in silence: the next try opens another.
  async function fetched(address, options, read) {
    const patience = new AbortController();
    const late = setTimeout(() => patience.abort(), 20000);
    try {
      return await read(await fetch(address, { credentials: "same-origin", signal: patience.signal, ...options }));
    } catch { // no network, or it broke off
      return null;
    } finally { clearTimeout(late); }
  }

  const pause = () => new Promise((done) => setTimeout(done, 3000));
  const notNow = (status) => status >= 500 || status === 429 || status === 408; // a proxy's page while we restart, say

  function hold(on) { // what is on its way may not change
    busy = on;
    if (on) talk.dataset.busy = "1"; else delete talk.dataset.busy;
    for (const form of talk.querySelectorAll("form")) form.inert = on;
  }

  function stopWaiting() {
    if (source) { source.close(); source = null; }
    return ++newest;
  }

  // The same post until it has arrived, whatever turn it is by then: sent twice it changes nothing. Until the page shows
  // what has come of it nothing else is sent.
  async function send(post) {
    const focused = document.activeElement;
    stopWaiting();
    hold(true);
    say(talk.dataset.saving);
    kept.write(POST, { post });
    let reply = await posted(post);
    while (!reply) {
      say(talk.dataset.notSaved);
      await pause();
      reply = await posted(post);
    }
    kept.forget(POST);
    if (reply.outcome === "foreign") { location.assign(page); return; }
    const told = Object.values(reply.problems || {}).join(" ");
    const refused = reply.outcome === "refused" || reply.outcome === "busy";
    if (refused && told && talk.dataset.state !== "wait") { // what is written stays where it is
      hold(false);
      say(told);
      if (talk.contains(focused)) focused.focus();
      return;
    }
    const sent = new URLSearchParams(post);
    const saved = reply.outcome === "kept" || reply.outcome === "again";
    if (saved) kept.forget(sent.get("turn"));
    if (told) kept.write(UNSENT, { says: sent.get("v.says") || "", feeling: sent.get("v.feeling") || "", pasted: Number(sent.get("pasted")), told });
    await refresh(told || (saved ? talk.dataset.saved : ""));
  }

  // What the server says of a post; null where it has not arrived.
  function posted(post) {
    return fetched(`/s/${talk.dataset.study}/talk`, {
      method: "POST", body: post, redirect: "error",
      headers: { "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded" },
    }, async (response) => {
      const about = response.headers.get("content-type") || "";
      const reply = about.startsWith("application/json") ? await response.json() : {};
      if (reply.outcome) return reply;
      return response.ok || notNow(response.status) ? null : { outcome: "foreign" };
    });
  }

  // The page as the server has it: only what is inside the talk is exchanged. `news` is said until it is there.
  async function refresh(news = "") {
    const own = stopWaiting();
    const load = () => fetched(page, {}, (response) => notNow(response.status) ? null : response.text());
    let text = await load();
    while (own === newest && text === null) {
      say(`${news} ${talk.dataset.notLoaded}`.trim());
      await pause();
      if (own === newest) text = await load();
    }
    if (own !== newest) return;
    const found = new DOMParser().parseFromString(text, "text/html");
    const fresh = found.getElementById("talk");
    if (!fresh || fresh.dataset.step !== talk.dataset.step) { location.assign(kept.read(UNSENT).told ? `${page}?dropped=1` : page); return; }
    talk.replaceWith(document.adoptNode(fresh));
    talk = document.getElementById("talk");
    document.title = found.title;
    hold(false);
    init(false);
  }

  function listen() {
    announce.textContent = talk.dataset.writing;
    let bubble = null;
    let text = "";
    source = new EventSource(`/s/${talk.dataset.study}/talk/reply?lines=${talk.dataset.lines}`);
    source.addEventListener("part", (event) => {
      if (!bubble) {
        const typing = document.getElementById("typing");
        if (typing) typing.hidden = true;
        bubble = document.createElement("li");
        bubble.className = "line other";
        bubble.setAttribute("aria-hidden", "true"); // read out as a whole when it is there
        const who = document.createElement("b");
        who.className = "who";
        who.textContent = talk.dataset.other;
        bubble.append(who, document.createElement("p"));
        talk.querySelector(".lines").append(bubble);
      }
      text += JSON.parse(event.data).text;
      bubble.lastChild.textContent = text;
      bubble.scrollIntoView({ block: "nearest" });
    });
    source.addEventListener("done", async () => {
      mine.close();
      announce.textContent = text ? `${talk.dataset.other}: ${text}` : "";
      await refresh();
    });
    const mine = source;
    let silence = 0;
    const heard = () => { // a sign of life comes every 10 s; without any the connection has died
      clearTimeout(silence);
      silence = setTimeout(() => { if (source === mine) refresh(); }, 30000);
    };
    for (const sign of ["wait", "part"]) source.addEventListener(sign, heard);
    heard();
    source.onerror = () => {
      if (bubble) { bubble.remove(); bubble = null; text = ""; } // it comes again from its beginning
      if (mine.readyState === EventSource.CLOSED) setTimeout(() => { if (source === mine) refresh(); }, 3000); // by itself it does not
    };
  }

  init(true);
})();
