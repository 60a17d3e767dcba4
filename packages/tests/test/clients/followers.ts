/** Informers of client-go and of @kubernetes/client-node, each on one ServiceAccount, in processes of their own. */
import path from 'node:path';
import { until } from '@cluster-apiserver/testkit/until';
import { type ClientTarget, goProgram, startProgram } from './client-programs.ts';

/** What the informers of a process have seen and done. */
export interface Followed {
  /** By the name of an object: the sequences of resourceVersions that its informers were told, and how many of them. */
  readonly seen: Readonly<
    Record<string, readonly { readonly versions: readonly string[]; readonly informers: number }[]>
  >;
  /** Initial states that they have read. */
  readonly lists: number;
  /** Watches that they have opened. */
  readonly watches: number;
}

export interface Followers {
  /** Waits until each has read its object. */
  begun(): Promise<unknown>;
  /** Waits until each was told the last of these revisions. What it was told between its first state and this one is compared. */
  judge(written: ReadonlyMap<string, readonly number[]>): Promise<FollowersReport>;
  end(): Promise<void>;
}

export interface FollowersReport {
  /** Revisions that an informer was not told, or not in this order. */
  readonly faults: readonly string[];
  readonly lists: number;
  readonly watches: number;
}

interface Options extends ClientTarget {
  readonly namespace: string;
  readonly names: readonly string[];
  readonly count: number;
}

/** The JavaScript client waits up to half a minute before it watches again. */
const allMs = 120_000;
const shownMax = 400;

const nodeProgram = path.join(import.meta.dirname, 'follow-with-client-node.ts');
const fromSource = ['--conditions=source', '--disable-warning=ExperimentalWarning'];

export const followWithClientGo = (options: Options): Followers => follow('client-go', [goProgram, 'follow'], options);

export const followWithClientNode = (options: Options): Followers =>
  follow('client-node', [process.execPath, ...fromSource, nodeProgram], options);

function follow(
  client: string,
  [command = '', ...before]: readonly string[],
  { namespace, names, count, ...target }: Options,
): Followers {
  const program = startProgram(command, [...before, 'KUBECONFIG', namespace, `${count}`, ...names], target);
  const ask = async (): Promise<Followed> => JSON.parse(await program.ask('state')) as Followed;
  const waitFor = (what: string, isDone: (followed: Followed) => boolean): Promise<Followed> =>
    until(
      what,
      async () => {
        const followed = await ask();
        return isDone(followed) ? followed : undefined;
      },
      allMs,
    );
  return {
    begun: () =>
      waitFor(`the informers of ${client}`, ({ seen }) =>
        names.every((name) => (seen[name] ?? []).every(({ versions }) => versions.length > 0)),
      ),
    judge: async (written) => {
      const isTold = (name: string, versions: readonly string[]): boolean => {
        const last = written.get(name)?.at(-1);
        return last === undefined || versions.includes(`${last}`);
      };
      const followed = await waitFor(`the last events of ${client}`, ({ seen }) =>
        names.every((name) => (seen[name] ?? []).every(({ versions }) => isTold(name, versions))),
      );
      const { seen, lists, watches } = followed;
      const faults = names.flatMap((name) =>
        (seen[name] ?? []).flatMap(({ versions: [, ...told], informers }) => {
          const expected = (written.get(name) ?? []).join();
          return told.join() === expected
            ? []
            : [
                `${informers} informers of ${client} on ${name}: ${told.join()} instead of ${expected}`.slice(
                  0,
                  shownMax,
                ),
              ];
        }),
      );
      return { faults, lists, watches };
    },
    end: () => program.end(),
  };
}
