(function () {
  "use strict";
  var aside = document.querySelector("aside");
  // How far down the texts can be seen: in a narrow window the other side lies over them.
  function depth() {
    var box = aside.getBoundingClientRect();
    return box.left > 0 ? window.innerHeight : box.top;
  }
  function show(element) {
    window.scrollBy(0, element.getBoundingClientRect().top - 0.3 * depth());
  }
  function mark() {
    document.querySelectorAll(".on").forEach(function (e) { e.classList.remove("on"); });
    var chosen = location.hash ? document.getElementById(location.hash.slice(1)) : null;
    var numbers = chosen && chosen.dataset.spans ? chosen.dataset.spans.split(" ") : [];
    var first = null;
    numbers.forEach(function (number) {
      document.querySelectorAll("main .s" + number).forEach(function (e) {
        e.classList.add("on");
        first = first || e;
      });
    });
    if (!first) { return; }
    var box = first.getBoundingClientRect();
    if (box.top < 0 || box.bottom > depth()) { show(first); }
  }
  // "In the text" only scrolls: what is being read, and its marks, stay.
  aside.addEventListener("click", function (event) {
    var link = event.target.closest('a[href^="#at-"]');
    if (!link) { return; }
    event.preventDefault();
    show(document.getElementById(link.hash.slice(1)));
  });
  window.addEventListener("hashchange", mark);
  mark();
})();
