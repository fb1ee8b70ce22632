/** Sends one photo, with patience: waits while the server is busy or the network gone, asks for a key where needed. */

import { NetworkError, Problem, recognize } from "./api.js";

const BUSY = [429, 503];
const MOST_TRIES = 4;
const LONGEST_WAIT_SECONDS = 60;

/**
 * Read a photo's plates and keep the album up to date. Never rejects.
 * @param {import("./album.js").Album} album
 * @param {import("./key.js").Key} key
 * @param {import("./album.js").Photo} photo
 * @param {AbortSignal} signal aborted when the photo is removed
 */
export async function read(album, key, photo, signal) {
  for (let tries = 1; ; ) {
    const used = key.value;
    album.update(photo, { status: "sending" });
    try {
      album.update(photo, { status: "done", error: null, ...(await recognize(photo.file, { key: used, signal })) });
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && error.status === 401) {
        album.update(photo, { status: "locked" });
        if (await key.replace(used)) continue;
      } else if (isBusy(error) && tries++ < MOST_TRIES) {
        await wait(error.retryAfter, signal, (seconds) => album.update(photo, { status: "waiting", seconds }));
        continue;
      } else if (error instanceof NetworkError && !navigator.onLine) {
        album.update(photo, { status: "offline" });
        await online(signal);
        continue;
      }
      album.update(photo, { status: "failed", error });
      return;
    }
  }
}

function isBusy(error) {
  if (!(error instanceof Problem) || error.retryAfter === null) return false;
  return BUSY.includes(error.status) && error.retryAfter <= LONGEST_WAIT_SECONDS;
}

/** Wait some seconds and tell each of them; ends early where the signal is aborted. */
async function wait(seconds, signal, tell) {
  for (let left = seconds; left > 0 && !signal.aborted; left--) {
    tell(left);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/** Wait for the network; ends early where the signal is aborted. */
async function online(signal) {
  await new Promise((resolve) => {
    window.addEventListener("online", resolve, { once: true, signal });
    signal.addEventListener("abort", resolve, { once: true });
  });
}
