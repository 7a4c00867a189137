//! The page on a large run, in a real browser: how long its first view takes, from the address to
//! the drawn graph, with nothing of the page kept from before.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::{
    Bench,
    report::{Limit, Line},
    runs,
    series::Series,
};
use crate::{web, workspace::output};

const VIEW_MILLIS_MAX: f64 = 1_000.0;
/// Views of one browser.
const VIEWS: usize = 5;

/// Opens the run with the longest history; measures nothing where there is no browser.
pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let mut script = match web::browser_script(bench.workspace, "first_view.mjs") {
        Ok(script) => script,
        Err(reason) => {
            println!("skipped the page in a browser: {reason}");
            return Ok(Vec::new());
        }
    };
    let store = runs::filled(bench.workspace)?.copy(bench.profile)?;
    script.arg(VIEWS.to_string()).env("MUSTER", &bench.program).env("MUSTER_STORE", store);
    let mut series = Series::default();
    for line in output(&mut script)?.lines() {
        let millis: f64 = line.trim().parse().with_context(|| format!("not a time: {line}"))?;
        series.push(Duration::from_secs_f64(millis / 1e3));
    }
    ensure!(series.median() > Duration::ZERO, "no view was measured");
    let limit = Limit::AtMost(VIEW_MILLIS_MAX);
    Ok(vec![Line::plain("first view of a run", "page", runs::EVENTS[1], (&series).into(), limit)])
}
