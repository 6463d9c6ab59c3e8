// The time line: strips of values over the intervals, with the moves as marks.
function niceTop(value) {
  if (!(value > 0)) return 1;
  const power = Math.pow(10, Math.floor(Math.log10(value)));
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((top) => top >= value * .999);
}
function strip(run, options) {
  const left = 74, width = 1060, height = options.height, top = 24, span = width - left - 10;
  const times = run.intervals, end = times.end.length > 0 ? times.end[times.end.length - 1] : 1;
  const x = (seconds) => left + span * seconds / (end || 1), y = (value) => top + height * (1 - value / options.top);
  const svg = draw('svg', {viewBox: `0 0 ${width} ${top + height + (options.axis ? 42 : 8)}`, role: 'img', 'aria-label': options.name});
  svg.append(draw('text', {x: left, y: 14, 'font-size': 13, 'font-weight': 600}, options.name));
  for (const share of [0, .5, 1]) {
    const value = options.top * share;
    svg.append(draw('line', {x1: left, x2: left + span, y1: y(value), y2: y(value), stroke: 'var(--line)'}),
        draw('text', {x: left - 8, y: y(value) + 4, 'text-anchor': 'end', 'font-size': 12, class: 'soft'}, options.label(value)));
  }
  options.paint(svg, x, y);
  times.moved.forEach((moved, i) => {
    if (moved > 0) svg.append(titled(draw('line', {x1: x(times.end[i]), x2: x(times.end[i]), y1: top - 4, y2: top + height,
        stroke: 'var(--good)', 'stroke-width': 1.6, 'stroke-dasharray': '4 3'}), `${moved} rank${moved === 1 ? '' : 's'} moved`));
  });
  for (let i = 0; options.axis && i <= 6; ++i) {
    svg.append(draw('line', {x1: x(end * i / 6), x2: x(end * i / 6), y1: top + height, y2: top + height + 5, stroke: 'var(--soft)'}),
        draw('text', {x: x(end * i / 6), y: top + height + 19, 'text-anchor': i === 6 ? 'end' : 'middle', 'font-size': 12, class: 'soft'}, timeText(end * i / 6)));
  }
  if (options.axis) svg.append(draw('text', {x: left + span / 2, y: top + height + 36, 'text-anchor': 'middle', 'font-size': 12, class: 'soft'}, 'since the start; dashed green: ranks moved'));
  return svg;
}
function steps(times, values, x, y) {
  let path = '', open = false;
  values.forEach((value, i) => {
    if (value === null) { open = false; return; }
    path += `${open ? 'L' : 'M'}${x(times.begin[i]).toFixed(1)} ${y(value).toFixed(1)}H${x(times.end[i]).toFixed(1)}`;
    open = true;
  });
  return path;
}
function showTime(run) {
  const times = run.intervals;
  if (times.end.length === 0) { byId('time').replaceChildren('The run has no interval.'); return; }
  const curve = (values, colour, dash) => (svg, x, y) => svg.append(draw('path', {d: steps(times, values, x, y), fill: 'none',
      stroke: `var(--${colour})`, 'stroke-width': 2, ...(dash ? {'stroke-dasharray': dash} : {})}));
  // Of a second, not of the interval: in a long run one entry stands for many intervals, and its neighbour for one.
  const seconds = times.end.map((end, i) => end - times.begin[i]), rates = times.bytes.map((bytes, i) => seconds[i] > 0 ? bytes / seconds[i] : 0);
  const bars = (svg, x, y) => rates.forEach((rate, i) => {
    const width = Math.max(x(times.end[i]) - x(times.begin[i]) - .6, .7);
    if (rate > 0) svg.append(titled(draw('rect', {x: x(times.begin[i]), width, y: Math.min(y(rate), y(0) - 1), height: Math.max(y(0) - y(rate), 1), fill: 'var(--near)'}),
        `${rateText(rate)}: ${amountText(times.bytes[i])} in ${timeText(seconds[i])}`));
  });
  const rateText = (rate) => amountText(rate) + '/s', percent = (value) => Math.round(100 * value) + ' %', most = Math.max(...rates);
  byId('time').replaceChildren(
      strip(run, {name: 'Bytes between ranks, each second', height: 110, top: niceTop(most), label: rateText, paint: bars}),
      strip(run, {name: 'Share of the bytes that cross NUMA nodes', height: 80, top: 1, label: percent, paint: curve(times.remote, 'cross')}),
      strip(run, {name: 'Load of the heaviest NUMA node / mean', height: 70, top: Math.max(2, niceTop(Math.max(...times.load))), label: (v) => String(Number(v.toFixed(2))),
          axis: true, paint: curve(times.load, 'after')}));
}
