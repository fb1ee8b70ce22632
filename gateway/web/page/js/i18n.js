/** Russian and English: the browser's language until another one is chosen, which is remembered. */

import en from "../locales/en.js";
import ru from "../locales/ru.js";
import { byId } from "./dom.js";
import { recall, remember } from "./storage.js";

const LOCALES = { en, ru };

const LEAST_SHOWN = 0.001;

let current = initial();

/** Tells with "change" that the language is another one. */
export const languageChanges = new EventTarget();

/** Return the current language: "ru" or "en". */
export function language() {
  return current;
}

/**
 * Return a message in the current language.
 * @param {string} key
 * @param {...unknown} values what the message is made from
 * @returns {string}
 */
export function t(key, ...values) {
  const message = LOCALES[current][key];
  if (message === undefined) throw new Error(`no message "${key}" in ${current}`);
  return typeof message === "function" ? message(...values) : message;
}

/** Say whether there is a message. */
export function hasMessage(key) {
  return Object.hasOwn(LOCALES[current], key);
}

/** Return a probability in per cent; what isn't certain or impossible doesn't become 100 % or 0 %. */
export function percent(probability) {
  const isExtreme = probability < 0.01 || probability > 0.99;
  const format = new Intl.NumberFormat(current, { style: "percent", maximumFractionDigits: isExtreme ? 1 : 0 });
  if (probability > 0 && probability < LEAST_SHOWN) return `< ${format.format(LEAST_SHOWN)}`;
  return format.format(probability < 1 ? Math.min(probability, 1 - LEAST_SHOWN) : 1);
}

/** Return a time in milliseconds, for people. */
export function milliseconds(value) {
  const maximumFractionDigits = value < 10 ? 1 : 0;
  const number = new Intl.NumberFormat(current, { maximumFractionDigits }).format(value);
  return t("milliseconds", number);
}

/** Make the buttons work and translate the page. */
export function startLanguage() {
  const buttons = [...byId("languages").querySelectorAll("button")];
  const show = () => {
    document.documentElement.lang = current;
    translate(document);
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.language === current));
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      current = button.dataset.language;
      remember("language", current);
      show();
      languageChanges.dispatchEvent(new Event("change"));
    });
  }
  show();
}

function translate(root) {
  for (const element of root.querySelectorAll("[data-i18n]")) element.textContent = t(element.dataset.i18n);
  for (const element of root.querySelectorAll("[data-i18n-label]")) {
    element.setAttribute("aria-label", t(element.dataset.i18nLabel));
  }
}

function initial() {
  const wanted = [recall("language"), ...navigator.languages].map((tag) => tag?.slice(0, 2).toLowerCase());
  return wanted.find((tag) => Object.hasOwn(LOCALES, tag ?? "")) ?? "en";
}
