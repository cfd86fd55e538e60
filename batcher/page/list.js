// The filters and the list of trajectories. Entries are links: they work with the keyboard, in new
// tabs, and in a message to somebody else.

const filters = document.getElementById("filters");

/** More entries than anybody reads wait for a click. */
const MOST = 500;

function facet(name, title, values) {
  if (values.length < 2) return null;
  return el(
    "fieldset",
    {},
    el("legend", {}, title),
    values.map((value) =>
      el("label", { class: "tick" }, el("input", { type: "checkbox", name, value }), ` ${value}`),
    ),
  );
}

function makeFilters() {
  const domains = unique(index.trajectories.map((head) => head.domain)).sort();
  for (const domain of domains) {
    filters.elements.domain.append(el("option", { value: domain }, domain));
  }
  const facets = [
    facet("judge", "Judges", unique(index.settings.map((one) => one.judge)).sort()),
    facet("strategy", "Strategies", unique(index.settings.map((one) => one.question))),
    facet("labels", "Label sets", index.label_sets),
  ].filter((one) => one);
  document.getElementById("facets").append(...facets);
  filters.querySelector("details").hidden = !facets.length;
  filters.addEventListener("submit", (event) => event.preventDefault());
  filters.addEventListener("input", () => go(fromFilters()));
  filters.addEventListener("reset", (event) => {
    event.preventDefault();
    const { t, step } = current;
    go({ ...parsed(""), t, step });
  });
}

function fromFilters() {
  const given = new FormData(filters);
  const state = { ...current, q: given.get("q"), domain: given.get("domain") };
  for (const name of SEVERAL) state[name] = given.getAll(name);
  return state;
}

function toFilters(state) {
  const { q, domain } = filters.elements;
  if (q.value !== state.q) q.value = state.q;
  domain.value = state.domain;
  for (const box of filters.querySelectorAll("input[type=checkbox]")) {
    box.checked = state[box.name].includes(box.value);
  }
  if (state.judge.length + state.strategy.length + state.labels.length) {
    filters.querySelector("details").open = true;
  }
}

function entry(head, state, found) {
  const n = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;
  const facts = [head.domain, n(head.steps.length, "judged step")];
  if (found.judges.size) facts.push(`${found.judges.size} disputed`);
  if (found.against.size) facts.push(`${found.against.size} against a label`);
  const link = written({ ...state, t: head.id, step: "", message: "" });
  return el(
    "li",
    {},
    el(
      "a",
      { href: link, "data-id": head.id },
      el("b", {}, head.id),
      el("small", {}, facts.join(" · ")),
    ),
  );
}

function renderList(state, most = MOST) {
  const made = [];
  let count = 0;
  for (const head of index.trajectories) {
    const found = disputes(head, state);
    if (!isListed(head, state, found)) continue;
    count += 1;
    if (count <= most) made.push(entry(head, state, found));
  }
  if (count > most) {
    const more = el("button", { type: "button" }, `Show all ${count}`);
    more.addEventListener("click", () => renderList(current, Infinity));
    made.push(el("li", {}, more));
  }
  document.getElementById("list").replaceChildren(...made);
  document.getElementById("count").textContent =
    `${count} of ${index.trajectories.length} trajectories`;
  markChosen(state);
}

function markChosen(state) {
  for (const link of document.querySelectorAll("#list a")) {
    if (link.dataset.id === state.t) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
