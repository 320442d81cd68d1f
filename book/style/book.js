/* Small things that CSS alone cannot do. Every page works without them. */
(() => {
  const page = document.documentElement;

  /* The flask opens JupyterLab on the reader's own machine: no use elsewhere. */
  const home = /^(localhost|127\.0\.0\.1|\[::1\])?$/.test(location.hostname);
  if (!home) page.dataset.away = "";

  /* Paper is white. Answers are printed open, and folded again afterwards. */
  let screen = null;
  const toPaper = () => {
    if (screen) return;
    screen = { theme: page.dataset.theme, opened: [...document.querySelectorAll("article details:not([open])")] };
    page.dataset.theme = "light";
    screen.opened.forEach((e) => (e.open = true));
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

  /* A code box that scrolls can be focused; what it holds is said. */
  const nameBoxes = () => {
    document.querySelectorAll("article pre, article .table-box").forEach((box) => {
      const scrolls = box.scrollWidth > box.clientWidth + 1;
      box.classList.toggle("scrolls", scrolls);
      if (scrolls) box.tabIndex = 0;
    });
  };
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
  const begin = () => {
    boxTables();
    nameBoxes();
    keepFocus();
    addEventListener("resize", nameBoxes);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
