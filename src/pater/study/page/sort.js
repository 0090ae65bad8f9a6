// A click on a header sorts its table by that column, the best on top: large scores, small ranks and seconds, names from A
// on. Another click turns the order round. Empty cells stay at the end.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const value = (row, column) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
  const isNumber = (text) => text !== "" && !isNaN(text);
  const firstOrder = (head, column) => {
    const words = [...body.rows].some((row) => value(row, column) !== "" && !isNumber(value(row, column)));
    return column === 0 || words ? "ascending" : (head.dataset.first ?? "descending");
  };
  const turned = { ascending: "descending", descending: "ascending" };
  heads.forEach((head, column) => {
    head.querySelector("button")?.addEventListener("click", () => {
      const order = turned[head.getAttribute("aria-sort")] ?? firstOrder(head, column);
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [value(a, column), value(b, column)];
        if (x === "" || y === "") return (x === "") - (y === "");
        const upwards = isNumber(x) && isNumber(y) ? x - y : x.localeCompare(y);
        return order === "ascending" ? upwards : -upwards;
      });
      body.append(...rows);
    });
  });
}
