import { encodeObjectIdentifier, encodeSequence, encodeSet, encodeText } from './der-writer.ts';

/** Object identifiers of the attributes of a name. */
export const attributes = {
  commonName: '2.5.4.3',
  serialNumber: '2.5.4.5',
  country: '2.5.4.6',
  locality: '2.5.4.7',
  province: '2.5.4.8',
  street: '2.5.4.9',
  organization: '2.5.4.10',
  unit: '2.5.4.11',
  postalCode: '2.5.4.17',
} as const;

/** A distinguished name; the values of one attribute stand together. */
export const encodeName = (parts: readonly (readonly [attribute: string, ...values: readonly string[]])[]): Buffer =>
  encodeSequence(
    ...parts.map(([attribute, ...values]) =>
      encodeSet(...values.map((value) => encodeSequence(encodeObjectIdentifier(attribute), encodeText(value)))),
    ),
  );

export const encodeCommonName = (name: string): Buffer => encodeName([[attributes.commonName, name]]);
