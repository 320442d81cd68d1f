/* Plays the film of the first page. Its moments were simulated at build time. */
(() => {
  const PAUSE = 450;
  const MOVE = 900;
  const start = (root) => {
    const film = JSON.parse(root.dataset.film);
    const places = JSON.parse(root.dataset.places);
    const steps = film.sent.length;
    const slider = root.querySelector("input");
    const button = root.querySelector(".play");
    const said = root.querySelector("output");
    const now = root.querySelector(".now");
    const tick = root.querySelector(".counted");
    const parcels = root.querySelector(".parcels");
    const cells = [...root.querySelectorAll(".summand")].map((cell) => [cell, ...cell.dataset.cell.split(" ").map(Number)]);
    const mib = (bytes) => `${bytes / 2 ** 20} MiB`;
    let step = steps;
    let timer = null;

    const show = (n) => {
      step = n;
      slider.value = n;
      for (const [cell, chip, block, bit] of cells) {
        cell.classList.toggle("on", Boolean((film.held[n][chip][block] >> bit) & 1));
      }
      said.textContent = `AllReduce of ${mib(film.whole)} on a ring, after ${n} of ${steps} steps`;
      now.textContent = mib(film.bytes[n]);
      tick.style.visibility = film.bytes[n] === film.formula ? "visible" : "hidden";
      parcels.setAttribute("visibility", "hidden");
    };
    const send = () => {
      parcels.removeAttribute("visibility");
      film.sent[step].forEach(([from, to, block], n) => {
        const parcel = parcels.children[n];
        parcel.querySelector("rect").style.fill = `var(--axis-x-${block + 1})`;
        parcel.querySelector("text").textContent = block;
        /* From the edge of one chip to the edge of the next. */
        const at = (share) => places[from].map((a, k) => a + (places[to][k] - a) * share);
        const move = (share) => `translate(${at(share)[0]}px, ${at(share)[1]}px)`;
        parcel.animate([{ transform: move(0.3) }, { transform: move(0.7) }], { duration: MOVE, easing: "ease-in-out", fill: "forwards" });
      });
    };
    const tickOver = () => {
      if (step === steps) {
        show(0);
        timer = setTimeout(tickOver, PAUSE * 2);
        return;
      }
      send();
      timer = setTimeout(() => {
        show(step + 1);
        timer = setTimeout(tickOver, step === steps ? PAUSE * 6 : PAUSE);
      }, MOVE);
    };
    const play = (on) => {
      clearTimeout(timer);
      timer = null;
      button.textContent = on ? "Pause" : "Play";
      if (on) tickOver();
      else show(step);
    };
    button.addEventListener("click", () => play(timer === null));
    slider.addEventListener("input", () => {
      play(false);
      show(Number(slider.value));
    });
    play(!matchMedia("(prefers-reduced-motion: reduce)").matches);
  };
  const begin = () => document.querySelectorAll(".landing-film").forEach(start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
