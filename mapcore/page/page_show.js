// Shows the run of one node in a step, and listens to the buttons.
let shown = 0;
function show(index) {
  const run = runs[shown = index];
  [...byId('nodes').children].forEach((button, i) => button.setAttribute('aria-pressed', i === index));
  for (const part of [showHead, showMachine, showHeat, showPairs, showLevels, showTime, showDecisions, showRanks]) part(run);
}
byId('nodes').hidden = runs.length < 2;
runs.forEach((run, index) => {
  const button = make('button', {type: 'button'}, run.tab);
  button.addEventListener('click', () => show(index));
  byId('nodes').append(button);
});
byId('only-moves').addEventListener('change', () => showDecisions(runs[shown]));
function paintAgain() { paintMap(); paintLegend(); }
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', paintAgain);
for (const [name, prints] of [['beforeprint', true], ['afterprint', false]]) window.addEventListener(name, () => { isPrinting = prints; paintAgain(); });
listenToMap();
show(0);
