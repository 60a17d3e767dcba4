import path from 'node:path';
import { type Clock, sleep, errorCode } from '@cluster-apiserver/base';
import { fullPauseMs, type LogFile, type LogFiles } from './log-files.ts';

export interface RotatingLogOptions {
  readonly files: LogFiles;
  readonly clock: Clock;
  /** `-` is standard output, which is never rotated. */
  readonly path: string;
  /** The file is rotated before it becomes larger. */
  readonly fileBytesMax: number;
  /** Limits of rotated files, by number and by age. 0 keeps all. */
  readonly backupsMax: number;
  readonly ageDaysMax: number;
  readonly compress: boolean;
  /** Called if rotation fails; no events are lost. */
  readonly rotationFailed: (error: unknown) => void;
  /** Called if another process appends to the file, too: each would rotate what the other writes. */
  readonly foundOtherWriter: () => void;
}

/** How often the size is compared with what was written. */
const checkMs = 10_000;
const dayMs = 24 * 60 * 60 * 1_000;
/** UTF-8 bytes per UTF-16 code unit. */
const bytesPerCharacterMax = 3;
/** Fits usual batches. */
const scratchBytes = 1024 * 1024;
const compressedSuffix = '.gz';
const newline = 0x0a;

/** A log file with rotation: `audit.log` is renamed to `audit-2026-01-31T12-00-00.000.log` when it is full. */
export class RotatingLog {
  readonly #options: RotatingLogOptions;
  readonly #isStandardOutput: boolean;
  #file: LogFile | undefined;
  #sizeBytes = 0;
  /** Reported once. */
  #hasOtherWriter = false;
  #nextCheckMs = Number.NEGATIVE_INFINITY;
  /** Reused by all writes: allocating it each time costs as much as creating the events. */
  #scratch: Buffer | undefined;
  /** The running clean-up; one at a time. */
  #cleanup: Promise<void> = Promise.resolve();

  constructor(options: RotatingLogOptions) {
    this.#options = options;
    this.#isStandardOutput = options.path === '-';
  }

