// Draws a page's diagrams in the colours that its reader has chosen; without Mermaid their words stay.
if (window.mermaid) {
  const chosen = document.body.dataset.theme;
  const system = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const theme = (chosen === "auto" || !chosen ? system : chosen) === "dark" ? "dark" : "neutral";
  window.mermaid.initialize({ startOnLoad: true, theme });
}
