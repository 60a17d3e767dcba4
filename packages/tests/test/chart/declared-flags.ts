import { flagHelp } from '@cluster-apiserver/server';

/** A flag as `--help` shows it. */
export interface DeclaredFlag {
  readonly name: string;
  /** What a value looks like; empty for a switch. */
  readonly placeholder: string;
}

/** The flags of the server, by the text that operators read. */
export const declaredFlags: readonly DeclaredFlag[] = Array.from(
  flagHelp().matchAll(/^ {6}--([a-z0-9-]+)(?: (.+))?\n {16}/gm),
  ([, name = '', placeholder = '']) => ({ name, placeholder }),
);
