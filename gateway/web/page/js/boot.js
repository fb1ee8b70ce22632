// Runs before anything is painted, so that the page doesn't flash in the other theme.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("plate-gateway.theme");
  } catch {
    // Storage is switched off: the system's theme it is.
  }
  document.documentElement.dataset.theme = chosen ?? (dark.matches ? "dark" : "light");
})();
