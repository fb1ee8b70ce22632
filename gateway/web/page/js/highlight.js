/** Which plate of the photo is pointed at: the picture and the list show it together. */

/** Tells with "change" that it is another one, with "reveal" that it is to be brought into view. */
export class Highlight extends EventTarget {
  /** @type {number|null} index of the plate */
  plate = null;

  set(plate) {
    if (plate === this.plate) return;
    this.plate = plate;
    this.dispatchEvent(new Event("change"));
  }

  reveal(plate) {
    this.set(plate);
    this.dispatchEvent(new Event("reveal"));
  }
}
