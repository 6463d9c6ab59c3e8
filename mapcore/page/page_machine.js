// The machine with the ranks on it, and lines between the heaviest pairs.
const hue = (index, count) => `hsl(${Math.round(205 + 360 * index / Math.max(count, 1)) % 360} 48% 52%)`;

// The cores of a NUMA node with the ranks that sit on them. A rank with several cores sits on the least crowded of them.
function seatsOf(run, which) {
  const cores = run.machine.cores.map((list) => cpusOf(list));
  const coreOfCpu = new Map();
  cores.forEach((cpus, core) => cpus.forEach((cpu) => coreOfCpu.set(cpu, core)));
  const seats = cores.map(() => []), reach = cores.map(() => 0), coreOfRank = new Map();
  for (const row of run.ranks) {
    const own = [...new Set(cpusOf(row[which]).map((cpu) => coreOfCpu.get(cpu)))].filter((core) => core !== undefined);
    if (own.length === 0) continue;
    const seat = own.reduce((best, core) => seats[core].length < seats[best].length ? core : best, own[0]);
    own.forEach((core) => ++reach[core]);
    seats[seat].push(row[0]);
    coreOfRank.set(row[0], seat);
  }
  return {cores, seats, reach, coreOfRank, coreOfCpu};
}

// Cores in a row: as many as fit and divide the cores of a cache evenly, if there is such a number.
function coresInRow(nodes, space) {
  const groups = nodes.flatMap((node) => node.groups.map((group) => group.cores.length));
  const most = Math.max(1, ...nodes.map((node) => node.cores.length)), group = Math.max(1, ...groups);
  const limit = Math.min(most, Math.floor(space / (most <= 8 ? 44 : most <= 24 ? 28 : 21)));
  for (let count = limit; count >= Math.max(2, limit / 2); --count)
    if (group % count === 0 || (count % group === 0 && most % count === 0)) return count;
  return Math.max(1, limit);
}

// One line for each network adapter and GPU of a NUMA node: its text, and the title with its PCI address.
function deviceLines(node) {
  const most = 4, all = node.devices;
  if (all.length <= most) return all;
  const rest = all.slice(most - 1);
  return [...all.slice(0, most - 1), [`and ${rest.length} more`, rest.map((device) => device[0]).join(', ')]];
}

function deviceTexts(box) {
  const letters = Math.floor((box.width - 30) / 6.2);
  return deviceLines(box.node).flatMap(([text, title], line) => {
    const y = box.deviceY + 9 + 15 * line, short = text.length > letters ? text.slice(0, letters - 1) + '…' : text;
    return [draw('rect', {class: 'device', x: box.x + 10, y: y - 8, width: 8, height: 8, rx: 2}),
      titled(draw('text', {class: 'soft device-name', x: box.x + 23, y, 'font-size': 11.5}, short), title === '' ? text : `${text}, ${title}`)];
  });
}

// Places packages, NUMA nodes, caches and cores from the inside out.
function layOut(run, width, wide) {
  const nodes = run.machine.nodes, coreCount = run.machine.cores.length;
  const most = Math.max(1, ...nodes.map((node) => node.cores.length));
  const columns = wide ? Math.min(nodes.length, most > 48 ? 4 : 8) : nodes.length <= 1 ? 1 : nodes.length <= 4 ? 2 : nodes.length <= 9 ? 3 : 4;
  const gap = 14, inner = (width - gap * (columns - 1)) / columns, pad = 10;
  const perRow = coresInRow(nodes, inner - 2 * pad);
  const size = Math.min(54, (inner - 2 * pad) / perRow);
  const places = new Array(coreCount), boxes = [];
  let y = 0;
  for (let first = 0; first < nodes.length; first += columns) {
    let tallest = 0;
    nodes.slice(first, first + columns).forEach((node, c) => {
      const x = c * (inner + gap);
      let row = 0, column = 0, groupTop = 30;
      const llcs = [];
      node.groups.forEach((group) => {
        if (column > 0 && column + group.cores.length > perRow) { column = 0; ++row; }
        const from = {row, column};
        group.cores.forEach((core) => {
          if (column === perRow) { column = 0; ++row; }
          places[core] = {x: x + pad + column * size, y: y + groupTop + row * (size + 4), size: size - 3};
          ++column;
        });
        llcs.push({name: group.name, cores: group.cores, from, to: {row, column}});
      });
      const deviceTop = groupTop + (row + 1) * (size + 4) + 4;
      const height = deviceTop + 2 + deviceLines(node).length * 15;
      boxes.push({x, y, width: inner, node, llcs, deviceY: y + deviceTop});
      tallest = Math.max(tallest, height);
    });
    boxes.slice(-Math.min(columns, nodes.length - first)).forEach((box) => { box.height = tallest; });
    y += tallest + gap;
  }
  return {places, boxes, height: y, size};
}

// A dashed frame round each row of the cores of one cache.
function cacheFrames(group, places) {
  const rows = new Map();
  for (const core of group.cores) {
    const place = places[core];
    const row = rows.get(place.y) || {left: place.x, right: 0};
    row.right = Math.max(row.right, place.x + place.size);
    row.left = Math.min(row.left, place.x);
    rows.set(place.y, row);
    row.height = place.size;
  }
  return [...rows].map(([y, row]) => titled(draw('rect', {class: 'llc', rx: 4, x: row.left - 1.5, y: y - 1.5,
      width: row.right - row.left + 3, height: row.height + 3}), group.name));
}

