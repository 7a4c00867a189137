// One clock for all ages on the page.
const TICK_MS = 5_000;

class Clock {
  now = $state(Date.now());

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.now = Date.now();
    }, TICK_MS);
  }
}

export const clock = new Clock();
