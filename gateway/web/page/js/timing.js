/** Where the time went: a bar of the stages, and the same in words. */

import { h } from "./dom.js";
import { milliseconds, t } from "./i18n.js";

/**
 * @param {import("./album.js").Photo} photo
 * @returns {HTMLElement|null}
 */
export function timing(photo) {
  const stages = stagesOf(photo.answer.milliseconds ?? {}, photo.milliseconds);
  const bar = h("div", { class: "timing-bar", "aria-hidden": "true" });
  for (const [name, value] of stages) {
    const piece = h("span", { class: "timing-piece", "data-stage": name });
    piece.style.flexGrow = String(value);
    bar.append(piece);
  }
  const rows = stages.map(([name, value]) =>
    h(
      "div",
      { class: "timing-row" },
      h("dt", { "data-stage": name, text: t(`stage.${name}`) }),
      h("dd", { text: milliseconds(value) }),
    ),
  );
  const { transport } = photo.answer;
  return h(
    "details",
    { class: "timing" },
    h("summary", { text: t("time") }),
    bar,
    h("dl", { class: "timing-list" }, ...rows),
    transport && h("p", { class: "timing-transport", text: t("transport", transport) }),
  );
}

/**
 * Return the stages in order. "triton" is left out: "detect" and "read" are its parts, and the rest of it is among what
 * else the server did; what is beyond the server's total is the way there and back.
 * @param {Object<string, number>} told
 * @param {number} whole
 * @returns {[string, number][]}
 */
function stagesOf({ queue = 0, decode = 0, triton = 0, detect = 0, read = 0, total = queue + decode + triton }, whole) {
  const network = Math.max(0, whole - total);
  const server = Math.max(0, total - queue - decode - detect - read);
  return Object.entries({ network, queue, decode, detect, read, server });
}
