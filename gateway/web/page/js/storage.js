/** What is remembered. A browser that forbids storage forgets; nothing else changes. */

/** Return a remembered value or null. */
export function recall(name, storage = () => localStorage) {
  try {
    return storage().getItem(key(name));
  } catch {
    return null;
  }
}

/** Remember a value; null forgets it. */
export function remember(name, value, storage = () => localStorage) {
  try {
    if (value === null) storage().removeItem(key(name));
    else storage().setItem(key(name), value);
  } catch {
    // The value holds until the page is left.
  }
}

function key(name) {
  return `plate-gateway.${name}`;
}
