import { expect, test } from 'vitest';
import { terminalApproval } from '../../orchestrator/commands/approval-prompt.js';
import type { Session } from '../../orchestrator/commands/session.js';
import { digestOf } from '../../orchestrator/model/digest.js';

const askWith = async (answer: string, exposed?: string) => {
  const said: string[] = [];
  const io = {
    stdinIsTty: true,
    stderrIsTty: true,
    columns: 80,
    ask: () => Promise.resolve(answer),
    stderr: (text: string) => void said.push(text),
  };
  const session = { io, request: { json: false } } as unknown as Session;
  const ask = terminalApproval(session, '320', () => Promise.resolve(exposed));
  const given = await ask?.({ target: 'plan', digest: digestOf('p'), text: 'Do it.' });
  return { given, said: said.join('') };
};

test('an answer at a terminal does not count while a worker of another ticket could have typed it', async () => {
  expect((await askWith('approve')).given).toEqual({ answer: 'approved', note: '' });
  const { given, said } = await askWith(
    'approve',
    'a worker without a sandbox is alive: `3.1` of ticket `321`',
  );
  expect(given).toBeUndefined();
  expect(said).toContain(
    'the answer does not count: a worker without a sandbox is alive: `3.1` of ticket `321`',
  );
});
