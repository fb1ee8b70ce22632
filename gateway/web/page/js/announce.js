/** What is said beside what is shown. */

import { byId } from "./dom.js";

const NOTICE_MILLISECONDS = 6000;

let hiding = 0;

/** Let screen readers say something. */
export function announce(text) {
  const status = byId("status");
  // The same text again is only said when it differs.
  status.textContent = status.textContent === text ? `${text}\u00a0` : text;
}

/** Show a message about the page as a whole, for a while. */
export function notice(text) {
  const element = byId("notice");
  element.textContent = text;
  element.hidden = false;
  clearTimeout(hiding);
  hiding = setTimeout(() => {
    element.hidden = true;
  }, NOTICE_MILLISECONDS);
}