function coreCell(run, place, core, seats, colourOf) {
  const ranks = seats.seats[core];
  const cell = draw('g', {});
  const colour = ranks.length > 0 ? colourOf(ranks[0]) : '';
  cell.append(draw('rect', {x: place.x, y: place.y, width: place.size, height: place.size, rx: 3,
      ...(ranks.length > 0 ? {fill: colour} : {class: 'idle'})}));
  if (ranks.length === 0 && seats.reach[core] > 0) cell.lastChild.setAttribute('stroke-width', 2);
  const who = ranks.length === 0 ? 'no rank' : `rank${ranks.length === 1 ? '' : 's'} ${ranks.join(', ')}`;
  return titled(cell, `CPU${run.machine.cores[core].match(/[-,]/) ? 's' : ''} ${run.machine.cores[core]}: ${who}`);
}

// The numbers of the ranks lie over the lines.
function coreLabel(place, ranks) {
  const text = ranks.length > 2 ? ranks.length + '×' : ranks.join(' ');
  if (text === '' || place.size < 13) return '';
  return draw('text', {x: place.x + place.size / 2, y: place.y + place.size / 2, 'text-anchor': 'middle', 'dominant-baseline': 'central',
      'pointer-events': 'none', class: 'number', 'font-size': Math.min(16, place.size * (text.length > 3 ? Math.min(.3, 1.4 / text.length) : .46))}, text);
}

function pairLines(run, seats, places) {
  const strongest = run.pairs.length > 0 ? run.pairs[0][2] : 1;
  const nodeOfCore = new Map();
  run.machine.nodes.forEach((node, index) => node.cores.forEach((core) => nodeOfCore.set(core, index)));
  const lines = draw('g', {fill: 'none', 'stroke-linecap': 'round', 'pointer-events': 'none'});
  for (const [from, to, bytes] of run.pairs.slice(0, run.ranks.length <= 64 ? 48 : 96)) {
    const a = seats.coreOfRank.get(from), b = seats.coreOfRank.get(to);
    if (a === undefined || b === undefined || a === b || bytes < strongest / 50) continue;
    if (!places[a] || !places[b]) continue;  // a core in no NUMA node
    const crosses = nodeOfCore.get(a) !== nodeOfCore.get(b);
    const middle = (place) => [place.x + place.size / 2, place.y + place.size / 2];
    const [x0, y0] = middle(places[a]), [x1, y1] = middle(places[b]);
    const bend = .14, cx = (x0 + x1) / 2 - (y1 - y0) * bend, cy = (y0 + y1) / 2 + (x1 - x0) * bend;
    lines.append(draw('path', {d: `M${x0} ${y0}Q${cx} ${cy} ${x1} ${y1}`, stroke: crosses ? 'var(--cross)' : 'var(--near)',
        'stroke-width': (.8 + 3 * Math.sqrt(bytes / strongest)).toFixed(2), 'stroke-opacity': crosses ? .75 : .7}));
  }
  return lines;
}

function machineFigure(run, which, name, colourOf, wide) {
  const width = wide ? 1130 : 560, layout = layOut(run, width, wide), seats = seatsOf(run, which);
  const svg = draw('svg', {viewBox: `-2 -2 ${width + 4} ${layout.height}`, role: 'img', 'aria-label': name + ': ranks on the machine'});
  for (const box of layout.boxes) {
    svg.append(draw('rect', {class: 'node', x: box.x, y: box.y, width: box.width, height: box.height, rx: 7}));
    svg.append(draw('text', {x: box.x + 10, y: box.y + 19, 'font-size': 12.5, class: 'soft'}, box.width < 165 ? box.node.short : box.node.name));
    svg.append(...deviceTexts(box));
    for (const group of box.llcs) if (group.name !== '') svg.append(...cacheFrames(group, layout.places));
  }
  layout.places.forEach((place, core) => svg.append(coreCell(run, place, core, seats, colourOf)));
  svg.append(pairLines(run, seats, layout.places));
  layout.places.forEach((place, core) => svg.append(coreLabel(place, seats.seats[core])));
  return make('figure', {}, make('figcaption', {}, name), svg);
}

function elsewhere(devices) {
  return devices.length === 0 ? '' : ` Devices whose NUMA node is not known: ${devices.map((device) => device[0]).join(', ')}.`;
}

function showMachine(run) {
  const seats = seatsOf(run, 1), nodes = run.machine.nodes, home = new Map();
  nodes.forEach((node, index) => node.cores.forEach((core) => seats.seats[core].forEach((rank) => home.set(rank, index))));
  const colourOf = (rank) => hue(home.get(rank) || 0, nodes.length);
  const wide = run.machine.cores.length > 128;
  byId('machine').classList.toggle('wide', wide);
  const drawn = [machineFigure(run, 1, run.firstName, colourOf, wide)];
  if (run.ranks.some((row) => row[1] !== row[2])) drawn.push(machineFigure(run, 2, run.lastName, colourOf, wide));
  byId('machine').replaceChildren(...(run.machine.cores.length > 0 ? drawn : ['The report holds no CPUs.']));
  byId('machine-hint').textContent = 'Colour: the NUMA node on which a rank began. Lines: the heaviest pairs, orange if they cross NUMA nodes, ' +
      'grey if not. Dashed frames: cores that share a cache.' + (drawn.length === 1 ? ' No rank has moved.' : '') + elsewhere(run.machine.devicesElsewhere);
}
