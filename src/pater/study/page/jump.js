// A list of all sections, tables and figures to jump to, and a mark at the section that is being read.
const nav = document.querySelector("nav");
const list = document.createElement("select");
list.setAttribute("aria-label", "Jump to");
list.append(new Option("Jump to …", "", true, true));
let group;
for (const place of document.querySelectorAll("header h1, main h2[id], main h3[id], main details[id]")) {
  const name = (place.querySelector("summary") ?? place).textContent;
  if (place.tagName === "H1") list.append(new Option("Top of the page", "top"));
  if (place.tagName === "H2") {
    group = Object.assign(document.createElement("optgroup"), { label: name });
    list.append(group);
    group.append(new Option(name, place.id));
  } else if (group) group.append(new Option(`  ${name}`, place.id));
}
list.addEventListener("change", () => {
  const place = document.getElementById(list.value);
  if (place?.tagName === "DETAILS") place.open = true;
  location.hash = list.value;
  place?.scrollIntoView(); // also if the address has this place already
  list.selectedIndex = 0;
});
nav.append(list);

const links = new Map([...nav.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
const heads = [...links.keys()].map((id) => document.getElementById(id));
function markTheSection() {
  const atTheEnd = window.innerHeight + window.scrollY >= document.body.scrollHeight - 2;
  const passed = heads.filter((head) => head.getBoundingClientRect().top < window.innerHeight / 3);
  const read = atTheEnd ? heads.at(-1) : passed.at(-1);
  for (const [id, link] of links) {
    if (id !== read?.id) link.removeAttribute("aria-current");
    else if (!link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
      const row = link.closest("ul");
      row.scrollTo({ left: link.offsetLeft - (row.clientWidth - link.offsetWidth) / 2 });
    }
  }
}
window.addEventListener("scroll", markTheSection, { passive: true });
markTheSection();
