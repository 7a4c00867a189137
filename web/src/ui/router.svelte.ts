// The current location: the part of the address after `#`, which never leaves the browser.

export interface Place {
  /** The parts between slashes: `#/runs/ID/chat` is `["runs", "ID", "chat"]`. */
  path: string[];
  query: URLSearchParams;
}

function read(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return {
    path: path.split("/").filter(Boolean).map(decodeURIComponent),
    query: new URLSearchParams(query),
  };
}

class Router {
  place = $state.raw<Place>(read());

  constructor() {
    addEventListener("hashchange", () => (this.place = read()));
  }

  /** Navigates; `replace` leaves no entry in the history. */
  go(path: string[], query: Record<string, string> = {}, replace = false): void {
    const address = link(path, query);
    if (address === location.hash) return;
    if (replace) {
      history.replaceState(null, "", address);
      this.place = read();
    } else {
      location.hash = address;
    }
  }
}

/** An address for `href`. */
export function link(path: string[], query: Record<string, string> = {}): string {
  const search = new URLSearchParams(query).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${search ? `?${search}` : ""}`;
}

export const router = new Router();
