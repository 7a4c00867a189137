// The entry point.
import { mount } from "svelte";
import App from "./App.svelte";
import "./ui/theme.css";
import "./ui/base.css";

const target = document.getElementById("app");
if (!target) throw new Error("the page has no element to mount the app in");
mount(App, { target });
