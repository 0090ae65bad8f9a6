// Each part of the page, from what the service tells.

const card = (name, value, told) => el("div", { class: "card" }, el("span", {}, name), el("strong", {}, value), el("span", {}, told));

function mistakes(status) {
  const [negative, positive] = status.operating.classes.map(short);
  if (positive === undefined) return ["mean over the classes, each against the rest", "mean over the classes"];
  return [`rows of class ${negative} that were called ${positive}`, `rows of class ${positive} that were called ${negative}`];
}

function cards(status) {
  const { recent, total } = status.quality, [alarms, misses] = mistakes(status);
  const since = (name, format = percent) => (total[name] === null ? "no label yet" : `${format(total[name])} since the start`);
  const shown = [
    card("Balanced accuracy", percent(recent.balanced_accuracy), `${since("balanced_accuracy")}; accuracy ${percent(recent.accuracy)}`),
    card("False alarms", percent(recent.fpr), `${since("fpr")}; ${alarms}`),
    card("Misses", percent(recent.fnr), `${since("fnr")}; ${misses}`),
    recent.brier === null ? null : card("Brier score", score(recent.brier), `${since("brier", score)}; log loss ${score(recent.log_loss)}`),
    card("Rows predicted", count(status.volumes.totals.predicted), `since it was started; ${count(status.volumes.totals.joined)} labels joined`),
    card("Rows learned", count(status.model.rows), `version ${status.model.version}; ${count(status.health.pending)} wait for labels`),
  ];
  at("cards").replaceChildren(...shown.filter((each) => each !== null));
  const rows = total.rows ? `${count(total.rows)} answers have been judged by labels that arrived later. ` : "No label has arrived yet for any prediction. ";
  const last = recent.rows ? `The figures above cover the last ${count(recent.rows)}. ` : "";
  const none = status.quality.unanswered ? `${count(status.quality.unanswered)} rows were predicted before there was a model. ` : "";
  at("judged").textContent = rows + last + none;
}

const values = (windows, name) => windows.map((window) => window[name]);
const largest = (lists) => Math.max(...lists.flat().map((value) => value || 0));

function quality(status) {
  const windows = status.quality.windows, changed = { model: "new model", "operating point": "new point" };
  const marks = [
    ...status.alarms.latest.map(({ time }) => ({ time, name: "alarm", kind: "alarm" })),
    ...status.history.filter(({ kind }) => kind in changed).map(({ time, kind }) => ({ time, name: changed[kind], kind: "event" })),
  ].sort((a, b) => a.time - b.time);
  const common = {
    xs: values(windows, "end"), from: windows.length ? windows[0].start : 0, isTime: true, marks, format: percent, low: 0,
    nothing: `There is no full window yet: ${count(status.quality.recent.rows)} of ${count(status.quality.window)} rows are judged.`,
    xLabel: (time, k) => `${count(windows[k].rows)} rows up to ${moment(time)}`,
  };
  const balanced = values(windows, "balanced_accuracy"), told = balanced.filter((value) => value !== null);
  const low = told.length ? Math.min(0.9, Math.floor(10 * Math.min(...told)) / 10) : 0;
  plot(at("accuracy"), { ...common, label: "Balanced accuracy", low, high: 1, tick: (v) => `${Math.round(100 * v)} %`,
    series: [{ name: "balanced accuracy", colour: "accent", values: balanced }] });
  const errors = [values(windows, "fpr"), values(windows, "fnr")];
  plot(at("errors"), { ...common, label: "False alarms and misses", high: Math.max(0.01, 1.1 * largest(errors)),
    tick: (v) => `${plain(100 * v)} %`,
    series: [{ name: "false alarms", colour: "above", values: errors[0] }, { name: "misses", colour: "below", values: errors[1] }] });
  const brier = values(windows, "brier");
  at("with-brier").hidden = brier.every((value) => value === null);
  if (!at("with-brier").hidden) {
    plot(at("brier"), { ...common, label: "Brier score", format: score, tick: plain, high: Math.max(0.001, 1.1 * largest([brier])),
      series: [{ name: "Brier score, 0 is best", colour: "accent", values: brier }] });
  }
}

