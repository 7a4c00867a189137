// Light or dark: the system's setting, unless the person chose.
type Choice = "light" | "dark" | "system";
const KEY = "muster.theme";

class Theme {
  choice = $state<Choice>((localStorage.getItem(KEY) as Choice | null) ?? "system");
  #system = matchMedia("(prefers-color-scheme: dark)");
  #dark = $state(this.#system.matches);
  shown = $derived(this.choice === "system" ? (this.#dark ? "dark" : "light") : this.choice);

  constructor() {
    this.#system.addEventListener("change", (event) => (this.#dark = event.matches));
  }

  toggle(): void {
    this.choice = this.shown === "dark" ? "light" : "dark";
    localStorage.setItem(KEY, this.choice);
  }
}

export const theme = new Theme();
