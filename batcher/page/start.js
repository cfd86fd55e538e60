// Follow the address: whenever its fragment changes, by a link or a filter, the page is what it says.

let current = parsed("");
let shown = "";
let listed = "";

/** Take a state as the address without adding to the history: a filter is not a new place. */
function go(state) {
  history.replaceState(null, "", written(state));
  render(state);
}

/** What of a state the list, and the trajectory, depend on. */
const listKey = (state) => written({ ...state, t: "", step: "", message: "" });
const bodyKey = (state) => written({ ...state, step: "", message: "", q: "", domain: "" });

function renderTrajectory(state) {
  const place = document.getElementById("trajectory");
  const number = index.trajectories.findIndex((head) => head.id === state.t);
  if (!state.t) {
    place.replaceChildren(el("p", {}, "Choose a trajectory to read it."));
  } else if (number < 0) {
    place.replaceChildren(el("p", {}, `No trajectory here is called ${state.t}.`));
  } else {
    place.replaceChildren(...trajectoryParts(number, state));
  }
}

/** Bring the step or message that the address names into view, and put the keyboard there. */
function show(state, isNew) {
  for (const old of document.querySelectorAll(".chosen")) old.classList.remove("chosen");
  const name = state.message !== "" ? `message-${state.message}` : `step-${state.step}`;
  const target = state.message !== "" || state.step !== "" ? document.getElementById(name) : null;
  if (target) {
    (target.closest(".step, .message") ?? target).classList.add("chosen");
    target.scrollIntoView({ block: "start" });
    target.focus({ preventScroll: true });
  } else if (isNew && state.t) {
    const top = document.getElementById("trajectory").getBoundingClientRect().top;
    if (top < 0 || top > innerHeight / 2) document.getElementById("trajectory").scrollIntoView();
  }
}

function render(state) {
  const isFiltered = listKey(state) !== listed;
  const isNew = bodyKey(state) !== shown;
  const isMoved = ["t", "step", "message"].some((name) => state[name] !== current[name]);
  current = state;
  [listed, shown] = [listKey(state), bodyKey(state)];
  toFilters(state);
  if (isFiltered) renderList(state);
  else markChosen(state);
  if (isNew) renderTrajectory(state);
  else updateAround(state);
  if (isMoved) show(state, isNew);
}

function updateAround(state) {
  const head = index.trajectories.find((one) => one.id === state.t);
  if (head) document.getElementById("around").replaceWith(stepsAround(head, state, disputes(head, state)));
}

/** An address such as #scores is a place of the page and no state. */
function follow() {
  const fragment = location.hash;
  if (fragment === "" || fragment.includes("=")) render(parsed(fragment));
}

makeFilters();
render(parsed(location.hash.includes("=") ? location.hash : ""));
addEventListener("hashchange", follow);
