#!/usr/bin/env node
// A scripted stand-in for the LLM APIs that coding agents talk to. Listens on loopback only; keeps nothing on disk but its log.
//
//   node llm-server.mjs [--port 0] [--script rules.json] [--log requests.jsonl] [--bodies DIR] [--key KEY] [--ttl SECONDS]
//
// On start it prints one line: {"url":"http://127.0.0.1:PORT","port":PORT,"pid":PID}. SIGTERM and SIGINT end it, and it ends by
// itself after --ttl seconds (3600). In a test: `const server = await startFakeLlm({ rules }); server.url; server.log; await server.close()`.
//
// Speaks (streaming and plain JSON, chosen by the request; any path prefix is accepted):
//   Anthropic Messages        POST .../messages, .../messages/count_tokens
//   OpenAI Responses          POST .../responses
//   OpenAI Chat Completions   POST .../chat/completions
//   Gemini                    POST .../models/M:generateContent, :streamGenerateContent, :countTokens
//   model lists               GET  .../models
//   for the test              GET  /__log, POST /__script (JSON rules), POST /__reset
//
// What it answers is a SCRIPT: a list of steps, one a turn of the model. It is found, newest user message first, as
//   1. a tag in the prompt:   <fake-llm>[{"shell":"echo hi > a.txt"},{"text":"done"}]</fake-llm>
//   2. the first rule that matches: [{"match":"regex over the user text", "steps":[...], "id"?, "on"?:"system"|"user"|"any", "stateful"?:true}]
//   3. otherwise the single step {"text":"ok"}.
// The number of the step is the count of the model's turns with calls after the message that has the script, so the server keeps no
// state and any number of workers may share it. A rule with "stateful":true counts its own requests instead (for histories that the
// agent rewrites). Past the last step the last one repeats.
//
// Steps (one key of these, plus the options):
//   {"text":"..."}                       final text, ends the turn        {"shell":"cmd"}            one shell call
//   {"write":{"path","content"}}         file write, or a shell call      {"read":{"path"}}          file read
//   {"tool":{"name","input"}}            that tool with that input        {"calls":[step,...]}       several calls in one turn
//   {"error":{"status":429,"message"?,"type"?,"code"?,"retryAfter"?,"headers"?,"extra"?,"times"?:n}}
//                                        HTTP error (n times, then the next step); "extra" goes into its error object
//   {"hang":ms}                          send headers, then nothing for ms, then drop the connection
//   {"cut":true,"text":"..."}            drop the connection half way through the answer
// Options: "say" (text before the calls), "usage":{"input","output","cacheRead","cacheWrite","reasoning"}, "headers" (of a streamed
//   answer), "delayMs", "stop":"max_tokens"|"refusal"|..., "repeat":true (this step for ever).
// {"json": VALUE} is {"text"} with that value, in a write {"path","json"} its content. In the texts of a step {{REGEX}} and {"$each":"REGEX"} are filled in from the prompt (llm/fill.mjs).
// Shell, write and read are mapped onto whatever tool the client offers, with arguments that fit its JSON schema. A request to compact
// the history (known by its wording) gets a summary that carries the steps still to come. A request that offers no tools and carries no
// script (titles, classifiers) gets {"text":"ok"}, or, when it asks for a JSON schema, the smallest object that fits.
// With --key, a request with another key (x-api-key, Authorization: Bearer, x-goog-api-key, ?key=) gets 401.
import { appendFileSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import zlib from 'node:zlib';
import { asText, filled } from './llm/fill.mjs';
import { planStep, smallest } from './llm/plan-step.mjs';
import { READ, protocolOf } from './llm/read-request.mjs';
import { currentStep, findScript } from './llm/script.mjs';
import { ERROR, WRITE } from './llm/write-answer.mjs';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const send = (response, status, value, headers = {}) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
};

const INFLATE = {
  gzip: zlib.gunzipSync,
  br: zlib.brotliDecompressSync,
  deflate: zlib.inflateSync,
  // Not in every version of Node.
  zstd: zlib.zstdDecompressSync,
};

