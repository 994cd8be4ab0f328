// Ages as of now, not as of when the page was made; a word where the laboratory itself has become silent, and one where
// a table is wider than its place. What is folded is opened for printing.
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
  const seen = new ResizeObserver(function (changes) {
    for (const { target } of changes) target.previousElementSibling.hidden = target.scrollWidth <= target.clientWidth;
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
