/** What an older etcd lacks. Each gap has a name, so that the log can say what is done without. */
export interface Capabilities {
  /**
   * A progress answer asked for on a watch comes after every event it speaks of. Before 3.4.25 and 3.5.8 it could
   * overtake them, so it is not asked for there, and a quiet watch learns of progress from its periodic notice only.
   */
  readonly progressRequests: boolean;
}

/** The first good patch of each minor version; those before the first are without, those after the last are with. */
const progressRequestPatches: Readonly<Record<string, number>> = { '3.4': 25, '3.5': 8 };

export function capabilitiesOfVersion(version: string): Capabilities {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  const since = progressRequestPatches[`${major}.${minor}`];
  return { progressRequests: since === undefined ? major > 3 || (major === 3 && minor > 5) : patch >= since };
}
