import { expect, test } from '@jest/globals';
import { helpOf, requireCommand } from './help.ts';

test('the help begins with the usage and the commands, and the flags follow', () => {
  const help = helpOf(undefined);
  const places = ['Usage:', 'Commands:', 'config check', 'storage rewrite', 'Generic flags:', '--etcd-prefix'].map(
    (part) => help.indexOf(part),
  );
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places[0]).toBeGreaterThan(0);
  expect(help.split('\n').indexOf('Generic flags:')).toBeLessThan(25);
});

test('a command has a help of its own', () => {
  expect(helpOf('config')).toContain('config schema KIND');
  expect(helpOf('storage')).toContain('--objects-per-second');
  expect(helpOf('version')).not.toContain('--etcd-servers strings');
});

test('an unknown command is named with the nearest one', () => {
  expect(() => requireCommand('strat')).toThrow('unknown command: strat; did you mean start?');
  expect(() => requireCommand('config')).not.toThrow();
});
