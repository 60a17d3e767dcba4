/** Informers of client-go and of @kubernetes/client-node, each on one ServiceAccount, in processes of their own. */
import path from 'node:path';
import { until } from '@cluster-apiserver/testkit/until';
import { type ClientTarget, goProgram, startProgram } from './client-programs.ts';

/** What the informers of a process have seen and done. */
export interface Followed {
  /** By the name of an object: the sequences of resourceVersions that its informers reported, and how many did so. */
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
  /** Waits until each has reported the last of these revisions, and compares all that it reported after its initial state. */
  judge(written: ReadonlyMap<string, readonly number[]>): Promise<FollowersReport>;
  end(): Promise<void>;
}

export interface FollowersReport {
  /** Informers that did not report each revision once and in order. */
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
        names.every((name) => seen[name]?.every(({ versions }) => versions.length > 0)),
      ),
    judge: async (written) => {
      const hasLast = (name: string, versions: readonly string[]): boolean => {
        const last = written.get(name)?.at(-1);
        return last === undefined || versions.includes(`${last}`);
      };
      const followed = await waitFor(`the last events of ${client}`, ({ seen }) =>
        names.every((name) => seen[name]?.every(({ versions }) => hasLast(name, versions))),
      );
      const { seen, lists, watches } = followed;
      const faults = names.flatMap((name) =>
        (seen[name] ?? []).flatMap(({ versions: [, ...reported], informers }) => {
          const expected = (written.get(name) ?? []).join();
          const fault = `${informers} informers of ${client} on ${name}: ${reported.join()} instead of ${expected}`;
          return reported.join() === expected ? [] : [fault.slice(0, shownMax)];
        }),
      );
      return { faults, lists, watches };
    },
    end: () => program.end(),
  };
}
