import { describe, expect, test } from 'vitest';
import { troubleOf, type Facts } from '../../workers/trouble.js';

const KINDS: readonly (readonly [string, Facts | string])[] = [
  // Limits of an account, as the programs say them
  ['usage-limit', "You've hit your limit · resets 2am (Europe/Berlin)"],
  ['usage-limit', "You've hit your session limit · resets 5:10pm (Europe/Paris)"],
  ['usage-limit', "You've hit your weekly limit · resets Dec 4, 3:50am (UTC)"],
  ['usage-limit', "You've hit your Opus limit · resets 3pm"],
  ['usage-limit', 'Session limit reached ∙ resets 8pm'],
  ['usage-limit', '5-hour limit reached ∙ resets 3pm'],
  ['usage-limit', 'Opus weekly limit reached ∙ resets Oct 31, 9am'],
  ['usage-limit', 'Claude AI usage limit reached|1760004000'],
  ['usage-limit', "You're out of extra usage · resets 9am (America/Cordoba)"],
  ['usage-limit', "Your group's usage limit is set to $0"],
  ['usage-limit', { status: 400, message: 'Credit balance is too low', type: 'billing_error' }],
  ['usage-limit', "API Error: 400 You're out of extra usage. Add more at example.com and keep going."],
  ['usage-limit', 'You’ve hit your usage limit. Upgrade to Pro or try again in 5 days 22 hours 11 minutes.'],
  ['usage-limit', 'You’ve hit your usage limit. Try again later.'],
  ['usage-limit', { status: 429, message: 'The usage limit has been reached', type: 'usage_limit_reached' }],
  ['usage-limit', 'Quota exceeded. Check your plan and billing details.'],
  ['usage-limit', { status: 429, message: 'You exceeded your current quota', type: 'insufficient_quota' }],
  ['usage-limit', '[API Error: You have exhausted your daily quota on this model.]'],
  ['usage-limit', 'You have exhausted your capacity on this model. Your quota will reset after 2h15m33s.'],
  ['usage-limit', 'Usage limit reached for gemini-3. Access resets at 10:57 PM GMT-3.'],
  [
    'usage-limit',
    { status: 429, message: '{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}' },
  ],
  ['usage-limit', 'Free usage exceeded, subscribe to Go'],
  [
    'usage-limit',
    { status: 429, message: 'Rate limit exceeded. Please try again later.', type: 'FreeUsageLimitError' },
  ],
  ['usage-limit', "You've reached your weekly rate limit. Please wait for your limit to reset on April 20"],
  ['usage-limit', "Sorry, you've hit a rate limit that restricts requests. Please try again in 2 hours."],
  ['usage-limit', { status: 402, message: 'You have no quota', type: 'quota_exceeded' }],
  ['usage-limit', { status: 402, message: 'nope' }],
  // The provider is busy
  [
    'overloaded',
    { status: 429, message: "This request would exceed your account's rate limit. Please try again later." },
  ],
  ['overloaded', "API Error: Request rejected (429) · This request would exceed your account's rate limit."],
  ['overloaded', 'exceeded retry limit, last status: 429 Too Many Requests'],
  ['overloaded', 'Rate limit reached on tokens per min (TPM): Limit 1, Used 1. Please try again in 6s.'],
  [
    'overloaded',
    { status: 429, message: 'Resource has been exhausted (e.g. check quota).', type: 'RESOURCE_EXHAUSTED' },
  ],
  ['overloaded', { status: 529, message: 'Overloaded', type: 'overloaded_error' }],
  ['overloaded', 'API Error: Repeated 529 Overloaded errors. The API is at capacity'],
  ['overloaded', 'We’re currently experiencing high demand, which may cause temporary errors.'],
  ['overloaded', { status: 500, message: 'Internal server error' }],
  ['overloaded', { status: 503, message: '' }],
  ['overloaded', 'unexpected status 502 Bad Gateway: <html>'],
  // The provider is out of reach
  ['network', 'API Error: Connection refused — a firewall or proxy may be blocking it (ECONNREFUSED)'],
  ['network', 'TypeError: fetch failed'],
  ['network', 'getaddrinfo ENOTFOUND api.example.com'],
  ['network', 'stream disconnected before completion: Transport error: network error: error decoding'],
  ['network', 'Connection failed: error sending request'],
  ['network', 'Request timed out.'],
  ['network', 'API Error: Connection dropped (ECONNRESET). Check the gateway, then try again.'],
  // Nobody is logged in
  ['auth', { status: 401, message: 'nope' }],
  ['auth', { status: 403, message: 'Request not allowed', type: 'forbidden' }],
  ['auth', 'Not logged in · Please run /login'],
  ['auth', 'Invalid API key · Fix external API key'],
  ['auth', 'Failed to authenticate. API Error: 401 OAuth token has expired. Please obtain a new token'],
  ['auth', 'unexpected status 401 Unauthorized: Incorrect API key provided: k'],
  ['auth', 'API key not valid. Please pass a valid API key.'],
  ['auth', 'To use Codex with your ChatGPT plan, upgrade to Plus: https://chatgpt.com/explore/plus.'],
  ['auth', 'Your refresh token was already used. Please log out and sign in again.'],
  ['auth', 'Please set an Auth method in your settings'],
  // The model's window
  ['context-overflow', { status: 400, message: 'prompt is too long: 250000 tokens > 200000 maximum' }],
  ['context-overflow', "Codex ran out of room in the model's context window. Start a new thread"],
  ['context-overflow', 'Your input exceeds the context window of this model.'],
  ['context-overflow', "This model's maximum context length is 128000 tokens"],
  ['context-overflow', 'The input token count (1) exceeds the maximum number of tokens allowed (0).'],
  ['context-overflow', { status: 413, message: 'nope' }],
  ['context-overflow', { message: 'nope', type: 'context_length_exceeded' }],
  // Others
  ['max-turns', 'Reached maximum number of turns (2)'],
  ['max-turns', 'Reached max session turns for this session.'],
  ['max-budget', 'Reached maximum budget ($0.5)'],
  ['truncated', 'Incomplete response returned, reason: max_output_tokens'],
  ['truncated', "API Error: Claude's response exceeded the 128000 output token maximum."],
  ['refusal', 'Claude Code is unable to respond to this request, which appears to violate our Usage Policy'],
  ['refusal', { status: 400, message: 'Invalid prompt: your prompt was flagged as potentially violating' }],
  ['refusal', { message: 'The response was filtered', type: 'content_filter' }],
  [
    'agent-failed',
    { status: 404, message: 'The model `nope` does not exist or you do not have access to it.' },
  ],
  ['agent-failed', { status: 400, message: 'messages: at least one message is required' }],
  ['agent-failed', 'Error: unknown option --nope'],
  ['agent-failed', 'Approaching usage limit · resets at 2am'],
  ['agent-failed', ''],
];

