//! How many bytes an agent's server sends for one answer: its text for a model and its structure
//! for programs, in one line.

use anyhow::Result;

use super::{
    Bench, SIZES, Stores,
    calls::Kind,
    report::{Limit, Line, Measure},
    series::Series,
    wire::{Agent, Wire as _},
};

/// Answers of each kind, of which the largest counts.
const CALLS: usize = 20;
/// What is sent at most for each kind, in KB.
const KB_MAX: [(Kind, f64); 9] = [
    (Kind::Note, 1.8),
    (Kind::CloseStep, 2.6),
    (Kind::RadarTask, 3.8),
    (Kind::RadarPlan, 4.2),
    (Kind::Context, 9.0),
    (Kind::Delta, 9.2),
    (Kind::HandoffTask, 7.2),
    (Kind::SuperTask, 9.2),
    (Kind::SnapshotTask, 9.2),
];

/// Asks on the smaller store; answers of a larger one are as long.
pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let program = bench.program.clone();
    let (mut lines, Stores { folders: [small, _], sites: [site, _], .. }) = bench.stores()?;
    let mut agent = Agent::start(&program, small)?;
    agent.greet()?;
    for (kind, most) in KB_MAX {
        let mut bytes = 0;
        for _ in 0..CALLS {
            let arguments = site.targets.arguments(kind);
            agent.call(kind.operation(), &arguments, &mut Series::default())?;
            bytes = bytes.max(agent.answer_bytes());
        }
        let value = Measure::Amount(bytes as f64 / 1e3, "KB");
        let what = format!("sent, {}", kind.label());
        lines.push(Line::plain(what, "stdio", SIZES[0], value, Limit::AtMost(most)));
    }
    Ok(lines)
}
