/** The photo that is looked at, with its plates drawn over it. */

import { byId, h } from "./dom.js";
import { languageChanges, t } from "./i18n.js";
import { drawPlate } from "./plate.js";
import { upright } from "./upright.js";

const NEAR_TOP = 0.14;
const NEAR_SIDE = 0.2;

/**
 * @param {import("./album.js").Album} album
 * @param {import("./highlight.js").Highlight} highlight
 */
export function startStage(album, highlight) {
  const stage = byId("stage");
  let url = null;
  let opened = 0;

  const open = async () => {
    const photo = album.selected;
    const turn = ++opened;
    // Only the photo that is looked at is held in full.
    if (url !== null) URL.revokeObjectURL(url);
    url = null;
    stage.replaceChildren(...(photo === null ? [] : [figure(photo, () => overlay(photo), () => remove(photo))]));
    if (photo === null) return;
    overlay(photo);
    const picture = await upright(photo.file);
    if (turn !== opened) return;
    url = URL.createObjectURL(picture);
    stage.querySelector("img").src = url;
  };
  const remove = (photo) => {
    album.remove(photo);
    byId(album.selected?.id ?? "choose").focus();
  };
  const overlay = (photo) => {
    if (photo !== album.selected) return;
    describe(stage, photo);
    const frame = stage.querySelector(".stage-frame");
    const image = stage.querySelector("img");
    const boxes = photo.answer !== null && fits(image, photo.answer.image) ? drawBoxes(photo.answer, highlight) : [];
    frame.replaceChildren(image, ...boxes);
    stage.classList.toggle("stage-busy", photo.status === "sending");
  };

  album.addEventListener("selection", open);
  album.addEventListener("photo", ({ detail }) => overlay(detail));
  languageChanges.addEventListener("change", () => album.selected && overlay(album.selected));
  highlight.addEventListener("change", () => {
    for (const box of stage.querySelectorAll(".box")) {
      box.classList.toggle("box-active", Number(box.dataset.plate) === highlight.plate);
    }
  });
}

function figure(photo, loaded, remove) {
  const image = h("img", { class: "stage-photo" });
  image.addEventListener("load", loaded);
  image.addEventListener("error", () => {
    image.closest(".stage-figure").classList.add("stage-blind");
  });
  return h(
    "figure",
    { class: "stage-figure" },
    h("div", { class: "stage-frame" }, image),
    h("p", { class: "stage-cannot" }),
    h(
      "figcaption",
      { class: "stage-caption" },
      h("span", { class: "stage-name", text: photo.name }),
      h("button", { type: "button", class: "button button-small stage-remove", onclick: remove }),
    ),
  );
}

function describe(stage, photo) {
  const texts = (photo.answer?.plates ?? []).map((plate) => plate.text_cyrillic || t("unreadable"));
  const image = stage.querySelector("img");
  image.alt = texts.length === 0 ? photo.name : t("photoWith", photo.name, texts.join(", "));
  stage.querySelector(".stage-cannot").textContent = t("cannotShow");
  stage.querySelector(".stage-remove").textContent = t("remove");
}

/** Say whether boxes can be drawn: the browser shows the picture, and turned the same way as the server saw it. */
export function fits(image, { width, height }) {
  return image.complete && image.naturalWidth === width && image.naturalHeight === height;
}

function drawBoxes({ image, plates }, highlight) {
  return plates.map((plate, index) => {
    const left = plate.box.x_min / image.width;
    const right = plate.box.x_max / image.width;
    const top = plate.box.y_min / image.height;
    const bottom = plate.box.y_max / image.height;
    const label = h("div", { class: "box-label" }, plate.text === "" ? "?" : drawPlate(plate));
    const middle = (left + right) / 2;
    const side = middle < NEAR_SIDE ? " box-left" : middle > 1 - NEAR_SIDE ? " box-right" : "";
    const box = h(
      "div",
      {
        class: `box${top < NEAR_TOP ? " box-below" : ""}${side}`,
        "aria-hidden": "true",
        "data-plate": index,
        onpointerenter: () => highlight.set(index),
        onpointerleave: () => highlight.set(null),
        onclick: () => highlight.reveal(index),
      },
      label,
    );
    // Set like this, a strict content security policy allows it; as an attribute it wouldn't.
    box.style.left = `${left * 100}%`;
    box.style.top = `${top * 100}%`;
    box.style.width = `${(right - left) * 100}%`;
    box.style.height = `${(bottom - top) * 100}%`;
    return box;
  });
}
