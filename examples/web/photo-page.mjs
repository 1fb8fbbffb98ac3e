// The page for photos: a model, a picture that a person drops, and what the model says of it.
import { load } from "./perpend.mjs";
import { SCALES, best, layoutOf, maskOf, tensorOf } from "./photo.mjs";

const at = (id) => document.getElementById(id);
const picture = at("picture"), context = picture.getContext("2d");
let model, layout, image, labels = [];

const say = (text) => (at("note").textContent = text);

/** Runs a step that may fail, and says why. */
async function attempt(step) {
  try {
    await step();
  } catch (error) {
    say(error.message);
  }
}

async function open(source, name) {
  say("loading …");
  model?.free();
  model = undefined;
  const next = await load(source, { threads: 0, progress: ({ loaded, total }) => say(`weights: ${Math.round((100 * loaded) / total)} %`) });
  try {
    layout = layoutOf(next.inputs[0]);
  } catch (error) {
    next.free();
    throw error;
  }
  model = next;
  at("model").textContent = `${name}: ${layout.width} x ${layout.height}, ${model.threads} thread${model.threads > 1 ? "s" : ""}`;
  say("drop a picture");
  run();
}

/** The picture in the model's size, squeezed as its training did. */
function pixels() {
  const canvas = new OffscreenCanvas(layout.width, layout.height), small = canvas.getContext("2d");
  small.drawImage(image, 0, 0, layout.width, layout.height);
  return small.getImageData(0, 0, layout.width, layout.height);
}

function show() {
  const scale = Math.min(1, 640 / image.width, 420 / image.height);
  picture.width = image.width * scale;
  picture.height = image.height * scale;
  context.drawImage(image, 0, 0, picture.width, picture.height);
}

/** Colours what the mask leaves out. */
function showMask({ width, height, parts }) {
  const canvas = new OffscreenCanvas(width, height), small = canvas.getContext("2d"), cover = small.createImageData(width, height);
  parts.forEach((part, i) => cover.data.set([47, 111, 79, 230 * (1 - Math.min(1, Math.max(0, part)))], 4 * i));
  small.putImageData(cover, 0, 0);
  context.drawImage(canvas, 0, 0, picture.width, picture.height);
}

function showClasses(classes) {
  at("classes").replaceChildren(...classes.map(({ label, part }) => {
    const row = document.createElement("li");
    row.innerHTML = '<span></span><div class="track"><div class="bar"></div></div><span class="part"></span>';
    row.firstChild.textContent = label;
    row.querySelector(".bar").style.width = `${100 * part}%`;
    row.lastChild.textContent = `${(100 * part).toFixed(1)} %`;
    return row;
  }));
}

function run() {
  if (!model || !image) return;
  const input = tensorOf(pixels(), layout, at("scale").value), start = performance.now();
  const output = Object.values(model.run([input]))[0], ms = performance.now() - start;
  const mask = maskOf(output);
  show();
  if (mask) showMask(mask);
  showClasses(mask ? [] : best(output, labels));
  say(`one run: ${ms.toFixed(1)} ms`);
}

/** A picture, a model or a list of classes, by its kind. */
async function take(file) {
  if (file.name.endsWith(".wasm")) return open(await file.arrayBuffer(), file.name);
  if (file.name.endsWith(".txt")) labels = (await file.text()).trim().split("\n");
  else image = await createImageBitmap(file);
  if (image) show();
  run();
}

for (const name of Object.keys(SCALES)) at("scale").add(new Option(name));
at("scale").addEventListener("change", run);
at("file").addEventListener("change", ({ target }) => attempt(async () => { for (const file of target.files) await take(file); }));
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  attempt(async () => { for (const file of event.dataTransfer.files) await take(file); });
});
const asked = new URLSearchParams(location.search);
if (asked.has("scale")) at("scale").value = asked.get("scale");
attempt(() => open(new URL(asked.get("model") ?? "photo.wasm", location.href), asked.get("model") ?? "photo.wasm"));
