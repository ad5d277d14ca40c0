// Which step of which script a request is answered with.

const TAG = /<fake-llm>([\s\S]*?)<\/fake-llm>/g;
/** What agents ask when they compact their history. */
const COMPACT =
  /<summary> block|CONTEXT CHECKPOINT COMPACTION|<state_snapshot>|summary of (?:our|the) conversation|detailed prompt for continuing|structured context checkpoint summary|Create a new anchored summary|Update the anchored summary/i;
/** Some agents keep the summary as a message of their own. */
const SUMMARY = 'FAKE-SUMMARY';
const OK = { text: 'ok' };

const stepsAfter = (turns, index) =>
  turns.slice(index + 1).filter(({ role, calls }) => role === 'assistant' && calls > 0).length;

const ofRule = (rule, step, state) => {
  const key = rule.id ?? rule.match;
  const found = { id: `rule:${key}`, steps: rule.steps, step };
  if (!rule.stateful) return found;
  const count = state.counts.get(key) ?? 0;
  state.counts.set(key, count + 1);
  return { ...found, step: count };
};

const matches = (rule, text) => new RegExp(rule.match, 's').test(text);

/** The last tag of a text; a prompt may quote others before it. */
const ofTag = (text, step) => {
  const [, json] = [...text.matchAll(TAG)].at(-1) ?? [];
  if (json === undefined) return undefined;
  try {
    return { id: 'tag', steps: [JSON.parse(json)].flat(), step };
  } catch (error) {
    return { id: 'bad-tag', steps: [{ text: `fake-llm: the tag is not JSON: ${error.message}` }], step: 0 };
  }
};

const lookUp = ({ turns, system }, rules, state) => {
  for (let index = turns.length - 1; index >= 0; index -= 1) {
    const { role, text } = turns[index];
    if (text === '' || (role !== 'user' && !text.includes(SUMMARY))) continue;
    const step = stepsAfter(turns, index);
    const tagged = ofTag(text, step);
    if (tagged !== undefined) return tagged;
    const rule = rules.find((each) => each.on !== 'system' && matches(each, text));
    if (rule !== undefined) return ofRule(rule, step, state);
  }
  const rule = rules.find(({ on = 'user', ...each }) => on !== 'user' && matches(each, system));
  return rule === undefined ? { id: null, steps: [OK], step: 0 } : ofRule(rule, stepsAfter(turns, 0), state);
};

const asksForSummary = ({ turns, system }, script) => {
  if (script.id?.startsWith('rule:')) return false;
  const newest = turns.findLast(({ role, text }) => role === 'user' && text !== '')?.text ?? '';
  if (newest.match(TAG) !== null && !COMPACT.test(newest.slice(-4_000))) return false;
  return COMPACT.test(newest) || COMPACT.test(system);
};

/** A summary carries the steps still to come in a new tag, so that a script goes on after a compaction. */
export const findScript = (request, rules, state) => {
  const script = lookUp(request, rules, state);
  if (!asksForSummary(request, script)) return script;
  const left = script.steps.slice(Math.min(script.step, script.steps.length - 1));
  const tag = script.id === 'tag' ? ` <fake-llm>${JSON.stringify(left)}</fake-llm>` : '';
  const text = `<analysis>fake</analysis>\n<summary>${SUMMARY} of the work so far.${tag}</summary>`;
  return { id: 'compaction', step: 0, steps: [{ text }] };
};

/** A request without tools (a title, a classifier) must neither use up errors nor call tools. */
const sideStep = ({ steps, step }) => {
  const found = steps[Math.min(step, steps.length - 1)] ?? {};
  const fits = found.text !== undefined || (found.error && !found.error.times) || found.hang;
  return fits ? found : OK;
};

/** Whether an error that is given some number of times is due once more. */
const isDue = (script, index, state) => {
  const step = script.steps[index];
  const key = `${script.id}#${index}#${JSON.stringify(step)}`;
  const count = state.errors.get(key) ?? 0;
  if (count >= step.error.times) return false;
  state.errors.set(key, count + 1);
  return true;
};

export const currentStep = (script, state, tools) => {
  if (tools === 0) return sideStep(script);
  let left = script.step;
  for (const [index, step] of script.steps.entries()) {
    if (step.error?.times) {
      if (left === 0 && isDue(script, index, state)) return step;
    } else if (step.repeat || left === 0) return step;
    else left -= 1;
  }
  return script.steps.at(-1) ?? OK;
};