function volume(status) {
  const { start, seconds } = status.volumes, all = status.volumes.predicted.length;
  const whole = Math.max(1, start + all * seconds > status.now ? all - 1 : all); // the stretch under way is left out
  const predicted = status.volumes.predicted.slice(0, whole);
  const learned = status.volumes.learned.slice(0, whole).map((rows, k) => rows + status.volumes.joined[k]);
  plot(at("volume"), {
    xs: predicted.map((_, k) => start + k * seconds), width: seconds, isTime: true, format: count, low: 0, tick: some_of,
    high: Math.max(1, 1.1 * largest([predicted, learned])), label: `Rows in ${duration(seconds)}`,
    nothing: "No rows yet.", xLabel: (time) => `${duration(seconds)} from ${moment(time)}`,
    series: [{ name: "predicted", colour: "quiet", kind: "bar", values: predicted }, { name: "learned", colour: "accent", values: learned }],
  });
}
const some_of = (number) => (number >= 10000 ? `${plain(number / 1000)}k` : plain(number));

let chosen = null; // the margin that the slider stands at, once somebody has moved it

function operating(status) {
  const told = status.operating, wish = JSON.stringify(told.wish);
  const asked = Object.keys(told.wish).length ? `Asked for: ${wish}. ` : "";
  const where = told.threshold === null ? "" : ` The threshold is ${plain(told.threshold)}; that of the model itself is ${plain(told.own_threshold)}.`;
  at("point").textContent = asked + told.note + where;
  const points = told.moving;
  at("with-moving").hidden = points.length === 0;
  at("no-moving").textContent = points.length || status.model.classes.length > 2 ? "" : "The effect of other thresholds is known once labels of both classes have arrived for predictions.";
  if (points.length === 0) return;
  const slider = at("slider"), wanted = chosen === null ? told.threshold : chosen;
  slider.max = points.length - 1;
  slider.value = nearest(points, wanted);
  const there = () => (chosen === null ? null : points[Number(slider.value)]);
  slider.oninput = () => { chosen = points[Number(slider.value)].threshold; compare(status, there()); };
  at("back").onclick = () => { chosen = null; operating(status); slider.focus(); };
  compare(status, there());
}

function nearest(points, threshold) {
  let found = 0;
  points.forEach((point, k) => {
    if (Math.abs(point.threshold - threshold) < Math.abs(points[found].threshold - threshold)) found = k;
  });
  return found;
}

// Where anything happens: beyond it all rows are called the same.
function busy(points) {
  const first = points.findIndex((point) => point.fnr > 0.002 || point.fpr < 0.98);
  const last = points.findLastIndex((point) => point.fpr > 0.0005 || point.fnr < 0.98);
  return points.slice(Math.max(0, first - 1), last + 2);
}

// The rates now, and there if the slider was moved.
function compare(status, there) {
  const told = status.operating, points = busy(told.moving), [alarms, misses] = mistakes(status);
  const here = there || { threshold: told.threshold, fpr: told.fpr, fnr: told.fnr }, [negatives, positives] = told.shares;
  at("margin").textContent = plain(here.threshold);
  at("back").hidden = there === null;
  at("slider").setAttribute("aria-valuetext", `${plain(here.threshold)}: false alarms ${percent(here.fpr)}, misses ${percent(here.fnr)}`);
  plot(at("moving"), {
    xs: values(points, "threshold"), resting: nearest(points, here.threshold), format: percent, low: 0, high: 1, label: "Rates by threshold", nothing: "",
    tick: (v) => `${Math.round(100 * v)} %`, xLabel: (margin) => `if the second class is said from a margin of ${plain(margin)} on`,
    lines: [{ x: told.threshold, name: "now", kind: "now" }, ...(there ? [{ x: there.threshold, name: "there", kind: "here" }] : [])],
    series: [{ name: "false alarms", colour: "above", values: values(points, "fpr") }, { name: "misses", colour: "below", values: values(points, "fnr") }],
  });
  const both = [here, ...(there ? [{ threshold: told.threshold, fpr: told.fpr, fnr: told.fnr }] : [])].reverse();
  const line = (name, of) => el("tr", {}, el("th", { scope: "row" }, name), ...both.map((each) => el("td", {}, of(each))));
  const heads = ["", "now", "there"].slice(0, both.length + 1);
  at("compared").replaceChildren(el("thead", {}, el("tr", {}, ...heads.map((head) => el(head ? "th" : "td", head ? { scope: "col" } : {}, head)))),
    el("tbody", {}, line("threshold", (each) => plain(each.threshold)), line("false alarms", (each) => percent(each.fpr)),
      line("… in 1,000 rows", (each) => some(1000 * negatives * each.fpr)), line("misses", (each) => percent(each.fnr)),
      line("… in 1,000 rows", (each) => some(1000 * positives * each.fnr))));
  at("how").textContent = `False alarms: ${alarms}. Misses: ${misses}. Counted from ${count(told.seen[0])} and ${count(told.seen[1])} judged rows of the two classes, `
    + `the latest more than the older ones.` + (there ? ` To decide there, send {"threshold": ${plain(there.threshold)}} to POST /v1/operating-point.` : "");
}

