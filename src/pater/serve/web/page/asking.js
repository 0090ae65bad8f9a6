// Asks the service again and again, with a token if it wants one, and not while nobody looks.

const EVERY = 5000, AT_MOST = 10000; // milliseconds
const ADDRESS = `${location.origin}${location.pathname.replace(/[^/]*$/, "")}v1/status`; // without a name and a secret in it
let latest = null, timer = 0, since = null;
let token = sessionStorage.getItem("pater-token") || "";

function show(status) {
  latest = status;
  at("all").hidden = false;
  drawn = at("all").clientWidth;
  for (const part of [health, cards, quality, volume, operating, features, alarms, facts]) part(status);
}

function wantToken(why) {
  at("token").hidden = false;
  at("all").hidden = true;
  at("refused").textContent = why;
  at("health").textContent = "Locked";
  at("health").className = "pill";
  at("asked").textContent = "";
  at("secret").focus();
}

function lost(why) {
  since = since || new Date();
  at("health").textContent = `No answer since ${since.toLocaleTimeString("en-GB")}: ${why}`;
  at("health").className = "pill ill";
}

async function ask() {
  clearTimeout(timer);
  if (document.hidden) return;
  try {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    const options = { headers, cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(AT_MOST) };
    const response = await fetch(ADDRESS, options);
    if (response.status === 401 || response.status === 403) {
      wantToken(token ? "This token is unknown, or has no access." : "");
      return; // until there is another one
    }
    if (!response.ok) throw new Error(`status ${response.status}`);
    const status = await response.json();
    since = null;
    at("token").hidden = true;
    show(status);
    at("asked").textContent = `as of ${moment(status.now)}`;
  } catch (error) {
    lost(error.name === "TimeoutError" ? "it takes too long" : error.message);
  }
  timer = setTimeout(ask, EVERY);
}

at("token").addEventListener("submit", (submitted) => {
  submitted.preventDefault();
  token = at("secret").value.trim();
  sessionStorage.setItem("pater-token", token);
  at("secret").value = "";
  ask();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
let drawn = 0; // how wide the page was
new ResizeObserver(() => {
  if (latest && at("all").clientWidth !== drawn) show(latest);
}).observe(at("all"));
ask();
