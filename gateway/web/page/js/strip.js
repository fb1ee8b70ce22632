/** The row of photos: tabs, one of which is looked at. */

import { byId, h } from "./dom.js";
import { languageChanges, t } from "./i18n.js";
import { thumbnail } from "./thumbnail.js";

const ENDED = ["done", "failed"];

/** @param {import("./album.js").Album} album */
export function startStrip(album) {
  const list = byId("photos");
  /** @type {Map<object, HTMLElement>} */
  const tabs = new Map();

  const show = (photo) => {
    if (!album.photos.includes(photo)) {
      tabs.get(photo)?.remove();
      tabs.delete(photo);
      return;
    }
    if (!tabs.has(photo)) {
      const tab = makeTab(photo, () => album.select(photo));
      tabs.set(photo, tab);
      list.append(tab);
    }
    describe(tabs.get(photo), photo);
  };
  const mark = () => {
    for (const [photo, tab] of tabs) {
      const isSelected = photo === album.selected;
      tab.setAttribute("aria-selected", String(isSelected));
      tab.tabIndex = isSelected ? 0 : -1;
    }
    const selected = tabs.get(album.selected);
    if (selected === undefined) return;
    byId("panel").setAttribute("aria-labelledby", selected.id);
    selected.scrollIntoView({ block: "nearest", inline: "nearest" });
  };

  album.addEventListener("photo", ({ detail }) => show(detail));
  album.addEventListener("selection", mark);
  languageChanges.addEventListener("change", () => album.photos.forEach(show));
  list.addEventListener("keydown", (event) => {
    const index = album.photos.indexOf(album.selected);
    const last = album.photos.length - 1;
    const goal = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: last }[event.key];
    if (event.key === "Delete") album.remove(album.selected);
    else if (goal !== undefined) album.select(album.photos[Math.min(Math.max(goal, 0), last)]);
    else return;
    event.preventDefault();
    (tabs.get(album.selected) ?? byId("choose")).focus();
  });
}

function makeTab(photo, select) {
  return h(
    "button",
    {
      type: "button",
      role: "tab",
      class: "thumb",
      id: photo.id,
      "aria-controls": "panel",
      "aria-keyshortcuts": "Delete",
      onclick: select,
    },
    thumbnail(photo.file),
    h("span", { class: "thumb-name", text: photo.name }),
    h("span", { class: "thumb-status" }),
  );
}

function describe(tab, photo) {
  tab.dataset.status = photo.status;
  tab.querySelector(".thumb-status").textContent = statusText(photo);
  tab.setAttribute("aria-busy", String(!ENDED.includes(photo.status)));
}

/** Say in a few words how far a photo is. */
export function statusText(photo) {
  if (photo.status === "done") return t("plates", photo.answer.plates.length);
  return t(`status.${photo.status}`, photo.seconds);
}
