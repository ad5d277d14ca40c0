/** What no tier stops: played by nobody, said to everybody. */
export interface Residual {
  readonly id: string;
  readonly name: string;
  readonly channel: string;
  readonly reason: string;
}

export const RESIDUAL: readonly Residual[] = [
  {
    id: '50',
    name: 'change in the noise of a long line or a large file',
    channel: 'file',
    reason: 'in no tier: every byte is in the pages that the critic must acknowledge, and it can overlook it',
  },
  {
    id: '51',
    name: 'characters that make a reader see other code',
    channel: 'file',
    reason:
      'in no tier: the pages hold the bytes as they are. A critic is told which pages have such characters, and a person sees them written out; whether they are understood is theirs',
  },
  {
    id: '56b',
    name: 'critic that is persuaded and answers by all the rules',
    channel: 'prompt',
    reason:
      'in no tier: have it reviewed by a second critic of another model, and let checks that the orchestrator runs decide',
  },
];
