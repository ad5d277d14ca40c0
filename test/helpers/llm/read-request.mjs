// A provider's request as { turns: [{ role, text, calls, results }], system, tools: [{ name, schema, type, ns }], schema, model, stream }.

const partText = (part) => {
  if (typeof part === 'string') return part;
  return typeof part?.text === 'string' ? part.text : '';
};

const textOf = (content) => {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map(partText).filter(Boolean).join('\n') : '';
};

const turn = (role, more = {}) => ({ role, text: '', calls: 0, results: [], ...more });
const isInstruction = ({ role }) => role === 'system' || role === 'developer';

const anthropic = (body) => ({
  turns: (body.messages ?? []).map(({ role, content }) => {
    const parts = Array.isArray(content) ? content : [];
    return turn(role, {
      text: textOf(content),
      calls: parts.filter(({ type }) => type === 'tool_use').length,
      results: parts.filter(({ type }) => type === 'tool_result').map((part) => textOf(part.content)),
    });
  }),
  system: textOf(body.system),
  tools: (body.tools ?? []).map(({ name, type, input_schema: schema = {} }) => ({ name, schema, type })),
  schema: body.output_config?.format?.schema ?? body.output_format?.schema,
  model: body.model,
  stream: Boolean(body.stream),
});

const readItem = (item, turns) => {
  const type = item.type ?? 'message';
  if (type === 'message') {
    if (!isInstruction(item)) turns.push(turn(item.role, { text: textOf(item.content) }));
  } else if (type.endsWith('_output')) {
    const { output } = item;
    turns.push(turn('user', { results: [typeof output === 'string' ? output : JSON.stringify(output)] }));
  } else if (type.endsWith('call')) {
    // Parallel calls of one turn stand side by side.
    const last = turns.at(-1);
    if (last?.role === 'assistant' && last.calls > 0) last.calls += 1;
    else turns.push(turn('assistant', { calls: 1 }));
  }
};

const responses = (body) => {
  const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : (body.input ?? []);
  const turns = [];
  for (const item of input) readItem(item, turns);
  const instructions = input.filter((item) => (item.type ?? 'message') === 'message' && isInstruction(item));
  // Newer models get their tools as an item of the input.
  const given = [
    ...(body.tools ?? []),
    ...input.flatMap((item) => (item.type === 'additional_tools' ? (item.tools ?? []) : [])),
  ];
  const tools = given.flatMap((tool) =>
    tool.type === 'namespace' ? (tool.tools ?? []).map((inner) => ({ ...inner, ns: tool.name })) : [tool],
  );
  return {
    turns,
    system: [body.instructions ?? '', ...instructions.map(({ content }) => textOf(content))].join('\n'),
    tools: tools.map(({ name, type, parameters = {}, ns }) => ({
      name: name ?? type,
      schema: parameters,
      type,
      ns,
    })),
    schema: body.text?.format?.schema,
    model: body.model,
    stream: Boolean(body.stream),
  };
};

const chatTurn = (message) =>
  message.role === 'tool'
    ? turn('user', { results: [textOf(message.content)] })
    : turn(message.role, { text: textOf(message.content), calls: message.tool_calls?.length ?? 0 });

const chat = (body) => {
  const messages = body.messages ?? [];
  return {
    turns: messages.filter((message) => !isInstruction(message)).map(chatTurn),
    system: messages
      .filter(isInstruction)
      .map(({ content }) => textOf(content))
      .join('\n'),
    tools: (body.tools ?? []).map(({ type, function: f }) => ({
      name: f?.name,
      schema: f?.parameters ?? {},
      type,
    })),
    schema: body.response_format?.json_schema?.schema,
    model: body.model,
    stream: Boolean(body.stream),
    includeUsage: Boolean(body.stream_options?.include_usage),
  };
};

const gemini = (body, url) => {
  const config = body.generationConfig ?? {};
  return {
    turns: (body.contents ?? []).map(({ role, parts = [] }) =>
      turn(role === 'model' ? 'assistant' : 'user', {
        text: textOf(parts.filter(({ thought }) => !thought)),
        calls: parts.filter(({ functionCall }) => functionCall).length,
        results: parts
          .filter(({ functionResponse }) => functionResponse)
          .map(({ functionResponse }) => JSON.stringify(functionResponse.response)),
      }),
    ),
    system: textOf(body.systemInstruction?.parts ?? []),
    tools: (body.tools ?? [])
      .flatMap((tool) => tool.functionDeclarations ?? [])
      .map((tool) => ({ name: tool.name, schema: tool.parametersJsonSchema ?? tool.parameters ?? {} })),
    schema: config.responseJsonSchema ?? config.responseSchema,
    model: /models\/([^:]+):/.exec(url)?.[1] ?? '?',
    stream: url.includes(':streamGenerateContent'),
  };
};

/** By protocol. */
export const READ = { anthropic, responses, chat, gemini };

/** Which protocol a path is of, or `undefined`. */
export const protocolOf = (path) => {
  if (/\/messages(?:\/count_tokens)?$/.test(path)) return 'anthropic';
  if (path.endsWith('/responses')) return 'responses';
  if (path.endsWith('/chat/completions')) return 'chat';
  return /:(?:streamGenerateContent|generateContent|countTokens)$/.test(path) ? 'gemini' : undefined;
};
