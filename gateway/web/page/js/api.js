/** The one request that this page sends. */

/** How many readings of each plate are asked for. */
export const CANDIDATES = 5;

/** An answer that says no: problem+json, or what stands in for it. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {string} detail what the server says about it; may be empty
   * @param {number|null} retryAfter seconds after which trying again makes sense
   */
  constructor(status, detail, retryAfter) {
    super(detail);
    this.status = status;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}

/** No answer came. */
export class NetworkError extends Error {}

/** The photo can't be read from its place: it was moved or changed, or it is a folder. */
export class FileError extends Error {}

/** Return the address that photos are sent to. */
export function endpoint() {
  return new URL(`recognize?candidates=${CANDIDATES}`, document.baseURI).href;
}

/**
 * Send a photo.
 * @param {File} file
 * @param {{key: string|null, signal: AbortSignal}} options
 * @returns {Promise<{answer: object, milliseconds: number}>} the answer and how long it took, way there and back
 * @throws {Problem|NetworkError|FileError|DOMException} the last one where it was aborted
 */
export async function recognize(file, { key, signal }) {
  const body = new FormData();
  body.append("image", file, file.name);
  const headers = { Accept: "application/json", ...(key === null ? {} : { "X-API-Key": key }) };
  const start = performance.now();
  try {
    const response = await fetch(endpoint(), { method: "POST", body, headers, signal });
    if (!response.ok) throw await problem(response);
    return { answer: await response.json(), milliseconds: performance.now() - start };
  } catch (error) {
    if (!(error instanceof TypeError || error instanceof SyntaxError)) throw error;
    throw (await isReadable(file)) ? new NetworkError(error.message) : new FileError(error.message);
  }
}

async function problem(response) {
  // A proxy in between may answer with anything.
  const content = await response.json().catch(() => ({}));
  const seconds = Number.parseInt(response.headers.get("Retry-After") ?? "", 10);
  const detail = typeof content?.detail === "string" ? content.detail : "";
  return new Problem(response.status, detail, Number.isNaN(seconds) ? null : seconds);
}

async function isReadable(file) {
  try {
    await file.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}
