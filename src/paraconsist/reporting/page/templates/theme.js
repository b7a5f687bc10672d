"use strict";
// The theme: as the system says, or light, or dark; remembered where the browser allows it.
(() => {
  const names = ["automatic", "light", "dark"];
  const button = document.getElementById("theme");
  const kept = () => { try { return localStorage.getItem("paraconsist-theme"); } catch { return null; } };
  const keep = (name) => { try { localStorage.setItem("paraconsist-theme", name); } catch { /* a file of its own */ } };
  const show = (name) => {
    if (name === "automatic") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    button.textContent = `Theme: ${name}`;
  };
  let now = names.includes(kept()) ? kept() : "automatic";
  show(now);
  button.hidden = false;
  button.addEventListener("click", () => {
    now = names[(names.indexOf(now) + 1) % names.length];
    show(now);
    keep(now);
  });
  if (location.protocol !== "about:") return;
  document.addEventListener("click", (event) => {  // in a frame without an address a link would leave the page
    const anchor = event.target.closest && event.target.closest("a[href^='#']");
    const there = anchor && document.getElementById(anchor.getAttribute("href").slice(1));
    if (!there) return;
    event.preventDefault();
    there.tabIndex = -1;
    there.focus();
  });
})();
