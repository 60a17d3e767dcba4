/** As in package.json. Older versions lack functions that the server uses, or end WebSocket watches with 400. */
export const requiredNode = '24.21';

/** Why the server cannot run on this version of Node.js, or undefined. */
export function describeOldNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [majorMin = 0, minorMin = 0] = requiredNode.split('.').map(Number);
  return major > majorMin || (major === majorMin && minor >= minorMin)
    ? undefined
    : `Node.js ${requiredNode} or newer is required, and this is ${version}`;
}
