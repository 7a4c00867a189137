//! The pages as HTML. Every text that is not written here is escaped; nothing is inline.

use std::{fmt::Write as _, time::Duration};

use super::html::{bytes, counted, escape, grouped, span};
use crate::{
    connect::Recipe,
    openapi::effect_name,
    site::Site,
    status::{StoreStatus, WorkspaceStatus},
};

/// Everything the status page shows.
pub(super) struct View {
    /// Version of this program.
    pub(super) version: &'static str,
    /// How long the server has been running.
    pub(super) uptime: Duration,
    /// Address of the server.
    pub(super) base_url: String,
    /// Whether clients need the token.
    pub(super) token_needed: bool,
    /// The toolset agents are shown.
    pub(super) toolset: String,
    /// Operations: name, title, effect.
    pub(super) operations: Vec<(String, String, &'static str)>,
    /// The store, or why it cannot be read.
    pub(super) store: Result<StoreStatus, String>,
    /// How to connect agents.
    pub(super) recipes: Vec<Recipe>,
}

impl View {
    /// What there is to show of a server whose store answered `store`.
    pub(super) fn new(site: &Site, store: Result<StoreStatus, String>) -> Self {
        let token_needed = site.gate.token.is_some();
        let rows = site.app.registry().rows().iter();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            uptime: site.started.elapsed(),
            base_url: site.base_url.clone(),
            token_needed,
            toolset: site.app.toolset().to_string(),
            operations: rows
                .map(|row| (row.name.to_owned(), row.title.to_owned(), effect_name(row.effect)))
                .collect(),
            store,
            recipes: site.installation.recipes(&site.base_url, token_needed),
        }
    }
}

/// The status page.
pub(super) fn status_page(view: &View) -> String {
    let body = format!(
        "<header class=\"top\"><div class=\"brand\"><h1>Muster</h1>\
         <p class=\"motto\">Work has to pass muster before it is done.</p></div>\
         <p class=\"beacon\" id=\"beacon\" role=\"status\"><span class=\"dot\"></span>\
         <span id=\"beacon-text\">running</span></p></header>\
         <main>{}{}{}</main>{}",
        live_part(view),
        connect_part(view),
        operations_part(view),
        foot_part(view),
    );
    page("Muster", "status", &body)
}

/// What changes while the page is open; the script replaces it as a whole.
fn live_part(view: &View) -> String {
    let (store, workspaces) = match &view.store {
        Ok(store) => (store_facts(store), workspaces_part(&store.workspaces)),
        Err(cause) => (
            String::new(),
            format!(
                "<p class=\"alarm\">The store cannot be read: {}. \
                 Run <code>muster doctor</code>.</p>",
                escape(cause)
            ),
        ),
    };
    format!(
        "<div id=\"live\"><section aria-label=\"Server\"><dl class=\"facts\">{}{}{}{store}</dl>\
         </section>{workspaces}</div>",
        fact("Version", &escape(view.version), ""),
        fact("Running for", &escape(&span(view.uptime)), ""),
        fact("Address", &format!("<code>{}</code>", escape(&view.base_url)), ""),
    )
}

fn store_facts(store: &StoreStatus) -> String {
    let size = store.bytes.map_or_else(|| "in memory".to_owned(), bytes);
    let location = store.location.as_deref().unwrap_or("in memory");
    format!(
        "{}{}{}",
        fact("Store", &escape(&store.engine), &format!("layout {}", store.schema_version)),
        fact("Size", &escape(&size), ""),
        fact("Location", &format!("<code>{}</code>", escape(location)), ""),
    )
}

fn fact(name: &str, value: &str, note: &str) -> String {
    let note =
        if note.is_empty() { String::new() } else { format!(" <small>{}</small>", escape(note)) };
    format!("<div><dt>{name}</dt><dd>{value}{note}</dd></div>")
}

