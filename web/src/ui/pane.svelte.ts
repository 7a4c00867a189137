// The width of a pane at the right edge, as the person left it.
const STEP = 2;
const LEAST = 20;
const MOST = 75;
const USUAL = 38;

export class PaneWidth {
  /** In percent of the page. */
  percent = $state(USUAL);
  value = $derived(`${this.percent}%`);

  constructor(private readonly key: string) {
    const kept = Number(localStorage.getItem(key));
    if (kept >= LEAST && kept <= MOST) this.percent = kept;
  }

  set(percent: number): void {
    this.percent = Math.round(Math.min(MOST, Math.max(LEAST, percent)));
    localStorage.setItem(this.key, String(this.percent));
  }

  /** One step wider or narrower. */
  step(wider: boolean): void {
    this.set(this.percent + (wider ? STEP : -STEP));
  }

  reset(): void {
    this.set(USUAL);
  }

  readonly least = LEAST;
  readonly most = MOST;
}
