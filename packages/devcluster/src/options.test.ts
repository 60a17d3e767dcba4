import { describe, expect, test } from '@jest/globals';
import { parseOptions, UsageError, usage } from './options.ts';

const defaults = {
  replicas: 1,
  etcdMembers: 1,
  etcdServers: undefined,
  port: 6443,
  listen: '127.0.0.1',
  dataDir: '.cluster',
  fresh: false,
  printKubeconfig: false,
  configDir: undefined,
  replicaFlags: [],
};

describe('accepted options', () => {
  test.each([
    ['nothing', [], {}],
    ['a value behind a space', ['--replicas', '2'], { replicas: 2 }],
    ['a value behind a sign', ['--replicas=3', '--port=0'], { replicas: 3, port: 0 }],
    ['a value that holds a sign', ['--etcd-servers=http://a:1?x=y'], { etcdServers: 'http://a:1?x=y' }],
    ['switches', ['--fresh', '--print-kubeconfig'], { fresh: true, printKubeconfig: true }],
    ['an address', ['--listen', '0.0.0.0'], { listen: '0.0.0.0' }],
    ['directories', ['--data-dir', 'x', '--config-dir', 'y'], { dataDir: 'x', configDir: 'y' }],
    [
      'flags of the replicas, unchanged',
      ['--fresh', '--', '--replicas=x', '--', '-v'],
      { fresh: true, replicaFlags: ['--replicas=x', '--', '-v'] },
    ],
    ['an empty second part', ['--'], {}],
  ])('%s', (_what, args, expected) => {
    expect(parseOptions(args)).toEqual({ ...defaults, ...expected });
  });

  test('help takes precedence over everything else', () => {
    expect(parseOptions(['--help'])).toBeUndefined();
    for (const name of [
      '--replicas N',
      '--etcd-members N',
      '--etcd-servers URLS',
      '--port N',
      '--data-dir DIR',
      '--fresh',
      '--config-dir DIR',
    ]) {
      expect(usage()).toContain(name);
    }
  });
});

describe('refused options', () => {
  test.each([
    ['a name to listen at', ['--listen', 'localhost'], /--listen takes an IP address, not "localhost"/],
    [
      'an unknown name, with the nearest known one',
      ['--replcas', '2'],
      /unknown option --replcas; did you mean --replicas\?/,
    ],
    ['an unknown name with a value', ['--etcd-member=3'], /did you mean --etcd-members\?/],
    [
      'a flag of the server before the second --',
      ['--feature-gates=X=true'],
      /unknown option --feature-gates \(.*flags of the server go behind a second --\)/,
    ],
    ['a word without dashes', ['start'], /unknown option start/],
    ['a name of Object', ['--constructor'], /unknown option/],
    ['a missing value at the end', ['--port'], /--port needs a value/],
    ['a missing value before another option', ['--port', '--fresh'], /--port needs a value/],
    ['a missing value before the second part', ['--port', '--', '1'], /--port needs a value/],
    ['an empty value', ['--data-dir='], /--data-dir needs a value/],
    ['a value where none belongs', ['--fresh=true'], /--fresh takes no value/],
    ['the same option twice', ['--port=1', '--port=2'], /given twice/],
    ['too few', ['--replicas=0'], /from 1 to 9, not "0"/],
    ['too many', ['--etcd-members', '8'], /from 1 to 7/],
    ['a number that is none', ['--port=1e3'], /not "1e3"/],
    ['two stores', ['--etcd-servers=a', '--etcd-members=3'], /exclude each other/],
  ])('%s', (_what, args, message) => {
    expect(() => parseOptions(args)).toThrow(UsageError);
    expect(() => parseOptions(args)).toThrow(message);
  });
});
