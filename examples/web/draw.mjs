// From lines on a canvas to the image that the network knows: 8 x 8 numbers, each the part of 4 x 4 points that is inked,
// of a digit that fills a square of 32 x 32.

const SIDE = 8, POINTS = 4, GRID = SIDE * POINTS;

/** The smallest rectangle with all ink; null without ink. */
function boundsOf({ data, width, height }) {
  let left = width, right = -1, top = height, bottom = -1;
  for (let y = 0; y < height; ++y)
    for (let x = 0; x < width; ++x)
      if (data[4 * (y * width + x) + 3] > 127) {
        left = Math.min(left, x);
        right = Math.max(right, x);
        top = Math.min(top, y);
        bottom = Math.max(bottom, y);
      }
  return right < 0 ? null : { left, top, width: right - left + 1, height: bottom - top + 1 };
}

/** The image [1, 1, 8, 8] of what is drawn in `pixels` (an ImageData, of which opacity counts); null without ink. */
export function imageOf(pixels) {
  const bounds = boundsOf(pixels);
  if (!bounds) return null;
  const scale = Math.max(bounds.width, bounds.height) / GRID;
  const startX = bounds.left + (bounds.width - GRID * scale) / 2, startY = bounds.top + (bounds.height - GRID * scale) / 2;
  const image = new Float32Array(SIDE * SIDE);
  for (let y = 0; y < GRID; ++y)
    for (let x = 0; x < GRID; ++x) {
      const column = Math.floor(startX + (x + 0.5) * scale), row = Math.floor(startY + (y + 0.5) * scale);
      const isInside = column >= 0 && column < pixels.width && row >= 0 && row < pixels.height;
      if (isInside && pixels.data[4 * (row * pixels.width + column) + 3] > 127)
        image[Math.floor(y / POINTS) * SIDE + Math.floor(x / POINTS)] += 1 / (POINTS * POINTS);
    }
  return image;
}

/** A canvas to draw on with mouse, pen or finger. `changed` gets the pixels after each line. */
export class Board {
  #context;
  #last = null;

  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    this.#context = canvas.getContext("2d", { willReadFrequently: true });
    this.#context.lineWidth = canvas.width / 9;
    this.#context.lineCap = this.#context.lineJoin = "round";
    canvas.addEventListener("pointerdown", (event) => this.#begin(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => (this.#last = null));
  }

  clear() {
    this.#context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.#tell();
  }

  #begin(event) {
    this.#last = this.#placeOf(event);
    this.#move(event);
    this.canvas.setPointerCapture?.(event.pointerId); // of a pointer that is one, not of an event in a test
  }

  #move(event) {
    if (!this.#last) return;
    const place = this.#placeOf(event);
    this.#context.beginPath();
    this.#context.moveTo(...this.#last);
    this.#context.lineTo(...place);
    this.#context.stroke();
    this.#last = place;
    this.#tell();
  }

  /** In pixels of the canvas, which a page may show larger or smaller. */
  #placeOf(event) {
    const box = this.canvas.getBoundingClientRect(), { width, height } = this.canvas;
    return [((event.clientX - box.left) * width) / box.width, ((event.clientY - box.top) * height) / box.height];
  }

  #tell() {
    this.changed(this.#context.getImageData(0, 0, this.canvas.width, this.canvas.height));
  }
}
