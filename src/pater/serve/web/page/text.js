// Numbers, times and elements. Whatever comes from the service goes in as text: nothing here makes HTML of it.

const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null).map((child) =>
    child instanceof Node ? child : document.createTextNode(String(child))));
  return node;
}
const el = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);
const px = (number) => number.toFixed(1);

const count = (number) => (number === null ? "–" : Math.round(number).toLocaleString("en"));
const some = (number) => (number === null ? "–" : number >= 100 ? count(number) : number.toPrecision(3));
const plain = (number) => (number === null ? "–" : String(Number(number.toPrecision(4))));
const score = (number) => (number === null ? "–" : number.toFixed(4));
function percent(share) {
  if (share === null) return "–";
  const hundred = 100 * share;
  return `${hundred.toFixed(hundred === 0 || hundred >= 10 ? 1 : 2)}\u00a0%`;
}
function bytes(number) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let k = 0;
  for (; number >= 1000 && k < units.length - 1; k += 1) number /= 1000;
  return k === 0 ? `${number} bytes` : `${number.toPrecision(3)} ${units[k]}`;
}
function duration(seconds) {
  if (seconds === null) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${(seconds / 3600).toFixed(1)} h`;
  return `${(seconds / 86400).toFixed(1)} days`;
}

const LONGEST = 28; // characters of a label that a sentence repeats
function short(label) {
  const all = [...String(label)];
  return all.length > LONGEST ? `${all.slice(0, LONGEST - 1).join("")}…` : all.join("");
}

const two = (number) => String(number).padStart(2, "0");
function clock(time, span) {
  const date = new Date(1000 * time);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const minute = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (span > 172800) return day;
  return span < 600 ? `${minute}:${two(date.getSeconds())}` : minute;
}
const moment = (time) => `${clock(time, Infinity)} ${clock(time, 0)}`;
