/** Beside the photo: its plates, how long it took, what to copy; or what went wrong. */

import { card, drawCrop } from "./card.js";
import { copyButton } from "./clipboard.js";
import { curlCommand } from "./curl.js";
import { byId, h } from "./dom.js";
import { language, languageChanges, milliseconds, t } from "./i18n.js";
import { explain } from "./problems.js";
import { fits } from "./stage.js";
import { statusText } from "./strip.js";
import { timing } from "./timing.js";

/**
 * @param {import("./album.js").Album} album
 * @param {import("./highlight.js").Highlight} highlight
 * @param {import("./key.js").Key} key
 * @param {(photo: import("./album.js").Photo) => void} again reads a photo once more
 */
export function startResults(album, highlight, key, again) {
  const results = byId("results");

  const show = () => {
    const photo = album.selected;
    highlight.set(null);
    results.replaceChildren(...(photo === null ? [] : content(photo)));
    crop();
  };
  // The picture is decoded in its own time; a card's piece of it is cut out when both are there.
  const crop = () => {
    const image = byId("stage").querySelector("img");
    const answer = album.selected?.answer ?? null;
    if (image === null || answer === null || !fits(image, answer.image)) return;
    for (const [index, canvas] of results.querySelectorAll("canvas").entries()) {
      drawCrop(canvas, image, answer.plates[index].box);
    }
  };
  const content = (photo) => {
    const retry = () => {
      // The button goes away with the failure; the focus stays here.
      byId("panel").focus();
      again(photo);
    };
    switch (photo.status) {
      case "done":
        return [...answer(photo, highlight), exports(photo, key), timing(photo)];
      case "failed":
        return [failure(photo, retry)];
      default:
        return [progress(photo)];
    }
  };

  album.addEventListener("selection", show);
  album.addEventListener("photo", ({ detail }) => detail === album.selected && show());
  languageChanges.addEventListener("change", show);
  highlight.addEventListener("change", () => {
    for (const [index, element] of results.querySelectorAll(".card").entries()) {
      element.classList.toggle("card-active", index === highlight.plate);
    }
  });
  highlight.addEventListener("reveal", () => {
    results.querySelectorAll(".card")[highlight.plate]?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  });
  // An image's "load" doesn't bubble.
  byId("stage").addEventListener("load", crop, true);
}

function answer(photo, highlight) {
  const { plates } = photo.answer;
  const time = milliseconds(photo.milliseconds);
  const head = h(
    "div",
    { class: "results-head" },
    h("h2", { text: plates.length === 0 ? t("noPlates") : t("plates", plates.length) }),
    h("p", { text: t("answeredIn", time) }),
  );
  if (plates.length === 0) return [head, h("p", { class: "hint", text: t("noPlatesHint") })];
  return [head, h("ol", { class: "cards" }, ...plates.map((plate, index) => card(plate, index, highlight)))];
}

function exports(photo, key) {
  const json = () => JSON.stringify(photo.answer, null, 2);
  const command = () => curlCommand(photo.name, key.value !== null);
  return h(
    "div",
    { class: "exports" },
    h("div", { class: "actions" }, copyButton("copyJson", json), copyButton("copyCurl", command)),
    h(
      "details",
      { class: "raw" },
      h("summary", { text: t("raw") }),
      h("h3", { text: "curl" }),
      h("pre", { tabindex: "0", role: "region", "aria-label": "curl" }, h("code", { text: command() })),
      h("h3", { text: "JSON" }),
      h("pre", { tabindex: "0", role: "region", "aria-label": "JSON" }, h("code", { text: json() })),
    ),
  );
}

function failure(photo, retry) {
  const { title, detail } = explain(photo.error);
  return h(
    "div",
    { class: "failure" },
    h("h2", { text: title }),
    // The server speaks English.
    detail !== "" && h("p", { class: "failure-detail", lang: language() === "en" ? null : "en", text: detail }),
    h(
      "div",
      { class: "actions" },
      h("button", { type: "button", class: "button button-small", text: t("again"), onclick: retry }),
    ),
  );
}

function progress(photo) {
  return h(
    "div",
    { class: "progress" },
    h("h2", { text: statusText(photo) }),
    h("div", { class: "progress-bar", "data-status": photo.status }),
  );
}
