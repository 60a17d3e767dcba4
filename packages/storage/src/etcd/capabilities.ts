/** What older versions of etcd lack. Each capability has a name for the log. */
export interface Capabilities {
  /**
   * A response to a progress request arrives after all events that it covers. Before 3.4.25 and 3.5.8 it could overtake
   * them, so the server sends no progress requests to such members.
   */
  readonly progressRequests: boolean;
}

/** The first fixed patch of each minor version. Older minor versions lack the capability, newer ones have it. */
const progressRequestPatches: Readonly<Record<string, number>> = { '3.4': 25, '3.5': 8 };

export function capabilitiesOfVersion(version: string): Capabilities {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  const since = progressRequestPatches[`${major}.${minor}`];
  return { progressRequests: since === undefined ? major > 3 || (major === 3 && minor > 5) : patch >= since };
}
