/**
 * Photos as their viewer is meant to see them. Browsers turn a JPEG and a PNG by its EXIF orientation, as the server
 * does before it tells where the plates are; not all of them turn a WebP.
 */

import { h } from "./dom.js";

const ORIENTATION_TAG = 0x0112;

/** A WebP of 2 x 1 pixels whose orientation makes it 1 x 2. */
const PROBE =
  "UklGRlIAAABXRUJQVlA4WAoAAAAIAAAAAQAAAAAAVlA4TBEAAAAvAQAAAAfQ//73v/+BiOh/" +
  "AABFWElGGgAAAE1NACoAAAAIAAEBEgADAAAAAQAGAAAAAAAA";

/** For each orientation from 2 on, how a picture of a width and height is turned: what canvases call a transform. */
const TRANSFORMS = {
  2: (width) => [-1, 0, 0, 1, width, 0],
  3: (width, height) => [-1, 0, 0, -1, width, height],
  4: (_, height) => [1, 0, 0, -1, 0, height],
  5: () => [0, 1, 1, 0, 0, 0],
  6: (_, height) => [0, 1, -1, 0, height, 0],
  7: (width, height) => [0, -1, -1, 0, height, width],
  8: (width) => [0, -1, 1, 0, 0, width],
};

let turnsWebp = null;

/**
 * Return the photo, or one that is turned where the browser wouldn't do so. What can't be turned is given back as is.
 * @param {File} file
 * @returns {Promise<Blob>}
 */
export async function upright(file) {
  if (file.type !== "image/webp") return file;
  try {
    const transform = TRANSFORMS[orientationOf(new DataView(await file.arrayBuffer()))];
    turnsWebp ??= probe();
    return transform === undefined || (await turnsWebp) ? file : await turned(file, transform);
  } catch {
    return file;
  }
}

async function probe() {
  const bytes = Uint8Array.from(atob(PROBE), (character) => character.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], { type: "image/webp" }));
  return picture.width === 1;
}

async function turned(file, transform) {
  const picture = await createImageBitmap(file);
  const { width, height } = picture;
  const matrix = transform(width, height);
  const isOnItsSide = matrix[0] === 0;
  const canvas = h("canvas", { width: isOnItsSide ? height : width, height: isOnItsSide ? width : height });
  const context = canvas.getContext("2d");
  context.setTransform(...matrix);
  context.drawImage(picture, 0, 0);
  picture.close();
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob ?? file), "image/jpeg", 0.95));
}

/** Return a WebP's EXIF orientation, 1 to 8; 1 where it has none. Throws RangeError where the file ends too early. */
function orientationOf(view) {
  const name = (at) => String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(at + index)));
  // RIFF: chunks of a name, a size and content that is padded to an even size.
  for (let at = 12; at + 8 < view.byteLength; ) {
    const size = view.getUint32(at + 4, true);
    if (name(at) === "EXIF") return orientationInTiff(view, name(at + 8) === "Exif" ? at + 14 : at + 8);
    at += 8 + size + (size % 2);
  }
  return 1;
}

function orientationInTiff(view, start) {
  const isLittleEndian = view.getUint16(start) === 0x4949;
  const directory = start + view.getUint32(start + 4, isLittleEndian);
  const count = view.getUint16(directory, isLittleEndian);
  for (let entry = directory + 2; entry < directory + 2 + 12 * count; entry += 12) {
    if (view.getUint16(entry, isLittleEndian) === ORIENTATION_TAG) return view.getUint16(entry + 8, isLittleEndian);
  }
  return 1;
}
