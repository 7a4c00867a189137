// Notifications of the browser about what starts to wait while the page is open, in any tab.
import { fresh, told } from "../../state/news";
import { waitingKey, type Waiting } from "../../state/waiting";
import { router } from "../../ui/router.svelte";

const CHOICE = "muster.notify";

class BrowserNotices {
  /** Whether this browser can show any at all. */
  readonly exist = "Notification" in window;
  isOn = $state(this.exist && Notification.permission === "granted" && localStorage.getItem(CHOICE) === "on");
  /** The person refused them in the browser; only its settings can change that. */
  refused = $state(this.exist && Notification.permission === "denied");
  #known: ReadonlySet<string> | undefined;

  /** Turns them on, which asks the person once, or off. */
  async toggle(): Promise<void> {
    const granted = !this.isOn && (await Notification.requestPermission()) === "granted";
    this.refused = Notification.permission === "denied";
    this.isOn = granted;
    localStorage.setItem(CHOICE, granted ? "on" : "off");
  }

  /** Takes the list of what waits now. */
  look(list: readonly Waiting[]): void {
    const news = fresh(this.#known, list);
    this.#known = new Set(list.map(waitingKey));
    // Whoever looks at the page sees the list itself.
    if (!this.isOn || document.hasFocus()) return;
    for (const { tag, title, body } of told(news)) {
      const shown = new Notification(`Muster: ${title}`, { body, tag });
      shown.onclick = () => {
        window.focus();
        router.go(["attention"]);
        shown.close();
      };
    }
  }
}

export const browserNotices = new BrowserNotices();
