import { boot, type Booted } from '../record/boot.js';
import { sealKey } from '../state/home.js';
import type { RunDirectory } from '../state/run-dir.js';
import type { Session } from './session.js';

export const bootRun = (session: Session, directory: RunDirectory): Booted =>
  boot(directory, sealKey(session.home));

export const recordedFile = (booted: Booted): string | undefined => booted.run.opened?.pipeline.file;
