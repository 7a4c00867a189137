//! Sessions over HTTP: what one more node costs in a small and in a large tree, and how long it
//! takes to compile a tree.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{
    report::{Limit, Line, shown, times},
    series::Series,
    store::{Contents, Filled},
    wire::{Client, Server, Wire as _},
};
use crate::workspace::Workspace;

/// Nodes of the two trees that one more is added to.
pub(crate) const NODES: [u64; 2] = [1_000, 100_000];
/// How much more one more node may cost in the large tree, and compiling it.
const GROWTH_MAX: f64 = 2.0;
const TEXT_GROWTH_MAX: f64 = 1.5;
/// Nodes of the tree that is compiled, characters of the result, and how many round trips of an
/// empty call that may take.
const TEXT_NODES: u64 = 10_000;
const TEXT_CHARS: u64 = 8_000;
const TEXT_MAX: f64 = 20.0;
/// Calls of each kind before any is timed.
const WARM_UP_ROUNDS: usize = 20;

/// The store with these sessions.
pub(crate) fn filled(workspace: &Workspace) -> Result<Filled> {
    let contents = [NODES[0], TEXT_NODES, NODES[1]].map(|nodes| format!("session={nodes}"));
    Filled::ensure(workspace, "sessions", Contents::Sessions, &contents)
}

/// Times of one kind of call each.
#[derive(Default)]
struct Times {
    echo: Series,
    append: [Series; 2],
    /// Compiled, at the sizes of `append`.
    grown_text: [Series; 2],
    text: Series,
}

/// Adds nodes and compiles trees, in turn.
pub(crate) fn measure(server: &Server, rounds: usize) -> Result<Vec<Line>> {
    let mut client = server.connect()?;
    let grown = [session(&mut client, NODES[0])?, session(&mut client, NODES[1])?];
    let written = session(&mut client, TEXT_NODES)?;
    let mut times = Times::default();
    for round in 0..WARM_UP_ROUNDS + rounds {
        if round == WARM_UP_ROUNDS {
            times = Times::default();
        }
        client.echo(&mut times.echo)?;
        // A tree changes each time before it is compiled, so that no text can be cached.
        for (at, session) in grown.iter().enumerate() {
            append(&mut client, session, &mut times.append[at])?;
            compile(&mut client, session, &mut times.grown_text[at])?;
        }
        append(&mut client, &written, &mut Series::default())?;
        compile(&mut client, &written, &mut times.text)?;
    }
    Ok(lines(&times))
}

fn compile(client: &mut Client, session: &str, series: &mut Series) -> Result<()> {
    let path = format!("/sessions/{session}/ctrees/compiled?max_chars={TEXT_CHARS}");
    let text = client.ask("GET", &path, &Value::Null, series)?;
    let used = text.to_string().chars().count() as u64;
    ensure!(used <= TEXT_CHARS && used > TEXT_CHARS * 9 / 10, "an answer of {used} characters");
    Ok(())
}

/// The session with `nodes` nodes, by its title.
fn session(client: &mut Client, nodes: u64) -> Result<String> {
    let all = client.ask("GET", "/sessions", &Value::Null, &mut Series::default())?;
    let title = json!(nodes.to_string());
    let mut sessions = all.as_array().context("a list of sessions")?.iter();
    let found = sessions.find(|session| session["title"] == title);
    let id = found.and_then(|session| session["session_id"].as_str());
    Ok(id.context("the session is in the store")?.to_owned())
}

/// Adds one node.
fn append(client: &mut Client, session: &str, series: &mut Series) -> Result<()> {
    let event = json!({"type": "assistant_message", "data": {"text": "The cursor was right."}});
    client.ask("POST", &format!("/sessions/{session}/events"), &event, series).map(drop)
}

fn lines(measured: &Times) -> Vec<Line> {
    let echo = measured.echo.median();
    let growth = |what: &str, [small, large]: &[Series; 2], limit| Line {
        what: what.to_owned(),
        place: "http",
        size: NODES[1],
        value: large.into(),
        base: format!("{} at {} nodes", shown(small.median()), NODES[0]),
        ratio: times(large.median(), small.median()),
        limit: Limit::AtMost(limit),
    };
    vec![
        growth("append a node", &measured.append, GROWTH_MAX),
        growth("compile to 8,000", &measured.grown_text, TEXT_GROWTH_MAX),
        Line {
            what: "compile to 8,000".to_owned(),
            place: "http",
            size: TEXT_NODES,
            value: (&measured.text).into(),
            base: format!("echo {}", shown(echo)),
            ratio: times(measured.text.median(), echo),
            limit: Limit::AtMost(TEXT_MAX),
        },
    ]
}