const readBody = async (request) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const bytes = Buffer.concat(parts);
  const encoding = request.headers['content-encoding'] ?? '';
  if (encoding === '') return bytes;
  const inflate = INFLATE[encoding];
  if (inflate === undefined) throw new Error(`content-encoding ${encoding} is not supported here`);
  return inflate(bytes);
};

const parsed = (bytes) => {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return {};
  }
};

const keyOf = ({ headers, url }) =>
  headers['x-api-key'] ??
  headers['x-goog-api-key'] ??
  /^Bearer (.*)$/.exec(headers.authorization ?? '')?.[1] ??
  new URL(url, 'http://x').searchParams.get('key');

const sessionOf = ({ headers }) =>
  headers['x-claude-code-session-id'] ??
  headers['session_id'] ??
  headers['session-id'] ??
  headers['x-session-id'];

const MODEL = {
  id: 'fake-model',
  object: 'model',
  type: 'model',
  display_name: 'fake',
  created: 0,
  owned_by: 'fake',
  name: 'models/fake-model',
};

const answerOther = ({ method }, response, path) => {
  if (method === 'GET' && path.endsWith('/models'))
    return send(response, 200, { object: 'list', data: [MODEL], models: [MODEL], has_more: false });
  if (method === 'GET' && /\/models\/[^/]+$/.test(path))
    return send(response, 200, { ...MODEL, id: path.split('/').at(-1) });
  if (method === 'HEAD' || path === '') return response.writeHead(200).end();
  const message = `fake-llm: nothing at ${method} ${path}`;
  return send(response, 404, { error: { type: 'not_found_error', message } });
};

const hang = (response, ms, entry) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  const timer = setTimeout(() => response.destroy(), ms);
  response.on('close', () => {
    clearTimeout(timer);
    Object.assign(entry, { closedByClient: !response.writableEnded });
  });
};

