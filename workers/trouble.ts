import type { Trouble } from '../orchestrator/model/child.js';
import { cutTo, oneLine } from '../orchestrator/model/text.js';
import { absoluteTime, saysWhen } from './reset-time.js';

/** What a program itself reported; never what a model wrote. */
export interface Facts {
  /** HTTP status of the provider's answer. */
  readonly status?: number;
  readonly message: string;
  /** The provider's or the program's own name for the error, e.g. `rate_limit_error`. */
  readonly type?: string;
}

type Kind = Trouble['kind'];

/** Characters of a message that are looked at, from its beginning. */
const MOST_TEXT = 8_192;
const DETAIL_CHARACTERS = 200;

/**
 * How programs say it, in lower case. The first kind that fits counts, so what names one thing is before what is said about many:
 * providers put limits and refusals behind any HTTP status.
 */
const SAID: readonly (readonly [Kind, readonly RegExp[]])[] = [
  [
    'usage-limit',
    [
      /insufficient_quota|quota_?exceeded|usage_limit_reached|usagelimit|billing_(?:error|hard_limit)/,
      /\bhit your (?:[\w-]+ ){0,2}limit\b/,
      /\b(?:reached|exceeded) your (?:usage|session|weekly|daily|monthly|request|quota)\b/,
      /\b(?:usage|session|weekly|daily|monthly|hour|opus|sonnet|plan|spend) limit (?:has been |is )?(?:reached|exceeded|hit|set)\b/,
      /\b(?:weekly|daily|monthly) (?:rate )?limit\b/,
      /\b(?:exceeded|exhausted|reached) your (?:[\w-]+ ){0,3}(?:quota|capacity|allowance)\b/,
      /\bquota (?:exceeded|exhausted|will reset)|\bno quota\b|perday/,
      /\bout of (?:extra usage|credits|premium requests)\b|\bfree usage exceeded\b/,
      /\bcredit balance is too low\b|\binsufficient (?:credits|balance|funds)\b|\bpayment required\b/,
    ],
  ],
  [
    'context-overflow',
    [
      /context_length_exceeded|prompt_too_long|request_too_large|request too large/,
      /\b(?:prompt|input|conversation) is too (?:long|large)\b/,
      /\b(?:exceeds?|exceeded|maximum|room in) (?:\S+ ){0,4}context (?:window|length|limit)\b|\bmaximum context\b/,
      /\bcontext (?:window|length|limit) (?:\S+ ){0,3}(?:exceeded|full|overflow)\b/,
      /\bexceeds the maximum number of (?:input )?tokens\b|\bexceeds the model's prompt budget\b/,
    ],
  ],
  [
    'max-turns',
    [/\bmaximum number of (?:turns|steps)\b|\bmax(?:imum)? (?:session )?turns\b|max_turns|turn_?limit/],
  ],
  ['max-budget', [/\bmax(?:imum)? budget\b|max_budget/]],
  [
    'truncated',
    [
      /max_output_tokens|\boutput token (?:maximum|limit)\b/,
      /\b(?:response|answer|output) (?:was |is )?(?:truncated|incomplete)\b|\bincomplete response\b/,
    ],
  ],
  [
    'auth',
    [
      /authentication_(?:error|failed)|invalid_api_key|api_key_invalid|permission_error|token_expired|oauth_org/,
      /\bunauthorized\b|\bunauthenticated\b|\bnot (?:logged in|authenticated)\b|\bfailed to authenticate\b/,
      /\b(?:please|again|run) (?:`?\/login|log ?in|sign in)\b|\bplease set an auth method\b/,
      /\b(?:invalid|incorrect|missing|no|revoked|expired) (?:\S+ )?(?:api[ -]key|auth\w* (?:token|credentials?|method))\b/,
      /\bapi key (?:is |was |has )?(?:not (?:valid|found|set)|invalid|missing|expired|required)\b/,
      /\b(?:oauth|access|refresh|auth\w*) token (?:has |is |was )?(?:been )?(?:expired|invalid|revoked|already used)/,
      /usage_not_included|\bto use codex with your chatgpt plan\b/,
    ],
  ],
  [
    'refusal',
    [
      /\brefusal\b|content_filter|content_policy|prohibited_content|cyber_policy|\bblocked (?:due to|for|by) safety\b/,
      /\b(?:usage|content|safety) polic(?:y|ies)\b|\bflagged (?:as|for|by|this)\b|\bcontent filter/,
    ],
  ],
  [
    'overloaded',
    [
      /overloaded|server_error|api_error|resource[_ ]exhausted|\bresource has been exhausted\b|too[_ -]many[_ -]requests/,
      /rate[_ -]?limit|\blast status: (?:429|5\d\d)\b|\btry again later\b|\btemporarily unavailable\b/,
      /\binternal server error\b|\bservice unavailable\b|\bbad gateway\b|\bgateway time-?out\b/,
      /\bhigh (?:demand|load|traffic)\b|\bat capacity\b|\bserver is busy\b/,
    ],
  ],
  [
    'network',
    [
      /econnrefused|econnreset|enotfound|etimedout|epipe|ehostunreach|enetunreach|eai_again|fetch failed|socket hang up/,
      /\bstream (?:error|closed|disconnected|ended)|\bpremature close\b|\berror sending request\b/,
      /\bconnection (?:error|closed|refused|reset|failed|dropped|timed out)\b|\b(?:unable|failed|not) (?:to )?connect\b/,
      /\bnetwork (?:error|is unreachable)\b|\bdns\b|\btimed? ?out\b/,
    ],
  ],
  [
    'permission-denied',
    [/\bpermission to use \S+ has been denied\b|\btool (?:use|call)s? (?:was |were )?(?:denied|rejected)\b/],
  ],
];

/** Said while the agent can still go on. */
const ONLY_NEAR = /\bapproaching\b|\b\d{1,2}% of your\b/;
const PER_MINUTE = /per[- ]?min/;
const LONG_WAIT = /\d ?(?:d|days?|h|hours?|minutes?)\b/;

/** A wait of minutes and more is a limit of the account's, a few seconds are a provider that is busy. */
const isLongWait = (text: string): boolean =>
  /rate[ -]?limit/.test(text) && LONG_WAIT.test(text) && saysWhen(text);

const saidIn = (text: string): Kind | undefined => {
  const fits = ([kind, expressions]: (typeof SAID)[number]): boolean =>
    expressions.some((expression) => expression.test(text)) && !(kind === 'usage-limit' && isNone(text));
  return SAID.find(fits)?.[0];
};

const isNone = (text: string): boolean =>
  ONLY_NEAR.test(text) || (PER_MINUTE.test(text) && !text.includes('perday'));

/** What a status says by itself. */
const byStatus = (status: number | undefined): Kind | undefined => {
  if (status === undefined) return undefined;
  if (status === 401 || status === 403) return 'auth';
  if (status === 402) return 'usage-limit';
  if (status === 413) return 'context-overflow';
  if (status === 408) return 'network';
  return status === 429 || status >= 500 ? 'overloaded' : undefined;
};

/** `unexpected status 401 Unauthorized`, `API Error: 529 {…}`, `"status_code":429`, `[code=503]`, `rejected (429)`. */
const STATUS =
  /(?:\bstatus|\berror|\bhttp|\bcode|\brejected)(?:[_ ]code)?["'`]?\s?[:=]?\s?\(?([45]\d\d)(?![\d.])/;

const statusIn = (text: string): number | undefined => {
  const told = STATUS.exec(text)?.[1];
  return told === undefined ? undefined : Number(told);
};

const kindOf = (text: string, status: number | undefined): Kind => {
  const said = saidIn(text);
  const known = byStatus(status);
  if (said === 'overloaded' && isLongWait(text) && !isNone(text)) return 'usage-limit';
  // "Try again later" and the like say less than a status that is about the caller.
  if (known !== undefined && (said === undefined || said === 'overloaded' || said === 'network'))
    return known;
  return said ?? 'agent-failed';
};

/**
 * What the trouble is called. Without a clock: `resetAt` is set only where the program said an absolute time; a relative one
 * (`resets 3pm`, `try again in 2 hours`) stays in `detail`, also when the rest of a long message is cut.
 */
export const troubleOf = ({ message, type = '', status }: Facts): Trouble => {
  const raw = message.slice(0, MOST_TEXT);
  const text = `${type} ${raw}`.toLowerCase().replaceAll(/\s+/g, ' ').replaceAll('’', "'");
  const kind = kindOf(text, status ?? statusIn(text));
  const resetAt = kind === 'usage-limit' ? absoluteTime(raw) : undefined;
  return {
    kind,
    detail: detailOf(raw, type),
    ...(resetAt === undefined ? {} : { resetAt: resetAt.toISOString() }),
  };
};

/** Where a reset is told, up to the end of its sentence. */
const WHEN = /(?:resets?\b|try again|retry|wait for)[^.;\n]{0,90}/i;

const detailOf = (message: string, type: string): string => {
  const line = oneLine(message, MOST_TEXT);
  if (line === '') return oneLine(type === '' ? 'it gave no reason' : type, DETAIL_CHARACTERS);
  const cut = cutTo(line, DETAIL_CHARACTERS);
  const when = cut === line ? undefined : WHEN.exec(line.slice(DETAIL_CHARACTERS - 40))?.[0];
  if (when === undefined) return cut;
  return oneLine(`${cutTo(line, DETAIL_CHARACTERS - 100)} ${when}`, DETAIL_CHARACTERS);
};
