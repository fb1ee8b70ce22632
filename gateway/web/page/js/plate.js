/** Plates as they look: SVG, in millimetres of GOST R 50577. */

import { svg } from "./dom.js";
import { aspect, penPath } from "./glyphs.js";

const WHITE = { ground: "#f7f8f6", ink: "#14171a" };

/** Colours of the types that have their own, and whether a flag is below the region. */
const LOOKS = {
  taxi: { ground: "#fdc62f", ink: "#14171a", flag: false },
  police: { ground: "#1d55b4", ink: "#ffffff", flag: false },
  military: { ground: "#17191c", ink: "#ffffff", flag: false },
  diplomatic: { ground: "#b41f2b", ink: "#ffffff", flag: false },
  transit: { ...WHITE, flag: false },
  temporary: { ...WHITE, flag: false },
  unknown: { ...WHITE, flag: false },
};

const ONE_LINE = { width: 520, height: 112 };
const TWO_LINES = { width: 290, height: 170 };

const DIGIT = 76;
const LETTER = 58;
const PEN = 10.5;
const GAP = 8;
const LARGEST_GROUP_GAP = 26;
const ROUNDING = 0.01;

/**
 * Draw a plate.
 * @param {{text: string, format?: string, lines?: number, region?: {code: string}|null}} plate text in Latin
 *   look-alikes
 * @param {string|null} label what a screen reader says; without one the drawing is decoration
 * @returns {SVGElement}
 */
export function drawPlate(plate, label = null) {
  const look = LOOKS[plate.format] ?? { ...WHITE, flag: true };
  const size = plate.lines === 2 ? TWO_LINES : ONE_LINE;
  const { series, region } = split(plate);
  const drawing = svg("svg", {
    class: "plate",
    viewBox: `0 0 ${size.width} ${size.height}`,
    role: label === null ? null : "img",
    "aria-label": label,
    "aria-hidden": label === null ? "true" : null,
    "data-format": plate.format,
  });
  drawing.append(ground(size, look));
  if (plate.lines === 2) drawing.append(...twoLines(series, region, look));
  else drawing.append(...oneLine(series, region, look));
  return drawing;
}

/**
 * Return the text in groups, as people read it: "А 123 ВС 77".
 * @param {{text: string, text_cyrillic?: string, region?: {code: string}|null}} plate
 */
export function grouped(plate) {
  const { series, region } = split(plate);
  const text = plate.text_cyrillic ?? plate.text;
  const groups = groupsOf(text.slice(0, series.length));
  return [...groups, ...(region ? [text.slice(series.length)] : [])].join(" ");
}

function split({ text, region }) {
  const code = region?.code ?? "";
  const series = code !== "" && text.endsWith(code) ? text.slice(0, -code.length) : text;
  return { series, region: text.slice(series.length) };
}

function groupsOf(text) {
  return text.match(/\d+|\D+/g) ?? [];
}

function ground({ width, height }, { ground: fill, ink }) {
  const frame = { x: 3, y: 3, width: width - 6, height: height - 6, rx: 9 };
  return svg(
    "g",
    {},
    svg("rect", { width, height, rx: 12, fill }),
    svg("rect", { ...frame, fill: "none", stroke: ink, "stroke-width": 4 }),
  );
}

function oneLine(series, region, look) {
  if (region === "") return row(series, { left: 24, right: 496, baseline: 94, scale: 1 }, look);
  const divider = region.length === 2 ? 391 : 366;
  return [
    ...row(series, { left: 20, right: divider - 12, baseline: 94, scale: 1 }, look),
    line(divider, 5, divider, 107, look),
    ...row(region, { left: divider + 5, right: 512, baseline: 70, scale: 58 / DIGIT }, look),
    ...country((divider + 516) / 2, 101, 1, look),
  ];
}

function twoLines(series, region, look) {
  const groups = groupsOf(series);
  const digits = groups.findIndex(isDigit);
  const upper = groups.slice(0, digits + 1).join("");
  const lower = groups.slice(digits + 1).join("");
  const place = { left: 16, right: 274, baseline: 88, scale: 0.95 };
  if (region === "") return [...row(upper, place, look), ...row(lower, { ...place, baseline: 158, scale: 0.8 }, look)];
  return [
    ...row(upper, place, look),
    ...row(lower, { left: 16, right: 138, baseline: 156, scale: 1 }, look),
    line(146, 97, 146, 165, look),
    ...row(region, { left: 150, right: 282, baseline: 138, scale: 0.53 }, look),
    ...country(216, 159, 0.7, look),
  ];
}

/** Draw characters in the middle of a place, with wider gaps between groups of letters and digits. */
function row(text, place, look) {
  const { left, right, baseline, scale } = place;
  const characters = [...text].map((character) => {
    const height = (isDigit(character) ? DIGIT : LETTER) * scale;
    return { character, height, width: height * aspect(character) };
  });
  const groups = Math.max(groupsOf(text).length - 1, 0);
  const narrow = GAP * scale;
  const solid = characters.reduce((sum, { width }) => sum + width, 0) + narrow * (text.length - 1 - groups);
  const least = solid + narrow * groups;
  // What plates don't hold, an unknown type may.
  if (least > right - left + ROUNDING) return row(text, { ...place, scale: (scale * (right - left)) / least }, look);
  const wide = groups === 0 ? 0 : Math.min(LARGEST_GROUP_GAP * scale, (right - left - solid) / groups);
  let x = (left + right - solid - wide * groups) / 2;
  return characters.map(({ character, height, width }, index) => {
    const drawn = glyph(character, { x, y: baseline - height, width, height }, PEN * scale, look.ink);
    x += width + (isDigit(character) === isDigit(text[index + 1]) ? narrow : wide);
    return drawn;
  });
}

function isDigit(character = "") {
  return /\d/.test(character);
}

/** Draw one character; its cell cuts the strokes straight. */
function glyph(character, { x, y, width, height }, pen, ink) {
  const path = svg("path", {
    d: penPath(character, width, height, pen),
    fill: "none",
    stroke: ink,
    "stroke-width": pen,
    "stroke-linecap": "square",
    "stroke-linejoin": "miter",
  });
  return svg("svg", { x, y, width, height }, path);
}

function line(x1, y1, x2, y2, { ink }) {
  return svg("line", { x1, y1, x2, y2, stroke: ink, "stroke-width": 3 });
}

/** Draw RUS, and the flag beside it where this type of plate has one. */
function country(centre, baseline, scale, { ink, flag }) {
  const left = centre - (flag ? 54 : 27) * scale;
  const letters = [..."RUS"].map((character, index) => {
    const cell = { x: left + 19 * index * scale, y: baseline - 20 * scale, width: 15 * scale, height: 20 * scale };
    return glyph(character, cell, 3.2 * scale, ink);
  });
  if (!flag) return letters;
  const [x, y, width, stripe] = [left + 62 * scale, baseline - 20.5 * scale, 42 * scale, 7 * scale];
  const stripes = ["#ffffff", "#1f5fbf", "#d52b33"].map((fill, index) =>
    svg("rect", { x, y: y + stripe * index, width, height: stripe, fill }),
  );
  const frame = svg("rect", { x, y, width, height: stripe * 3, fill: "none", stroke: ink, "stroke-width": 1 });
  return [...letters, ...stripes, frame];
}
