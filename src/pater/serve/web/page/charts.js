// Curves over time and over thresholds, and bars, as SVG in the size of the place that they stand in.

const LEFT = 46, RIGHT = 12, TOP = 16, BOTTOM = 24, HIGH = 210;

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 2.5, 5, 10].find((step) => step * power >= rough * 0.999) || 10);
}
function ticks(low, high, wanted) {
  const step = niceStep((high - low) / wanted || 1);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) found.push(k * step);
  return found;
}
function timeTicks(first, last, wanted) {
  const steps = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000];
  const step = steps.find((each) => (last - first) / each <= wanted) || 31536000;
  const offset = 60 * new Date(1000 * first).getTimezoneOffset(); // hours and days begin where the reader is
  const found = [];
  for (let t = Math.ceil((first - offset) / step) * step + offset; t <= last; t += step) found.push(t);
  return found;
}

function legend(place, series, values) {
  place.replaceChildren(...series.map((each, k) => el("span", {},
    svg("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, each.kind === "bar"
      ? svg("rect", { class: `bar ${each.colour}`, x: 6, y: 0, width: 14, height: 10 })
      : svg("path", { class: `line ${each.colour}`, d: "M0 5H26" })),
    `${each.name} `, el("b", {}, values[k]))));
}

// A curve is broken where there is no value.
function path(points) {
  let pen = "M";
  return points.map(([x, y]) => {
    if (y === null) { pen = "M"; return ""; }
    const step = `${pen}${px(x)} ${px(y)}`;
    pen = "L";
    return step;
  }).join("");
}

// Series over xs; the legend has the values where the pointer or the arrow keys are, or those of the point that is `resting`.
function plot(place, told) {
  const { xs, series, label, xLabel, format, low, high, marks = [], lines = [], width = 0, nothing } = told;
  if (xs.length === 0) {
    place.replaceChildren(el("p", { class: "note" }, nothing));
    return;
  }
  const wide = Math.max(260, place.clientWidth), right = wide - RIGHT;
  const first = told.from ?? xs[0], last = xs[xs.length - 1] + width;
  const x = (value) => LEFT + (right - LEFT) * (last > first ? (value - first) / (last - first) : 0.5);
  const y = (value) => HIGH - BOTTOM - (HIGH - BOTTOM - TOP) * (value - low) / (high - low || 1);
  const drawing = svg("svg", {
    class: "chart", width: wide, height: HIGH, viewBox: `0 0 ${wide} ${HIGH}`, role: "img", tabindex: "0",
  });
  for (const tick of ticks(low, high, 4)) {
    drawing.append(svg("path", { class: "grid", d: `M${LEFT} ${px(y(tick))}H${px(right)}` }),
      svg("text", { x: LEFT - 6, y: px(y(tick) + 4), "text-anchor": "end" }, told.tick ? told.tick(tick) : format(tick)));
  }
  const wanted = Math.max(2, Math.floor(wide / 110));
  const below = told.isTime ? timeTicks(first, last, wanted) : ticks(first, last, wanted);
  for (const tick of below) {
    const anchor = x(tick) > right - 20 ? "end" : "middle";
    const said = told.isTime ? clock(tick, last - first) : plain(tick);
    drawing.append(svg("text", { x: px(x(tick)), y: HIGH - 6, "text-anchor": anchor }, said));
  }
  for (const each of series) {
    if (each.kind === "bar") {
      each.values.forEach((value, k) => {
        if (!value) return;
        const from = x(xs[k]), to = x(xs[k] + width);
        drawing.append(svg("rect", { class: `bar ${each.colour}`, x: px(from), y: px(y(value)),
          width: px(Math.max(1, to - from - (to - from > 4 ? 1 : 0))), height: px(y(low) - y(value)) }));
      });
    } else {
      const points = each.values.map((value, k) => [x(xs[k] + width / 2), value === null ? null : y(value)]);
      drawing.append(svg("path", { class: `line ${each.colour}`, d: path(points) }));
      if (points.length === 1 && points[0][1] !== null) {
        drawing.append(svg("circle", { class: `dot ${each.colour}`, cx: px(points[0][0]), cy: px(points[0][1]), r: 3 }));
      }
    }
  }
  const shown = marks.filter((mark) => mark.time >= first && mark.time <= last), place_of = (mark) => x(mark.time);
  shown.forEach((mark, k) => {
    drawing.append(svg("line", { class: mark.kind, x1: px(place_of(mark)), x2: px(place_of(mark)), y1: TOP - 2, y2: HIGH - BOTTOM }));
    const roomy = k === 0 || place_of(mark) - place_of(shown[k - 1]) > 44;
    const anchor = place_of(mark) < LEFT + 28 ? "start" : place_of(mark) > right - 28 ? "end" : "middle";
    if (roomy) drawing.append(svg("text", { class: mark.kind, x: px(place_of(mark)), y: TOP - 5, "text-anchor": anchor }, mark.name));
  });
  for (const line of lines) {
    if (line.x === null || line.x < first || line.x > last) continue;
    drawing.append(svg("path", { class: line.kind, d: `M${px(x(line.x))} ${TOP}V${HIGH - BOTTOM}` }),
      svg("text", { x: px(x(line.x)), y: TOP - 5, "text-anchor": "middle" }, line.name));
  }
  drawing.append(svg("path", { class: "zero", d: `M${LEFT} ${HIGH - BOTTOM}H${px(right)}` }));
  const pointer = svg("path", { class: "here", d: "" });
  drawing.append(pointer);
  const names = el("p", { class: "legend" }), where_from = el("p", { class: "note" });
  const told_at = (k) => {
    legend(names, series, series.map((each) => format(each.values[k])));
    where_from.textContent = xLabel(xs[k], k);
    const values = series.map((each) => `${each.name} ${format(each.values[k])}`).join(", ");
    drawing.setAttribute("aria-label", `${label}: ${values}; ${xLabel(xs[k], k)}. Arrow keys read other points.`);
  };
  const resting = told.resting ?? xs.length - 1; // the point that is told of while nobody looks at another
  let here = resting;
  const move = (k) => {
    here = Math.min(xs.length - 1, Math.max(0, k));
    pointer.setAttribute("d", `M${px(x(xs[here] + width / 2))} ${TOP}V${HIGH - BOTTOM}`);
    told_at(here);
  };
  drawing.addEventListener("pointermove", (event) => {
    const where = first + (event.offsetX - LEFT) / (right - LEFT) * (last - first) - width / 2;
    let nearest = 0;
    xs.forEach((value, k) => { if (Math.abs(value - where) < Math.abs(xs[nearest] - where)) nearest = k; });
    move(nearest);
  });
  drawing.addEventListener("pointerleave", () => { pointer.setAttribute("d", ""); told_at(resting); });
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    if (step) { event.preventDefault(); move(here + step); }
  });
  told_at(here);
  const had_focus = place.querySelector("svg.chart") === document.activeElement && document.activeElement !== null;
  place.replaceChildren(names, where_from, drawing);
  if (had_focus) drawing.focus();
}

