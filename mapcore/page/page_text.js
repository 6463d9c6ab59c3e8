// The parts of the page that are text and tables.
function showHead(run) {
  byId('title').textContent = document.title = run.title;
  document.querySelector('#verdict .verdict').textContent = run.verdict;
  byId('verdict').classList.toggle('moved', run.moved);
  byId('tiles').replaceChildren(...run.tiles.map(([key, value]) =>
      make('div', {}, make('dt', {}, key), make('dd', {}, value))));
  byId('origin').replaceChildren(...pairsOf(run.origin));
  byId('s-notes').hidden = run.notes.length === 0;
  byId('notes').replaceChildren(...run.notes.map(noteItem));
}

// "<what>: <problem>; <what to do>": the last part is what the reader is after.
function noteItem(note) {
  const at = note.lastIndexOf('; ');
  if (at < 0) return make('li', {}, note);
  return make('li', {}, note.slice(0, at + 2), make('em', {}, note.slice(at + 2)));
}

function showPairs(run) {
  const shown = run.pairs.slice(0, 24);
  const rows = shown.map(([from, to, bytes, messages]) => [from, to, amountText(bytes), messages]);
  byId('pairs').replaceChildren(rows.length === 0 ? 'No rank of this node sent to another one.' :
      table(['from#', 'to#', 'bytes#', 'messages#'], rows));
}

function showRanks(run) {
  const rows = run.ranks.map(([rank, first, last, moves]) => [rank, first, last, moves]);
  const scroll = make('div', {class: 'scroll'}, table(['rank#', run.firstName, run.lastName, 'migrations#'], rows));
  byId('ranks').lastElementChild.replaceChildren(scroll);
}

function showLevels(run) {
  byId('s-levels').hidden = run.levels.length === 0;
  const sum = (c) => run.levels.reduce((all, level) => all + level[c], 0) || 1;
  const before = sum(1), after = sum(2);
  const bar = (share, colour, name) => {
    const inner = make('i', {});
    inner.style.width = (100 * share).toFixed(2) + '%';
    inner.style.background = `var(--${colour})`;
    return make('div', {class: 'bar', title: name + ' ' + (100 * share).toFixed(1) + ' %'}, inner);
  };
  const percent = (share) => (100 * share).toFixed(share > 0 && share < 0.01 ? 1 : 0) + ' %';
  const rows = run.levels.map(([name, b, a]) => make('div', {class: 'level'}, name,
      make('div', {}, bar(b / before, 'before', 'before'), bar(a / after, 'after', 'after')),
      make('span', {}, `${percent(b / before)} → ${percent(a / after)}`)));
  const key = (colour, text) => {
    const box = make('span', {class: 'key'});
    box.style.background = `var(--${colour})`;
    return [box, text];
  };
  byId('levels').replaceChildren(
      make('p', {class: 'hint'}, 'Share of the bytes between ranks that meet at this level of the machine:',
          ...key('before', 'if no rank had moved'), ...key('after', run.afterName)), ...rows);
}

function showDecisions(run) {
  const only = byId('only-moves').checked;
  const items = run.decisions.filter(([, , , moved]) => !only || moved > 0).map(([index, when, kind, moved, meaning, text]) =>
      make('details', {}, make('summary', {}, make('span', {class: 'when'}, `${index}   ${when}`),
          make('span', {class: moved > 0 ? 'mark did' : 'mark'}, kind),
          make('span', {class: 'why'}, moved > 0 ? ` moved ${moved} rank${moved === 1 ? '' : 's'}; ${meaning}` : ` ${meaning}`)),
          make('pre', {}, text)));
  byId('decisions').replaceChildren(...(items.length > 0 ? items : [make('p', {}, 'In no interval ranks moved.')]));
  byId('decision-hint').textContent = run.decisionHint;
}
