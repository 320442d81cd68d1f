/* Small things that CSS alone cannot do. Every page works without them. */
(() => {
  const page = document.documentElement;

  /* The flask opens JupyterLab on the reader's own machine: no use elsewhere. */
  const home = /^(localhost|127\.0\.0\.1|\[::1\])?$/.test(location.hostname);
  if (!home) page.dataset.away = "";

  /* Where it is narrow, pictures have another form, which waits in a template.
     Where a film of four chips in a row is parted: before the third one. */
  const middle = (film) => {
    const third = [...film.querySelectorAll("text")].find((e) => /^(chip|stage|node) 2\b/.test(e.textContent));
    const x = third ? third.getAttribute("x") - 9.5 : 0;
    const node = x > 230 && third.textContent.startsWith("node"); // of five, in a row
    return node || (300 < x && x < 345) ? x : 318.5;
  };
  const bend = (picture) => {
    const form = picture.querySelector(":scope > template");
    if (!form) return;
    form.previousElementSibling.remove();
    form.replaceWith(form.content);
  };
  /* Words on the cut go to the half that has more of them, and move off it. The
     title of a row stands before both of its halves. */
  const partWords = (svg, rest, x) => {
    const copies = rest.querySelectorAll("text");
    const boxes = [...svg.querySelectorAll("text")].map((e) => [e, e.getBBox()]);
    boxes.forEach(([words, { x: left, width }], n) => {
      const over = left + width - x;
      if (words.getAttribute("x")?.includes(" ")) return; // digits of many places
      if (left < x - 1 && over > 1 && !words.closest("[transform], .s")) {
        const first = over < width / 2;
        (first ? copies[n] : words).remove();
        const stays = first ? words : copies[n];
        stays.setAttribute("transform", `translate(${first ? -over - 3 : x - left + 3} 0)`);
      } else if (words.matches(".t, [font-weight]") && words.getAttribute("x") < 40 && words.textContent.length > 2) {
        copies[n].setAttribute("transform", `translate(${x} 0)`);
      }
    });
  };
  const halve = (film) => {
    const x = (film.dataset.middle ??= middle(film));
    film.querySelectorAll("figure > svg:only-of-type").forEach((svg) => {
      const rest = svg.cloneNode(true); // a <use> would lose the page's colours
      const [, , wide, high] = svg.getAttribute("viewBox").split(" ");
      rest.setAttribute("viewBox", `${x} 0 ${wide - x} ${high}`);
      rest.setAttribute("class", "rest");
      rest.setAttribute("aria-hidden", "true");
      svg.style.setProperty("--share", wide / x);
      if (wide - x > 345) {
        // the second part is broader: both as large as it can be
        svg.style.setProperty("--share", wide / (wide - x));
        svg.style.setProperty("--cut", `${100 - (100 * x) / wide}%`);
        film.style.setProperty("--half", `${wide - x}px`);
      }
      svg.after(rest);
      partWords(svg, rest, x);
    });
  };
  /* Of a film the moment that is seen is drawn; others wait as text for it. */
  const drawMoments = (moments) => {
    moments.forEach((moment) => {
      const waits = moment.querySelector(":scope > noscript");
      if (!waits) return;
      waits.insertAdjacentHTML("afterend", waits.textContent);
      waits.remove();
      const film = moment.closest(".sbs-film");
      if (film.dataset.middle) halve(film);
    });
  };
  const watchFilms = () => {
    const seen = new MutationObserver((changes) => {
      drawMoments(changes.map((one) => one.target).filter((e) => e.matches(".on")));
    });
    document.querySelectorAll(".sbs-film .reel").forEach((reel) => {
      seen.observe(reel, { attributeFilter: ["class"], subtree: true });
    });
  };
  /* Each when it comes near; all of them for whoever needs the page's heights. */
  const other = "article .image_svg:has(> template), article .sbs-film.halves";
  const unpack = (boxes = document.querySelectorAll(other)) => {
    if (innerWidth > 800) return;
    boxes.forEach((box) => (box.matches(".sbs-film") ? halve(box) : bend(box)));
  };
  const unpackNear = () => {
    const near = new IntersectionObserver(
      (entries) => unpack(entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target)),
      { rootMargin: "150%" },
    );
    document.querySelectorAll(other).forEach((box) => near.observe(box));
    const all = new MutationObserver(() => "drawn" in page.dataset && unpack());
    all.observe(page, { attributeFilter: ["data-drawn"] });
  };

  /* Paper is white. Answers are printed open, and folded again afterwards. */
  let screen = null;
  const toPaper = () => {
    if (screen) return;
    drawMoments(document.querySelectorAll(".sbs-film figure"));
    unpack();
    screen = { theme: page.dataset.theme, opened: [...document.querySelectorAll("article details:not([open])")] };
    page.dataset.theme = "light";
    screen.opened.forEach((e) => (e.open = true));
    paint(document);
  };
  const toScreen = () => {
    if (!screen) return;
    page.dataset.theme = screen.theme;
    screen.opened.forEach((e) => (e.open = false));
    screen = null;
  };
  window.addEventListener("beforeprint", toPaper);
  window.addEventListener("afterprint", toScreen);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? toPaper() : toScreen()));

  /* A box that scrolls can be focused. First all are asked, then all are told:
     between two questions nothing may change, or the page is laid out again. */
  const nameBoxes = (boxes) => {
    const wide = boxes.map((box) => box.scrollWidth > box.clientWidth + 1);
    boxes.forEach((box, n) => {
      if (box.classList.contains("scrolls") === wide[n]) return;
      box.classList.toggle("scrolls", wide[n]);
      if (wide[n]) box.tabIndex = 0;
    });
  };
  const met = new Set();
  const nameThose = () => nameBoxes([...met].filter((box) => box.checkVisibility()));
  /* Where a table is wider than the page, the table moves and not the page. */
  const boxTables = () => {
    document.querySelectorAll("article table").forEach((table) => {
      if (table.closest(".table-box, .cell_output, .film")) return;
      let box = table.closest(".pst-scrollable-table-container");
      if (!box) {
        box = document.createElement("div");
        table.replaceWith(box);
        box.append(table);
      }
      box.classList.add("table-box");
    });
  };
  /* Sections below the window are not drawn until they come near it. Whoever
     jumps into the page, or comes back to it, needs their true heights. */
  const drawAll = () => {
    const back = performance.getEntriesByType("navigation")[0]?.type;
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target && back !== "reload" && back !== "back_forward") return;
    page.dataset.drawn = "";
    if (target && back !== "reload" && back !== "back_forward") target.scrollIntoView();
  };
  document.addEventListener(
    "click",
    (event) => {
      if (event.target.closest?.('a[href*="#"]')) page.dataset.drawn = "";
    },
    true,
  );
  addEventListener("hashchange", () => (page.dataset.drawn = ""));

  /* The theme switch keeps the focus that its icons lose. */
  const keepFocus = () => {
    document.querySelectorAll(".theme-switch-button").forEach((button) => {
      button.addEventListener("click", () => {
        button.focus({ preventScroll: true });
        const mode = page.dataset.mode;
        button.setAttribute("aria-label", `Colours: ${mode}`);
      });
    });
  };
  /* A figure opens by itself, as large as the window: the same drawing or film,
     which goes back to its place afterwards. */
  const enlarge = (figure, button) => {
    const shown = figure.querySelector(".image_svg, .sbs-film, .cell_output img");
    const dialog = document.createElement("dialog");
    const place = document.createElement("div");
    const box = shown.getBoundingClientRect();
    const drawn = shown.matches("svg, img") ? shown : shown.querySelector("svg.picture, img");
    const caption = figure.querySelector("figcaption");
    dialog.className = "large";
    dialog.setAttribute("aria-label", button.getAttribute("aria-label"));
    dialog.innerHTML = '<button class="close">Close</button><div class="cell_output"></div><p class="caption"></p>';
    if (drawn) {
      const [wide, high] = ["width", "height"].map((side) => Number(drawn.getAttribute(side)));
      dialog.style.setProperty("--drawn", `${wide}px`);
      dialog.style.setProperty("--shape", wide / high);
    }
    if (caption) {
      const words = caption.cloneNode(true);
      words.querySelectorAll("button, .headerlink").forEach((e) => e.remove());
      dialog.lastChild.append(...words.childNodes);
    }
    place.style.height = `${box.height}px`;
    shown.replaceWith(place);
    dialog.children[1].append(shown);
    figure.closest("article").append(dialog);
    dialog.querySelector(".close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("close", () => {
      place.replaceWith(shown);
      dialog.remove();
      button.focus({ preventScroll: true });
    });
    dialog.showModal();
  };
  const offerLarge = () => {
    if (!window.HTMLDialogElement) return;
    document.querySelectorAll("article figure.cell-figure").forEach((figure) => {
      const shown = figure.querySelector(".image_svg, .sbs-film, .cell_output img");
      const caption = figure.querySelector(":scope > figcaption");
      if (!shown || !caption) return;
      const button = document.createElement("button");
      const number = caption.querySelector(".caption-number");
      const name = number ? number.textContent.replace(/\.$/, "") : "the figure";
      button.className = "enlarge";
      button.textContent = "Enlarge";
      button.setAttribute("aria-label", `Enlarge ${name}`);
      button.addEventListener("click", () => enlarge(figure, button));
      if (!shown.matches(".sbs-film")) {
        shown.addEventListener("click", () => shown.closest("dialog") || enlarge(figure, button));
      }
      caption.append(" ", button);
    });
  };
  /* Folded code is written without colours: they are painted over its letters. */
  const colours = {};
  const paint = (fold) => {
    if (!window.CSS?.highlights) return;
    fold.querySelectorAll("pre[data-paint]").forEach((box) => {
      const letters = box.firstChild;
      let at = 0;
      for (const [, skip, kind, size] of box.dataset.paint.matchAll(/(\d+)([a-z])(\d+)/g)) {
        const range = new StaticRange({
          startContainer: letters,
          startOffset: (at += +skip),
          endContainer: letters,
          endOffset: (at += +size),
        });
        if (!colours[kind]) CSS.highlights.set(`code-${kind}`, (colours[kind] = new Highlight()));
        colours[kind].add(range);
      }
      delete box.dataset.paint;
    });
  };
  document.addEventListener("toggle", (event) => event.target.open && paint(event.target), true);

  /* A box of code gets its button when it comes near the window. */
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
  };
  const addButton = (box) => {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "copybtn", title: "Copy" });
    button.addEventListener("click", async () => {
      await copy(box.textContent.trimEnd());
      Object.assign(button, { className: "copybtn copied", title: "Copied" });
      setTimeout(() => Object.assign(button, { className: "copybtn", title: "Copy" }), 2000);
    });
    box.after(button);
  };
  /* What a box needs, it gets when it comes near the window. */
  const meetBoxes = () => {
    const near = new IntersectionObserver(
      (entries) => {
        const boxes = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
        nameBoxes(boxes);
        boxes.forEach((box) => {
          near.unobserve(box);
          met.add(box);
          if (box.matches("div.highlight > pre") && !box.closest(".cell_output")) addButton(box);
        });
      },
      { rootMargin: "100%" },
    );
    const boxes = "article pre, article .table-box, article .cell_output > .output, article .reel";
    const all = [...document.querySelectorAll(boxes)];
    all.forEach((box) => near.observe(box));
    /* Whoever goes by keys goes further than the window. */
    document.addEventListener("keydown", (event) => event.key === "Tab" && nameBoxes(all), true);
  };
  const begin = () => {
    unpackNear();
    watchFilms();
    offerLarge();
    boxTables();
    drawAll();
    meetBoxes();
    keepFocus();
    let [waits, was] = [0, innerWidth];
    addEventListener("resize", () => {
      clearTimeout(waits);
      waits = setTimeout(() => [was > 800 && unpackNear(), (was = innerWidth), nameThose()], 200);
    });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
