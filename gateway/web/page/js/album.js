/** The photos of this visit: what is known about each, and which one is looked at. */

/**
 * @typedef {"queued"|"sending"|"waiting"|"offline"|"locked"|"done"|"failed"} Status
 * "waiting": the server is busy and asked for patience; "locked": it wants a key.
 */

let count = 0;

export class Photo {
  /** @param {File} file */
  constructor(file) {
    this.id = `photo-${++count}`;
    this.file = file;
    /** @type {Status} */
    this.status = "queued";
    /** @type {object|null} the server's answer */
    this.answer = null;
    /** @type {number|null} milliseconds, way there and back */
    this.milliseconds = null;
    /** @type {Error|null} */
    this.error = null;
    /** @type {number} seconds until the next try, while "waiting" */
    this.seconds = 0;
  }

  get name() {
    return this.file.name;
  }
}

/**
 * Tells with "photo" (detail: the photo) that one is there, changed or gone, with "selection" that another one is
 * looked at.
 */
export class Album extends EventTarget {
  constructor() {
    super();
    /** @type {Photo[]} */
    this.photos = [];
    /** @type {Photo|null} */
    this.selected = null;
  }

  /**
   * Add photos and look at the first of them.
   * @param {File[]} files
   * @returns {Photo[]}
   */
  add(files) {
    const added = files.map((file) => new Photo(file));
    this.photos.push(...added);
    for (const photo of added) this.#tell("photo", photo);
    if (added.length > 0) this.select(added[0]);
    return added;
  }

  /** Change what is known about a photo. One that was removed in the meantime stays away. */
  update(photo, changes) {
    if (!this.photos.includes(photo)) return;
    Object.assign(photo, changes);
    this.#tell("photo", photo);
  }

  /** Remove a photo; its neighbour is looked at next. */
  remove(photo) {
    const index = this.photos.indexOf(photo);
    if (index < 0) return;
    this.photos.splice(index, 1);
    this.#tell("photo", photo);
    if (photo === this.selected) this.select(this.photos[Math.min(index, this.photos.length - 1)] ?? null);
  }

  select(photo) {
    if (photo === this.selected) return;
    this.selected = photo;
    this.#tell("selection", photo);
  }

  #tell(type, photo) {
    this.dispatchEvent(new CustomEvent(type, { detail: photo }));
  }
}
