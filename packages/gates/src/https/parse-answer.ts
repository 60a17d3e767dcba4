import { type Clock, largeBytesMin, runTask } from '@cluster-apiserver/base';
import { parseJsonSteps } from '@cluster-apiserver/model/json';

/**
 * Parses the JSON that an external server has answered. A large text takes its turns: many servers may answer at once, and
 * V8 needs up to 30 ms for a megabyte. Throws like `parseJson`.
 */
export const parseAnswer = async (text: string, clock: Clock): Promise<unknown> =>
  (await runTask(clock, undefined, parseJsonSteps(text), text.length >= largeBytesMin)).value;