function features(status) {
  const all = status.model.features, select = at("class"), was = select.value;
  at("columns").textContent = [status.model.learner, status.model.columns].filter(Boolean).join("; ");
  select.replaceChildren(...all.map((each, k) => el("option", { value: k }, short(each.class))));
  if (was && all[Number(was)]) select.value = was;
  at("choose").hidden = all.length < 2;
  const draw = () => {
    const one = all[Number(select.value)] || { columns: [], class: "" };
    const how = one.kind === "spread" ? "how much the column moves the margin, as a standard deviation" : "the largest weights";
    bars(at("features"), one.columns, `Features of class ${short(one.class)}, ${how}`);
    if (one.columns.length) at("features").prepend(el("p", { class: "note" }, `For class ${short(one.class)}: ${how}.`));
  };
  select.onchange = draw;
  draw();
}

const event = (time, ...children) => el("li", {}, el("time", { datetime: new Date(1000 * time).toISOString() }, moment(time)), ...children);

function alarms(status) {
  const { total, latest } = status.alarms;
  at("alarms-note").textContent = total === 0
    ? "None: answers have not become worse at any point of the stream."
    : `${count(total)} in all; the latest first. An alarm says that answers are wrong more often than before.`;
  at("alarms").replaceChildren(...latest.map((alarm) => event(alarm.time,
    `The mean error rate of the classes is ${percent(alarm.after)} over the last ${count(alarm.n_after)} rows, but was `
    + `${percent(alarm.before)} over the ${count(alarm.n_before)} before; of class ${short(alarm.class)} ${percent(alarm.class_after)}, `
    + `but was ${percent(alarm.class_before)}.`)));
}

function happened(entry) {
  const { time, kind, ...rest } = entry, rows = count(rest.rows ?? null);
  if (kind === "begin") return rest.model ? `Began with the model ${rest.model}, which had learned ${rows} rows.` : "Began without a model.";
  if (kind === "trim") return `The log was trimmed up to row ${count(rest.position ?? null)}.`;
  if (kind === "start") return `Started, with version ${rest.version} of the model and ${rows} rows learned.`;
  if (kind === "stop") return `Stopped, with version ${rest.version} of the model and ${rows} rows learned.`;
  if (kind === "model") return `Another model took over: version ${rest.version}, with ${rows} rows learned.`;
  if (kind === "snapshot") return `Snapshot of version ${rest.version}, with ${count(rest.position)} rows of the log.`;
  if (kind === "operating point") return Object.keys(rest).length ? `Operating point: ${JSON.stringify(rest)}.` : "Operating point: the model's own threshold.";
  return `${kind}: ${JSON.stringify(rest)}`;
}

function facts(status) {
  const { health, model } = status, own = model.progressive;
  at("history").replaceChildren(...status.history.map((entry) => event(entry.time, happened(entry))));
  const pairs = [
    ["classes", model.classes.length ? model.classes.slice(0, 20).map(short).join(", ") + (model.classes.length > 20 ? ", …" : "") : "none yet"],
    ["the model's own progressive scores", own.accuracy === undefined ? "–" : `balanced accuracy ${percent(own.balanced_accuracy)}, FPR ${percent(own.fpr)}, FNR ${percent(own.fnr)}`],
    ["running for", duration(health.uptime)],
    ["rows in the log", count(health.position)],
    ["size of the log", bytes(health.log_bytes)],
    ["last row of the log", health.log_age === null ? "none yet" : `${duration(health.log_age)} ago`],
    ["last snapshot", health.snapshot_age === null ? "none yet" : `${duration(health.snapshot_age)} ago, after ${count(health.snapshot_position)} rows`],
    ["rows waiting for labels", count(health.pending)],
    ["requests waiting", count(health.queue)],
    ["refused rows", count(status.volumes.totals.refused)],
    ["unknown ids of labels", count(status.volumes.totals.unknown)],
  ];
  at("facts").replaceChildren(...pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

function health(status) {
  const { ready, learning, why } = status.health, pill = at("health");
  const said = (ready ? (learning ? "Ready and learning" : "Ready, but not learning") : "Not ready") + (why ? `: ${why}` : "");
  if (pill.textContent !== said) pill.textContent = said; // read aloud when it changes
  pill.className = ready && learning ? "pill well" : "pill ill";
  const classes = status.model.classes.slice(0, 4).map(short).join(" or ");
  at("title").textContent = classes ? `${classes}${status.model.classes.length > 4 ? " or …" : ""}?` : "A service that has not learned yet";
}
