export interface FakeLlm {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly port: number;
  /** One entry a request, as it comes. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  readonly setRules: (rules: readonly Rule[]) => void;
  readonly close: () => Promise<void>;
}

export interface Rule {
  /** Regular expression over the text of the user, or with `on` over that of the system. */
  readonly match: string;
  readonly steps: readonly Readonly<Record<string, unknown>>[];
  readonly id?: string;
  readonly on?: 'system' | 'user' | 'any';
  readonly stateful?: true;
}

export interface FakeLlmOptions {
  readonly port?: number;
  readonly rules?: readonly Rule[];
  readonly logFile?: string;
  readonly bodiesDir?: string;
  readonly key?: string;
}

export const startFakeLlm: (options?: FakeLlmOptions) => Promise<FakeLlm>;
