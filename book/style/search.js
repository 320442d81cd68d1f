/* Search by section. The index and MiniSearch are loaded on first use. */
(() => {
  const ROOT = document.documentElement.dataset.content_root || "./";
  const SHOWN = 12;
  /* One spelling for what has many. Applied to the book and to the question. */
  const SPELLINGS = [
    [/\ball[-_ ]?reduce[sd]?\b/gi, "allreduce"],
    [/\ball[-_ ]?gather(s|ed|ing)?\b/gi, "allgather"],
    [/\breduce[-_ ]?scatter(s|ed|ing)?\b/gi, "reducescatter"],
    [/\bpsum_scatter\b/gi, "psum_scatter reducescatter"],
    [/\ball[-_ ]?to[-_ ]?all\b/gi, "alltoall"],
    [/\bZeRO[- ]?([123])\b/g, "zero$1"],
    [/\bzero[-_]([123])\b/gi, "zero$1"],
    [/\bFSDP ?2\b/gi, "fsdp"],
    [/\b1f1b\b/gi, "onefoneb"],
    [/\bone forward, one backward\b/gi, "onefoneb"],
    [/\bzero[- ]bubble\b/gi, "zero_bubble bubble"],
    [/\bshard[-_ ]map\b/gi, "shard_map"],
    [/\bcase[- ]stud(y|ies)\b/gi, "case_study"],
  ];
  /* What a question may call a thing that the book calls otherwise. */
  const SYNONYMS = {
    zero3: ["fsdp"],
    fsdp2: ["fsdp"],
    zero: ["zero1", "zero2", "zero3"],
    ddp: ["data", "parallelism"],
    remat: ["rematerialisation", "rematerialise", "recompute", "recomputation", "checkpointing"],
    rematerialization: ["rematerialisation"],
    checkpointing: ["rematerialisation", "recompute"],
    moe: ["expert", "experts"],
    mixture: ["expert", "experts"],
    psum: ["allreduce"],
    ppermute: ["permute"],
    tp: ["tensor"],
    pp: ["pipeline"],
    dp: ["data"],
    megatron: ["tensor"],
    nccl: ["allreduce"],
    ici: ["links"],
    dcn: ["pods"],
    mfu: ["utilisation"],
    utilization: ["utilisation"],
    optimizer: ["optimiser"],
    sharding: ["sharded", "shards"],
    gpu: ["H100", "NVLink"],
    hsdp: ["pods", "fsdp"],
    bubble: ["bubbles"],
  };
  const STOP = new Set("a an and are as at be by for from how in is it of on or that the this to what when which with do does i my".split(" "));

  const spelled = (text) => SPELLINGS.reduce((t, [old, now]) => t.replace(old, now), text);
  const words = (text) =>
    spelled(text).normalize("NFKD").split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
  const plain = (word) => {
    const low = word.toLowerCase();
    if (STOP.has(low)) return null;
    /* A plural is its singular; short words and names of code stay. */
    return low.length > 4 && !low.includes("_") ? low.replace(/(?<![su])s$/, "") : low;
  };
  const withSynonyms = (word) => {
    const low = plain(word);
    if (low === null) return null;
    const more = SYNONYMS[word.toLowerCase()] || SYNONYMS[low] || [];
    return more.length ? [low, ...more.map(plain)] : low;
  };

  const load = (file) =>
    new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = `${ROOT}_static/${file}`;
      script.onload = done;
      script.onerror = () => failed(new Error(`${file} is missing`));
      document.head.append(script);
    });

  let engine;
  const ready = () => {
    engine ||= Promise.all([load("vendor/minisearch.js"), load("sections.js")]).then(() => {
      const search = new MiniSearch({
        fields: ["heading", "title", "text", "code"],
        tokenize: words,
        processTerm: plain,
      });
      search.addAll(window.SECTIONS.map((s, id) => ({ ...s, id })));
      return search;
    });
    return engine;
  };

  const weight = (id) => {
    const { page, anchor, heading } = window.SECTIONS[id];
    let w = page.startsWith("chapters/") ? 1.5 : 0.9;
    if (page.startsWith("exercises/")) w = 0.6;
    if (/strategies/.test(page)) w = 0.35;
    if (/^book.library/.test(page)) w = 0.12;
    if (/sources|errata/.test(page)) w = 0.3;
    if (/^book.checks/.test(page)) w = 0.08;
    if (/^what we learned$/i.test(heading)) w *= 0.6;
    return anchor ? w : w * 1.15;
  };

  /* Words as they are written; if none is found, words like them. */
  const find = (search, query) => {
    const hits = look(search, query, false);
    return hits.length ? hits : look(search, query, true);
  };
  const look = (search, query, loosely) => {
    const tokens = words(query);
    const options = {
      boost: { heading: 6, title: 2.5, text: 1.2, code: 0.5 },
      prefix: (word, n, all) => n === all.length - 1 && word.length > 2,
      fuzzy: (word) => (loosely && word.length > 4 ? 0.2 : false),
      weights: { fuzzy: 0.2, prefix: 0.5 },
      boostDocument: weight,
    };
    const group = (word) => {
      const all = [withSynonyms(word)].flat().filter(Boolean);
      return { queries: all.map((q, n) => ({ queries: [q], ...options, combineWith: "OR", boostTerm: () => (n ? 0.6 : 1) })), combineWith: "OR" };
    };
    const groups = tokens.map(group).filter((g) => g.queries.length);
    if (!groups.length) return [];
    const all = search.search({ combineWith: "AND", queries: groups });
    if (groups.length > 1) {
      /* The words side by side mean more than the words. */
      const phrase = tokens.join(" ").toLowerCase();
      const near = ({ id }) => {
        const { heading, text } = window.SECTIONS[id];
        return words(`${heading} ${text}`).join(" ").toLowerCase().includes(phrase);
      };
      const worth = new Map(all.map((hit) => [hit, hit.score * (near(hit) ? 1.5 : 1)]));
      all.sort((a, b) => worth.get(b) - worth.get(a));
    }
    const seen = new Set(all.map((hit) => hit.id));
    const some = groups.length > 1 ? search.search({ combineWith: "OR", queries: groups }) : [];
    return [...all, ...some.filter((hit) => !seen.has(hit.id))].slice(0, SHOWN);
  };

  const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const excerpt = (text, terms) => {
    const low = spelled(text).toLowerCase() === text.toLowerCase() ? text.toLowerCase() : text.toLowerCase();
    const first = terms.map((t) => low.indexOf(t)).filter((n) => n >= 0).sort((a, b) => a - b)[0] ?? 0;
    const start = first < 70 ? 0 : low.lastIndexOf(" ", first - 50) + 1;
    const part = text.slice(start, start + 190).replace(/\s\S*$/, "");
    const pattern = terms.filter((t) => t.length > 2).map((t) => t.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const safe = escape(part);
    const marked = pattern.length
      ? safe.replace(new RegExp(`(${pattern.join("|")})`, "gi"), "<mark>$1</mark>")
      : safe;
    return (start ? "… " : "") + marked + (start + 190 < text.length ? " …" : "");
  };

  const show = (box, search, query) => {
    const hits = find(search, query);
    if (!query.trim()) {
      box.innerHTML = "";
      return;
    }
    const said = hits.length ? `${hits.length} section${hits.length > 1 ? "s" : ""}` : "Nothing found. Try one word, or another name for it.";
    const rows = hits.map((hit) => {
      const s = window.SECTIONS[hit.id];
      const terms = [...new Set([...query.toLowerCase().split(/\s+/), ...hit.terms])].filter((t) => t.length > 1);
      const chapter = (s.number ? `${s.number}. ` : "") + s.title;
      const trail = s.anchor ? [chapter, ...s.above].join(" › ") : "page";
      const link = `${ROOT}${s.page}?highlight=${encodeURIComponent(query)}${s.anchor ? `#${s.anchor}` : ""}`;
      return `<li><a href="${escape(link)}"><span class="found-heading">${escape(s.anchor ? s.heading : chapter)}</span><span class="found-trail">${escape(trail)}</span><span class="found-text">${excerpt(s.text, terms)}</span></a></li>`;
    });
    box.innerHTML = `<p class="found-count">${said}</p><ol>${rows.join("")}</ol>`;
  };

  const start = (form) => {
    const field = form.querySelector("input[type=search]");
    const box = form.parentElement.querySelector(".search-found");
    if (!field || !box) return;
    let last = null;
    const answer = async () => {
      const query = field.value;
      if (query === last) return;
      last = query;
      try {
        const search = await ready();
        if (field.value === query) show(box, search, query);
      } catch (error) {
        box.textContent = `The search did not load: ${error.message}.`;
      }
    };
    field.addEventListener("focus", () => ready().catch(() => {}), { once: true });
    field.addEventListener("input", answer);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      await answer();
      box.querySelector("a")?.click();
    });
    form.parentElement.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      const stops = [field, ...box.querySelectorAll("a")];
      const at = stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      if (at >= 0 && at < stops.length) {
        event.preventDefault();
        stops[at].focus();
      }
    });
    const asked = new URLSearchParams(location.search).get("q");
    if (asked && !form.closest("dialog")) {
      field.value = asked;
      answer();
    }
  };
  const begin = () => {
    document.querySelectorAll("form.bd-search").forEach(start);
    /* The page may have been opened before its index: links close the dialog. */
    document.querySelector("#pst-search-dialog")?.addEventListener("click", (event) => {
      if (event.target.closest("a")) event.currentTarget.close();
    });
  };
  window.searchSections = async (query) => find(await ready(), query).map((hit) => window.SECTIONS[hit.id]);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
