// Signs the browser in with the code of a printed link, keeps the figures fresh, copies snippets.
"use strict";

const REFRESH_MS = 5000;

async function signIn(secret) {
  const text = document.getElementById("sign-in-text");
  const answer = await fetch("/api/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(secret),
  });
  if (answer.ok) {
    location.replace("/");
    return;
  }
  const body = await answer.json();
  text.textContent = `Not signed in: ${body.error.message}. To go on, ${body.error.recovery}.`;
}

function startSignIn() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  // The code must not stay in the history, used or not.
  history.replaceState(null, "", "/");
  const field = document.getElementById("token");
  const send = () => field.value && signIn({ token: field.value });
  document.getElementById("sign-in").hidden = false;
  document.getElementById("sign-in-button").addEventListener("click", send);
  field.addEventListener("keydown", (event) => event.key === "Enter" && send());
  if (code) signIn({ code });
}

function showBeacon(lost) {
  const beacon = document.getElementById("beacon");
  const text = lost ? "not reachable" : "running";
  beacon.classList.toggle("lost", lost);
  const label = document.getElementById("beacon-text");
  if (label.textContent !== text) label.textContent = text;
}

async function refresh() {
  if (document.hidden) return;
  try {
    const answer = await fetch("/", { headers: { accept: "text/html" } });
    if (answer.status === 401) return location.reload();
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const live = fresh.getElementById("live");
    if (live) document.getElementById("live").replaceWith(document.adoptNode(live));
    showBeacon(!answer.ok);
  } catch {
    showBeacon(true);
  }
}

function offerCopying() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const code = button.closest(".snippet").querySelector("code");
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
  }
}

if (document.documentElement.dataset.page === "sign-in") {
  startSignIn();
} else {
  // A link that is opened while signed in must not leave its code in the address.
  if (location.hash) history.replaceState(null, "", "/");
  offerCopying();
  setInterval(refresh, REFRESH_MS);
  document.addEventListener("visibilitychange", refresh);
}
