// Chooses among the results in the page, draws them, and keeps the choice in the address.
"use strict";
(function () {
  const SVG = "http://www.w3.org/2000/svg";
  const STYLES = 8, HEIGHT = 430, LEFT = 70, BOTTOM = 46, TOP = 24, NEAR = 30, MOST_ROWS = 300, MOST_LINES = 12;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const axes = Object.keys(data.axes);
  const metrics = { at: { title: "date", form: "date" }, ...data.metrics };
  const points = [];
  for (const [places, series, cores, dates, ...columns] of data.lines) {
    let minute = 0;
    const line = { series, cores };
    axes.forEach((axis, n) => { line[axis] = data.axes[axis].names[places[n]]; });
    dates.forEach((step, n) => {
      minute += step;
      const point = { line, at: minute * 6e4 };
      data.columns.forEach((name, column) => { point[name] = columns[column][Math.min(n, columns[column].length - 1)]; });
      point.cpu_efficiency = point.cpu_ns && point.wall_ns ? point.cpu_ns / (point.wall_ns * cores) : null;
      points.push(point);
    });
  }
  points.sort((one, other) => one.at - other.at);
  const day = (at) => new Date(at).toISOString().slice(0, 10);
  const full = Date.parse(document.body.querySelector("#explore").dataset.full || "1970-01-01");

  // Values for people, as the tables have them.
  const UNITS = {
    time: [[6e10, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]],
    bytes: [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
    rate: [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]],
    share: [[0.01, "%"]],
  };
  function shown(value, form, most) {
    if (value === null || value === undefined) return "-";
    if (form === "date") return new Date(value).toISOString().slice(0, 16).replace("T", " ");
    const units = UNITS[form] || [[1, ""]];
    const [size, name] = units.find((unit) => Math.abs(most === undefined ? value : most) >= unit[0]) || units[units.length - 1];
    const text = Number((value / size).toPrecision(3)).toLocaleString("en");
    return name ? text + "\u00a0" + name : text;
  }

  // What is chosen: names of each axis (none: all), one metric up, one across, one axis for colours, dates.
  // "as": values as they are, or over the usual ones of each line; "since": from when on something is another thing.
  const defaults = { y: "wall_ns", x: "at", colour: "site", as: "", from: "", to: "", since: "" };
  const first = byId("explore").dataset;
  const READINGS = ["load_1_minute", "network_bytes_per_s", "round_trip_ns"].filter((key) => points.some((one) => one[key] !== null && one[key] !== undefined));
  const chosen = {};
  let unknown = [], isFirst = false;
  function read() {
    isFirst = location.hash.length < 2;
    const told = new URLSearchParams(isFirst ? first.choice : location.hash.slice(1));
    unknown = [];
    for (const axis of axes) {
      chosen[axis] = told.getAll(axis).filter((name) => data.axes[axis].names.includes(name) || (unknown.push(name), false));
    }
    for (const [key, value] of Object.entries(defaults)) chosen[key] = told.get(key) || value;
    if (!(chosen.y in data.metrics)) chosen.y = defaults.y;
    if (!(chosen.x in metrics)) chosen.x = defaults.x;
    if (!axes.includes(chosen.colour) && !READINGS.includes(chosen.colour)) chosen.colour = defaults.colour;
    if (chosen.as !== "usual") chosen.as = "";
    if (Number.isNaN(Date.parse(chosen.since))) chosen.since = "";
  }
  function write() {
    const told = new URLSearchParams();
    for (const axis of axes) for (const name of chosen[axis]) told.append(axis, name);
    for (const key of Object.keys(defaults)) if (chosen[key]) told.set(key, chosen[key]);
    history.replaceState(null, "", "#" + told);
  }

  function make(name, attributes, ...inside) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made[key] = value;
    made.append(...inside);
    return made;
  }
  function svg(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function buildForm() {
    const form = byId("choose");
    form.replaceChildren();
    const select = (key, title, options) => {
      const box = make("select", { id: "choose-" + key });
      for (const [value, text] of options) box.append(make("option", { value, textContent: text, selected: value === chosen[key] }));
      box.addEventListener("change", () => { chosen[key] = box.value; update(); });
      form.append(make("label", {}, title + " ", box));
    };
    const ofMetrics = Object.entries(data.metrics).map(([key, one]) => [key, one.title]);
    select("y", "Show", ofMetrics);
    select("as", "as", [["", "values"], ["usual", "times the usual"]]);
    select("x", "against", [["at", "date"], ...ofMetrics]);
    select("colour", "coloured by", [...axes, ...READINGS].map((key) => [key, titleOf(key)]));
    for (const [key, title] of [["from", "From"], ["to", "to"], ["since", "changed on"]]) {
      const box = make("input", { type: "date", id: "choose-" + key, value: chosen[key] });
      box.addEventListener("change", () => { chosen[key] = box.value; update(); });
      form.append(make("label", {}, title + " ", box));
    }
    for (const axis of axes) {
      const { title, names } = data.axes[axis];
      if (names.length < 2) continue;
      const boxes = names.map((name) => {
        const box = make("input", { type: "checkbox", value: name, checked: chosen[axis].includes(name) });
        box.addEventListener("change", () => {
          chosen[axis] = boxes.filter((one) => one.checked).map((one) => one.value);
          update();
        });
        return box;
      });
      const summary = make("summary", { id: "of-" + axis });
      const list = make("div", { className: "names", role: "group", ariaLabel: title }, make("p", { className: "note", textContent: "None ticked: all." }));
      boxes.forEach((box, n) => list.append(make("label", {}, box, " " + names[n])));
      const folded = make("details", { name: "axis" }, summary, list);
      folded.dataset.axis = axis;
      form.append(folded);
    }
    const reset = make("button", { type: "button", textContent: "Begin anew" });
    reset.addEventListener("click", () => { history.replaceState(null, "", location.pathname); start(); });
    form.append(reset);
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  function found() {
    const sets = axes.filter((axis) => chosen[axis].length).map((axis) => [axis, new Set(chosen[axis])]);
    const low = chosen.from ? Date.parse(chosen.from) : -Infinity;
    const high = chosen.to ? Date.parse(chosen.to) + 864e5 : Infinity;
    const some = points.filter((one) => one.at >= low && one.at < high && one[chosen.y] !== null && one[chosen.x] !== null &&
      one[chosen.y] !== undefined && sets.every(([axis, names]) => names.has(one.line[axis])));
    const usual = chosen.as ? usualOf(new Set(some.map((one) => kindOf(one.line)))) : new Map();
    for (const one of some) one.value = one[chosen.y] / (usual.get(kindOf(one.line)) || 1);
    return some;
  }
  // The usual value of lines: the median, of what was measured before something changed; of a kind of CPU that was not
  // there then, that of the others.
  const anyCpu = (line) => [line.site, line.test, line.storage, line.engine, line.cores].join("\n");
  const kindOf = (line) => anyCpu(line) + "\n" + line.cpu_model;
  function usualOf(kinds) {
    const told = new Map(), others = new Map(), since = sinceAt();
    for (const one of points) {
      const kind = kindOf(one.line), any = anyCpu(one.line);
      if (!kinds.has(kind) || !one[chosen.y]) continue;
      if (!told.has(kind)) told.set(kind, { any, before: [], all: [] });
      if (!others.has(any)) others.set(any, []);
      told.get(kind).all.push(one[chosen.y]);
      if (one.at < since) for (const before of [told.get(kind).before, others.get(any)]) before.push(one[chosen.y]);
    }
    return new Map([...told].map(([kind, { any, before, all }]) => [kind, median([before, others.get(any), all].find((some) => some.length))]));
  }
  const sinceAt = () => (chosen.since ? Date.parse(chosen.since) : Infinity);
  const titleOf = (key) => (data.axes[key] || data.metrics[key]).title;
  const formOf = () => (chosen.as ? "ratio" : metrics[chosen.y].form);
  const shownTitle = () => metrics[chosen.y].title + (chosen.as ? ", times the usual of its line" : "");
  // The points of each colour; the smallest of many share one.
  function grouped(those) {
    if (READINGS.includes(chosen.colour)) return byReading(those);
    const groups = new Map();
    for (const one of those) {
      const name = one.line[chosen.colour];
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(one);
    }
    let names = data.axes[chosen.colour].names.filter((name) => groups.has(name));
    if (names.length <= STYLES) return names.map((name) => [name, groups.get(name)]);
    const large = new Set([...names].sort((one, other) => groups.get(other).length - groups.get(one).length).slice(0, STYLES - 1));
    const others = names.filter((name) => !large.has(name));
    names = names.filter((name) => large.has(name));
    return [...names.map((name) => [name, groups.get(name)]), [`${others.length} others: ${others.join(", ")}`, others.flatMap((name) => groups.get(name))]];
  }
  // Four groups of as many points, by what was read beside them.
  function byReading(those) {
    const { form } = metrics[chosen.colour], read = those.filter((one) => one[chosen.colour] !== null);
    const sorted = [...read].sort((one, other) => one[chosen.colour] - other[chosen.colour]);
    const groups = new Map();
    let name = "";
    sorted.forEach((one, n) => {
      // Equal values are of one group.
      if (Math.floor(n * 4 / sorted.length) >= groups.size && (!n || one[chosen.colour] > sorted[n - 1][chosen.colour])) groups.set(name = n, []);
      groups.get(name).push(one);
    });
    const told = [...groups.values()].map((of) => {
      const ends = [of[0], of[of.length - 1]].map((one) => shown(one[chosen.colour], form));
      return [ends[0] === ends[1] ? ends[0] : ends.join(" to "), of];
    });
    const others = those.filter((one) => one[chosen.colour] === null);
    return others.length ? [...told, ["not read", others]] : told;
  }
  const median = (values) => {
    const sorted = [...values].sort((one, other) => one - other), half = sorted.length >> 1;
    return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  };

  function ticks(low, high, n, form) {
    const base = form === "date" ? 864e5 : 10 ** Math.floor(Math.log10((high - low) / n || 1));
    const steps = form === "date" ? [1, 2, 3, 5, 7, 10, 14, 21, 28, 56, 91, 182, 364, 728] : [1, 2, 5, 10, 20];
    const step = base * (steps.find((one) => (high - low) / (one * base) <= n) || steps[steps.length - 1]);
    const told = [];
    for (let at = Math.ceil(low / step) * step; at <= high; at += step) told.push(at);
    return told;
  }
  function scale(values, begin, end, fromZero) {
    let low = fromZero ? 0 : Infinity, high = -Infinity;
    for (const value of values) { low = Math.min(low, value); high = Math.max(high, value); }
    if (!(high > low)) { low -= Math.abs(low) / 10 || 1; high += Math.abs(high) / 10 || 1; }
    const edge = (high - low) * 0.03;
    if (!fromZero) low -= edge;
    high += edge;
    const to = (value) => begin + (value - low) / (high - low) * (end - begin);
    return { low, high, to };
  }
  const SHAPES = [
    "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0z", "m-3 -3h6v6h-6z", "m0 -4.2l4.2 7.2h-8.4z", "m0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4z",
    "m0 4.2l4.2 -7.2h-8.4z", "m-1.2 -4h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8v-2.4h2.8z", "m-4 -2h8v4h-8z", "m-2 -4h4v8h-4z",
  ];
  let places = [];
  function draw(groups) {
    const width = Math.max(byId("picture").clientWidth, 280);
    const across = metrics[chosen.x], form = formOf();
    const all = groups.flatMap(([, of]) => of);
    const picture = svg("svg", { class: "figure", viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", tabindex: "0",
      "aria-label": `${shownTitle()} against ${across.title}, coloured by ${titleOf(chosen.colour)}. Arrow keys go from point to point.` });
    picture.append(svg("title", {}, `${shownTitle()} against ${across.title}`));
    places = [];
    if (all.length) {
      const x = scale(all.map((one) => one[chosen.x]), LEFT, width - 14, false);
      const y = scale(all.map((one) => one.value), HEIGHT - BOTTOM, TOP, true);
      for (const at of ticks(y.low, y.high, 6, form)) {
        picture.append(svg("path", { class: "grid", d: `M${LEFT} ${y.to(at)}H${width - 14}` }));
        picture.append(svg("text", { class: "small muted", x: LEFT - 6, y: y.to(at) + 4, "text-anchor": "end" }, shown(at, form, y.high)));
      }
      picture.append(svg("text", { class: "small", x: 2, y: TOP - 10 }, shownTitle()));
      const since = sinceAt();
      if (chosen.x === "at" && x.low < since && since < x.high) {
        const isLate = x.to(since) > width / 2;
        picture.append(svg("path", { class: "mark", d: `M${x.to(since)} ${TOP}V${HEIGHT - BOTTOM}` }));
        picture.append(svg("text", { class: "small strong", x: x.to(since) + (isLate ? -5 : 5), y: HEIGHT - BOTTOM - 6, "text-anchor": isLate ? "end" : "start" }, `since ${chosen.since}`));
      }
      for (const at of ticks(x.low, x.high, Math.floor((width - LEFT) / (across.form === "date" ? 90 : 60)), across.form)) {
        picture.append(svg("path", { class: "axis", d: `M${x.to(at)} ${HEIGHT - BOTTOM}v5` }));
        const anchor = x.to(at) > width - 50 ? "end" : "middle";
        picture.append(svg("text", { class: "small muted", x: x.to(at), y: HEIGHT - BOTTOM + 20, "text-anchor": anchor },
          across.form === "date" ? day(at) : shown(at, across.form, x.high)));
      }
      picture.append(svg("path", { class: "axis", d: `M${LEFT} ${HEIGHT - BOTTOM}H${width - 14}` }));
      picture.append(svg("text", { class: "small", x: (LEFT + width) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, across.title));
      // Values over the usual are joined across kinds of CPU, which take turns; of many lines none is seen.
      const joins = new Map();
      if (chosen.x === "at") for (const one of all) {
        const key = chosen.as ? anyCpu(one.line) + "\n" + one.line.version : one.line;
        if (!joins.has(key)) joins.set(key, []);
        joins.get(key).push(one);
      }
      const pathOf = (some) => some.map((one, n) => `${n ? "L" : "M"}${x.to(one.at).toFixed(1)} ${y.to(one.value).toFixed(1)}`).join("");
      const isJoined = joins.size <= MOST_LINES;
      if (isJoined && chosen.as) {
        const sorted = [...joins.values()].map((some) => some.sort((one, other) => one.at - other.at));
        const beneath = picture.appendChild(svg("g", { class: "s7" }));
        beneath.append(svg("path", { class: "curve thin", d: sorted.map(pathOf).join("") }));
      }
      // What has no colour of its own lies beneath.
      [...groups.entries()].reverse().forEach(([style, [, of]]) => {
        const group = svg("g", { class: "s" + style });
        if (isJoined && !chosen.as) {
          const own = new Set(of.map((one) => one.line));
          group.append(svg("path", { class: `curve thin dash${style}`, d: [...own].map((line) => pathOf(joins.get(line) || [])).join("") }));
        }
        for (const [name, some] of [["hollow", of.filter((one) => one.at < full)], ["marker", of.filter((one) => one.at >= full)]]) {
          if (some.length) group.append(svg("path", { class: name, d: some.map((one) => {
            const place = { one, x: x.to(one[chosen.x]), y: y.to(one.value) };
            places.push(place);
            return `M${place.x.toFixed(1)} ${place.y.toFixed(1)}${SHAPES[style]}`;
          }).join("") }));
        }
        picture.append(group);
      });
      places.sort((one, other) => one.x - other.x);
      const ring = picture.appendChild(svg("circle", { class: "ring", r: 8, cx: -20, cy: -20 }));
      let at = -1;
      const point = (n) => {
        at = n;
        ring.setAttribute("cx", places[n].x);
        ring.setAttribute("cy", places[n].y);
        tell(places[n].one);
      };
      picture.addEventListener("pointermove", (event) => {
        const box = picture.getBoundingClientRect();
        const far = places.map((one) => Math.hypot(one.x - event.clientX + box.left, one.y - event.clientY + box.top));
        const nearest = far.reduce((best, one, n) => (one < far[best] ? n : best), 0);
        if (far[nearest] < NEAR) point(nearest);
      });
      picture.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step === undefined) return;
        event.preventDefault();
        point(Math.min(Math.max(at + step, 0), places.length - 1));
      });
    }
    byId("picture").replaceChildren(picture);
  }
  function tell(one) {
    const { line } = one;
    const link = make("a", { href: `series/${line.series}.html`, textContent: `${line.site} / ${line.test} / ${line.storage} / ${line.engine} ${line.version}` });
    const more = Object.entries(data.metrics).filter(([key]) => one[key] !== null && one[key] !== undefined)
      .map(([key, told]) => `${told.title} ${shown(one[key], told.form)}`);
    byId("point").replaceChildren(one.at < full ? "Week of " + day(one.at) : shown(one.at, "date"), ", ", link, `, ${line.cpu_model}: ${more.join(", ")}.`);
  }
  function table(id, heads, rows) {
    const head = make("tr", {}, ...heads.map(([title, look]) => make("th", { scope: "col", className: look || "", textContent: title })));
    const body = rows.map((cells) => make("tr", {}, ...cells.map((cell, n) => {
      const inside = cell instanceof Node ? cell : document.createTextNode(cell);
      return make("td", { className: heads[n][1] || "" }, inside);
    })));
    byId(id).replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
  }

  function update() {
    write();
    for (const folded of document.querySelectorAll("#choose details")) {
      const { axis } = folded.dataset, { title, names } = data.axes[axis], some = chosen[axis];
      folded.firstChild.textContent = `${title}: ${some.length === 1 ? some[0] : some.length && some.length < names.length ? some.length + " of " + names.length : "all " + names.length}`;
    }
    const those = found(), groups = grouped(those);
    const form = formOf(), since = sinceAt();
    draw(groups);
    const values = those.map((one) => one.value);
    const sides = [those.filter((one) => one.at < since), those.filter((one) => one.at >= since)];
    const middles = sides.map((some) => (some.length ? shown(median(some.map((one) => one.value)), form) : "-"));
    const sites = new Set(those.map((one) => one.line.site));
    byId("answer").textContent = (unknown.length ? `Not among these results: ${unknown.join(", ")}. ` : "") +
      (isFirst && first.told ? `Opened with ${first.told}. ` : "") + (those.length
      ? `${those.length.toLocaleString("en")} points of ${sites.size} ${sites.size === 1 ? "site" : "sites"}, ${day(those[0].at)} to ${day(those[those.length - 1].at)}: ` +
        `${shownTitle()} from ${shown(values.reduce((a, b) => Math.min(a, b)), form)} to ${shown(values.reduce((a, b) => Math.max(a, b)), form)}, median ` +
        (sides[1].length ? `${middles[0]} before ${chosen.since} and ${middles[1]} since, of these points alone: an alarm is told of all its tests.` : `${shown(median(values), form)}.`)
      : "No result has all that is chosen.");
    byId("answer").dataset.count = those.length;
    isFirst = false;
    byId("point").textContent = those.length ? "Point at a result, or go through them by arrow keys, to see which it is." : "";
    byId("key").replaceChildren(...groups.map(([name], style) => {
      const sign = svg("svg", { class: "figure", width: 14, height: 14, "aria-hidden": "true" });
      const group = sign.appendChild(svg("g", { class: "s" + style }));
      group.append(svg("path", { class: "marker", d: "M7 7" + SHAPES[style] }));
      return make("li", {}, sign, " " + name);
    }));
    const number = "number";
    const both = sides[0].length && sides[1].length ? [["before", number], ["since", number]] : [];
    table("medians", [[titleOf(chosen.colour)], ["points", number], ["median", number], ...both, ["least", number], ["most", number]],
      groups.map(([name, of]) => {
        const its = of.map((one) => one.value);
        const parts = both.length ? [of.filter((one) => one.at < since), of.filter((one) => one.at >= since)] : [];
        const medians = parts.map((some) => (some.length ? median(some.map((one) => one.value)) : null));
        return [name, its.length.toLocaleString("en"), ...[median(its), ...medians, its.reduce((a, b) => Math.min(a, b)), its.reduce((a, b) => Math.max(a, b))].map((one) => shown(one, form))];
      }));
    table("points", [["measured"], ["site"], ["test"], ["storage"], ["engine"], ["CPU model"], [shownTitle(), number], ["series"]],
      those.slice(-MOST_ROWS).reverse().map((one) => [shown(one.at, "date"), one.line.site, one.line.test, one.line.storage, `${one.line.engine} ${one.line.version}`,
        one.line.cpu_model, make("data", { value: one.value, textContent: shown(one.value, form) }), make("a", { href: `series/${one.line.series}.html`, textContent: one.line.series.slice(0, 8) })]));
  }
  function start() {
    read();
    buildForm();
    update();
  }
  byId("explore").hidden = false;
  addEventListener("hashchange", start);
  let width = 0;
  new ResizeObserver(() => {
    if (byId("picture").clientWidth !== width) { width = byId("picture").clientWidth; draw(grouped(found())); }
  }).observe(byId("picture"));
  if (points.length) start();
  else byId("answer").textContent = "There are no results with a time yet.";
})();
