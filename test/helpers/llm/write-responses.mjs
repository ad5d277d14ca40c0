// The OpenAI Responses protocol: every item is announced, comes in pieces, and is said again as a whole.
import { idOf, pieces } from './wire.mjs';

const message = (text, index) => {
  const part = { type: 'output_text', text, annotations: [] };
  const item = { id: idOf('msg'), type: 'message', status: 'completed', role: 'assistant', content: [part] };
  const at = { item_id: item.id, output_index: index, content_index: 0 };
  const events = [
    added(index, { ...item, status: 'in_progress', content: [] }),
    ['response.content_part.added', { ...at, part: { ...part, text: '' } }],
    ...pieces(text).map((delta) => ['response.output_text.delta', { ...at, delta }]),
    ['response.output_text.done', { ...at, text }],
    ['response.content_part.done', { ...at, part }],
    done(index, item),
  ];
  return { item, events };
};

const added = (index, item) => ['response.output_item.added', { output_index: index, item }];
const done = (index, item) => ['response.output_item.done', { output_index: index, item }];

const localShell = ({ input }, index) => {
  const item = {
    id: idOf('lsh'),
    type: 'local_shell_call',
    call_id: idOf('call'),
    status: 'completed',
    action: { type: 'exec', command: ['bash', '-lc', input], env: {} },
  };
  return { item, events: [added(index, item), done(index, item)] };
};

const custom = ({ name, input: given }, index) => {
  const input = typeof given === 'string' ? given : JSON.stringify(given);
  const item = {
    id: idOf('ctc'),
    type: 'custom_tool_call',
    status: 'completed',
    call_id: idOf('call'),
    name,
    input,
  };
  const at = { item_id: item.id, output_index: index };
  const events = [
    added(index, { ...item, status: 'in_progress', input: '' }),
    ['response.custom_tool_call_input.delta', { ...at, delta: input }],
    ['response.custom_tool_call_input.done', { ...at, input }],
    done(index, item),
  ];
  return { item, events };
};

const functionCall = ({ name, input, ns }, index) => {
  const text = JSON.stringify(input);
  const item = {
    id: idOf('fc'),
    type: 'function_call',
    status: 'completed',
    call_id: idOf('call'),
    name,
    arguments: text,
    ...(ns === undefined ? {} : { namespace: ns }),
  };
  const at = { item_id: item.id, output_index: index };
  const events = [
    added(index, { ...item, status: 'in_progress', arguments: '' }),
    ...pieces(text).map((delta) => ['response.function_call_arguments.delta', { ...at, delta }]),
    ['response.function_call_arguments.done', { ...at, arguments: text }],
    done(index, item),
  ];
  return { item, events };
};

const CALL = { local_shell: localShell, custom };

export const responses = ({ model }, { text, calls, stop, usage: used }) => {
  const base = {
    id: idOf('resp'),
    object: 'response',
    created_at: Math.floor(Date.now() / 1_000),
    model,
    parallel_tool_calls: true,
    tool_choice: 'auto',
    tools: [],
    error: null,
    incomplete_details: null,
  };
  const texts = text === '' ? [] : [message(text, 0)];
  const items = [
    ...texts,
    ...calls.map((call, index) => (CALL[call.type] ?? functionCall)(call, index + texts.length)),
  ];
  const isCut = stop === 'max_tokens';
  const json = {
    ...base,
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output: items.map(({ item }) => item),
    usage: {
      input_tokens: used.input + used.cacheRead,
      input_tokens_details: { cached_tokens: used.cacheRead },
      output_tokens: used.output,
      output_tokens_details: { reasoning_tokens: used.reasoning },
      total_tokens: used.input + used.cacheRead + used.output,
    },
  };
  const begun = { response: { ...base, status: 'in_progress', output: [] } };
  const events = [
    ['response.created', begun],
    ['response.in_progress', begun],
    ...items.flatMap((item) => item.events),
    [isCut ? 'response.incomplete' : 'response.completed', { response: json }],
  ];
  return {
    json,
    events: events.map(([type, data], index) => [type, { type, sequence_number: index, ...data }]),
  };
};
