import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const BUILD = join(REPOSITORY, '.ci/build.mjs');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A project of a few files in a temporary folder, built by the real build script with the real launcher. */
export class BuiltProject {
  readonly root = mkdtempSync(join(tmpdir(), 'forkwait-project-'));
  readonly home = join(this.root, 'home');
  readonly cacheFolder = join(this.home, 'cache/code');
  readonly cli = join(this.root, 'dist/orchestrate.cjs');

  constructor() {
    // A real folder, because the build keeps its stamp in it.
    mkdirSync(join(this.root, 'node_modules'));
    symlinkSync(join(REPOSITORY, 'node_modules/yaml'), join(this.root, 'node_modules/yaml'));
    this.write('package.json', JSON.stringify({ name: 'project', version: '9.8.7', type: 'module' }));
    this.write('orchestrator/cli/help.ts', "export const HELP_TEXT = 'usage: orchestrate COMMAND\\n';");
    this.writeMain('return 0;');
  }

  write(path: string, text: string): void {
    const file = join(this.root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** The bundle's `main`, by its body; `argv` and `options` are in scope. */
  writeMain(body: string, imports = ''): void {
    this.write(
      'orchestrator/cli/main.ts',
      `${imports}\nexport async function main(argv: readonly string[], options: any): Promise<number> {\n${body}\n}\n`,
    );
  }

  async build(...args: readonly string[]): Promise<void> {
    await promisify(execFile)(process.execPath, [BUILD, '--root', this.root, ...args]);
  }

  /** @param node options of Node itself, e.g. `--require` */
  async run(args: readonly string[], node: readonly string[] = []): Promise<Ended> {
    const child = spawn(process.execPath, [...node, this.cli, ...args], {
      env: { ...process.env, ORCHESTRATE_HOME: this.home, NODE_OPTIONS: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const read = async (stream: NodeJS.ReadableStream): Promise<string> => {
      let text = '';
      for await (const chunk of stream) text += String(chunk);
      return text;
    };
    const ended = new Promise<number | null>((settle) => {
      child.once('close', settle);
    });
    const [stdout, stderr, code] = await Promise.all([read(child.stdout), read(child.stderr), ended]);
    return { code, stdout, stderr };
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
