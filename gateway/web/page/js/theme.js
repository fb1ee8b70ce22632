/** Light and dark: the system's theme until another one is chosen, which is remembered. */

import { byId } from "./dom.js";
import { recall, remember } from "./storage.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Make the button work and follow the system where nothing is chosen. */
export function startTheme() {
  const button = byId("theme");
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.setAttribute("aria-pressed", String(theme === "dark"));
  };
  button.addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    // Choosing what the system has means to follow it again.
    remember("theme", theme === systemTheme() ? null : theme);
    show(theme);
  });
  dark.addEventListener("change", () => show(recall("theme") ?? systemTheme()));
  show(document.documentElement.dataset.theme);
}

function systemTheme() {
  return dark.matches ? "dark" : "light";
}
