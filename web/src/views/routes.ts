// Every view: its path segment, its title, and the chunk that renders it. A view is one row here.
import type { Component } from "svelte";
import type { IconName } from "../ui/Icon.svelte";

export interface View {
  word: string;
  title: string;
  icon: IconName;
  /** The key that opens it. */
  keys?: string;
  load: () => Promise<{ default: Component }>;
}

export const VIEWS: readonly View[] = [
  {
    word: "attention",
    title: "Attention",
    icon: "attention",
    keys: "a",
    load: () => import("./attention/Attention.svelte"),
  },
  { word: "runs", title: "Runs", icon: "runs", keys: "r", load: () => import("./runs/Runs.svelte") },
  { word: "work", title: "Work", icon: "work", keys: "w", load: () => import("./work/Work.svelte") },
  {
    word: "projects",
    title: "Projects",
    icon: "projects",
    keys: "p",
    load: () => import("./projects/Projects.svelte"),
  },
  {
    word: "sessions",
    title: "Sessions",
    icon: "sessions",
    keys: "s",
    load: () => import("./sessions/Sessions.svelte"),
  },
  { word: "about", title: "About", icon: "about", load: () => import("./about/About.svelte") },
];