const answerStream = async (response, step, events) => {
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', ...step.headers };
  response.writeHead(200, headers);
  for (const [name, data] of step.cut ? events.slice(0, Math.ceil(events.length / 2)) : events) {
    const event = name === null ? '' : `event: ${name}\n`;
    response.write(`${event}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  }
  if (!step.cut) return response.end();
  await pause(20);
  return response.destroy();
};

const answerStep = async (response, { step, asked, protocol, entry }) => {
  if (step.delayMs) await pause(step.delayMs);
  if (step.error) {
    const error = { status: 500, message: 'fake error', ...step.error };
    Object.assign(entry, { status: error.status });
    const retry = error.retryAfter === undefined ? {} : { 'retry-after': String(error.retryAfter) };
    return send(response, error.status, ERROR[protocol](error), { ...error.headers, ...retry });
  }
  if (step.hang) return hang(response, step.hang, entry);
  const { json, events } = WRITE[protocol](asked, planStep(step, asked));
  if (asked.stream) return answerStream(response, step, events);
  return step.cut ? response.destroy() : send(response, 200, json);
};

const newestUser = (turns) => turns.findLast(({ role, text }) => role === 'user' && text !== '')?.text;

const saidByUser = (turns) =>
  turns
    .filter(({ role }) => role === 'user')
    .map(({ text }) => text)
    .join('\n');

const chooseStep = (asked, state) => {
  const script = findScript(asked, state.rules, state);
  const step = asText(filled(currentStep(script, state, asked.tools.length), saidByUser(asked.turns)));
  const isAsked = script.id === null && asked.schema !== undefined;
  return { script, step: isAsked ? { text: JSON.stringify(smallest(asked.schema)) } : step };
};

/** A request of a protocol. */
const answerModel = async (request, response, { bytes, path, protocol, entry, state }) => {
  if (state.key !== undefined && keyOf(request) !== state.key) {
    state.note({ ...entry, status: 401 });
    const error = { status: 401, message: 'invalid x-api-key', code: 'invalid_api_key' };
    return send(response, 401, ERROR[protocol](error));
  }
  if (/count_?tokens$/i.test(path)) {
    state.note(entry);
    const count = Math.ceil(bytes.length / 4);
    return send(response, 200, { input_tokens: count, totalTokens: count });
  }
  const asked = READ[protocol](parsed(bytes), request.url);
  const { script, step } = chooseStep(asked, state);
  Object.assign(entry, {
    model: asked.model,
    stream: asked.stream,
    session: sessionOf(request),
    agent: request.headers['user-agent'],
    bytes: bytes.length,
    system: asked.system.length,
    tools: asked.tools.map(({ name }) => name),
    turns: asked.turns.length,
    script: script.id,
    step,
    lastUser: newestUser(asked.turns)?.slice(-400),
    lastResults: asked.turns.at(-1)?.results.map((result) => String(result).slice(0, 400)),
  });
  state.note(entry);
  return answerStep(response, { step, asked, protocol, entry });
};

const answerTest = (response, path, bytes, state) => {
  if (path === '/__log') return send(response, 200, state.log);
  if (path === '/__reset') state.log.length = 0;
  state.setRules(path === '/__script' ? parsed(bytes) : state.rules);
  return send(response, 200, { rules: state.rules.length });
};

const answer = async (request, response, state) => {
  const bytes = await readBody(request);
  const path = request.url.split('?')[0].replace(/\/+$/, '');
  if (path.startsWith('/__')) return answerTest(response, path, bytes, state);
  const protocol = request.method === 'POST' ? protocolOf(path) : undefined;
  const entry = {
    n: state.log.length + 1,
    t: new Date().toISOString(),
    method: request.method,
    path: request.url,
    proto: protocol ?? null,
  };
  if (state.bodiesDir !== undefined && bytes.length > 0) {
    const name = `${String(entry.n).padStart(4, '0')}-${protocol ?? 'other'}.json`;
    writeFileSync(join(state.bodiesDir, name), bytes);
  }
  if (protocol !== undefined) return answerModel(request, response, { bytes, path, protocol, entry, state });
  state.note({ ...entry, agent: request.headers['user-agent'] });
  return answerOther(request, response, path);
};

const newState = ({ rules = [], logFile, bodiesDir, key }) => {
  const state = {
    rules,
    key,
    bodiesDir,
    log: [],
    counts: new Map(),
    errors: new Map(),
    note: (entry) => {
      state.log.push(entry);
      if (logFile !== undefined) appendFileSync(logFile, `${JSON.stringify(entry)}\n`);
    },
    setRules: (next) => {
      state.rules = next;
      state.counts.clear();
      state.errors.clear();
    },
  };
  return state;
};

export const startFakeLlm = async (options = {}) => {
  const state = newState(options);
  if (options.bodiesDir !== undefined) mkdirSync(options.bodiesDir, { recursive: true });
  const server = createServer((request, response) => {
    answer(request, response, state).catch((error) => {
      state.note({ n: state.log.length + 1, path: request.url, crash: String(error?.stack ?? error) });
      if (response.headersSent) response.destroy();
      else send(response, 500, { error: { message: `fake-llm: ${error.message}` } });
    });
  });
  server.keepAliveTimeout = 5_000;
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address();
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    log: state.log,
    setRules: state.setRules,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const argument = (name) => {
  const index = process.argv.indexOf(`--${name}`);
  return index === -1 ? undefined : process.argv[index + 1];
};

const main = async () => {
  const script = argument('script');
  const { url, port, close } = await startFakeLlm({
    port: Number(argument('port') ?? 0),
    rules: script === undefined ? [] : JSON.parse(readFileSync(script, 'utf8')),
    logFile: argument('log'),
    bodiesDir: argument('bodies'),
    key: argument('key'),
  });
  process.stdout.write(`${JSON.stringify({ url, port, pid: process.pid })}\n`);
  // It never outlives a test that was forgotten.
  setTimeout(() => void close(), Number(argument('ttl') ?? 3_600) * 1_000).unref();
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void close());
};

const program = process.argv[1];
if (program !== undefined && import.meta.url === pathToFileURL(realpathSync(program)).href) await main();
