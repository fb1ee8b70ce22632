/** The same request for a terminal. */

import { endpoint } from "./api.js";

/**
 * Return a command that sends the photo from the folder where it lies.
 * @param {string} name of the file
 * @param {boolean} hasKey whether the server wants a key; it isn't written into the command
 * @returns {string}
 */
export function curlCommand(name, hasKey) {
  const key = hasKey ? ` -H "X-API-Key: $GATEWAY_API_KEY"` : "";
  return `curl -F ${quoted(`image=@${fileName(name)}`)}${key} ${quoted(endpoint())}`;
}

/** Quote for a POSIX shell. */
function quoted(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** curl ends a file's name at a comma or semicolon unless it is quoted. */
function fileName(name) {
  return /[,;"\\]/.test(name) ? `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"` : name;
}