fn workspaces_part(workspaces: &[WorkspaceStatus]) -> String {
    let mut part = String::from("<section><h2>Workspaces</h2>");
    if workspaces.is_empty() {
        part.push_str(
            "<p class=\"empty\">None yet. The first write that names a workspace creates it: \
             connect an agent below, or try <code>muster call tasks_create --kind plan \
             --workspace my-project --title \"First plan\"</code>.</p>",
        );
    } else {
        part.push_str(
            "<table><thead><tr><th scope=\"col\">Name</th>\
             <th scope=\"col\" class=\"number\">Plans</th>\
             <th scope=\"col\" class=\"number\">Tasks</th></tr></thead><tbody>",
        );
        for workspace in workspaces {
            write_into(
                &mut part,
                format_args!(
                    "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td>\
                     <td class=\"number\">{}</td></tr>",
                    escape(&workspace.name),
                    grouped(workspace.plans),
                    grouped(workspace.tasks),
                ),
            );
        }
        part.push_str("</tbody></table>");
    }
    part.push_str("</section>");
    part
}

fn connect_part(view: &View) -> String {
    let mut part = String::from(
        "<section><h2>Connect an agent</h2><p class=\"lead\">Over stdio each agent starts its own \
         Muster on the same store; this server need not run. Over HTTP it talks to this server. \
         Replace <code>my-project</code> with a name for your work.</p><div class=\"agents\">",
    );
    for recipe in &view.recipes {
        write_into(
            &mut part,
            format_args!(
                "<article><h3>{}</h3>{}{}<details><summary>Configuration file</summary>\
                 {}</details></article>",
                escape(recipe.agent),
                snippet("stdio", &recipe.stdio),
                snippet("HTTP", &recipe.http),
                snippet(recipe.file.0, &recipe.file.1),
            ),
        );
    }
    part.push_str("</div>");
    if !view.token_needed {
        part.push_str(
            "<p class=\"alarm\">Authentication is off: every program on this machine can use this \
             server.</p>",
        );
    }
    part.push_str("</section>");
    part
}

fn snippet(label: &str, text: &str) -> String {
    format!(
        "<div class=\"snippet\"><div class=\"label\"><span>{}</span>\
         <button type=\"button\" class=\"copy\" hidden>Copy</button></div>\
         <pre tabindex=\"0\"><code>{}</code></pre></div>",
        escape(label),
        escape(text)
    )
}

fn operations_part(view: &View) -> String {
    let count = view.operations.len() as u64;
    let mut part = format!(
        "<section><details><summary><h2>{}</h2> <small>agents are shown the toolset \
         <em>{}</em>; all can be called</small></summary><ul class=\"operations\">",
        counted(count, "operation"),
        escape(&view.toolset),
    );
    for (name, title, effect) in &view.operations {
        write_into(
            &mut part,
            format_args!(
                "<li><code>{}</code> <span>{}</span> <small>{effect}</small></li>",
                escape(name),
                escape(title)
            ),
        );
    }
    part.push_str("</ul></details></section>");
    part
}

fn foot_part(view: &View) -> String {
    format!(
        "<footer><a href=\"/openapi.json\">OpenAPI</a> <a href=\"/api/ops\">Operations as JSON</a> \
         <a href=\"/health\">Health</a> <span>muster {}</span></footer>",
        escape(view.version)
    )
}

/// The page for a browser that is not signed in: its script uses the code in the address, once.
pub(super) fn sign_in_page() -> String {
    let body = "<main class=\"gate\"><h1>Muster</h1>\
        <p id=\"sign-in-text\">Open the link that <code>muster serve</code> printed. \
        It works once.</p>\
        <div id=\"sign-in\" hidden><label for=\"token\">Or paste the content of the file \
        <code>token</code> in the storage directory</label>\
        <div class=\"row\">\
        <input id=\"token\" type=\"password\" autocomplete=\"off\" spellcheck=\"false\">\
        <button type=\"button\" id=\"sign-in-button\">Sign in</button></div></div>\
        <noscript><p>Signing in needs JavaScript. Programs send the token as \
        <code>Authorization: Bearer</code>.</p></noscript></main>";
    page("Muster: sign in", "sign-in", body)
}

fn page(title: &str, kind: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\" data-page=\"{kind}\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title>\
         <link rel=\"icon\" href=\"/assets/muster.svg\" type=\"image/svg+xml\">\
         <link rel=\"stylesheet\" href=\"/assets/muster.css\">\
         <script src=\"/assets/muster.js\" defer></script></head><body>{body}</body></html>\n"
    )
}

fn write_into(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    if text.write_fmt(arguments).is_err() {
        unreachable!("writing to a String does not fail");
    }
}
