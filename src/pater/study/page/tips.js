// The values behind a figure: the point nearest to the pointer or the finger says what it is. Titles of cells are shown in
// the same way, so that they come at once, and on a touch.
const REACH = 22; // pixels from a point that are still meant for it
const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "tooltip");
tip.hidden = true;
document.body.append(tip);
let marked = null;

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const left = Math.min(Math.max(8, x - tip.offsetWidth / 2), document.documentElement.clientWidth - tip.offsetWidth - 8);
  const above = y - tip.offsetHeight - 12;
  tip.style.left = `${left}px`;
  tip.style.top = `${above > 8 ? above : y + 18}px`;
}

function hideTip() {
  tip.hidden = true;
  marked?.classList.remove("on");
  marked = null;
}

function pointsOf(svg) {
  return [...svg.querySelectorAll(".point")].map((point) => {
    const title = point.querySelector("title");
    if (title) {
      point.dataset.tip = title.textContent;
      title.remove(); // or the browser would show it, too
    }
    return point;
  });
}

function nearest(points, x, y) {
  let [best, distance] = [null, REACH];
  for (const point of points) {
    const box = point.getBoundingClientRect();
    const [middle, height] = [box.x + box.width / 2, box.y + box.height / 2];
    const away = Math.hypot(middle - x, height - y);
    if (away < distance) [best, distance] = [{ point, middle, height }, away];
  }
  return best;
}

for (const svg of document.querySelectorAll("figure svg")) {
  const points = pointsOf(svg);
  if (points.length === 0) continue;
  const look = (event) => {
    const found = nearest(points, event.clientX, event.clientY);
    hideTip();
    if (!found) return;
    marked = found.point;
    marked.classList.add("on");
    showTip(marked.dataset.tip, found.middle, found.height);
  };
  svg.addEventListener("pointermove", look);
  svg.addEventListener("pointerdown", look);
  svg.addEventListener("pointerleave", hideTip);
}

for (const cell of document.querySelectorAll("main [title]")) {
  const text = cell.title;
  cell.removeAttribute("title");
  cell.setAttribute("aria-description", text);
  cell.addEventListener("pointerenter", (event) => showTip(text, event.clientX, event.clientY));
  cell.addEventListener("pointerleave", hideTip);
}
window.addEventListener("scroll", hideTip, { passive: true, capture: true });
