/** Copying. */

import { announce } from "./announce.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";

const SHOWN_MILLISECONDS = 2000;

/**
 * Make a button that copies and says so.
 * @param {string} label key of its message
 * @param {() => string} text
 * @returns {HTMLElement}
 */
export function copyButton(label, text) {
  const button = h("button", { type: "button", class: "button button-small", text: t(label) });
  button.addEventListener("click", () => copy(text(), button, label));
  return button;
}

/** Copy a text and say so on the button, whose label this is the key of. */
export async function copy(text, button, label) {
  const said = t((await write(text)) ? "copied" : "notCopied");
  announce(said);
  button.textContent = said;
  setTimeout(() => {
    button.textContent = t(label);
  }, SHOWN_MILLISECONDS);
}

async function write(text) {
  // Browsers offer the clipboard on https and localhost alone; a gateway in one's own network is often neither.
  if (navigator.clipboard === undefined) return writeBySelection(text);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return writeBySelection(text);
  }
}

function writeBySelection(text) {
  const focused = document.activeElement;
  const area = h("textarea", { class: "visually-hidden", readonly: true });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return done;
}
