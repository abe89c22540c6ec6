// Marks in the text what was chosen beside it; without script all links still lead there.
"use strict";
(function () {
  function mark() {
    document.querySelectorAll(".reading .on").forEach(function (e) { e.classList.remove("on"); });
    var chosen = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    if (!chosen || !chosen.dataset.spans) { return; }
    document.querySelectorAll(".reading .s" + chosen.dataset.spans).forEach(function (e) {
      e.classList.add("on");
    });
    chosen.focus({ preventScroll: true });
  }
  window.addEventListener("hashchange", mark);
  mark();
})();