// A bar for each name, all that add on one side of a line and all that take away on the other.
function bars(place, pairs, label) {
  if (pairs.length === 0) {
    place.replaceChildren(el("p", { class: "note" }, "Nothing is known yet."));
    return;
  }
  const wide = Math.max(260, place.clientWidth), LINE = 26, named = Math.min(280, wide * 0.42);
  const largest = Math.max(...pairs.map((pair) => Math.abs(pair.value)), 1e-300);
  const signed = pairs.some((pair) => pair.value < 0);
  const zero = signed ? (named + wide - 64) / 2 : named, room = (wide - 64 - named) / (signed ? 2 : 1);
  const most = Math.floor(named / 7);
  const drawing = svg("svg", { class: "chart", width: wide, height: LINE * pairs.length,
    viewBox: `0 0 ${wide} ${LINE * pairs.length}`, role: "img", "aria-label":
    `${label}: ${pairs.map((pair) => `${pair.name} ${plain(pair.value)}`).join(", ")}` });
  pairs.forEach((pair, k) => {
    const size = room * Math.abs(pair.value) / largest, y = k * LINE;
    const name = [...pair.name].length > most ? `${[...pair.name].slice(0, most - 1).join("")}…` : pair.name;
    drawing.append(svg("g", {}, svg("title", {}, `${pair.name}: ${plain(pair.value)}`),
      svg("text", { class: "name", x: named - 8, y: y + 17, "text-anchor": "end" }, name),
      svg("rect", { class: `bar ${pair.value < 0 ? "below" : "accent"}`, x: px(pair.value < 0 ? zero - size : zero),
        y: y + 5, width: px(Math.max(0.5, size)), height: LINE - 10 }),
      svg("text", { x: wide - 4, y: y + 17, "text-anchor": "end" }, plain(pair.value))));
  });
  place.replaceChildren(drawing);
}
