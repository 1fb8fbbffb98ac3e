// The page: a board, the model, and ten bars.
import { load } from "./perpend.mjs";
import { Board, imageOf } from "./draw.mjs";

const note = document.getElementById("note");
const bars = Array.from({ length: 10 }, (_, digit) => {
  const row = document.createElement("li");
  row.innerHTML = `<span>${digit}</span><div class="track"><div class="bar"></div></div><span class="part"></span>`;
  document.getElementById("bars").append(row);
  return { row, bar: row.querySelector(".bar"), part: row.querySelector(".part") };
});

function show(probabilities) {
  const best = Math.max(...probabilities);
  bars.forEach(({ row, bar, part }, digit) => {
    bar.style.width = `${100 * probabilities[digit]}%`;
    part.textContent = best ? `${(100 * probabilities[digit]).toFixed(0)} %` : "";
    row.classList.toggle("best", best > 0 && probabilities[digit] === best);
  });
}

try {
  const model = await load(new URL("digits.wasm", import.meta.url));
  const board = new Board(document.getElementById("board"), (pixels) => {
    const image = imageOf(pixels), start = performance.now();
    show(image ? model.run(image).probabilities.data : new Float32Array(10));
    note.textContent = image ? `one run: ${(performance.now() - start).toFixed(2)} ms` : "ready";
  });
  document.getElementById("clear").addEventListener("click", () => board.clear());
  board.clear();
} catch (error) {
  note.textContent = error.message;
}
