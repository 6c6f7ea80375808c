// Refreshes the researcher's page in place. Without this script there is a link that does it.
"use strict";
(() => {
  let live = document.getElementById("live");
  if (!live) return;
  let on = true;
  const ready = () => {
    const box = live.querySelector("#watching");
    box.closest("label").hidden = false;
    box.checked = on;
    box.addEventListener("change", () => { on = box.checked; });
  };
  ready();
  setInterval(async () => {
    if (!on || document.hidden || live.contains(document.activeElement)) return; // not under somebody's fingers
    try {
      const reply = await fetch(location.href, { credentials: "same-origin" });
      if (reply.redirected) { location.reload(); return; } // logged out
      if (!reply.ok) return;
      const found = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("live");
      if (!found) return;
      live.replaceWith(found);
      live = found;
      ready();
    } catch { /* the next time */ }
  }, Number(live.dataset.seconds) * 1000);
})();
