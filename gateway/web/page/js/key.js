/** The API key, where the server wants one: asked for when it says so, kept until the tab is closed. */

import { byId } from "./dom.js";
import { t } from "./i18n.js";
import { recall, remember } from "./storage.js";

const tab = () => sessionStorage;

export class Key {
  /** @type {string|null} */
  value = recall("key", tab);
  #asking = null;

  /**
   * Ask for another key than the one that was refused; several requests at once ask together.
   * @param {string|null} refused
   * @returns {Promise<boolean>} whether there is another one
   */
  async replace(refused) {
    if (this.value !== refused) return true;
    this.#asking ??= this.#ask(refused !== null).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #ask(isRefused) {
    const dialog = byId("key-dialog");
    const input = byId("key");
    byId("key-text").textContent = t(isRefused ? "keyRefused" : "keyText");
    input.value = "";
    const controller = new AbortController();
    const entered = await new Promise((resolve) => {
      const listen = (target, type, answer) => target.addEventListener(type, answer, { signal: controller.signal });
      listen(byId("key-form"), "submit", (event) => {
        event.preventDefault();
        resolve(input.value.trim());
      });
      listen(byId("key-cancel"), "click", () => resolve(""));
      listen(dialog, "close", () => resolve(""));
      dialog.showModal();
    });
    controller.abort();
    dialog.close();
    if (entered === "") return false;
    this.value = entered;
    remember("key", entered, tab);
    return true;
  }
}
