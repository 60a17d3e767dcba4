/** Replaces the modules of a folder by wrappers whose functions can be made to fail. */
import fs from 'node:fs';
import path from 'node:path';
import { jest } from '@jest/globals';
import type { ReceivedContext } from '../src/request-context.ts';

/** How a function fails: at once, or after its work, by a rejection if it may return a promise. */
export const failures = ['throws', 'fails behind its work'] as const;
export type Failure = (typeof failures)[number];

export interface Fault {
  /** As `stages/measure.ts`. */
  readonly module: string;
  readonly failure: Failure;
  readonly error: Error;
  /** Functions without a request fail at their call of this number. */
  readonly nth: number;
  /** Only for requests whose target contains this. */
  readonly target: string;
}

export class FaultyModules {
  /** The armed fault. */
  fault: Fault | undefined;
  /** How often it has failed. */
  hits = 0;
  /** Modules that were called since this was cleared. */
  readonly called = new Set<string>();
  #calls = 0;
  readonly modules: string[] = [];
  arm(fault: Fault | undefined): void {
    this.fault = fault;
    this.hits = 0;
    this.#calls = 0;
  }

  /** Must run before the users of the folder are loaded. Imports between its modules are replaced as well. */
  async replace(folder: string): Promise<void> {
    // The metrics are passed in, and the pipeline of these tests has none.
    const isModule = (name: string): boolean => name.endsWith('.ts') && !/(\.test|-measures|-labels)\.ts$/.test(name);
    const left = new Set(fs.readdirSync(path.join(source, folder)).filter(isModule));
    while (left.size > 0) {
      const ready = [...left].filter(
        (name) => !importsIn(path.join(source, folder, name)).some((one) => left.has(one)),
      );
      if (ready.length === 0) throw new Error(`the modules of ${folder} import each other in a circle`);
      for (const name of ready) {
        left.delete(name);
        const file = path.join(source, folder, name);
        const exported = (await import(`../src/${folder}/${name}`)) as Record<string, unknown>;
        const module = `${folder}/${name}`;
        const replaced = Object.fromEntries(
          Object.entries(exported).map(([key, value]) => [key, this.#faulty(module, value)] as const),
        );
        if (Object.entries(exported).some(([key, value]) => replaced[key] !== value)) this.modules.push(module);
        jest.unstable_mockModule(file, () => replaced);
      }
    }
  }

  /** A function that can fail. Functions that it returns, alone or as members, can fail too. */
  #faulty(module: string, value: unknown): unknown {
    if (typeof value === 'function') {
      if (/^class\b/.test(Function.prototype.toString.call(value))) return value;
      const replace = (result: unknown): unknown => this.#faulty(module, result);
      const strikes = (given: readonly unknown[]): Fault | undefined => this.#strikes(module, given);
      const original = value as (...given: unknown[]) => unknown;
      return function faulty(this: unknown, ...given: unknown[]): unknown {
        const fault = strikes(given);
        if (fault?.failure === 'throws') throw fault.error;
        if (!fault) return replace(original.apply(this, given));
        const fail = (): Promise<never> => Promise.reject(fault.error);
        let result: unknown;
        try {
          result = original.apply(this, given);
        } catch {
          throw fault.error;
        }
        if (result instanceof Promise || isResponse(result)) return Promise.resolve(result).then(fail, fail);
        throw fault.error;
      };
    }
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
    const members = Object.entries(Object.getOwnPropertyDescriptors(value));
    if (!members.some(([, { value: member }]) => typeof member === 'function')) return value;
    return Object.create(
      Object.prototype,
      Object.fromEntries(
        members.map(([name, member]) => [
          name,
          'value' in member ? { ...member, value: this.#faulty(module, member.value) } : member,
        ]),
      ),
    );
  }

  #strikes(module: string, given: readonly unknown[]): Fault | undefined {
    this.called.add(module);
    const { fault } = this;
    if (fault?.module !== module) return undefined;
    const context = given.find(isAboutRequest);
    const strikes = context ? context.request.target.includes(fault.target) : ++this.#calls === fault.nth;
    if (!strikes) return undefined;
    this.hits++;
    return fault;
  }
}

const isResponse = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'status' in value && 'headers' in value;

const isAboutRequest = (value: unknown): value is ReceivedContext =>
  typeof value === 'object' && value !== null && 'request' in value;

const source = path.resolve(import.meta.dirname, '..', 'src');

const importsIn = (file: string): string[] =>
  [...fs.readFileSync(file, 'utf8').matchAll(/ from '\.\/([\w-]+\.ts)'/g)].map(([, name]) => name as string);
