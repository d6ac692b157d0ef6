// Refreshes the contents of live pages. The pages work without this script.
"use strict";
(() => {
  const main = document.getElementById("main");
  const seconds = Number(main?.dataset.live);
  if (!seconds) return;
  let failures = 0;
  let timer;
  let isRefreshing = false;
  let hasChanged = false;
  const plan = (milliseconds) => {
    clearTimeout(timer);
    timer = setTimeout(refresh, milliseconds);
  };
  const isBusy = () =>
    document.hidden || main.contains(document.activeElement) || String(document.getSelection()) !== "";
  const refresh = async () => {
    isRefreshing = true;
    hasChanged = false;
    if (!isBusy()) {
      try {
        const reply = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "error" });
        if (!reply.ok) throw new Error(reply.status);
        const page = new DOMParser().parseFromString(await reply.text(), "text/html");
        const fresh = page.getElementById("main");
        if (fresh && !isBusy()) {
          main.replaceChildren(...fresh.childNodes);
          document.querySelector("footer")?.replaceWith(page.querySelector("footer"));
        }
        failures = 0;
      } catch {
        failures += 1;
      }
    }
    isRefreshing = false;
    plan(hasChanged ? 500 : seconds * 1000 * Math.min(30, 2 ** failures));
  };
  plan(seconds * 1000);
  // Without this stream, the page still refreshes after the interval.
  if (main.dataset.changes) {
    new EventSource(main.dataset.changes).onmessage = () => {
      hasChanged = true;
      if (!isRefreshing) plan(100);
    };
  }
})();
