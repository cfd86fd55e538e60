// What is chosen, kept in the fragment of the address so that a link brings it back, and what the
// filters let through.

const index = JSON.parse(document.getElementById("index").textContent);

/** Make an element: properties by name, then children. Text is always a text node. */
function el(tag, properties, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

const unique = (values) => [...new Set(values)];

/** Parts of the state that may hold several values; none of them stands for all. */
const SEVERAL = ["only", "judge", "strategy", "labels"];
const SINGLE = ["t", "step", "message", "domain", "q"];

function parsed(fragment) {
  const found = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = {};
  for (const name of SINGLE) state[name] = found.get(name) ?? "";
  for (const name of SEVERAL) state[name] = found.getAll(name);
  return state;
}

function written(state) {
  const parts = new URLSearchParams();
  for (const name of SINGLE) if (state[name] !== "") parts.set(name, state[name]);
  for (const name of SEVERAL) for (const value of state[name]) parts.append(name, value);
  return `#${parts}`;
}

/** The numbers of the settings whose verdicts are shown. */
function shownSettings(state) {
  return index.settings
    .map((setting, number) => ({ ...setting, number }))
    .filter(
      (one) =>
        (!state.judge.length || state.judge.includes(one.judge)) &&
        (!state.strategy.length || state.strategy.includes(one.question)),
    )
    .map((one) => one.number);
}

/** The numbers of the label sets that are shown. */
function shownLabels(state) {
  return index.label_sets
    .map((name, number) => ({ name, number }))
    .filter((one) => !state.labels.length || state.labels.includes(one.name))
    .map((one) => one.number);
}

/** Whether two judges answered the same question about a step (by its place) differently. */
function judgesDisagree(head, place, settings) {
  const first = new Map();
  for (const number of settings) {
    const sign = head.verdicts[number]?.[place] ?? "-";
    if (sign === "-") continue;
    const { question, judge } = index.settings[number];
    const before = first.get(question) ?? [];
    if (before.some((other) => other.judge !== judge && other.sign !== sign)) return true;
    first.set(question, [...before, { judge, sign }]);
  }
  return false;
}

/** Whether a verdict on a step differs from a label set that annotated the trajectory. */
function againstLabels(head, place, settings, labels) {
  return labels.some((set) => {
    const truth = head.labels[set]?.[place];
    return (
      truth !== undefined &&
      settings.some((number) => {
        const sign = head.verdicts[number]?.[place] ?? "-";
        return sign !== "-" && sign !== truth;
      })
    );
  });
}

/** The steps of a trajectory on which there is disagreement, by sort, and those asked for. */
function disputes(head, state) {
  const settings = shownSettings(state);
  const labels = shownLabels(state);
  const judges = new Set();
  const against = new Set();
  head.steps.forEach((step, place) => {
    if (judgesDisagree(head, place, settings)) judges.add(step);
    if (againstLabels(head, place, settings, labels)) against.add(step);
  });
  const asked = head.steps.filter(
    (step) =>
      (!state.only.includes("judges") || judges.has(step)) &&
      (!state.only.includes("labels") || against.has(step)),
  );
  const either = head.steps.filter((step) => judges.has(step) || against.has(step));
  return { judges, against, hits: state.only.length ? asked : either };
}

/** Whether the filters let a trajectory through. */
function isListed(head, state, found) {
  const text = state.q.trim().toLowerCase();
  if (text && !head.id.toLowerCase().includes(text)) return false;
  if (state.domain && head.domain !== state.domain) return false;
  const chosen = state.judge.length || state.strategy.length;
  if (chosen && !shownSettings(state).some((number) => head.verdicts[number])) return false;
  if (state.labels.length && !shownLabels(state).some((set) => set in head.labels)) return false;
  return !state.only.length || found.hits.length > 0;
}
