// Lets the keyboard reach what is wider than the screen and scrolls by itself: code, tables, formulas, diagrams.
document.addEventListener("DOMContentLoaded", () => {
  const names = { PRE: "Text that scrolls", TABLE: "Table that scrolls", MATH: "Formula that scrolls" };
  const name = (each) => names[(each.querySelector("table, math") || each).tagName.toUpperCase()];
  const reach = () => {
    for (const each of document.querySelectorAll("article pre, .table-wrapper, .formula")) {
      const scrolls = each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight;
      each.toggleAttribute("tabindex", false);
      for (const attribute of ["role", "aria-label"]) each.removeAttribute(attribute);
      if (scrolls) {
        each.tabIndex = 0;
        each.setAttribute("role", "group");
        each.setAttribute("aria-label", name(each));
      }
    }
  };
  reach();
  window.addEventListener("resize", reach);
  window.addEventListener("load", reach);
});
