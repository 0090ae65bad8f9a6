// Above each long table a field that leaves only what has one of the typed words in its name. Tables that list the same
// things, as rows or as columns, follow each other.
const WORTH_A_FIELD = 8;
const fields = new Map(); // what is listed: its fields, and what to do when one changes

const wordsOf = (text) => text.toLowerCase().split(",").map((word) => word.trim()).filter(Boolean);
const isNamed = (cell, words) => {
  const name = cell.textContent.replaceAll("\u2060", "").toLowerCase();
  return words.length === 0 || words.some((word) => name.includes(word));
};

function showRows(table, words) {
  const rows = [...table.tBodies[0].rows];
  rows.forEach((row) => (row.hidden = !isNamed(row.cells[0], words)));
  return [rows.filter((row) => !row.hidden).length, rows.length];
}

function showColumns(table, words) {
  const shown = [...table.tHead.rows[0].cells].map((head, column) => column === 0 || isNamed(head, words));
  for (const row of table.rows) [...row.cells].forEach((cell, column) => (cell.hidden = !shown[column]));
  return [shown.filter(Boolean).length - 1, shown.length - 1];
}

function addField(table, listed, show) {
  const label = document.createElement("label");
  label.className = "filter";
  const input = Object.assign(document.createElement("input"), { type: "search", placeholder: "all, or names, with commas" });
  const output = document.createElement("output");
  label.append(`Show ${listed} `, input, output);
  const group = fields.get(listed) ?? { inputs: [], updates: [] };
  fields.set(listed, group);
  group.inputs.push(input);
  group.updates.push((words) => {
    const [shown, all] = show(table, words);
    output.textContent = words.length ? `${shown} of ${all}` : "";
  });
  input.addEventListener("input", () => {
    group.inputs.forEach((other) => (other.value = input.value));
    group.updates.forEach((update) => update(wordsOf(input.value)));
  });
  return label;
}

for (const table of document.querySelectorAll("table[data-rows]")) {
  const { rows, columns } = table.dataset;
  const bar = document.createElement("div");
  bar.className = "filters";
  if (table.tBodies[0].rows.length >= WORTH_A_FIELD) bar.append(addField(table, rows, showRows));
  if (columns && table.tHead.rows[0].cells.length > WORTH_A_FIELD) bar.append(addField(table, columns, showColumns));
  if (bar.hasChildNodes()) table.parentElement.before(bar);
}
