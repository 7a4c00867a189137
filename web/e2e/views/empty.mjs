// The page before anything happened: every empty view, signing in, and what is the same everywhere.

const at = async (page, { base }, hash) => page.goto(`${base}/#/${hash}`);

export const emptyViews = {
  async prepare(stage) {
    return stage.serve();
  },
  views: {
    async attention(page, world) {
      await at(page, world, "attention");
      await page.getByText("Nothing needs your attention").waitFor();
    },
    async runs(page, world) {
      await at(page, world, "runs");
      await page.getByText("No runs yet").waitFor();
    },
    async work(page, world) {
      await at(page, world, "work");
      await page.getByText("No plans yet").waitFor();
    },
    async projects(page, world) {
      await at(page, world, "projects");
      await page.getByText("No projects yet").waitFor();
    },
    async sessions(page, world) {
      await at(page, world, "sessions");
      await page.getByText("No sessions yet").waitFor();
    },
    async about(page, world) {
      await at(page, world, "about");
      await page.getByText("claude mcp add muster").first().waitFor();
    },
    async keys(page, world) {
      await at(page, world, "attention");
      await page.getByText("Nothing needs your attention").waitFor();
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
    },
    async palette(page, world) {
      await at(page, world, "attention");
      await page.getByText("Nothing needs your attention").waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("option", { name: /Go to Runs/ }).waitFor();
    },
    async "sign-in"(page, world) {
      await at(page, world, "attention");
      await page.evaluate(() => localStorage.removeItem("muster.session"));
      await page.reload();
      await page.getByRole("heading", { name: "Sign in to Muster" }).waitFor();
    },
  },
};
