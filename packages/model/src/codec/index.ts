export {
  type ByteString,
  byteString,
  bytesOf,
  toClientForm,
  decodeStored,
  decodeStoredInSteps,
  encodeStored,
  encodeStoredInSteps,
  flatten,
  toStoredForm,
  typePrefix,
  uidOf,
  withResourceVersion,
} from './stored-form.ts';
export {
  encodeProtobuf,
  encodeEnvelope,
  parseProtobuf,
  type TypeNames,
  watchEventMessage,
  watchFrame,
} from './protobuf.ts';
export { canonicalForm, structuralForm } from './canonical-form.ts';
export { encodeMessage } from './protobuf-encoder.ts';
export { messageParts } from './protobuf-parts.ts';
export { delimited, encodeWith, writeNested, writeTag, varint, type ProtobufWriter } from './protobuf-wire.ts';
export { parseYaml, parseYamlSteps, YamlTooLargeError } from './yaml.ts';
export { type Place, type TextPlaces, textPlaces } from './text-places.ts';
export { formatYaml, yamlText } from './yaml-format.ts';
