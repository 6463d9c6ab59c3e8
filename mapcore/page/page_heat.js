// The heat map: a canvas that the pointer and the arrow keys read out.
const palettes = {
  false: [[217, 232, 247], [150, 198, 232], [77, 152, 209], [28, 103, 172], [14, 61, 120], [8, 24, 58]],
  true: [[28, 58, 84], [26, 92, 132], [32, 135, 170], [82, 180, 186], [160, 219, 184], [244, 247, 198]],
};
function shade(share) {
  const stops = palettes[isDark()], at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return stops[low].map((value, c) => Math.round(value + (stops[low + 1][c] - value) * (at - low)));
}
const paper = () => isDark() ? [26, 32, 40] : [255, 255, 255];
const ink = () => isPrinting ? '#111' : getComputedStyle(document.body).color;

const heat = {run: null, order: [], name: '', row: -1, column: -1, values: null};
function octetsOf(text) { return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)); }
// Shade 1 stands for the floor of the scale and for everything below it.
function bytesText(row, column) {
  const {run, order, values} = heat, place = order[row] * run.heat.n + order[column], q = values[place];
  if (q === 0) return 'nothing';
  if (run.heat.exact) return amountText(run.heat.exact[place]);
  return (q === 1 ? 'at most ' : 'about ') + amountText(run.heat.low * Math.pow(run.heat.high / run.heat.low, (q - 1) / 254));
}

// Groups of the end of the run: node or cache of each rank, as a number that sorts.
function groupsOf(run, name) {
  const seats = seatsOf(run, 2), group = new Map();
  let number = 0;
  for (const node of run.machine.nodes) {
    for (const cache of node.groups) {
      cache.cores.forEach((core) => seats.seats[core].forEach((rank) => group.set(rank, number)));
      if (name === 'cache') ++number;
    }
    if (name === 'node') ++number;
  }
  return run.ranks.map((row) => group.has(row[0]) ? group.get(row[0]) : 1e9);
}

let edge = 54;  // space of the numbers, in pixels of the canvas
function paintMap() {
  const {run} = heat, n = run.heat.n, canvas = byId('map');
  const cell = heat.cell = n > 310 ? Math.ceil(1240 / n) : Math.floor(1240 / Math.max(n, 10)), side = cell * n;
  // The map of few ranks is small, but its numbers are not; .7: a digit is narrower than that.
  const font = Math.max(19, Math.round(side / 64)), digits = run.ranks.reduce((most, row) => Math.max(most, String(row[0]).length), 0);
  edge = Math.round(Math.max(2.8, .7 * digits + .5) * font);
  canvas.width = canvas.height = side + edge + 4;
  heat.painted = make('canvas', {width: canvas.width, height: canvas.height});
  canvas.style.maxWidth = Math.max(canvas.width / 1.8, 240) + 'px';
  const pen = heat.painted.getContext('2d');
  if (n > 0) paintCells(pen, n, side);
  if (n > 200) paintSparse(pen, n, cell);
  paintEdges(pen, n, cell, side, font);
  showMap();
}

// A move of the cursor paints no cell again: with thousands of ranks that takes a second.
function showMap() {
  const {painted, row, column, cell} = heat, pen = byId('map').getContext('2d');
  pen.clearRect(0, 0, painted.width, painted.height);
  pen.drawImage(painted, 0, 0);
  if (row < 0) return;
  const size = Math.max(cell, 7), shift = (size - cell) / 2;
  pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--accent'); pen.lineWidth = 3;
  pen.strokeRect(edge + column * cell - shift, edge + row * cell - shift, size, size);
}

function paintCells(pen, n, side) {
  const {order} = heat, image = new ImageData(n, n), white = paper();
  for (let r = 0; r < n; ++r)
    for (let c = 0; c < n; ++c) {
      const q = heat.values[order[r] * n + order[c]], colour = q === 0 ? white : shade((q - 1) / 254);
      image.data.set([...colour, 255], 4 * (r * n + c));
    }
  const small = make('canvas', {width: n, height: n});
  small.getContext('2d').putImageData(image, 0, 0);
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, edge, edge, side, side);
}

// Cells of a pixel or two would vanish: those with bytes are drawn larger, the heaviest last, if most are empty.
function paintSparse(pen, n, cell) {
  const {order, values} = heat, place = new Int32Array(n), full = [];
  order.forEach((rank, position) => { place[rank] = position; });
  for (let i = 0; i < values.length; ++i) if (values[i] > 0) full.push(i);
  if (full.length > n * n / 12) return;
  const size = cell + 3;
  for (const i of full.sort((a, b) => values[a] - values[b])) {
    pen.fillStyle = `rgb(${shade((values[i] - 1) / 254)})`;
    pen.fillRect(edge + place[i % n] * cell - 1.5, edge + place[Math.floor(i / n)] * cell - 1.5, size, size);
  }
}

