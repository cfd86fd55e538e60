// One trajectory: an overview of all verdicts, then its messages, and at each call the labels and
// verdicts side by side. It is made when it is chosen.

const SIGNS = { 1: "●", 0: "○", "-": "–" };
const WORDS = { 1: "redundant", 0: "necessary", "-": "no answer" };
const COLUMNS = ["Judge", "Verdict", "Kind", "Evidence", "Confidence"];

const asker = (one) => one.judge + (one.repeat ? ` (repeat ${one.repeat})` : "");

/** Who has something to say, label sets first: {set | setting, question, name, line}. */
function voices(head, state) {
  const labels = shownLabels(state)
    .filter((set) => set in head.labels)
    .map((set) => ({
      set,
      question: "label set",
      name: index.label_sets[set],
      line: head.labels[set],
    }));
  const judges = shownSettings(state)
    .filter((number) => number in head.verdicts)
    .map((setting) => ({
      setting,
      question: index.settings[setting].question,
      name: asker(index.settings[setting]),
      line: head.verdicts[setting],
    }));
  return [...labels, ...judges];
}

function linkTo(state, changes, text, properties = {}) {
  const target = { ...state, step: "", message: "", ...changes };
  return el("a", { href: written(target), ...properties }, text);
}

function overview(head, state, found, all) {
  const hits = new Set(found.hits);
  const titles = head.steps.map((step) =>
    el(
      "th",
      { scope: "col", class: hits.has(step) ? "hit" : null },
      linkTo(state, { step: String(step) }, String(step), { "aria-label": `Step ${step}` }),
    ),
  );
  const rows = all.map((voice) =>
    el(
      "tr",
      { class: "set" in voice ? "label" : null },
      el("th", { scope: "row" }, `${voice.question} · ${voice.name}`),
      [...voice.line].map((sign, place) => {
        const hit = hits.has(head.steps[place]) ? "hit" : "";
        const cell = { class: `sign${sign} ${hit}`, title: WORDS[sign], "aria-label": WORDS[sign] };
        return el("td", cell, SIGNS[sign]);
      }),
    ),
  );
  const legend = Object.keys(SIGNS).map((sign) => `${SIGNS[sign]} ${WORDS[sign]}`);
  return el(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": "All verdicts" },
    el(
      "table",
      { class: "overview" },
      el("caption", {}, `Judged steps by number. ${legend.join(", ")}; framed: disagreement`),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "step"), titles)),
      el("tbody", {}, rows),
    ),
  );
}

function evidence(state, indices) {
  return (indices ?? []).flatMap((at, n) => [
    n ? ", " : "",
    at < 0 ? "policy" : linkTo(state, { message: String(at) }, String(at), { "aria-label": `message ${at}` }),
  ]);
}

function confidence(value) {
  return typeof value === "number" ? value.toFixed(2) : (value ?? "");
}

/** What one voice says of a step beyond redundant or necessary; empty where it says no more. */
function details(body, voice, step) {
  const isLabel = "set" in voice;
  const rows = isLabel ? body.labels : body.verdicts;
  const who = isLabel ? voice.set : voice.setting;
  const row = rows.find((one) => one[0] === who && one[1] === step);
  if (!row) return [];
  const [kind, proof, sure, synthetic] = isLabel ? row.slice(2) : row.slice(3, 6);
  return [(kind ?? "") + (isLabel && synthetic ? " (synthetic)" : ""), proof, confidence(sure)];
}

/** The labels and verdicts on one step; a column in which nobody says anything is left out. */
function verdicts(head, body, state, all, step) {
  const place = head.steps.indexOf(step);
  const truths = all.filter((voice) => "set" in voice).map((voice) => voice.line[place]);
  const said = all.map((voice) => details(body, voice, step));
  const used = [0, 1, 2].filter((at) => said.some((row) => row[at]?.length));
  const rows = all.map((voice, number) => {
    const sign = voice.line[place];
    const isLabel = "set" in voice;
    const differs = !isLabel && sign !== "-" && truths.some((truth) => truth !== sign);
    const more = used.map((at) => {
      const value = said[number][at];
      return el("td", {}, at === 1 ? evidence(state, value) : (value ?? ""));
    });
    return el(
      "tr",
      { class: isLabel ? "label" : null },
      el("th", { scope: "row" }, voice.name, el("small", {}, voice.question)),
      el(
        "td",
        { class: `sign${sign}` },
        el("span", { class: "whole" }, `${SIGNS[sign]} ${WORDS[sign]}`),
        differs ? el("span", { class: "differs whole" }, " ≠ label") : null,
      ),
      more,
    );
  });
  const names = [COLUMNS[0], COLUMNS[1], ...used.map((at) => COLUMNS[at + 2])];
  return el(
    "div",
    { class: "wide", tabindex: "0", role: "region", "aria-label": `Verdicts on step ${step}` },
    el(
      "table",
      { class: "verdicts" },
      el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows),
    ),
  );
}

