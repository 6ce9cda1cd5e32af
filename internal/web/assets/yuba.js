// Copyright The Yuba Authors. SPDX-License-Identifier: Apache-2.0
// Everything works without this script, by reading and by plain forms. It keeps an open page current,
// answers without loading the page again, and listens to keys.
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const body = document.body;

  // say shows a sentence at the top of the page.
  const say = (text, bad) => {
    const at = $("#notice");
    at.textContent = text; at.classList.toggle("bad", !!bad);
  };
  const trouble = (text) => { const at = $("#trouble"); at.textContent = text; at.hidden = !text; };

  // Relative times, in the words of the server.
  const relative = (then, now) => {
    let d = (now - then) / 1000;
    const words = d < 0 ? (x) => "in " + x : (x) => x + " ago";
    d = Math.abs(d);
    if (d < 10) return "just now";
    if (d < 60) return words(Math.floor(d) + " s");
    if (d < 3600) return words(Math.floor(d / 60) + " min");
    if (d < 172800) return words(Math.floor(d / 3600) + " h");
    return words(Math.floor(d / 86400) + " d");
  };
  const tick = (root = document) => all("time[datetime]", root).forEach((t) => {
    const text = relative(new Date(t.dateTime), Date.now());
    if (t.textContent !== text) t.textContent = text;
  });
  setInterval(tick, 10000);

  // Rows that keys move over.
  const rows = () => all("[data-row]").filter((row) => row.checkVisibility());
  const own = (row, selector) => all(selector, row).find((found) => found.closest("[data-row]") === row);
  const at = () => rows().findIndex((row) => row.classList.contains("at"));
  const move = (to) => {
    const list = rows();
    if (!list.length) return;
    to = Math.max(0, Math.min(list.length - 1, to));
    list.forEach((row) => row.classList.remove("at"));
    list[to].classList.add("at");
    list[to].scrollIntoView({ block: "nearest" });
    const link = own(list[to], "a,summary");
    if (link) link.focus({ preventScroll: true });
  };

  // calm makes a new form wait until the person can have seen it.
  const calm = (form) => all("button:not([disabled])", form).forEach((button) => {
    button.disabled = true;
    setTimeout(() => { button.disabled = false; }, 2000);
  });

  // morph makes one element like another, and keeps what the person has opened, typed or selected.
  const morph = (old, now) => {
    if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName || (old.id || "") !== (now.id || "")) { old.replaceWith(now); return; }
    // A form that would do something else than before is another form, and cannot be sent by a click that was meant for that.
    if (old.dataset && old.dataset.does !== now.dataset.does) { calm(now); old.replaceWith(now); return; }
    if (old.nodeType !== Node.ELEMENT_NODE) { if (old.nodeValue !== now.nodeValue) old.nodeValue = now.nodeValue; return; }
    if (old.hasAttribute("data-keep")) return;
    for (const { name } of [...old.attributes]) {
      if (!now.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS") && !name.startsWith("aria-selected")) old.removeAttribute(name);
    }
    const at = old.classList.contains("at"), was = old.value;
    for (const { name, value } of now.attributes) {
      if (old.getAttribute(name) !== value && name !== "aria-selected") old.setAttribute(name, value);
    }
    if (at) old.classList.add("at");
    // A row that has become another one is not what the person has selected.
    if (old.type === "checkbox" && old.checked && was !== old.value) { old.checked = false; old.dispatchEvent(new Event("change", { bubbles: true })); }
    if (old === document.activeElement && "value" in old) return;
    const keyed = new Map([...old.children].filter((c) => c.id).map((c) => [c.id, c]));
    let next = old.firstChild;
    for (const child of [...now.childNodes]) {
      const match = child.id && keyed.get(child.id);
      keyed.delete(child.id);
      if (match && match !== next) old.insertBefore(match, next);
      const here = match || next;
      if (!here || (!match && here.id && here.id !== child.id && keyed.has(here.id))) { old.insertBefore(child, here); continue; }
      const after = here.nextSibling;
      morph(here, child);
      next = after;
    }
    while (next) { const after = next.nextSibling; next.remove(); next = after; }
  };
  const draw = (parts) => {
    const place = at();
    for (const part of parts) {
      const old = document.getElementById(part.id);
      if (!old) continue;
      const frame = document.createElement("template");
      frame.innerHTML = part.html;
      const now = old.cloneNode(false);
      now.setAttribute("data-mark", part.mark);
      now.append(frame.content);
      morph(old, now);
      tick(old);
    }
    if (place >= 0 && at() < 0) move(place); // the row is gone; go on with the next
    document.dispatchEvent(new Event("yuba:drawn"));
  };

  // Live updates. A hidden tab lets go of its connection: browsers have few per server.
  let source = null, resting = null;
  const connect = () => {
    if (!body.hasAttribute("data-live") || source || document.hidden) return;
    const address = new URL(location.href);
    address.hash = "";
    address.searchParams.set("marks", all("section[data-mark]").map((s) => s.id + ":" + s.dataset.mark).join(","));
    source = new EventSource(address);
    source.addEventListener("edition", (e) => {
      trouble("");
      if (e.data !== document.documentElement.dataset.edition && sessionStorage.getItem("edition") !== e.data) {
        sessionStorage.setItem("edition", e.data);
        location.reload();
      }
    });
    source.addEventListener("parts", (e) => { trouble(""); draw(JSON.parse(e.data)); });
    source.addEventListener("same", () => trouble(""));
    source.addEventListener("trouble", (e) => trouble(e.data));
    source.addEventListener("leave", () => location.reload());
    source.onerror = () => {
      trouble("The server does not answer. This page shows what was known before, and tries again.");
      if (source.readyState === EventSource.CLOSED) { disconnect(); setTimeout(connect, 3000); }
    };
  };
  const disconnect = () => { if (source) source.close(); source = null; };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(resting);
    if (document.hidden) resting = setTimeout(disconnect, 5000); else connect();
  });
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", connect);
  connect();

  // Forms answer in place.
  const ask = (question) => new Promise((resolve) => {
    const dialog = $("#ask");
    $("p", dialog).textContent = question;
    dialog.returnValue = "no";
    dialog.onclose = () => resolve(dialog.returnValue === "yes");
    dialog.showModal();
  });
  document.addEventListener("submit", async (e) => {
    const form = e.target;
    if (form.method !== "post" || form.hasAttribute("data-plain") || (e.submitter && e.submitter.hasAttribute("data-plain"))) return;
    e.preventDefault();
    const values = new FormData(form, e.submitter); // what the person has seen, also if the question takes long
    if (form.dataset.confirm && !(await ask(form.dataset.confirm))) return;
    const button = e.submitter || $("button", form);
    if (button) button.disabled = true;
    try {
      const response = await fetch((e.submitter && e.submitter.getAttribute("formaction")) || form.getAttribute("action"), {
        method: "POST", body: new URLSearchParams(values), headers: { Accept: "application/json" }, redirect: "follow",
      });
      if (response.redirected) { location.assign(response.url); return; }
      if (response.status === 401) { location.reload(); return; }
      const answer = await response.json().catch(() => ({ error: "The server refused this (" + response.status + ")." }));
      say(answer.error || answer.says, !!answer.error);
      if (answer.next) location.assign(answer.next);
      else if (!body.hasAttribute("data-live") && !answer.error) location.reload();
    } catch {
      say("The server does not answer. Nothing is known about what became of this; look before you try again.", true);
    } finally {
      if (button && button.isConnected && !button.title) button.disabled = false;
    }
  });

  // Copying.
  const copyable = () => all("pre[data-copy]:not([data-ready])").forEach((pre) => {
    pre.dataset.ready = "";
    const button = document.createElement("button");
    button.type = "button"; button.textContent = "Copy"; button.className = "copy";
    button.onclick = async () => { await navigator.clipboard.writeText(pre.textContent); button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
    pre.after(button);
  });
  copyable();
  document.addEventListener("yuba:drawn", copyable);

  // What scrolls is scrolled by keys, too, in browsers that do not see to it themselves.
  const scrollable = () => all("pre, .scroll, .diff").forEach((e) => {
    if (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight) e.tabIndex = 0;
  });
  scrollable();
  document.addEventListener("yuba:drawn", scrollable);
  document.addEventListener("toggle", scrollable, true);
  addEventListener("resize", scrollable);

  // Keys.
  let going = false;
  const single = $("#single-keys");
  if (single) {
    single.checked = localStorage.getItem("single-keys") !== "no";
    single.onchange = () => localStorage.setItem("single-keys", single.checked ? "yes" : "no");
  }
  document.addEventListener("keydown", (e) => {
    if (single && !single.checked && e.key !== "?") return;
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input:not([type=checkbox]),textarea,select,dialog")) {
      if (e.key === "Escape") e.target.blur();
      return;
    }
    if (going) {
      going = false;
      const link = $(`[data-go="${CSS.escape(e.key)}"]`);
      if (link) { e.preventDefault(); location.assign(link.href); }
      return;
    }
    const row = rows()[at()];
    switch (e.key) {
      case "j": move(at() + 1); break;
      case "k": move(at() - 1); break;
      case "g": going = true; setTimeout(() => { going = false; }, 1500); break;
      case "?": $("#keys").showModal(); break;
      case "/": $("[data-key='/']").focus(); break;
      case "x": { const box = row && own(row, "input[type=checkbox]"); if (box) box.click(); break; }
      case "Escape": say(""); return;
      default: {
        // Only where the focus is, and not because a key was held down.
        const button = row && !e.repeat && row.contains(document.activeElement) && own(row, `[data-press="${CSS.escape(e.key)}"]`);
        if (!button) return;
        if (!button.disabled) button.click();
      }
    }
    e.preventDefault();
  });
  document.addEventListener("change", (e) => {
    const row = e.target.closest && e.target.matches("input[type=checkbox][name=row]") && e.target.closest("[data-row]");
    if (row) row.setAttribute("aria-selected", e.target.checked);
  });

  // Queries are completed by the server, which knows the stacks.
  let typed = 0;
  document.addEventListener("input", (e) => {
    const input = e.target.closest("input[data-complete]");
    if (!input) return;
    clearTimeout(typed);
    typed = setTimeout(async () => {
      const response = await fetch(input.dataset.complete + "?" + new URLSearchParams({ q: input.value })).catch(() => null);
      if (!response || !response.ok) return;
      input.list.replaceChildren(...(await response.json()).map((s) => Object.assign(document.createElement("option"), { value: s.text, label: s.says || "" })));
    }, 150);
  });
  // A log that grows. The list keeps its lines while the page is drawn anew.
  const followed = new Map();
  const follow = () => all("[data-follow]").forEach((list) => {
    if (followed.has(list) || document.hidden) return;
    const address = new URL(list.dataset.follow, location);
    if (list.dataset.last) address.searchParams.set("after", list.dataset.last);
    const stream = new EventSource(address);
    followed.set(list, stream);
    stream.addEventListener("lines", (e) => {
      const low = innerHeight + scrollY > document.body.scrollHeight - 90;
      list.dataset.last = e.lastEventId;
      list.insertAdjacentHTML("beforeend", JSON.parse(e.data));
      while (list.children.length > 5000) list.firstElementChild.remove();
      if (low) scrollTo(0, document.body.scrollHeight);
    });
    stream.addEventListener("parts", (e) => draw(JSON.parse(e.data)));
    stream.addEventListener("end", () => { stream.close(); delete list.dataset.follow; });
    stream.addEventListener("leave", () => location.reload());
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) { follow(); return; }
    followed.forEach((stream) => stream.close());
    followed.clear();
  });
  document.addEventListener("yuba:drawn", follow);
  addEventListener("pagehide", () => { followed.forEach((stream) => stream.close()); followed.clear(); });
  addEventListener("pageshow", follow);
  tick();

  // What waits, in the title, the icon and the navigation of every open page. One tab asks for all tabs.
  const icon = $("link[rel=icon]"), mark = icon.href;
  const waits = (n) => {
    document.title = (n ? "(" + n + ") " : "") + document.title.replace(/^\(\d+\) /, "");
    icon.href = n ? "data:image/svg+xml," + encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0f4c81"/>' +
      '<circle cx="18" cy="18" r="14" fill="#b3261e"/><text x="18" y="25" font-family="sans-serif" font-size="19" font-weight="bold" text-anchor="middle" fill="#fff">' + (n > 99 ? "99" : n) + "</text></svg>") : mark;
    const inbox = $('nav a[href="/"]');
    let pill = $(".pill", inbox);
    if (!n) { if (pill) pill.remove(); return; }
    if (!pill) { pill = document.createElement("b"); pill.className = "pill"; inbox.append(" ", pill); }
    pill.textContent = n;
  };
  const bell = $("#bell");
  const rings = () => localStorage.getItem("notify") === "yes" && Notification.permission === "granted";
  const ring = (now) => {
    try {
      const shown = new Notification("Yuba: " + now.count + " waiting", { body: now.newest, tag: "yuba", icon: mark });
      shown.onclick = () => { window.focus(); location.assign("/"); };
    } catch { /* phones show none without a service worker */ }
  };
  const count = async (old) => {
    const known = JSON.parse(localStorage.getItem("waits") || "{}");
    if (known.asked > Date.now() - old) return;
    localStorage.setItem("waits", JSON.stringify({ ...known, asked: Date.now() }));
    const response = await fetch("/inbox/waiting", { headers: { Accept: "application/json" } }).catch(() => null);
    if (!response || !response.ok) return;
    const now = await response.json();
    localStorage.setItem("waits", JSON.stringify({ ...now, asked: Date.now() }));
    waits(now.count);
    if (bell && (now.at > known.at || now.count > known.count) && !document.hasFocus() && "Notification" in window && rings()) ring(now);
  };
  if (bell) {
    waits(+body.dataset.waits);
    setInterval(() => count(25000), 30000);
    document.addEventListener("yuba:drawn", () => count(2000));
    addEventListener("storage", (e) => { if (e.key === "waits" && e.newValue) { const { count } = JSON.parse(e.newValue); if (count >= 0) waits(count); } });
  }
  if (bell && "Notification" in window) {
    const label = () => { bell.hidden = false; bell.textContent = rings() ? "Stop notifications" : "Notify me of what waits"; };
    label();
    bell.onclick = async () => {
      if (rings()) localStorage.setItem("notify", "no");
      else if (await Notification.requestPermission() === "granted") { localStorage.setItem("notify", "yes"); count(0); }
      else say("The browser does not let this page notify you. Its settings for this site can change that.", true);
      label();
    };
  }
})();
