import { flagHelp } from '@cluster-apiserver/server';

/** A flag in the output of `--help`. */
export interface DeclaredFlag {
  readonly name: string;
  /** Placeholder of the value; empty for a switch. */
  readonly placeholder: string;
}

/** The server's flags, parsed from the help text. */
export const declaredFlags: readonly DeclaredFlag[] = Array.from(
  flagHelp().matchAll(/^ {6}--([a-z0-9-]+)(?: (.+))?\n {16}/gm),
  ([, name = '', placeholder = '']) => ({ name, placeholder }),
);
