// Ages as of now, not as of when the page was made, and what has become old since; a word where the laboratory itself has
// become silent. A table that is wider than its place says so, on a telephone each row is a card. What is folded is opened
// for printing.
"use strict";
(function () {
  const spans = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  function age(seconds) {
    for (const [size, name] of spans) {
      const n = Math.floor(seconds / size);
      if (n > 0) return n.toLocaleString("en") + " " + name + (n > 1 ? "s" : "");
    }
    return "now";
  }
  for (const time of document.querySelectorAll("time[data-age]")) {
    const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
    if (seconds >= 0) time.textContent = age(seconds);
  }
  const gone = (Date.now() - Date.parse(document.body.dataset.made)) / 1000;
  for (const data of document.querySelectorAll("data[data-age]")) {
    if (gone >= 0) data.textContent = age(Number(data.value) + gone);
  }
  const old = document.getElementById("n-old");
  if (old !== null && gone >= 0) {
    // How many series were last measured on each day.
    const days = old.dataset.newest.split(" ").filter(Boolean).map((day) => day.split(":"));
    const limit = Date.now() - Number(old.dataset.days) * 864e5;
    const n = days.reduce((sum, [day, some]) => sum + (Date.parse(day) < limit ? Number(some) : 0), 0);
    const more = n - Number(old.dataset.n);
    if (more > 0) {
      document.querySelector("#old-tile b").textContent = n.toLocaleString("en");
      document.querySelector("#old-tile").parentElement.classList.add("is-bad");
      old.textContent = `${more.toLocaleString("en")} series ${more > 1 ? "have" : "has"} become old since this page was made${n > more ? `: ${n.toLocaleString("en")} are by now` : ""}.`;
      old.hidden = false;
    }
  }
  // On a telephone the cells of a row are below each other, each with the title of its column.
  function card(table) {
    const titles = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    for (const [part, role] of [["thead, tbody", "rowgroup"], ["tr", "row"], ["th", "columnheader"], ["td", "cell"]]) {
      for (const one of table.querySelectorAll(part)) one.setAttribute("role", role);
    }
    table.setAttribute("role", "table");
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, n) => { if (row.cells.length === titles.length) cell.dataset.title = titles[n]; });
    }
  }
  const isNarrow = matchMedia("(max-width: 720px)"), widths = new Map();
  const seen = new ResizeObserver(function (changes) {
    for (const { target } of changes) {
      const table = target.querySelector("table");
      if (table === null) continue;
      if (widths.get(target) !== target.clientWidth) {
        widths.set(target, target.clientWidth);
        table.classList.remove("cards");
        if (isNarrow.matches && target.scrollWidth > target.clientWidth) {
          if (!table.hasAttribute("role")) card(table);
          table.classList.add("cards");
        }
      }
      target.previousElementSibling.hidden = target.scrollWidth <= target.clientWidth;
    }
  });
  for (const table of document.querySelectorAll(".scroll")) seen.observe(table);
  let opened = [];
  addEventListener("beforeprint", function () {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", function () {
    for (const one of opened) one.open = false;
  });
  const stale = document.getElementById("stale");
  if (stale !== null) {
    stale.hidden = gone < 2 * 86400;
  }
})();
