/** Puts the parts together. */

import { Album } from "./album.js";
import { announce } from "./announce.js";
import { copy } from "./clipboard.js";
import { byId } from "./dom.js";
import { Highlight } from "./highlight.js";
import { startLanguage, t } from "./i18n.js";
import { startInput } from "./input.js";
import { Key } from "./key.js";
import { explain } from "./problems.js";
import { Queue } from "./queue.js";
import { read } from "./reader.js";
import { startResults } from "./results.js";
import { startStage } from "./stage.js";
import { startStrip } from "./strip.js";
import { startTheme } from "./theme.js";

/** Enough to keep the server busy while a photo travels; few enough to leave places for others. */
const AT_ONCE = 3;

const album = new Album();
const highlight = new Highlight();
const key = new Key();
const queue = new Queue((photo, signal) => read(album, key, photo, signal), AT_ONCE);

startTheme();
startLanguage();
startStage(album, highlight);
startStrip(album);
startResults(album, highlight, key, (photo) => {
  album.update(photo, { status: "queued", error: null });
  queue.push(photo);
});
startInput((files) => album.add(files).forEach((photo) => queue.push(photo)));

album.addEventListener("photo", ({ detail: photo }) => {
  const isKept = album.photos.includes(photo);
  if (!isKept) queue.drop(photo);
  document.documentElement.classList.toggle("has-photos", album.photos.length > 0);
  byId("work").hidden = album.photos.length === 0;
  byId("copy-all").hidden = answered().length < 2;
  if (isKept) say(photo);
});

byId("clear").addEventListener("click", () => {
  for (const photo of [...album.photos]) album.remove(photo);
  byId("choose").focus();
});
byId("copy-all").addEventListener("click", ({ currentTarget }) => {
  const all = answered().map((photo) => ({ file: photo.name, ...photo.answer }));
  copy(JSON.stringify(all, null, 2), currentTarget, "copyAll");
});

document.documentElement.classList.add("ready");

function answered() {
  return album.photos.filter((photo) => photo.status === "done");
}

function say(photo) {
  if (photo.status === "done") {
    const texts = photo.answer.plates.map((plate) => plate.text_cyrillic || t("unreadable"));
    announce([`${photo.name}: ${t("plates", texts.length)}`, ...texts].join(", "));
  } else if (photo.status === "failed") {
    announce(`${photo.name}: ${explain(photo.error).title}`);
  }
}