describe('what a program reports', () => {
  test.each(KINDS)('%s: %j', (kind, facts) => {
    expect(troubleOf(typeof facts === 'string' ? { message: facts } : facts).kind).toBe(kind);
  });

  test('keeps what was said, as one clean line', () => {
    const { detail } = troubleOf({ message: '\u001B[31mAPI Error\u001B[0m:\n  500\u202E oops\r\n' });
    expect(detail).toBe('API Error: 500 oops');
    expect(troubleOf({ message: '', type: 'server_error' }).detail).toBe('server_error');
    expect(Array.from(troubleOf({ message: '😀'.repeat(500) }).detail)).toHaveLength(200);
  });

  test('keeps when a limit resets: absolute times as such, others in the detail however long the message is', () => {
    expect(troubleOf({ message: 'Claude AI usage limit reached|1796063400' }).resetAt).toBe(
      '2026-11-30T18:30:00.000Z',
    );
    const long = `You've hit your usage limit. ${'Upgrade, or not. '.repeat(20)}Try again in 5 days 2 hours.`;
    const { detail, resetAt } = troubleOf({ message: long });
    expect(detail).toMatch(/^You've hit your usage limit\..{10,}Try again in 5 days 2 hours$/);
    expect(detail.length).toBeLessThanOrEqual(200);
    expect(resetAt).toBeUndefined();
  });

  test('says no reset for anything else', () => {
    expect(troubleOf({ status: 529, message: 'overloaded, resets_at 1796063400' }).resetAt).toBeUndefined();
  });

  test('takes any text in little time', () => {
    const units = [
      'hit your ',
      'limit ',
      'exceeded ',
      'context ',
      'a ',
      'rate',
      'status 4',
      '\n',
      'reached your ',
    ];
    const started = performance.now();
    for (const unit of units) troubleOf({ message: unit.repeat(500_000 / unit.length) });
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
