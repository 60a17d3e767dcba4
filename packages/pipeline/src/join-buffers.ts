/** Concatenates buffers, `bytes` together. A single one is not copied. */
export function joinBuffers(buffers: readonly Buffer[], bytes?: number): Buffer {
  const first = buffers[0];
  return first !== undefined && buffers.length === 1 ? first : Buffer.concat(buffers, bytes);
}
