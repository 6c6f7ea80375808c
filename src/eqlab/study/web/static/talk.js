// A talk without reloading: sends a turn once, shows the reply as it is written. Without this script the forms still work.
"use strict";
(() => {
  let talk = document.getElementById("talk");
  const announce = document.getElementById("announce");
  if (!talk) return;
  document.documentElement.classList.add("scripted");
  const page = `/s/${talk.dataset.study}/page`;
  let source = null;
  let busy = false;
  let pressed = null;
  let unsent = {}; // what another tab was quicker than, until there is a place for it again
  let untold = "";
  let newest = 0; // the number of the last refresh: only that one may change the page
  document.addEventListener("click", (event) => { pressed = event.target.closest("button[type=submit]"); }, true);

  // What is written and told at this turn, how much of it was pasted, and the post that has not arrived.
  const draft = {
    kept: {}, // also where a private window keeps nothing
    of: "",
    gone: false, // with everything that was deleted
    start: () => `eqlab:${talk.dataset.study}:${talk.dataset.mark}:talk:`,
    late() { return `${this.start()}unsent`; },
    read(key) { try { return JSON.parse(localStorage.getItem(key)) || {}; } catch { return {}; } },
    write(key, value) {
      if (this.gone) return;
      try { localStorage.setItem(key, JSON.stringify(value)); } catch { /* private window: go on */ }
    },
    recall() {
      const key = `${this.start()}${talk.dataset.step}:${talk.dataset.turn}`;
      if (key !== this.of) this.kept = {};
      this.of = key;
      Object.assign(this.kept, this.read(key));
      try {
        for (const past of Object.keys(localStorage)) if (past.startsWith(this.start()) && past !== key && past !== this.late()) localStorage.removeItem(past);
      } catch { /* nothing was kept */ }
    },
    keep(more) {
      Object.assign(this.kept, more);
      this.write(this.of, this.kept);
    },
    forget(key = this.of) {
      if (key === this.of) this.kept = {};
      try { localStorage.removeItem(key); } catch { /* nothing was kept */ }
    },
    takeBack(why) { // at the first place for it
      const { says, feeling, pasted } = { ...this.read(this.late()), ...unsent };
      if (says && !this.kept.says) this.keep({ says, pasted: (this.kept.pasted || 0) + (pasted || 0) });
      if (feeling && why && !this.kept.feeling) this.keep({ feeling });
      unsent = {};
      this.forget(this.late());
    },
  };

  addEventListener("storage", (event) => { // the end, or a deletion, in another tab: the server says which
    if (event.key !== `eqlab:${talk.dataset.study}:ended` || !event.newValue) return;
    draft.gone = true;
    draft.forget();
    draft.forget(draft.late());
    location.reload();
  });

  function init(first) {
    const form = document.getElementById("turn");
    const feel = document.getElementById("feel");
    const message = document.getElementById("message");
    const why = document.getElementById("feeling");
    draft.recall();
    if (message) draft.takeBack(why);
    if (feel) {
      const felt = document.getElementById("felt");
      const show = () => { felt.textContent = feel.value; feel.dataset.moved = "1"; };
      const touch = () => { show(); draft.keep({ emotion: feel.value }); };
      felt.textContent = "–";
      if (draft.kept.emotion) { feel.value = draft.kept.emotion; show(); }
      feel.addEventListener("input", touch);
      feel.addEventListener("change", touch);
      feel.addEventListener("pointerup", touch);
      feel.addEventListener("keydown", (event) => { if (event.key === " " || event.key === "Enter") { event.preventDefault(); touch(); } });
    }
    if (why) {
      why.value ||= draft.kept.feeling || "";
      why.addEventListener("input", () => draft.keep({ feeling: why.value }));
    }
    if (message) {
      message.value ||= draft.kept.says || "";
      const count = document.getElementById("count");
      const show = () => {
        draft.keep({ says: message.value });
        const left = message.maxLength - message.value.length;
        count.textContent = left < 200 ? talk.dataset.count.replace("{left}", left) : "";
      };
      message.addEventListener("input", show);
      message.addEventListener("paste", (event) => {
        const more = event.clipboardData ? event.clipboardData.getData("text").length : 0;
        draft.keep({ pasted: (draft.kept.pasted || 0) + more });
      });
      message.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); document.getElementById("send").click(); }
      });
    }
    for (const one of talk.querySelectorAll("form")) if (one.method === "post") one.addEventListener("submit", submitted);
    if (untold) say(untold);
    if (message) untold = "";
    if (talk.dataset.state === "wait") listen();
    if (draft.kept.post) send(talk.querySelector("form[method=post]")); // the tab was closed, or reloaded, before it had arrived
    const errors = document.getElementById("errors");
    if (errors) errors.focus();
    else if (!first && form) (feel || message || form.querySelector("button")).focus({ preventScroll: true });
    if (!first) {
      const last = talk.querySelector(".lines li:last-child");
      if (last) last.scrollIntoView({ block: "nearest" });
    }
  }

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
    if (body.has("v.says")) body.set("pasted", draft.kept.pasted || 0);
    const feel = document.getElementById("feel");
    if (feel && form.id === "turn" && body.get("do") !== "close") {
      body.set("script", "1");
      body.set("moved", feel.dataset.moved ? "1" : "0");
      if (!feel.dataset.moved) { say(talk.dataset.moved); feel.focus(); return; }
    }
    draft.keep({ post: body.toString() });
    await send(form);
  }

  // What takes longer hangs on a connection that has died in silence: the next try opens another.
  async function fetched(address, options, read) {
    const patience = new AbortController();
    const late = setTimeout(() => patience.abort(), 20000);
    try {
      return await read(await fetch(address, { credentials: "same-origin", signal: patience.signal, ...options }));
    } finally { clearTimeout(late); }
  }

  // The same post until it has arrived: sent twice it changes nothing.
  async function send(form, again = false) {
    const post = draft.kept.post;
    if (!post) return; // deleted in another tab
    const focused = document.activeElement;
    busy = true;
    talk.dataset.busy = "1";
    form.inert = true; // what is on its way may not change
    if (!again) say(talk.dataset.saving);
    let reply = null;
    let foreign = false;
    try {
      reply = await fetched(form.action, {
        method: "POST", body: post, redirect: "error",
        headers: { "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded" },
      }, (response) => {
        if ((response.headers.get("content-type") || "").startsWith("application/json")) return response.json();
        foreign = response.status >= 400 && response.status < 500 && response.status !== 429;
        return null;
      });
    } catch { /* no network, or it broke off: the draft is kept */ }
    if (!reply && !foreign) { say(talk.dataset.notSaved); setTimeout(() => send(form, true), 3000); return; }
    draft.keep({ post: undefined });
    if (foreign) { location.assign(page); return; }
    form.inert = false;
    busy = false;
    delete talk.dataset.busy;
    if (reply.outcome === "refused" || reply.outcome === "busy") {
      say(Object.values(reply.problems || {}).join(" "));
      if (form.contains(focused)) focused.focus();
      return;
    }
    if (reply.outcome === "kept" || reply.outcome === "again") draft.forget();
    untold = Object.values(reply.problems || {}).join(" ");
    if (untold) {
      const lost = new URLSearchParams(post);
      unsent = { says: lost.get("v.says") || "", feeling: lost.get("v.feeling") || "", pasted: Number(lost.get("pasted")) || 0 };
      draft.write(draft.late(), unsent);
    }
    await refresh();
  }

  // The page as the server has it: only what is inside the talk is exchanged.
  async function refresh() {
    const own = ++newest;
    if (source) { source.close(); source = null; }
    try {
      const text = await fetched(page, {}, (response) => {
        if (response.status >= 500 || response.status === 429) throw new Error("not now"); // a proxy's page while we restart
        return response.text();
      });
      if (own !== newest) return;
      const found = new DOMParser().parseFromString(text, "text/html");
      const fresh = found.getElementById("talk");
      if (!fresh || fresh.dataset.step !== talk.dataset.step) { location.assign(untold ? `${page}?dropped=1` : page); return; }
      talk.replaceWith(document.adoptNode(fresh));
      talk = document.getElementById("talk");
      document.title = found.title;
      init(false);
    } catch {
      if (own !== newest) return;
      say(talk.dataset.notSaved);
      setTimeout(() => { if (own === newest) refresh(); }, 3000);
    }
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
