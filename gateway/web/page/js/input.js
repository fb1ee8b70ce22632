/** The ways in: choose, take, drop, paste, or the example. */

import { notice } from "./announce.js";
import { byId } from "./dom.js";
import { t } from "./i18n.js";
import { drawPlate } from "./plate.js";

/** What decorates the empty page. */
const SAMPLES = [
  { text: "A123BC77", format: "civil", region: { code: "77" } },
  { text: "MK45678", format: "taxi", region: { code: "78" } },
  { text: "E123450", format: "police", region: { code: "50" } },
];

const EXAMPLE = "assets/page/example.webp";

/** @param {(files: File[]) => void} add is given one file or more */
export function startInput(add) {
  byId("intake-plates").append(...SAMPLES.map((plate) => drawPlate(plate)));
  startButtons(add);
  startDrop(add);
  document.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length > 0) {
      event.preventDefault();
      add(files);
    } else if (!(event.target instanceof HTMLInputElement)) {
      notice(t("nothingPasted"));
    }
  });
}

function startButtons(add) {
  for (const [button, input] of [
    ["choose", "files"],
    ["take", "camera"],
  ]) {
    const field = byId(input);
    byId(button).addEventListener("click", () => field.click());
    field.addEventListener("change", () => {
      const files = [...field.files];
      // So that the same photo can be chosen again.
      field.value = "";
      if (files.length > 0) add(files);
    });
  }
  byId("intake").addEventListener("click", ({ target }) => {
    // With a mouse the whole place is a button.
    if (target instanceof Element && target.closest("button, input") === null) byId("files").click();
  });
  byId("example").addEventListener("click", async () => {
    try {
      const response = await fetch(EXAMPLE);
      if (!response.ok) throw new TypeError(response.statusText);
      add([new File([await response.blob()], "example.webp", { type: "image/webp" })]);
    } catch {
      notice(t("problem.network"));
    }
  });
}

/** The whole window takes photos: a browser would leave the page for one that is dropped beside the place. */
function startDrop(add) {
  const curtain = byId("curtain");
  let depth = 0;
  const show = (change) => {
    depth = Math.max(0, depth + change);
    curtain.hidden = depth === 0;
  };
  window.addEventListener("dragenter", (event) => holdsFiles(event) && show(1));
  window.addEventListener("dragleave", (event) => holdsFiles(event) && show(-1));
  window.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  });
  window.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    show(-depth);
    const { files, folders } = dropped(event.dataTransfer);
    if (folders > 0) notice(t("folderDropped"));
    if (files.length > 0) add(files);
  });
}

function holdsFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

function dropped(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const isFolder = (item) => item.webkitGetAsEntry?.()?.isDirectory ?? false;
  const files = items.filter((item) => !isFolder(item)).map((item) => item.getAsFile());
  return { files: files.filter((file) => file !== null), folders: items.filter(isFolder).length };
}
