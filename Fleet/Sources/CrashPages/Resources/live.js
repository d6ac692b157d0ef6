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
  let isSoon = false;
  const plan = (milliseconds) => {
    clearTimeout(timer);
    timer = setTimeout(refresh, milliseconds);
  };
  const isBusy = () =>
    document.hidden || main.contains(document.activeElement) || String(document.getSelection()) !== "";
  const refresh = async () => {
    isRefreshing = true;
    hasChanged = false;
    isSoon = false;
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
    // After a failure, changes do not shorten the wait.
    plan(hasChanged && failures === 0 ? 1000 : seconds * 1000 * Math.min(30, 2 ** failures));
  };
  plan(seconds * 1000);
  const announce = () => {
    hasChanged = true;
    if (isRefreshing || isSoon || failures > 0) return;
    isSoon = true;
    plan(100);
  };
  // Without this stream, the page still refreshes after the interval. A hidden page has no stream, because a browser
  // opens only a few connections to one server.
  let stream = null;
  const listen = () => {
    stream?.close();
    stream = document.hidden ? null : new EventSource(main.dataset.changes);
    if (stream) stream.onmessage = announce;
  };
  if (main.dataset.changes) {
    document.addEventListener("visibilitychange", listen);
    listen();
  }
})();
