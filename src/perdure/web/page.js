// What the page does beyond links and forms: it swaps a part instead of the whole, and listens to keys.
const find = (what, where = document) => where.querySelector(what);
const SANITIZER = { removeElements: ["meta", "link", "style", "base", "img", "script", "iframe", "title"] };
const CAN_SWAP = "setHTML" in Element.prototype;

// An answer that comes when another one was asked for already is not shown.
let asked = 0;
async function show(address, parts, push = true) {
  clearTimeout(sliding);
  const mine = ++asked;
  const answer = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
  if (mine !== asked) return;
  if (!answer?.ok) { location.assign(address); return; }
  const box = document.createElement("div"), text = await answer.text();
  if (mine !== asked) return;
  box.setHTML(text, { sanitizer: SANITIZER });
  for (const part of parts) {
    const old = find(part), fresh = find(part, box);
    if (!old || !fresh) { location.assign(address); return; }
    old.replaceWith(fresh);
  }
  if (push) history.pushState({}, "", address); else history.replaceState({}, "", address);
  shown = whole();
  chosen = -1;
  if (parts.includes("main")) {
    document.title = `${find("h1").textContent} · Perdure`;
    showPlace();
    find("main").focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

// On a phone the menu is one line, of which a part is seen.
const showPlace = () => find("#menu [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
showPlace();

const WHOLE = ["main", "#menu"];
// A place within the page, such as that of the first link, is no other page.
const whole = () => location.pathname + location.search;
let shown = whole();
addEventListener("popstate", () => { if (whole() !== shown) location.reload(); });
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || !CAN_SWAP || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const to = new URL(link.getAttribute("href"), location.href);
  if (to.origin !== location.origin || to.hash || link.closest("header")) return;
  event.preventDefault();
  show(to.href, WHOLE);
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "get" || !CAN_SWAP) return;
  event.preventDefault();
  show(address(form), WHOLE);
});

const address = (form) => {
  const to = new URL(form.getAttribute("action"), location.href);
  to.search = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== "")).toString();
  return to.href;
};

// A browser that cannot copy, as on a page of another machine without TLS, shows no button for it.
if (navigator.clipboard) document.documentElement.dataset.copies = "";
document.addEventListener("click", async (event) => {
  const copy = event.target.closest?.("[data-copy]");
  if (!copy) return;
  await navigator.clipboard.writeText(find("code", copy.parentElement).textContent);
  copy.textContent = "Copied";
});

let sliding;
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-slide]");
  if (!form || event.target.type !== "range") return;
  const { value, max, name } = event.target;
  find(`output[for=${name}]`, form).textContent = value === max ? "now" : new Date(value * 1000).toLocaleString("sv");
  clearTimeout(sliding);
  if (CAN_SWAP) sliding = setTimeout(() => show(address(form), ["#list"], false), 200);
});

let chosen = -1, going = false;
const rows = () => [...document.querySelectorAll("[data-row]")];
function choose(step) {
  const all = rows();
  if (!all.length) return;
  all[chosen]?.classList.remove("chosen");
  chosen = Math.min(Math.max(chosen + step, 0), all.length - 1);
  all[chosen].classList.add("chosen");
  all[chosen].scrollIntoView({ block: "nearest" });
  find("a, button", all[chosen])?.focus({ preventScroll: true });
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input:not([type=range]), textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const here = rows()[chosen];
  let act;
  if (going) act = find(`[data-go="${CSS.escape(event.key)}"]`);
  else if (event.key === "/") act = find("#q");
  else if (event.key === "?") act = find(".keys a");
  else if (event.key === "u") act = find(".banner [data-key=u]") ?? (here && find("[data-key=u]", here));
  else if (/^[a-z]$/.test(event.key)) act = find(`[data-key=${event.key}]`, here ?? document);
  const went = going;
  going = event.key === "g" && !going;
  if (event.key === "j" && !went) choose(1);
  else if (event.key === "k" && !went) choose(-1);
  else if (act?.matches("input")) act.focus();
  else if (act) act.click();
  else if (!going) return;
  event.preventDefault();
});

// How many changes there are since this page was made; what is being read is never rewritten.
setInterval(async () => {
  const seen = find("[data-seq]")?.dataset.seq;
  if (document.hidden || !seen) return;
  const answer = await fetch(`changes?after=${seen}${location.search.replace("?", "&")}`).catch(() => null);
  const count = Number(await answer?.text());
  if (!count) return;
  const told = find("#new") ?? Object.assign(document.createElement("a"), { id: "new", href: location.href, className: "badge ok" });
  told.textContent = `${count} new`;
  find(".title").append(told);
}, 15000);
