// Sorting and copying of tables, saving of figures. Everything is in the page without it; what it
// needs is in the page as attributes (data-fields, data-v), and it makes no HTML from them.
(function () {
  "use strict";

  function button(label, act) {
    var made = document.createElement("button");
    made.type = "button";
    made.className = "rote-button";
    made.textContent = label;
    made.addEventListener("click", act);
    return made;
  }

  function say(made, text) {
    var before = made.textContent;
    made.textContent = text;
    made.setAttribute("aria-live", "polite");
    setTimeout(function () { made.textContent = before; }, 1600);
  }

  function named(element) {
    var title = element.querySelector("h3, h4, h5, h6");
    return title ? title.textContent.trim() : element.id;
  }

  // Tables

  function numbers(cell) {
    return cell.dataset.v === undefined ? null : JSON.parse(cell.dataset.v);
  }

  function words(cell) {
    var shown = cell.querySelector("bdi, code");
    return (shown || cell).textContent.trim();
  }

  function key(cell) {
    var held = numbers(cell);
    return held ? held[0] : words(cell);
  }

  // What is missing comes last, whichever way is sorted.
  function compare(a, b, way) {
    var none = (a === null || a === "") - (b === null || b === "");
    if (none) { return none; }
    if (typeof a === "number" && typeof b === "number") { return way * (a - b); }
    return way * String(a).localeCompare(String(b), undefined, { numeric: true });
  }

  function sort(table, place, head) {
    var number = head.classList.contains("rote-number");
    var steps = number ? ["descending", "ascending"] : ["ascending", "descending"];
    var now = head.getAttribute("aria-sort");
    var next = !now ? steps[0] : now === steps[0] ? steps[1] : null;
    table.querySelectorAll("th[aria-sort]").forEach(function (e) { e.removeAttribute("aria-sort"); });
    if (next) { head.setAttribute("aria-sort", next); }
    var body = table.tBodies[0];
    var rows = Array.prototype.map.call(body.rows, function (row) {
      return { row: row, key: key(row.cells[place]), first: Number(row.dataset.first) };
    });
    rows.sort(function (a, b) {
      var order = next ? compare(a.key, b.key, next === "ascending" ? 1 : -1) : 0;
      return order || a.first - b.first;
    });
    rows.forEach(function (one) { body.appendChild(one.row); });
  }

  // A text that a spreadsheet would run gets an apostrophe, as in the CSV files (cells.py).
  function inert(text) {
    return /^[=+\-@\t\r]/.test(text) && !isFinite(text) ? "'" + text : text;
  }

  function quoted(value) {
    var text = value === null || value === undefined ? "" : inert(String(value));
    return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }

  function csv(table) {
    var heads = Array.prototype.map.call(table.tHead.rows[0].cells, function (head) {
      return JSON.parse(head.dataset.fields);
    });
    var lines = [[].concat.apply([], heads)];
    Array.prototype.forEach.call(table.tBodies[0].rows, function (row) {
      var line = [];
      heads.forEach(function (fields, place) {
        var cell = row.cells[place];
        var held = numbers(cell) || [words(cell)];
        fields.forEach(function (_, number) { line.push(held[number]); });
      });
      lines.push(line);
    });
    return lines.map(function (line) { return line.map(quoted).join(","); }).join("\n") + "\n";
  }

  function copy(text, done) {
    function byHand() {
      var area = document.createElement("textarea");
      area.value = text;
      area.className = "rote-hidden";
      document.body.appendChild(area);
      area.select();
      var worked = document.execCommand("copy");
      area.remove();
      done(worked);
    }
    if (!navigator.clipboard || !window.isSecureContext) { byHand(); return; }
    navigator.clipboard.writeText(text).then(function () { done(true); }, byHand);
  }

  function prepareTable(box) {
    var table = box.querySelector("table");
    Array.prototype.forEach.call(table.tBodies[0].rows, function (row, number) {
      row.dataset.first = number;
    });
    if (table.tBodies[0].rows.length > 1) {
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, place) {
        var title = head.querySelector("bdi");
        var made = button("", function () { sort(table, place, head); });
        made.className = "rote-sort";
        head.insertBefore(made, title);
        made.appendChild(title);
      });
    }
    var copying = button("Copy as CSV", function () {
      copy(csv(table), function (worked) { say(copying, worked ? "Copied" : "Not allowed here"); });
    });
    copying.setAttribute("aria-label", "Copy as CSV: " + named(box));
    box.querySelector(".rote-bar").appendChild(copying);
  }

  // Figures

  function file(box, ending) {
    return (box.id || "figure").replace(/^figure-/, "") + ending;
  }

  function save(blob, name) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }

  // On white, as it was drawn, whatever the page's colours are.
  function whole(svg) {
    var made = svg.cloneNode(true);
    var paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    ["x", "y", "width", "height"].forEach(function (name) {
      paper.setAttribute(name, svg.viewBox.baseVal[name]);
    });
    paper.setAttribute("fill", "white");
    made.insertBefore(paper, made.querySelector("g"));
    return new XMLSerializer().serializeToString(made);
  }

  function savePng(svg, name, done) {
    var scale = 2, width = svg.width.baseVal.value, height = svg.height.baseVal.value;
    var image = new Image();
    image.onload = function () {
      var canvas = document.createElement("canvas");
      canvas.width = scale * width;
      canvas.height = scale * height;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(function (blob) {
        if (blob) { save(blob, name); }
        done(Boolean(blob));
      }, "image/png");
    };
    image.onerror = function () { done(false); };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(whole(svg));
  }

  function prepareFigure(box) {
    // What is drawn to fit the screen has its figure for files folded away.
    var kept = box.querySelector("template"), bar = box.querySelector(".rote-bar");
    var svg = (kept ? kept.content : box).querySelector("svg");
    if (!svg) { return; }
    var asSvg = button("Save SVG", function () {
      save(new Blob([whole(svg)], { type: "image/svg+xml" }), file(box, ".svg"));
    });
    var asPng = button("Save PNG", function () {
      savePng(svg, file(box, ".png"), function (worked) { if (!worked) { say(asPng, "Too large"); } });
    });
    [asSvg, asPng].forEach(function (made) {
      made.setAttribute("aria-label", made.textContent + ": " + named(box));
      bar.appendChild(made);
    });
  }

  // What is larger than its box can be moved by keyboard.
  function reachable() {
    document.querySelectorAll(".rote-scroll").forEach(function (box) {
      var more = box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      if (more) { box.tabIndex = 0; } else { box.removeAttribute("tabindex"); }
    });
  }

  function follow() {
    var links = {};
    document.querySelectorAll(".rote-contents a").forEach(function (link) {
      links[link.hash.slice(1)] = link;
    });
    if (!window.IntersectionObserver) { return; }
    var watch = new IntersectionObserver(function (seen) {
      seen.forEach(function (one) {
        if (!one.isIntersecting) { return; }
        Object.keys(links).forEach(function (id) { links[id].removeAttribute("aria-current"); });
        links[one.target.id].setAttribute("aria-current", "true");
      });
    }, { rootMargin: "-10% 0px -80% 0px" });
    Object.keys(links).forEach(function (id) {
      var section = document.getElementById(id);
      if (section) { watch.observe(section); }
    });
  }

  function openFor(id) {
    var element = id && document.getElementById(id);
    for (var up = element; up; up = up.parentElement) {
      if (up.tagName === "DETAILS") { up.open = true; }
    }
    return element;
  }

  document.querySelectorAll(".rote-table").forEach(prepareTable);
  document.querySelectorAll(".rote-figure, .rote-verdicts").forEach(prepareFigure);
  document.addEventListener("toggle", reachable, true);
  window.addEventListener("resize", reachable);
  window.addEventListener("hashchange", function () {
    var element = openFor(decodeURIComponent(location.hash.slice(1)));
    if (element) { element.scrollIntoView(); }
  });
  // On paper nothing can be opened; on the screen all is afterwards as it was.
  var opened = [];
  window.addEventListener("beforeprint", function () {
    opened = opened.concat(Array.prototype.slice.call(document.querySelectorAll("details:not([name], [open])")));
    opened.forEach(function (e) { e.open = true; });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (e) { e.open = false; });
    opened = [];
  });
  reachable();
  follow();
})();
