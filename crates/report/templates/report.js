"use strict";
// Comfort only: the page is complete without it.
(() => {
  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text) node.textContent = text;
    return node;
  };

  const copyButton = (block) => {
    const button = make("button", "copy", "Copy");
    button.type = "button";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(block.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(block);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    return button;
  };

  for (const block of document.querySelectorAll("pre")) {
    const frame = make("div", "copyable");
    block.replaceWith(frame);
    frame.append(block, copyButton(block));
  }

  const findings = [...document.querySelectorAll("article.finding")];
  if (findings.length > 3) {
    const bar = make("p", "filter");
    const label = make("label", "", "Show findings with ");
    const input = make("input");
    input.type = "search";
    input.placeholder = "a table, account or check";
    const told = make("span", "told");
    told.setAttribute("role", "status");
    label.append(input);
    bar.append(label, told);
    document.querySelector("#findings h2").after(bar);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      let shown = 0;
      for (const finding of findings) {
        const fits = finding.textContent.toLowerCase().includes(wanted);
        finding.hidden = !fits;
        shown += fits ? 1 : 0;
      }
      told.textContent = wanted ? shown + " of " + findings.length : "";
    });
  }

  const unfold = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") target.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();

  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
