/** Work for many photos, a few at a time. */

export class Queue {
  #work;
  #limit;
  #waiting = [];
  #running = new Map();

  /**
   * @param {(item: object, signal: AbortSignal) => Promise<void>} work never rejects; ends soon after an abort
   * @param {number} limit how many are worked on at once
   */
  constructor(work, limit) {
    this.#work = work;
    this.#limit = limit;
  }

  push(item) {
    this.#waiting.push(item);
    this.#next();
  }

  /** Forget an item, or stop the work on it. */
  drop(item) {
    this.#waiting = this.#waiting.filter((other) => other !== item);
    this.#running.get(item)?.abort();
  }

  #next() {
    while (this.#running.size < this.#limit && this.#waiting.length > 0) {
      const item = this.#waiting.shift();
      const controller = new AbortController();
      this.#running.set(item, controller);
      this.#work(item, controller.signal).finally(() => {
        this.#running.delete(item);
        this.#next();
      });
    }
  }
}
