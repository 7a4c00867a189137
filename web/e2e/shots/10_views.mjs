// Pictures of every view and dialog, in both themes, on a large screen and on a phone.
import { GROUPS, walk } from "../views.mjs";

export const scenarios = Object.fromEntries(
  Object.entries(GROUPS).map(([name, group]) => [
    `pictures of ${name}`,
    (stage) => walk(stage, group, (_, view, { look }) => stage.picture(`${name}-${view}-${look}`)),
  ]),
);
