import { expect, test } from '@jest/globals';
import { getEventListeners } from 'node:events';
import { onSharedAbort } from './abort-listeners.ts';

test('callbacks of one signal share a listener, and each is called once', () => {
  const abort = new AbortController();
  const called: string[] = [];
  const call = (name: string) => (): void => void called.push(name);
  const cancel = onSharedAbort(abort.signal, call('cancelled'));
  for (const name of ['a', 'b']) onSharedAbort(abort.signal, call(name));
  const same = call('twice');
  for (let count = 0; count < 2; count++) onSharedAbort(abort.signal, same);
  expect(getEventListeners(abort.signal, 'abort')).toHaveLength(1);
  cancel();
  abort.abort();
  abort.abort();
  expect(called).toEqual(['a', 'b', 'twice', 'twice']);
});
