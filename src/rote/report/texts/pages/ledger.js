(function () {
  "use strict";
  var entries = document.querySelectorAll("article"), shown = document.getElementById("shown");
  var sought = document.getElementById("filter"), chosen = document.querySelectorAll("select");
  function filter() {
    var text = sought.value.toLowerCase(), count = 0;
    entries.forEach(function (entry) {
      var fields = JSON.parse(entry.dataset.fields);
      var held = entry.textContent.toLowerCase().indexOf(text) >= 0;
      chosen.forEach(function (one) {
        held = held && (!one.value || fields[one.dataset.field] === one.value);
      });
      entry.hidden = !held;
      count += held;
    });
    shown.textContent = count + " of " + entries.length + " entries";
  }
  sought.addEventListener("input", filter);
  chosen.forEach(function (one) { one.addEventListener("change", filter); });
  filter();
})();
