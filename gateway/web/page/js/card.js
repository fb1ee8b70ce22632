/** One plate of the list. */

import { copyButton } from "./clipboard.js";
import { h } from "./dom.js";
import { hasMessage, language, percent, t } from "./i18n.js";
import { drawPlate, grouped } from "./plate.js";

/** What of the picture is shown around a plate, as a share of its width, and pixels of the cut-out. */
const MARGIN = 0.12;
const CROP_WIDTH = 440;

/** Characters below this are marked. */
const DOUBTFUL = 0.8;

/**
 * @param {object} plate one of the answer's
 * @param {number} index
 * @param {import("./highlight.js").Highlight} highlight
 * @returns {HTMLElement}
 */
export function card(plate, index, highlight) {
  const isRead = plate.text !== "";
  return h(
    "li",
    {
      class: "card",
      onpointerenter: () => highlight.set(index),
      onpointerleave: () => highlight.set(null),
      onfocusin: () => highlight.set(index),
      onfocusout: () => highlight.set(null),
    },
    h(
      "div",
      { class: "card-plates" },
      isRead
        ? drawPlate(plate, t("plateLabel", grouped(plate)))
        : h("p", { class: "card-unreadable", text: t("unreadable") }),
      h("canvas", { class: "card-crop", role: "img", "aria-label": t("crop"), width: 1, height: 1 }),
    ),
    h(
      "div",
      { class: "card-line" },
      isRead && h("strong", { class: "card-text", text: grouped(plate) }),
      isRead && copyButton("copyText", () => plate.text_cyrillic),
    ),
    facts(plate),
    h("div", { class: "scores" }, score("textScore", plate.score), score("boxScore", plate.detection_score)),
    more(plate),
  );
}

/** Cut a plate out of the picture. */
export function drawCrop(canvas, image, box) {
  const margin = (box.x_max - box.x_min) * MARGIN;
  const [x, y] = [Math.max(0, box.x_min - margin), Math.max(0, box.y_min - margin)];
  const width = Math.min(image.naturalWidth, box.x_max + margin) - x;
  const height = Math.min(image.naturalHeight, box.y_max + margin) - y;
  canvas.width = CROP_WIDTH;
  canvas.height = Math.max(1, Math.round((CROP_WIDTH * height) / width));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, x, y, width, height, 0, 0, canvas.width, canvas.height);
}

function facts(plate) {
  const words = [];
  if (hasMessage(`format.${plate.format}`)) words.push(t(`format.${plate.format}`));
  const region = regionName(plate.region);
  if (region !== "") words.push(region);
  return words.length > 0 && h("p", { class: "card-facts", text: words.join(" · ") });
}

function regionName(region) {
  return (language() === "ru" ? region?.name_ru : region?.name) ?? "";
}

function score(label, value) {
  const bar = h("span", { class: "score-bar", "aria-hidden": "true" }, h("span", { class: "score-fill" }));
  bar.firstChild.style.width = `${value * 100}%`;
  return h(
    "div",
    { class: "score" },
    h("span", { class: "score-label", text: t(label) }),
    bar,
    h("span", { class: "score-value", text: percent(value) }),
  );
}

function more(plate) {
  const candidates = plate.candidates ?? [];
  const characters = plate.character_scores ?? [];
  if (candidates.length === 0 && characters.length === 0) return null;
  const best = candidates[0]?.text ?? plate.text;
  return h(
    "details",
    { class: "more" },
    h("summary", { text: t("more") }),
    ...list("characters", characters.map((value, index) => character(best[index], value))),
    ...list("candidates", candidates.map(candidate)),
  );
}

function list(name, items) {
  return items.length === 0 ? [] : [h("h3", { text: t(name) }), h("ol", { class: name }, ...items)];
}

function character(text, value) {
  return h(
    "li",
    { class: `character${value < DOUBTFUL ? " character-doubtful" : ""}` },
    h("span", { class: "character-text", text: text ?? "" }),
    h("span", { class: "character-score", text: String(Math.floor(value * 100)) }),
  );
}

function candidate({ text, score: value }) {
  return h(
    "li",
    {},
    h("span", { class: "candidate-text", text }),
    h("span", { class: "candidate-score", text: percent(value) }),
  );
}
