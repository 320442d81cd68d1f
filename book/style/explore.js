/* The instruments of the page "Explore". `Explore` holds what they compute, so
   that tests can ask it; the rest draws. */
const Explore = (() => {
  const DATA = window.EXPLORE_DATA;
  const AXES = ["X", "Y", "Z"];
  const ITEMSIZE = { float32: 4, bfloat16: 2, int8: 1 };

  /* ---- what each device holds ------------------------------------------- */

  const parse = (text) => {
    const found = /^\s*([A-Za-z]\w*)\s*\[(.*)\]\s*$/.exec(text);
    if (!found) throw Error('write a layout such as "A[I_X, J]"');
    const used = new Set(), dims = [];
    for (const part of found[2].split(",").map((s) => s.trim())) {
      const one = /^([A-Za-z][A-Za-z0-9]*)(?:_([A-Z]+))?$/.exec(part);
      if (!one) throw Error(`"${part}" is no dimension; write I, I_X or I_XY`);
      if (dims.some((d) => d.name === one[1])) throw Error(`the dimension ${one[1]} is named twice`);
      for (const axis of one[2] || "") {
        if (used.has(axis)) throw Error(`mesh axis ${axis} is used twice: it cuts an array only once`);
        if (!AXES.includes(axis)) throw Error(`the mesh has no axis ${axis}`);
        used.add(axis);
      }
      dims.push({ name: one[1], axes: [...(one[2] || "")] });
    }
    return { name: found[1], dims, used };
  };

  const sharding = (text, shape, mesh, dtype) => {
    const { name, dims, used } = parse(text);
    if (dims.length !== shape.length)
      throw Error(`${dims.length} dimensions are named, and ${shape.length} sizes are given`);
    const axes = AXES.filter((a) => mesh[a] > 1 || used.has(a));
    const ways = dims.map((d) => d.axes.reduce((n, a) => n * (mesh[a] || 1), 1));
    shape.forEach((size, k) => {
      if (size % ways[k]) throw Error(`${dims[k].name} = ${size} cannot be cut into ${ways[k]} equal parts`);
    });
    const local = shape.map((size, k) => size / ways[k]);
    const bytes = local.reduce((a, b) => a * b, ITEMSIZE[dtype]);
    const copies = AXES.filter((a) => !used.has(a)).reduce((n, a) => n * (mesh[a] || 1), 1);
    const spec = dims.map(({ axes: a }) =>
      a.length === 0 ? "None" : a.length === 1 ? `'${a[0]}'` : `(${a.map((x) => `'${x}'`).join(", ")})`);
    const sized = dims.map(({ axes: a }, k) =>
      shape[k] + (a.length === 0 ? "" : a.length === 1 ? `@${a[0]}` : `@(${a.join(",")})`));
    const placements = axes.map((a) => {
      const k = dims.findIndex((d) => d.axes.includes(a));
      return k < 0 ? "Replicate()" : `Shard(${k})`;
    });
    /* Of the device at a place of the mesh: the block of each dimension. */
    const block = (place) => dims.map((d) =>
      d.axes.reduce((n, a) => n * (mesh[a] || 1) + (place[a] || 0), 0));
    return { name, dims, axes, ways, local, bytes, copies, spec: `P(${spec.join(", ")})`,
      type: `${dtype}[${sized.join(",")}]`, placements: `[${placements.join(", ")}]`, block };
  };

  /* ---- a layer ------------------------------------------------------------ */

  /* Seconds of a layer on X x Y chips: {forward, backward, update}, each with
     math and comm. Rings with the factor (n - 1) / n. Over X and over Y side by
     side where each has wires of its own; a port of a switch takes turns. */
  const layer = (strategy, { B, D, F, X, Y, chip, gated }) => {
    const { flops, axis_bw, axes } = DATA.chips[chip];
    const moved = DATA.volumes[strategy][gated ? "gated" : "plain"];
    const work = { forward: 4 * B * D * F, backward: 8 * B * D * F, update: 0 };
    const found = {};
    for (const part of ["forward", "backward", "update"]) {
      const x = X > 1 ? (moved[part].X * D * F / Y) * (X - 1) / X : 0;
      const y = Y > 1 ? (moved[part].Y * B * D / X) * (Y - 1) / Y : 0;
      found[part] = {
        math: (work[part] * (gated ? 1.5 : 1)) / (X * Y * flops),
        comm: (axes ? Math.max(x, y) : x + y) / axis_bw,
      };
    }
    return found;
  };

  const seconds = (parts, overlap) =>
    Object.values(parts).reduce((t, { math, comm }) => t + (overlap ? Math.max(math, comm) : math + comm), 0);

  /* ---- a pipeline --------------------------------------------------------- */

  const LASTS = { F: 1, B: 2, I: 1, W: 1 };

  /* Plays the orders of the stages; a list of events {stage, kind, i, chunk,
     start, end}. */
  const play = (orders, chunks) => {
    const p = orders.length, last = p * chunks - 1, done = new Map(), events = [];
    const key = (kind, i, place) => `${kind}${i}.${place}`;
    const queues = orders.map((order) => order.split(" ").map((word) => {
      const [, kind, i, chunk] = /^([FBIW])(\d+)(?:\.(\d+))?$/.exec(word);
      return { kind, i: +i, chunk: +(chunk || 0) };
    }));
    const free = orders.map(() => 0), next = orders.map(() => 0);
    for (let moved = true; moved; ) {
      moved = false;
      for (let stage = 0; stage < p; stage++) {
        while (next[stage] < queues[stage].length) {
          const { kind, i, chunk } = queues[stage][next[stage]];
          const place = chunk * p + stage, needs = [];
          if (kind === "F" && place > 0) needs.push(key("F", i, place - 1));
          if (kind === "B" || kind === "I") {
            needs.push(key("F", i, place));
            if (place < last) needs.push(key("B", i, place + 1));
          }
          if (kind === "W") needs.push(key("B", i, place));
          if (!needs.every((n) => done.has(n))) break;
          const start = Math.max(free[stage], ...needs.map((n) => done.get(n)));
          const end = start + LASTS[kind] / chunks;
          free[stage] = end;
          next[stage]++;
          done.set(key(kind === "I" ? "B" : kind, i, place), end);
          events.push({ stage, kind, i, chunk, start, end });
          moved = true;
        }
      }
    }
    return events;
  };

  const measure = (events, p) => {
    const end = Math.max(...events.map((e) => e.end));
    const busy = events.reduce((t, e) => t + e.end - e.start, 0);
    const spans = new Map();
    for (const e of events) {
      const key = `${e.stage}|${e.i}|${e.chunk}`;
      const [a, b] = spans.get(key) || [e.start, e.end];
      spans.set(key, [Math.min(a, e.start), Math.max(b, e.end)]);
    }
    const held = [];
    for (let stage = 0; stage < p; stage++) {
      const changes = new Map();
      for (const [key, [start, stop]] of spans) {
        if (+key.split("|")[0] !== stage) continue;
        changes.set(start, (changes.get(start) || 0) + 1);
        changes.set(stop, (changes.get(stop) || 0) - 1);
      }
      let now = 0, most = 0;
      for (const time of [...changes.keys()].sort((a, b) => a - b)) most = Math.max(most, (now += changes.get(time)));
      held.push(most);
    }
    return { makespan: end, bubble: (p * end - busy) / busy, held };
  };

  const CHUNKS = { "interleaved 1F1B": 2 };
  const pipeline = (schedule, p, m) => {
    const orders = DATA.orders[schedule][`${p},${m}`];
    if (!orders) throw Error(`${schedule} needs at least as many microbatches as stages`);
    const events = play(orders, CHUNKS[schedule] || 1);
    return { events, ...measure(events, p) };
  };

  return { sharding, layer, seconds, pipeline };
})();
window.Explore = Explore;

