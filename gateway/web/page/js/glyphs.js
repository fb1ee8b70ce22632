/**
 * The characters of Russian plates (GOST R 50577), drawn with a pen, so that plates look alike on every machine.
 *
 * A glyph is the path of the pen's centre in a unit square, x right, y down: SVG path data with absolute commands only.
 */

/** How far a curve's control points reach: 0.55 gives an ellipse, more a rounded rectangle. */
const DIGIT_CURVE = 0.64;
const LETTER_CURVE = 0.58;

function oval(x, y, width, height, curve) {
  const [left, right, top, bottom] = [x - width / 2, x + width / 2, y - height / 2, y + height / 2];
  const [dx, dy] = [(width / 2) * curve, (height / 2) * curve];
  return (
    `M ${x} ${top} C ${x + dx} ${top} ${right} ${y - dy} ${right} ${y} ` +
    `C ${right} ${y + dy} ${x + dx} ${bottom} ${x} ${bottom} ` +
    `C ${x - dx} ${bottom} ${left} ${y + dy} ${left} ${y} C ${left} ${y - dy} ${x - dx} ${top} ${x} ${top} Z`
  );
}

function bow(x, top, bottom, right) {
  const y = (top + bottom) / 2;
  const [dx, dy] = [(right - x) * LETTER_CURVE, (y - top) * LETTER_CURVE];
  return (
    `M 0 ${top} L ${x} ${top} C ${x + dx} ${top} ${right} ${y - dy} ${right} ${y} ` +
    `C ${right} ${y + dy} ${x + dx} ${bottom} ${x} ${bottom} L 0 ${bottom}`
  );
}

const STEM = "M 0 0 L 0 1";

const PATHS = {
  0: oval(0.5, 0.5, 1, 1, DIGIT_CURVE),
  1: "M 0 0.34 L 0.82 0 L 0.82 1",
  2: "M 0.02 0.27 C 0.02 0.09 0.2 0 0.5 0 C 0.82 0 0.98 0.11 0.98 0.29 C 0.98 0.34 0.97 0.39 0.94 0.43 L 0 1 L 1 1",
  3: "M 0.08 0 L 0.95 0 L 0.44 0.39 C 0.82 0.37 1 0.5 1 0.69 C 1 0.89 0.8 1 0.48 1 C 0.2 1 0.04 0.93 0 0.8",
  4: "M 0.72 0 L 0 0.68 L 1 0.68 M 1 0.46 L 1 1",
  5:
    "M 0.94 0 L 0.12 0 L 0.08 0.45 C 0.2 0.39 0.34 0.36 0.48 0.36 " +
    "C 0.82 0.36 1 0.48 1 0.68 C 1 0.88 0.82 1 0.48 1 C 0.2 1 0.04 0.92 0 0.8",
  6: `${oval(0.5, 0.66, 1, 0.68, LETTER_CURVE)} M 0.64 0 Q 0.04 0.36 0.01 0.66`,
  7: "M 0 0 L 1 0 L 0.34 1",
  8: `${oval(0.5, 0.24, 0.84, 0.48, LETTER_CURVE)} ${oval(0.5, 0.73, 1, 0.54, LETTER_CURVE)}`,
  9: `${oval(0.5, 0.34, 1, 0.68, LETTER_CURVE)} M 0.36 1 Q 0.96 0.64 0.99 0.34`,
  A: "M 0 1 L 0.5 0 L 1 1 M 0.18 0.68 L 0.82 0.68",
  B: `${STEM} ${bow(0.5, 0, 0.46, 0.92)} ${bow(0.55, 0.46, 1, 1)}`,
  C: "M 0.92 0.18 C 0.82 0.04 0.68 0 0.52 0 C 0.16 0 0 0.18 0 0.5 C 0 0.82 0.16 1 0.52 1 C 0.68 1 0.82 0.96 0.92 0.82",
  D: `${STEM} ${bow(0.4, 0, 1, 1)}`,
  E: "M 1 0 L 0 0 L 0 1 L 1 1 M 0 0.47 L 0.86 0.47",
  H: `${STEM} M 1 0 L 1 1 M 0 0.5 L 1 0.5`,
  K: `${STEM} M 0.95 0 L 0 0.58 M 0.3 0.4 L 1 1`,
  M: "M 0 1 L 0 0 L 0.5 0.62 L 1 0 L 1 1",
  O: oval(0.5, 0.5, 1, 1, LETTER_CURVE),
  P: `${STEM} ${bow(0.54, 0, 0.54, 1)}`,
  R: `${STEM} ${bow(0.54, 0, 0.54, 1)} M 0.5 0.54 L 1 1`,
  S:
    "M 0.93 0.16 C 0.82 0.04 0.68 0 0.5 0 C 0.16 0 0.02 0.1 0.02 0.25 C 0.02 0.42 0.2 0.5 0.5 0.5 " +
    "C 0.84 0.5 1 0.58 1 0.75 C 1 0.9 0.8 1 0.5 1 C 0.24 1 0.08 0.95 0.02 0.85",
  T: "M 0 0 L 1 0 M 0.5 0 L 0.5 1",
  U: "M 0 0 L 0 0.62 C 0 0.88 0.16 1 0.5 1 C 0.84 1 1 0.88 1 0.62 L 1 0",
  X: "M 0 0 L 1 1 M 1 0 L 0 1",
  // The Cyrillic U: one long stroke down to the left, a short one that meets it.
  Y: "M 0 0 L 0.6 0.57 M 1 0 L 0.3 1",
};

const ASPECTS = { 1: 0.46, O: 0.78, M: 0.84, A: 0.8, C: 0.74, E: 0.68 };

/** Return a glyph's width divided by its height. */
export function aspect(character) {
  return ASPECTS[character] ?? (/\d/.test(character) ? 0.6 : 0.73);
}

/**
 * Return the pen's path for a glyph of this size; a character that plates don't have gives an empty one.
 * @param {string} character in Latin look-alikes
 * @param {number} width
 * @param {number} height
 * @param {number} pen width of the stroke: the path stays half of it inside the glyph's cell
 * @returns {string} SVG path data
 */
export function penPath(character, width, height, pen) {
  const sizes = [width - pen, height - pen];
  let index = 0;
  return (PATHS[character] ?? "").replace(/-?[\d.]+/g, (number) => {
    const size = sizes[index++ % 2];
    return (pen / 2 + Number(number) * size).toFixed(2);
  });
}