/** Recorded text; a long one scrolls in a frame of its own. */
function recorded(text, name) {
  const long = text.length > 1500;
  const frame = long ? { tabindex: "0", role: "region", "aria-label": name } : {};
  return el("pre", { class: long ? "long" : null, ...frame }, text);
}

function stepBlock(head, body, state, all, row) {
  const [step, player, judged, , resultAt, tool, given, isError] = row;
  const result = body.messages.find((message) => message[4] === resultAt)?.[1];
  const title = `Step ${step} · ${tool ?? "call"}`;
  return el(
    "section",
    { id: `step-${step}`, class: judged ? "step judged" : "step", tabindex: "-1" },
    el(
      "h4",
      {},
      linkTo(state, { step: String(step) }, title),
      el("small", {}, judged ? "" : ` called by the ${player}, not judged`),
      isError ? el("small", { class: "failed" }, " failed") : null,
    ),
    el(
      "div",
      { class: "beside" },
      el(
        "div",
        {},
        el("h5", {}, "Call"),
        recorded(given ?? "", "Arguments"),
        el(
          "div",
          { id: resultAt === null ? null : `message-${resultAt}`, tabindex: "-1" },
          el("h5", {}, resultAt === null ? "No result" : `Result (message ${resultAt})`),
          result ? recorded(result, "Result") : null,
        ),
      ),
      judged && all.length ? verdicts(head, body, state, all, step) : null,
    ),
  );
}

function messageItem(head, body, state, all, message) {
  const [role, content, requestor, isError, at] = message;
  const here = body.steps.filter((row) => row[3] === at);
  const calls = here.filter((row) => row[5] !== null);
  const talk = here.filter((row) => row[5] === null).map((row) => ` · step ${row[0]}`);
  const who = role === "tool" && requestor ? `tool of the ${requestor}` : role;
  const anchor = talk.length ? el("span", { id: `step-${here[0][0]}`, tabindex: "-1" }) : null;
  return el(
    "li",
    { id: `message-${at}`, class: `message ${role === "user" ? "user" : ""}`, tabindex: "-1" },
    el("h4", { class: "who" }, anchor, `${at} · ${who}${talk.join("")}${isError ? " · failed" : ""}`),
    content ? recorded(content, `Message ${at}`) : null,
    calls.map((row) => stepBlock(head, body, state, all, row)),
  );
}

function facts(head, body) {
  const outcome = { true: "succeeded", false: "failed" }[String(body.success)];
  return [
    `${head.dataset} · ${head.domain}`,
    `task ${body.task}`,
    body.trial === null ? "" : `trial ${body.trial}`,
    body.agent ? `agent ${body.agent}` : "",
    outcome ?? "",
    `${head.messages} messages`,
    `${head.steps.length} judged steps`,
  ]
    .filter((fact) => fact)
    .join(" · ");
}

function folded(title, text, open = false) {
  if (!text) return null;
  return el("details", { open }, el("summary", {}, title), recorded(text, title));
}

function stepsAround(head, state, found) {
  const now = state.step === "" ? -1 : Number(state.step);
  const to = (step, text) =>
    step === undefined ? null : linkTo(state, { step: String(step) }, text);
  const links = [
    to(head.steps.findLast((step) => step < now), "← previous judged step"),
    to(head.steps.find((step) => step > now), "next judged step →"),
    to(found.hits.find((step) => step > now) ?? found.hits[0], "next disagreement →"),
  ];
  return el("nav", { id: "around", "aria-label": "Steps" }, links);
}

function trajectoryParts(number, state) {
  const head = index.trajectories[number];
  const body = JSON.parse(document.getElementById(`t${number}`).textContent);
  const found = disputes(head, state);
  const all = voices(head, state);
  const results = new Set(body.steps.map((row) => row[4]).filter((at) => at !== null));
  // A result stands beside its call.
  const items = body.messages
    .filter((message) => !results.has(message[4]))
    .map((message) => messageItem(head, body, state, all, message));
  return [
    el("h3", { tabindex: "-1" }, head.id),
    el("p", { class: "facts" }, facts(head, body)),
    folded("Task", body.objective, true),
    folded("Policy", body.policy === null ? "" : index.policies[body.policy]),
    folded("Ground-truth actions", body.gold ?? ""),
    head.steps.length && all.length ? overview(head, state, found, all) : null,
    el("ol", { class: "messages" }, items),
    stepsAround(head, state, found),
  ].filter((part) => part);
}
