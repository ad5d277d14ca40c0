// A planned step as the provider says it: { json } for one object, { events } for a stream of [name or null, data].
import { responses } from './write-responses.mjs';
import { idOf, pieces } from './wire.mjs';

const anthropic = ({ model }, { text, calls, stop, usage: used }) => {
  const usage = {
    input_tokens: used.input,
    cache_creation_input_tokens: used.cacheWrite,
    cache_read_input_tokens: used.cacheRead,
    output_tokens: used.output,
    service_tier: 'standard',
  };
  const content = [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map(({ name, input }) => ({ type: 'tool_use', id: idOf('toolu'), name, input })),
  ];
  const json = {
    id: idOf('msg'),
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: stop,
    stop_sequence: null,
    usage,
  };
  const begun = { ...json, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } };
  const data = [
    { type: 'message_start', message: begun },
    ...content.flatMap(anthropicBlock),
    { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
  return { json, events: data.map((each) => [each.type, each]) };
};

const anthropicBlock = (block, index) => {
  const isText = block.type === 'text';
  const deltaOf = (piece) =>
    isText ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece };
  return [
    {
      type: 'content_block_start',
      index,
      content_block: isText ? { type: 'text', text: '' } : { ...block, input: {} },
    },
    ...pieces(isText ? block.text : JSON.stringify(block.input)).map((piece) => ({
      type: 'content_block_delta',
      index,
      delta: deltaOf(piece),
    })),
    { type: 'content_block_stop', index },
  ];
};

const CHAT_STOP = { max_tokens: 'length', refusal: 'content_filter' };

const chat = ({ model, includeUsage }, { text, calls, stop, usage: used }) => {
  const base = { id: idOf('chatcmpl'), created: Math.floor(Date.now() / 1_000), model };
  const finish = CHAT_STOP[stop] ?? (calls.length > 0 ? 'tool_calls' : 'stop');
  const usage = {
    prompt_tokens: used.input + used.cacheRead,
    completion_tokens: used.output,
    total_tokens: used.input + used.cacheRead + used.output,
    prompt_tokens_details: { cached_tokens: used.cacheRead },
    completion_tokens_details: { reasoning_tokens: used.reasoning },
  };
  const toolCalls = calls.map(({ name, input }) => ({
    id: idOf('call'),
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }));
  const message = {
    role: 'assistant',
    content: text === '' ? null : text,
    ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
  };
  const json = {
    ...base,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: finish }],
    usage,
  };
  const chunk = (delta, reason = null) => [
    null,
    { ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] },
  ];
  const events = [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(text).map((piece) => chunk({ content: piece })),
    ...toolCalls.flatMap(chatCall).map((call) => chunk({ tool_calls: [call] })),
    chunk({}, finish),
    ...(includeUsage ? [[null, { ...base, object: 'chat.completion.chunk', choices: [], usage }]] : []),
    [null, '[DONE]'],
  ];
  return { json, events };
};

const chatCall = ({ id, type, function: { name, arguments: text } }, index) => [
  { index, id, type, function: { name, arguments: '' } },
  ...pieces(text).map((piece) => ({ index, function: { arguments: piece } })),
];

const GEMINI_STOP = { max_tokens: 'MAX_TOKENS', refusal: 'SAFETY' };

const gemini = ({ model }, { text, calls, stop, usage: used }) => {
  const usageMetadata = {
    promptTokenCount: used.input + used.cacheRead,
    candidatesTokenCount: used.output,
    cachedContentTokenCount: used.cacheRead,
    thoughtsTokenCount: used.reasoning,
    totalTokenCount: used.input + used.cacheRead + used.output + used.reasoning,
  };
  const parts = [
    ...(text === '' ? [] : [{ text }]),
    ...calls.map(({ name, input }) => ({
      functionCall: { id: idOf('fc'), name, args: input },
      thoughtSignature: 'ZmFrZQ==',
    })),
  ];
  const answer = (some, finishReason) => ({
    candidates: [
      {
        content: { role: 'model', parts: some },
        index: 0,
        ...(finishReason === undefined ? {} : { finishReason }),
      },
    ],
    usageMetadata,
    modelVersion: model,
    responseId: idOf('resp'),
  });
  const finish = GEMINI_STOP[stop] ?? 'STOP';
  return {
    json: answer(parts, finish),
    events: [
      ...parts.slice(0, -1).map((part) => [null, answer([part])]),
      [null, answer(parts.slice(-1), finish)],
    ],
  };
};

/** By protocol. */
export const WRITE = { anthropic, responses, chat, gemini };

const ANTHROPIC_TYPE = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};
const GEMINI_STATUS = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

const openAiError = ({ message, type = 'invalid_request_error', code = null, extra }) => ({
  error: { message, type, code, param: null, ...extra },
});

/** The body of an HTTP error, by protocol. */
export const ERROR = {
  anthropic: ({ status, message, type = ANTHROPIC_TYPE[status] ?? 'api_error', extra }) => ({
    type: 'error',
    error: { type, message, ...extra },
    request_id: idOf('req'),
  }),
  responses: openAiError,
  chat: openAiError,
  gemini: ({ status, message, type = GEMINI_STATUS[status] ?? 'INTERNAL', extra }) => ({
    error: { code: status, message, status: type, ...extra },
  }),
};
