// What the pages do beside showing: each part finds its elements by an attribute, and every page
// works without it.
"use strict";

function dropZones() {
  for (const zone of document.querySelectorAll("[data-drop]")) {
    const input = zone.querySelector("input[type=file]");
    const button = zone.querySelector("button");
    const over = (yes) => (event) => { event.preventDefault(); zone.classList.toggle("over", yes); };
    zone.addEventListener("dragover", over(true));
    zone.addEventListener("dragleave", over(false));
    zone.addEventListener("drop", (event) => {
      over(false)(event);
      if (!event.dataTransfer.files.length) return;
      input.files = event.dataTransfer.files;
      input.dispatchEvent(new Event("change"));
    });
    // The form comes back with the files listed and everything else as it was.
    if (button) input.addEventListener("change", () => { if (input.files.length) input.form.requestSubmit(button); });
  }
}

function copying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).innerText);
      const before = button.textContent;
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = before; }, 1500);
    });
  }
}

function sameLines() {
  // The lines that do the same follow what is chosen; without this, "Link to these settings" does it.
  for (const shown of document.querySelectorAll("[data-same]")) {
    const form = document.querySelector("form.stack");
    form.addEventListener("change", async () => {
      const asked = new URLSearchParams(new FormData(form));
      const answer = await fetch(`${location.pathname}?${asked}`);
      if (!answer.ok) return;  // A value that does not do is named when the form is sent.
      const made = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const code of shown.querySelectorAll("code")) {
        code.textContent = made.getElementById(code.id).textContent;
      }
    });
  }
}

function confirming() {
  for (const button of document.querySelectorAll("[data-confirm]")) {
    button.addEventListener("click", (event) => {
      if (!window.confirm(button.dataset.confirm)) event.preventDefault();
    });
  }
}

function inTime(seconds) {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`;
}

function show(box, job) {
  const { stage, share, rate, seconds_left: left } = job.progress;
  const waiting = job.before ? `Waiting, ${job.before} before it` : "Waiting";
  const name = job.state === "waiting" ? waiting : stage || "starting";
  const title = name.charAt(0).toUpperCase() + name.slice(1);
  const heading = box.querySelector("[data-stage]");
  // Written only when it changes: a screen reader says it each time.
  if (heading.textContent !== title) heading.textContent = title;
  const bar = box.querySelector("[data-bar]");
  if (job.state === "waiting") bar.value = 0;  // A bar that moves would say that it runs.
  else if (share === null) bar.removeAttribute("value"); else bar.value = share;
  const parts = [];
  if (share !== null) parts.push(`${Math.round(100 * share)} %`);
  if (rate) parts.push(rate);
  if (left !== null) parts.push(`about ${inTime(left)} left`);
  box.querySelector("[data-numbers]").textContent = parts.join(" · ") || "\u00a0";
  const remarks = document.querySelector("[data-remarks]");
  for (const line of remarks ? job.remarks.slice(remarks.children.length) : []) {
    const item = document.createElement("li");
    item.textContent = line;
    remarks.append(item);
  }
}

function following() {
  // A browser holds six connections to one machine at a time, those of all its pages together:
  // few are followed, and none while nobody looks.
  const boxes = [...document.querySelectorAll("[data-job]")].slice(0, 3);
  const closing = boxes.map((box) => follow(box));
  window.addEventListener("pagehide", () => closing.forEach((close) => close()));
}

function follow(box) {
  const own = location.pathname === `/jobs/${box.dataset.job}`;
  let events = null, ended = false;
  const close = () => { if (events) events.close(); events = null; };
  const open = () => {
    if (events || ended) return;
    events = new EventSource(`/api/jobs/${box.dataset.job}/events`);
    events.onmessage = (event) => {
      const job = JSON.parse(event.data);
      show(box, job);
      if (job.open) return;
      ended = true;
      close();
      if (job.state === "interrupted") {
        // Nobody is there to answer a reload.
        box.querySelector("[data-stage]").textContent = "The app has stopped. Start it again, then reload this page.";
        return;
      }
      if (own && job.state === "done" && job.result) location.replace(job.result); else location.reload();
    };
    // The browser asks again by itself after a break; a job that is unknown now is not asked for.
    events.onerror = () => { if (events && events.readyState === EventSource.CLOSED) close(); };
  };
  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else open(); });
  if (!document.hidden) open();
  return close;
}

function searchKey() {
  document.addEventListener("keydown", (event) => {
    const field = document.querySelector("main [data-search]") || document.querySelector("[data-search]");
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (event.key !== "/" || !field || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

function sharedRuns() {
  // Pointing at a run, or a tap, shows where else it is.
  const marks = document.querySelectorAll("mark[data-run]");
  const show = (run) => marks.forEach((one) => one.classList.toggle("on", one.dataset.run === run));
  for (const mark of marks) {
    mark.addEventListener("pointerenter", () => show(mark.dataset.run));
    mark.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") show(null); });
  }
}

function localTimes() {
  // Where the reader is, which need not be where the app runs.
  const form = { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" };
  for (const one of document.querySelectorAll("time[datetime]")) {
    one.textContent = new Date(one.dateTime).toLocaleString("en-GB", form);
  }
}

dropZones();
sharedRuns();
localTimes();
copying();
confirming();
sameLines();
following();
searchKey();
