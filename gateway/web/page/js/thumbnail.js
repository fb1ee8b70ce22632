/** Small pictures of large photos, so that a row of many doesn't hold them all. */

import { h } from "./dom.js";
import { upright } from "./upright.js";

const WIDTH = 168;
const HEIGHT = 112;

/**
 * Make a canvas and draw the middle of the photo on it once it is decoded; what the browser can't show stays blank.
 * @param {File} file
 * @returns {HTMLElement}
 */
export function thumbnail(file) {
  const canvas = h("canvas", { class: "thumb-picture", width: WIDTH, height: HEIGHT, "aria-hidden": "true" });
  draw(canvas, file).catch(() => canvas.classList.add("thumb-blank"));
  return canvas;
}

async function draw(canvas, file) {
  const picture = await createImageBitmap(await upright(file));
  const scale = Math.max(WIDTH / picture.width, HEIGHT / picture.height);
  const [width, height] = [picture.width * scale, picture.height * scale];
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, (WIDTH - width) / 2, (HEIGHT - height) / 2, width, height);
  picture.close();
}
