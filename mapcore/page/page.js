'use strict';
const runs = JSON.parse(document.getElementById('data').textContent);
const svgNamespace = 'http://www.w3.org/2000/svg';
const byId = (id) => document.getElementById(id);

// Every text of a run is data: it becomes a text node, never markup.
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
function draw(name, attributes, ...children) {
  const element = document.createElementNS(svgNamespace, name);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const titled = (element, text) => { element.append(draw('title', {}, text)); return element; };

function amountText(value) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) { value /= 1000; ++unit; }
  return (unit === 0 ? Math.round(value) : Number(value.toPrecision(3))) + ' ' + units[unit];
}
function timeText(seconds) {
  if (seconds === 0) return '0 s';
  return seconds < 1 ? Number((seconds * 1000).toPrecision(3)) + ' ms' : Number(seconds.toPrecision(4)) + ' s';
}

// "0-3,8" as [0, 1, 2, 3, 8].
function cpusOf(list) {
  const cpus = [];
  for (const part of list.split(',')) {
    const [low, high] = part.split('-').map(Number);
    if (part === '' || Number.isNaN(low)) continue;
    for (let cpu = low; cpu <= (high === undefined ? low : high) && cpus.length < 8192; ++cpu) cpus.push(cpu);
  }
  return cpus;
}

function table(head, rows) {
  const cell = (name, text, numeric) => make(name, numeric ? {class: 'n'} : {}, String(text));
  const columns = head.map((name) => name.endsWith('#'));
  const top = make('tr', {}, ...head.map((name, c) => cell('th', name.replace('#', ''), columns[c])));
  const body = rows.map((row) => make('tr', {}, ...row.map((text, c) => cell('td', text, columns[c]))));
  return make('table', {}, make('thead', {}, top), make('tbody', {}, ...body));
}
const pairsOf = (list) => list.flatMap(([key, value]) => [make('dt', {}, key), make('dd', {}, value)]);
let isPrinting = false;  // on white paper, whatever the screen has
const isDark = () => !isPrinting && matchMedia('(prefers-color-scheme: dark)').matches;
