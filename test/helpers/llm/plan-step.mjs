// A step as { text, calls: [{ name, input, type, ns }], stop, usage }: mapped onto the tools that the client offers.

const words = (text) => text.split(' ');

const SHELL = words(
  'Bash bash run_shell_command exec_command shell_command shell execute_command run_command ' +
    'run_commands run_terminal_command launch-process Execute execute_bash terminal ' +
    'local_shell container.exec',
);
const WRITE = words(
  'Write write write_file write_to_file create_file create save-file Create ' +
    'str_replace_editor editor string_replace',
);
const READ = words('Read read read_file view view_file read_many_files read_files');

const DEFAULT_USAGE = { input: 100, output: 20, cacheRead: 0, cacheWrite: 0, reasoning: 0 };

const resolved = (schema, root) => {
  if (!schema?.$ref) return schema ?? {};
  const path = schema.$ref.split('/').slice(1);
  return path.reduce((found, key) => found?.[key], root) ?? {};
};

const typeOf = ({ type, properties }) => {
  const first = Array.isArray(type) ? type[0] : type;
  return String(first ?? (properties ? 'object' : 'string')).toLowerCase();
};

const SMALLEST = {
  object: (schema, root) => {
    const names = schema.required ?? Object.keys(schema.properties ?? {});
    return Object.fromEntries(names.map((name) => [name, smallest(schema.properties?.[name], root)]));
  },
  array: (schema, root) => (schema.minItems ? [smallest(schema.items, root)] : []),
  number: ({ minimum = 0 }) => minimum,
  integer: ({ minimum = 0 }) => minimum,
  boolean: () => false,
  null: () => null,
};

/** The smallest value that fits a JSON schema. */
export const smallest = (given, root = given) => {
  const schema = resolved(given, root);
  if ('const' in schema) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return smallest(choices[0], root);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((each) => smallest(each, root)));
  const make = SMALLEST[typeOf(schema)];
  return make === undefined ? 'ok' : make(schema, root);
};

const isList = ({ type, anyOf = [] }) => {
  if (type === 'array' || type === 'ARRAY') return true;
  const types = anyOf.map((each) => each.type);
  return types.includes('array') && !types.includes('string');
};

const isText = (schema) => schema.type === 'string' && !schema.enum && schema.default === undefined;

/** @param wanted [kind of argument, value] each; the rest is made up */
const fill = (schema, wanted) => {
  const { properties = {}, required = [] } = schema;
  const input = {};
  for (const [{ names, asList = (value) => [value] }, value] of wanted) {
    const name = names.find((each) => each in properties) ?? names[0];
    const property = resolved(properties[name], schema);
    input[name] = isList(property) ? asList(value, property, name) : value;
  }
  for (const name of required.filter((each) => !(each in input))) {
    const property = resolved(properties[name], schema);
    input[name] = isText(property) ? 'fake step' : smallest(property, schema);
  }
  return input;
};

const COMMAND = {
  names: ['command', 'cmd', 'commands', 'script', 'input'],
  asList: (value, { items }, name) => {
    if (items?.type === 'object') return [fill(items, [[{ names: ['command', 'cmd'] }, value]])];
    return name === 'commands' ? [value] : ['bash', '-lc', value];
  },
};
const PATH = {
  names: words(
    'file_path filePath path absolute_path absolutePath target_file filepath paths files file_paths',
  ),
  asList: (value, { items }) =>
    items?.type === 'object' ? [fill(items, [[{ names: ['path', 'file_path'] }, value]])] : [value],
};
const BODY = {
  names: words('content contents file_text file_content text new_content new_text new_str'),
};

const firstOf = (tools, names) => {
  const name = names.find((each) => tools.some((tool) => tool.name === each));
  return tools.find((tool) => tool.name === name);
};

const callOf = ({ name, type, ns }, input) => ({ name, type, ns, input });
const quoted = (text) => `'${String(text).replaceAll("'", String.raw`'\''`)}'`;

const shellCall = (command, tools) => {
  const tool = firstOf(tools, SHELL);
  if (tool?.type === 'local_shell') return callOf(tool, command);
  if (tool !== undefined) return callOf(tool, fill(tool.schema, [[COMMAND, command]]));
  // Codex takes JavaScript in which the tools are functions.
  const exec = tools.find(({ name, type }) => type === 'custom' && name === 'exec');
  const code = `const r = await tools.exec_command(${JSON.stringify({ cmd: command })}); text(r.output ?? r);`;
  return exec === undefined ? undefined : { name: 'exec', type: 'custom', input: code };
};

const writeCall = ({ path, content }, tools) => {
  const tool = firstOf(tools, WRITE);
  if (tool === undefined) {
    const at = quoted(path);
    return shellCall(`mkdir -p "$(dirname ${at})" && printf %s ${quoted(content)} > ${at}`, tools);
  }
  const input = fill(tool.schema, [
    [PATH, path],
    [BODY, content],
  ]);
  return callOf(tool, 'command' in input ? { ...input, command: 'create' } : input);
};

const readCall = ({ path }, tools) => {
  const tool = firstOf(tools, READ);
  return tool === undefined
    ? shellCall(`cat ${quoted(path)}`, tools)
    : callOf(tool, fill(tool.schema, [[PATH, path]]));
};

const callFor = (step, tools) => {
  if (step.tool) {
    const tool = tools.find(({ name }) => name === step.tool.name);
    return callOf({ ...tool, name: step.tool.name }, step.tool.input ?? {});
  }
  if (step.write) return writeCall(step.write, tools);
  return step.read ? readCall(step.read, tools) : shellCall(step.shell, tools);
};

const isCall = ({ shell, write, read, tool }) =>
  shell !== undefined || [write, read, tool].some((each) => each !== undefined);

export const planStep = (step, { tools }) => {
  const usage = { ...DEFAULT_USAGE, ...step.usage };
  const said = (text) => ({ text, calls: [], stop: step.stop ?? 'end_turn', usage });
  if (step.text !== undefined) return said(step.text);
  const wanted = step.calls ?? (isCall(step) ? [step] : []);
  const calls = wanted.map((each) => callFor(each, tools)).filter((call) => call !== undefined);
  if (calls.length > 0) return { text: step.say ?? '', calls, stop: step.stop ?? 'tool_use', usage };
  if (wanted.length === 0) return said(step.say ?? '');
  const names = tools.map(({ name }) => name).join(', ');
  return said(`fake-llm: no advertised tool can do ${JSON.stringify(wanted)}; advertised: ${names}`);
};