  /** Opens the file, so that an unwritable path is detected at startup. */
  async open(): Promise<void> {
    await this.#ensureOpen();
    if (!this.#isStandardOutput) this.#cleanUp();
  }

  /** Appends the lines. Calls must not overlap. */
  async append(lines: readonly string[]): Promise<void> {
    const bytes = this.#encode(lines);
    if (await this.#isFull(bytes.length)) await this.#rotate();
    const file = await this.#ensureOpen();
    await this.#checkSize(file);
    try {
      for (let written = 0; written < bytes.length; ) written += await this.#write(file, bytes.subarray(written));
      this.#sizeBytes += bytes.length;
    } catch (error) {
      // Remove a partial line, which would corrupt the next one, and reopen: the path may be another file by now.
      await file.truncate(this.#sizeBytes).catch(() => {});
      await this.#close();
      throw error;
    }
  }

  #encode(lines: readonly string[]): Buffer {
    const characters = lines.reduce((sum, { length }) => sum + length + 1, 0);
    if (characters * bytesPerCharacterMax > scratchBytes) return Buffer.from(`${lines.join('\n')}\n`);
    const scratch = (this.#scratch ??= Buffer.allocUnsafeSlow(scratchBytes));
    let end = 0;
    for (const line of lines) {
      end += scratch.write(line, end);
      scratch[end++] = newline;
    }
    return scratch.subarray(0, end);
  }

  async close(): Promise<void> {
    await this.#cleanup;
    await this.#close();
  }

  async #write(file: LogFile, bytes: Buffer): Promise<number> {
    for (;;) {
      try {
        return await file.write(bytes);
      } catch (error) {
        if (errorCode(error) !== 'EAGAIN') throw error;
        await sleep(this.#options.clock, fullPauseMs);
      }
    }
  }

  async #ensureOpen(): Promise<LogFile> {
    if (this.#file) return this.#file;
    const { files } = this.#options;
    const file = this.#isStandardOutput ? files.standardOutput() : await files.open(this.#options.path);
    this.#sizeBytes = await file.size();
    this.#file = file;
    return file;
  }

  async #checkSize(file: LogFile): Promise<void> {
    const { clock, foundOtherWriter } = this.#options;
    if (this.#isStandardOutput || clock.monotonicMs() < this.#nextCheckMs) return;
    this.#nextCheckMs = clock.monotonicMs() + checkMs;
    const sizeBytes = await file.size();
    if (sizeBytes > this.#sizeBytes && !this.#hasOtherWriter) foundOtherWriter();
    this.#hasOtherWriter ||= sizeBytes > this.#sizeBytes;
    this.#sizeBytes = sizeBytes;
  }

  async #isFull(moreBytes: number): Promise<boolean> {
    if (this.#isStandardOutput) return false;
    await this.#ensureOpen();
    return this.#sizeBytes > 0 && this.#sizeBytes + moreBytes > this.#options.fileBytesMax;
  }

  /** If renaming fails, the file continues to grow. */
  async #rotate(): Promise<void> {
    const { files, path: file, rotationFailed } = this.#options;
    try {
      const backup = await this.#findUnusedName();
      await this.#close();
      await files.rename(file, path.join(path.dirname(file), backup));
      this.#cleanUp();
    } catch (error) {
      rotationFailed(error);
    }
  }

  async #findUnusedName(): Promise<string> {
    const { files, path: file, clock } = this.#options;
    const names = await files.list(path.dirname(file));
    for (let ms = clock.now(); ; ms++) {
      const name = this.#formatBackupName(ms);
      if (!names.includes(name) && !names.includes(name + compressedSuffix)) return name;
    }
  }

  #formatBackupName(ms: number): string {
    const { ext, name } = path.parse(this.#options.path);
    return `${name}-${new Date(ms).toISOString().slice(0, -1).replaceAll(':', '-')}${ext}`;
  }

  #cleanUp(): void {
    this.#cleanup = this.#cleanup.then(() => this.#removeOld()).catch(this.#options.rotationFailed);
  }

  async #removeOld(): Promise<void> {
    const { files, path: file, backupsMax, ageDaysMax, compress, clock } = this.#options;
    const directory = path.dirname(file);
    const backups = (await files.list(directory))
      .flatMap((name) => {
        const renamedMs = this.#parseRenamedMs(name);
        return renamedMs === undefined ? [] : [{ name, renamedMs }];
      })
      .sort((one, other) => other.renamedMs - one.renamedMs);
    const oldestMs = clock.now() - ageDaysMax * dayMs;
    for (const [index, { name, renamedMs }] of backups.entries()) {
      const from = path.join(directory, name);
      const isOld = (backupsMax > 0 && index >= backupsMax) || (ageDaysMax > 0 && renamedMs < oldestMs);
      if (isOld) await files.remove(from);
      else if (compress && !name.endsWith(compressedSuffix)) {
        await files.compress(from, from + compressedSuffix);
        await files.remove(from);
      }
    }
  }

  /** When a backup was renamed; undefined for other files of the directory. */
  #parseRenamedMs(name: string): number | undefined {
    const { ext, name: base } = path.parse(this.#options.path);
    const plain = name.endsWith(compressedSuffix) ? name.slice(0, -compressedSuffix.length) : name;
    if (!plain.startsWith(`${base}-`) || !plain.endsWith(ext)) return undefined;
    const stamp = plain.slice(base.length + 1, plain.length - ext.length);
    const [, day, hours, minutes, seconds] = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(stamp) ?? [];
    const ms = Date.parse(`${day}T${hours}:${minutes}:${seconds}Z`);
    return Number.isNaN(ms) ? undefined : ms;
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch(() => {}); // all data is written already
  }
}
