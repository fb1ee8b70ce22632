/** What went wrong, in words. */

import { FileError, Problem } from "./api.js";
import { hasMessage, t } from "./i18n.js";

/**
 * @param {Error} error
 * @returns {{title: string, detail: string}} the title in the page's language, the detail as the server said it
 */
export function explain(error) {
  if (error instanceof Problem) {
    const key = `problem.${error.status}`;
    return { title: hasMessage(key) ? t(key) : t("problem.other", error.status), detail: error.detail };
  }
  return { title: t(error instanceof FileError ? "problem.file" : "problem.network"), detail: "" };
}
