// Copyright The Yuba Authors. SPDX-License-Identifier: Apache-2.0
// Searches the documentation as internal/web/docsite does, without a server.
"use strict";
(() => {
  const at = (id) => document.getElementById("docs-" + id);
  const input = at("query");
  if (!input) return;
  const { index: address, root } = input.dataset;

  let loading;
  const load = () => loading ||= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.onload = () => resolve(window.yubaIndex);
    script.onerror = reject;
    document.head.append(script);
  });

  const wordsIn = (text) => text.toLowerCase().split(/[^a-z0-9]+/).filter((w) => {
    const digits = w.replace(/[^0-9]/g, "").length;
    return w.length > 1 && w.length < 25 && !(digits === w.length && digits > 3) && !(digits && w.length > 12);
  });
  const pointsOf = (word, text, exact, begins) => {
    const words = wordsIn(text);
    return words.includes(word) ? exact : words.some((w) => w.startsWith(word)) ? begins : 0;
  };
  const points = (index, word) => {
    const best = new Map();
    for (const [term, coded] of Object.entries(index.terms)) {
      if (!term.startsWith(word)) continue;
      let page = 0;
      for (const part of coded.split(" ")) {
        const n = parseInt(part, 36);
        page += Math.floor(n / 4);
        best.set(page, Math.max(best.get(page) || 0, term === word ? 2 + n % 4 : 1));
      }
    }
    for (const [page, n] of best) {
      const [, title, , headings] = index.pages[page];
      best.set(page, n + (pointsOf(word, title, 24, 12) || Math.max(0, ...headings.map((h) => pointsOf(word, h[1], 8, 5)))));
    }
    return best;
  };
  const search = (index, query) => {
    const words = wordsIn(query.slice(0, 200)).filter((w) => !index.common.includes(w));
    const each = words.map((w) => points(index, w));
    const total = (page) => each.reduce((sum, best) => sum + best.get(page), 0);
    return index.pages.map((_, page) => page)
      .filter((page) => words.length && each.every((best) => best.has(page)))
      .map((page) => [total(page), page]).sort((a, b) => b[0] - a[0] || a[1] - b[1])
      .map(([, page]) => {
        const [path, title, brief, headings] = index.pages[page];
        return { path, title, brief, headings: headings.filter((h) => words.some((w) => pointsOf(w, h[1], 1, 1))).slice(0, 3) };
      });
  };

  const make = (name, text, ...children) => { const e = document.createElement(name); e.textContent = text; e.append(...children); return e; };
  const link = (text, to) => { const a = make("a", text); a.href = root + to; return a; };
  const list = (found) => {
    const ol = make("ol", "");
    ol.className = "docs-list";
    for (const f of found) {
      const li = make("li", "", link(f.title, f.path));
      if (f.brief) li.append(make("p", f.brief));
      if (f.headings.length) li.append(make("ul", "", ...f.headings.map(([id, text]) => make("li", "", link(text, f.path + "#" + id)))));
      ol.append(li);
    }
    return ol;
  };
  const show = async (box, query, limit) => {
    if (!query.trim()) { box.replaceChildren(); return; }
    let index;
    try { index = await load(); } catch { loading = null; box.replaceChildren(make("p", "The index is missing.")); return; }
    const found = search(index, query);
    const says = found.length ? `${found.length} page${found.length === 1 ? "" : "s"} for ` : "No page has all these words. Try fewer words, or their beginnings.";
    box.replaceChildren(make("p", says, ...(found.length ? [make("b", query)] : [])), list(found.slice(0, limit)));
  };

  const beside = at("found");
  input.addEventListener("focus", () => { load().catch(() => { loading = null; }); });
  input.addEventListener("input", () => show(beside, input.value, 8));
  const results = at("results");
  const query = new URLSearchParams(location.search).get("q");
  if (results && query) {
    input.value = query;
    if (results.hasAttribute("data-search")) show(results, query, 1000);
  }
})();