function paintEdges(pen, n, cell, side, font) {
  const {run, order} = heat, groups = heat.name === 'rank' ? null : groupsOf(run, heat.name);
  pen.strokeStyle = ink(); pen.globalAlpha = .35; pen.lineWidth = 1.5; pen.strokeRect(edge, edge, side, side); pen.globalAlpha = 1;
  pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--cross'); pen.lineWidth = 2;
  for (let p = 1; groups && p < n; ++p) {
    if (groups[order[p]] === groups[order[p - 1]]) continue;
    const at = edge + p * cell;
    pen.beginPath(); pen.moveTo(at, edge); pen.lineTo(at, edge + side); pen.moveTo(edge, at); pen.lineTo(edge + side, at); pen.stroke();
  }
  pen.fillStyle = ink(); pen.font = `${font}px system-ui, "DejaVu Sans", sans-serif`; pen.textBaseline = 'middle';
  let step = 1;
  while (n / step > 16) step *= 2;
  for (let p = 0; p < n; p += step) {
    const label = String(run.ranks[order[p]][0]), at = edge + (p + .5) * cell;
    pen.textAlign = 'right'; pen.fillText(label, edge - 7, at);
    pen.textAlign = 'center'; pen.fillText(label, at, edge / 2 + 6);
  }
}

function paintLegend() {
  const {low, high, ticks} = heat.run.heat, canvas = byId('legend'), width = 1240, bar = 22;
  canvas.width = width; canvas.height = 64;
  const pen = canvas.getContext('2d'), left = 150, span = width - left - 70;
  pen.fillStyle = ink(); pen.font = '21px system-ui, "DejaVu Sans", sans-serif'; pen.textBaseline = 'middle';
  pen.strokeStyle = pen.fillStyle; pen.fillText('nothing', 34, bar / 2 + 1); pen.globalAlpha = .4; pen.strokeRect(1, 1, 24, bar - 1); pen.globalAlpha = 1;
  if (!(high > 0)) return;
  for (let x = 0; x < span; ++x) { pen.fillStyle = `rgb(${shade(x / span)})`; pen.fillRect(left + x, 0, 1.5, bar); }
  pen.fillStyle = pen.strokeStyle; pen.textAlign = 'center';
  for (const [share, label] of ticks) { pen.fillRect(left + share * span - .75, bar, 1.5, 7); pen.fillText(label, left + share * span, 47); }
}

function sayCell() {
  const {run, order, row, column} = heat;
  if (row < 0) { byId('cell').textContent = 'Point at a cell, or use the arrow keys.'; return; }
  const from = run.ranks[order[row]][0], to = run.ranks[order[column]][0];
  byId('cell').textContent = row === column ? `rank ${from} to itself: not shown` :
      `rank ${from} → rank ${to}: ${bytesText(row, column)}`;
}
function moveTo(row, column) {
  const last = heat.run.heat.n - 1;
  heat.row = Math.min(Math.max(row, 0), last); heat.column = Math.min(Math.max(column, 0), last);
  showMap(); sayCell();
}
function setOrder(name) {
  const {run} = heat;
  heat.name = name; heat.order = run.ranks.map((_, index) => index);
  if (name !== 'rank') { const groups = groupsOf(run, name); heat.order.sort((a, b) => groups[a] - groups[b] || a - b); }
  paintMap(); sayCell();
}
function showHeat(run) {
  Object.assign(heat, {run, row: -1, column: -1, values: octetsOf(run.heat.cells)});
  const names = [['rank', 'rank'], ['node', 'NUMA node at the end'], ['cache', 'cache at the end']].filter(([name]) => name !== 'cache' || run.machine.hasCaches);
  const choices = names.map(([name, text]) => {
    const input = make('input', {type: 'radio', name: 'order', value: name});
    input.checked = name === 'rank';
    input.addEventListener('change', () => setOrder(name));
    return make('label', {}, input, ' ' + text);
  });
  byId('order').replaceChildren(make('legend', {}, 'Order of the ranks'), ...choices);
  setOrder('rank'); paintLegend();
}
function listenToMap() {
  const canvas = byId('map');
  canvas.addEventListener('keydown', (event) => {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (!step || heat.run.heat.n === 0) return;
    event.preventDefault();
    const far = event.shiftKey ? 10 : 1, start = heat.row < 0 ? [0, 0] : [heat.row + far * step[0], heat.column + far * step[1]];
    moveTo(start[0], start[1]);
  });
  const point = (event) => {
    const box = canvas.getBoundingClientRect(), scale = canvas.width / box.width, n = heat.run.heat.n;
    const cell = (canvas.width - edge - 4) / n;
    const column = Math.floor(((event.clientX - box.left) * scale - edge) / cell), row = Math.floor(((event.clientY - box.top) * scale - edge) / cell);
    if (row >= 0 && column >= 0 && row < n && column < n && (row !== heat.row || column !== heat.column)) moveTo(row, column);
  };
  canvas.addEventListener('pointermove', point);
  canvas.addEventListener('pointerdown', point);  // a tap moves no pointer
}