/* ---- the page -------------------------------------------------------------- */

(() => {
  const DATA = window.EXPLORE_DATA;
  const SVG = "http://www.w3.org/2000/svg";
  const element = (name, attributes = {}, ...children) => {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  };
  const drawn = (name, attributes, text) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const picture = (width, height, label) =>
    drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });

  /* How wide a drawing may be, so that a phone does not shrink its letters. */
  const broad = (most) => Math.max(290, Math.min(most, document.querySelector(".explore").clientWidth - 34));

  /* An instrument: fields above, an answer below that is made anew. */
  const instrument = (id, fields, answer, examples = []) => {
    const box = document.getElementById(id);
    if (!box) return;
    const form = element("form"), out = element("output", { "aria-live": "polite" });
    const inputs = {};
    for (const [name, { label, value, options, kind, check }] of Object.entries(fields)) {
      let input;
      if (options) {
        input = element("select");
        for (const [key, words] of options) input.append(element("option", key === value ? { value: key, selected: "" } : { value: key }, words));
      } else if (check) {
        input = element("input", { type: "checkbox", ...(value ? { checked: "" } : {}) });
      } else input = element("input", { value, ...(typeof value === "number" ? { type: "number", min: 1, inputmode: "numeric" } : { spellcheck: "false", class: "mono" }) });
      input.name = name;
      inputs[name] = input;
      form.append(element("label", kind ? { class: kind } : {}, label, check ? " " : "", input));
    }
    const show = () => {
      const values = {};
      for (const [name, input] of Object.entries(inputs)) {
        values[name] = input.type === "checkbox" ? input.checked : input.type === "number" ? Number(input.value) : input.value;
      }
      try {
        for (const [name, input] of Object.entries(inputs))
          if (input.type === "number" && !(Number.isInteger(values[name]) && values[name] >= 1))
            throw Error(`${fields[name].label} must be a whole number of at least 1`);
        out.replaceChildren(...[answer(values)].flat());
      } catch (error) {
        out.replaceChildren(element("p", { class: "error" }, error.message));
      }
    };
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    /* Arrow keys belong to the field, not to the page. */
    form.addEventListener("keydown", (event) => event.stopPropagation());
    if (examples.length) {
      const row = element("p", { class: "examples" }, "Try: ");
      for (const [words, chosen] of examples) {
        const button = element("button", { type: "button" }, words);
        button.addEventListener("click", () => {
          for (const [name, value] of Object.entries(chosen)) inputs[name].value = value;
          show();
        });
        row.append(button, " ");
      }
      box.append(row);
    }
    box.append(form, out);
    show();
  };

  const table = (heads, rows) => {
    const head = element("tr", {}, ...heads.map((h) => element("th", { scope: "col" }, h)));
    const body = rows.map(({ cells, kind }) =>
      element("tr", kind ? { class: kind } : {}, ...cells.map((c, n) => element(n ? "td" : "th", n ? {} : { scope: "row" }, c))));
    return element("div", { class: "scroll", tabindex: "0" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...body)));
  };
  const number = (n, digits = 3) => n >= 1e5 || (n < 1e-2 && n > 0) ? n.toExponential(digits - 1).replace("e+", "e") : String(+n.toPrecision(digits));
  const whole = (n) => n.toLocaleString("en-US");

  /* 1. Sharding. */
  instrument("explore-sharding", {
    text: { label: "layout", value: "A[I_X, J_Y]", kind: "half" },
    shape: { label: "sizes of the dimensions", value: "8, 16", kind: "quarter" },
    dtype: { label: "type", value: "bfloat16", kind: "quarter", options: ["float32", "bfloat16", "int8"].map((t) => [t, t]) },
    X: { label: "devices along X", value: 2, kind: "third" }, Y: { label: "along Y", value: 4, kind: "third" }, Z: { label: "along Z", value: 1, kind: "third" },
  }, ({ text, shape, X, Y, Z, dtype }) => {
    const sizes = shape.split(",").map((s) => Number(s.trim()));
    if (sizes.some((n) => !(Number.isInteger(n) && n > 0))) throw Error("sizes are whole numbers, such as 8, 16");
    const mesh = { X, Y, Z };
    if (X * Y * Z > 64) throw Error("the picture has room for 64 devices");
    const found = Explore.sharding(text, sizes, mesh, dtype);
    const rows = [
      ["each device holds", `${found.local.join(" × ")}, ${whole(found.bytes)} bytes`],
      ["copies of each block", whole(found.copies)],
      ["JAX: jax.typeof", found.type], ["JAX: partition spec", found.spec],
      [`PyTorch: placements on (${found.axes.join(", ") || "no axis"})`, found.placements],
    ].map((cells) => ({ cells }));
    const parts = [table(["asked", "answer"], rows)];
    if (sizes.length === 2) {
      const says = "Each frame is the whole array on one device of the mesh; coloured is the block that the device holds. Below it stands the block’s number.";
      parts.unshift(draw_mesh(found, mesh), element("p", { class: "caption soft" }, says));
    }
    return parts;
  }, [
    ["rows over X", { text: "A[I_X, J]" }], ["rows over X, columns over Y", { text: "A[I_X, J_Y]" }],
    ["rows over both", { text: "A[I_XY, J]" }], ["a copy everywhere", { text: "A[I, J]" }],
  ]);

  function draw_mesh(found, { X, Y, Z }) {
    /* A frame has the array's shape, unless that is too long for it. */
    const gap = 6, below = 16, left = 44, top = Z > 1 ? 40 : 20;
    const room = Math.min(640, document.getElementById("explore-sharding").clientWidth - 34) - left - 22 * Z;
    const most = Math.max(28, room / (Y * Z) - gap);
    const shape = found.local.map((size, k) => size * found.ways[k]);
    const ratio = Math.sqrt(Math.min(3, Math.max(1 / 3, shape[1] / shape[0])));
    const side = Math.min(68, most / ratio), [width, height] = [side * ratio, Math.max(20, side / ratio)];
    const wide = Z * (Y * (width + gap) + 22), high = X * (height + below + gap);
    const svg = picture(left + wide, top + high, `The ${X * Y * Z} devices and the block that each holds.`);
    const axis = (name) => name.toLowerCase();
    for (let z = 0; z < Z; z++) for (let x = 0; x < X; x++) for (let y = 0; y < Y; y++) {
      const at = left + z * (Y * (width + gap) + 22) + y * (width + gap), down = top + x * (height + below + gap);
      const place = { X: x, Y: y, Z: z }, block = found.block(place);
      const [h, w] = [height / found.ways[0], width / found.ways[1]];
      svg.append(drawn("rect", { x: at, y: down, width, height, fill: "var(--surface)", stroke: "var(--line)" }));
      const cuts = found.dims.flatMap((d) => d.axes);
      const step = (a) => Math.min(4, 1 + Math.floor((place[a] * 4) / Math.max(1, { X, Y, Z }[a])));
      const fill = cuts.length ? `var(--axis-${axis(cuts[0])}-${step(cuts[0])})` : "var(--pod-1)";
      const rect = { x: at + block[1] * w, y: down + block[0] * h, width: w, height: h };
      svg.append(drawn("rect", { ...rect, fill, stroke: "var(--ink)" }));
      if (cuts.length > 1)
        svg.append(drawn("rect", { ...rect, fill: `var(--axis-${axis(cuts[1])}-${step(cuts[1])})`, "fill-opacity": 0.55 }));
      svg.append(drawn("text", { x: at + width / 2, y: down + height + 13, "text-anchor": "middle" }, block[0] * found.ways[1] + block[1]));
      if (z === 0 && y === 0) svg.append(drawn("text", { x: left - 6, y: down + height / 2 + 4, "text-anchor": "end" }, `X=${x}`));
      if (x === 0) svg.append(drawn("text", { x: at + width / 2, y: top - 6, "text-anchor": "middle" }, width < 34 ? y : `Y=${y}`));
      if (x === 0 && y === 0 && Z > 1) svg.append(drawn("text", { x: at, y: 12 }, `Z=${z}`));
    }
    return element("div", { class: "scroll", tabindex: "0" }, svg);
  }

  /* 2. A layer. */
  const NAMES = Object.entries(DATA.strategies);
  instrument("explore-roofline", {
    chip: { label: "machine", value: "v5p", options: Object.entries(DATA.chips).map(([k, c]) => [k, k.startsWith("v") || k.startsWith("tpu") ? `TPU ${k.replace("tpu7x", "7x")}` : k.toUpperCase()]) },
    strategy: { label: "strategy", value: "fsdp_tp", options: NAMES },
    X: { label: "chips that share the batch, X", value: 64 }, Y: { label: "chips of TP, Y", value: 8 },
    B: { label: "tokens of the step, B", value: 1048576 },
    D: { label: "width of the model, D", value: 8192 }, F: { label: "width inside the MLP, F", value: 28672 },
    gated: { label: "gated MLP", value: true, check: true, kind: "check" },
  }, (given) => {
    const { strategy, chip } = given, about = DATA.chips[chip];
    const X = strategy === "tp" ? 1 : given.X, Y = strategy.includes("tp") ? given.Y : 1;
    if (!about.axes && X * Y > about.inside) throw Error(`X · Y = ${whole(X * Y)} GPUs do not share one switch of ${about.inside}; across nodes see chapter 10`);
    const at = (B) => Explore.layer(strategy, { ...given, B, X, Y });
    const parts = at(given.B), sum = (key) => Object.values(parts).reduce((t, p) => t + p[key], 0);
    const hidden = Explore.seconds(parts, true), shown = Explore.seconds(parts, false), math = sum("math");
    const bound = ["forward", "backward"].some((k) => parts[k].comm > parts[k].math);
    const rows = [
      { cells: ["arithmetic", `${number(math * 1e3)} ms`] }, { cells: ["communication", `${number(sum("comm") * 1e3)} ms`] },
      { cells: ["the layer, everything overlapped", `${number(hidden * 1e3)} ms, arithmetic ${Math.round((100 * math) / hidden)} % of it`] },
      { cells: ["the layer, nothing overlapped", `${number(shown * 1e3)} ms, arithmetic ${Math.round((100 * math) / shown)} % of it`] },
      { cells: ["bound by", bound ? "communication" : "arithmetic"], kind: "best" },
    ];
    return [curves(given, at, X * Y), table(["part", "time"], rows)];
  });

  function curves(given, at, chips) {
    const width = broad(640), height = 300, left = 62, bottom = 44, top = 14;
    const right = width < 500 ? 92 : 130;
    const svg = picture(width, height, "Arithmetic and communication of the layer against the tokens of a step.");
    const low = Math.max(1, given.B / 256), points = [];
    for (let k = 0; k <= 64; k++) {
      const B = low * 2 ** (k / 4), parts = at(B);
      const sum = (key) => ["forward", "backward"].reduce((t, p) => t + parts[p][key], 0);
      points.push([B, sum("math"), sum("comm")]);
    }
    const times = points.flatMap(([, a, b]) => [a, b]).filter((t) => t > 0);
    const [least, most] = [Math.min(...times), Math.max(...times)];
    const x = (B) => left + ((width - left - right) * Math.log(B / low)) / Math.log(2 ** 16);
    const y = (t) => top + ((height - top - bottom) * Math.log(most / t)) / Math.log(most / least || 2);
    const last = points.at(-1);
    [["arithmetic", "var(--arithmetic)", 1, ""], ["communication", "var(--network)", 2, "6 4"]].forEach(([name, ink, n, dash]) => {
      const line = points.filter((p) => p[n] > 0);
      if (!line.length) return;
      svg.append(drawn("polyline", { points: line.map((p) => `${x(p[0]).toFixed(1)},${y(p[n]).toFixed(1)}`).join(" "), fill: "none", stroke: ink, "stroke-width": 2.4, "stroke-dasharray": dash }));
      svg.append(drawn("text", { x: x(last[0]) + 6, y: y(last[n]) + 4 + (n === 2 && Math.abs(y(last[1]) - y(last[2])) < 14 ? 14 : 0), style: `fill:${ink}` }, name));
    });
    for (let power = Math.ceil(Math.log10(low)); 10 ** power <= last[0]; power++) {
      svg.append(drawn("line", { x1: x(10 ** power), x2: x(10 ** power), y1: top, y2: height - bottom, stroke: "var(--grid)" }));
      svg.append(drawn("text", { x: x(10 ** power), y: height - bottom + 16, "text-anchor": "middle" }, power < 6 ? (width < 500 && power > 2 ? `${10 ** (power - 3)}k` : whole(10 ** power)) : `${10 ** (power - 6)}M`));
    }
    for (let power = Math.ceil(Math.log10(least)); 10 ** power <= most; power++)
      svg.append(drawn("text", { x: left - 6, y: y(10 ** power) + 4, "text-anchor": "end" }, power < -3 ? `${10 ** (power + 6)} µs` : `${10 ** (power + 3)} ms`));
    svg.append(drawn("line", { x1: x(given.B), x2: x(given.B), y1: top, y2: height - bottom, stroke: "var(--mark)", "stroke-width": 1.5 }));
    svg.append(drawn("text", { x: x(given.B) + 5, y: top + 10, style: "fill:var(--mark)" }, "here"));
    svg.append(drawn("text", { x: width < 500 ? width / 2 : (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, `tokens of a step on ${whole(chips)} chips; forward and backward`));
    return element("div", { class: "scroll", tabindex: "0" }, svg);
  }

  /* 3. What fits. */
  const pairs = (list) => list.map((name) => [name, name]);
  instrument("explore-fits", {
    model: { label: "model", value: "llama-3-70b", options: pairs(DATA.models) },
    machine: { label: "machine", value: "H100, 128 nodes", options: pairs(DATA.machines), kind: "wide" },
    batch: { label: "batch", value: "4M tokens", options: pairs(DATA.batches) },
  }, ({ model, machine, batch }) => {
    const found = DATA.fits[`${model}|${machine}|${batch}`], hbm = DATA.hbm[machine];
    if (!found.length) return element("p", {}, "No layout is legal: batch, layers or heads do not divide.");
    const best = found.find((row) => row[3] !== null);
    const rows = found.map((row) => {
      const [kind, words, gigabytes, step, mfu] = row;
      const cells = [kind, words, `${number(gigabytes)} of ${hbm} GB`, step === null ? "does not fit" : `${number(step)} s`, mfu === null ? "" : `${Math.round(100 * mfu)} %`];
      return { cells, kind: row === best ? "best" : step === null ? "soft" : "" };
    });
    const said = best ? "" : "Nothing fits: the layouts that need least are shown.";
    return [table(["kind", "best layout", "memory of a chip", "step", "MFU at most"], rows), element("p", { class: "soft" }, said)];
  });

  /* 4. Pipelines. */
  instrument("explore-pipeline", {
    schedule: { label: "schedule", value: "1F1B", options: pairs(Object.keys(DATA.orders)) },
    p: { label: "stages", value: "4", options: pairs(["2", "4", "8"]) },
    m: { label: "microbatches", value: "8", options: pairs(["4", "8", "16", "32"]) },
  }, ({ schedule, p, m }) => {
    const found = Explore.pipeline(schedule, +p, +m);
    const rows = Object.keys(DATA.orders).map((name) => {
      let cells;
      try {
        const one = Explore.pipeline(name, +p, +m);
        cells = [name, number(one.makespan, 4), `${(100 * one.bubble).toFixed(1)} %`, one.held.join(", ")];
      } catch (error) { cells = [name, "—", "—", error.message]; }
      return { cells, kind: name === schedule ? "best" : "" };
    });
    return [gantt(found, +p), table(["schedule", "ends at", "bubble", "chunks held at most, stage by stage"], rows)];
  });

  function gantt({ events, makespan }, p) {
    const words = ["light: forward, dark: backward or its input half,", "rose: weight half; an inked edge: second chunk"];
    const left = 58, width = broad(690), row = 26, lines = width < 600 ? words : [words.join(" ")];
    const svg = picture(width, p * row + 8 + 18 * lines.length, `The schedule on ${p} stages over ${makespan} units of time.`);
    const unit = (width - left - 4) / makespan;
    const FILL = { F: "var(--forward)", B: "var(--backward)", I: "var(--input-half)", W: "var(--weight-half)" };
    for (let s = 0; s < p; s++) svg.append(drawn("text", { x: 0, y: s * row + 17 }, `stage ${s}`));
    for (const { stage, kind, i, chunk, start, end } of events) {
      svg.append(drawn("rect", { x: left + start * unit, y: stage * row + 2, width: (end - start) * unit, height: row - 5, fill: FILL[kind], stroke: chunk ? "var(--ink)" : "var(--line)", "stroke-width": chunk ? 1.2 : 0.6 }));
      if ((end - start) * unit > 13) svg.append(drawn("text", { x: left + ((start + end) / 2) * unit, y: stage * row + 17, "text-anchor": "middle", style: "font-size:11px" }, i));
    }
    lines.forEach((line, n) => svg.append(drawn("text", { x: lines.length > 1 ? 0 : left, y: p * row + 18 * (n + 1) }, line)));
    return element("div", { class: "scroll", tabindex: "0" }, svg);
  }
})();
