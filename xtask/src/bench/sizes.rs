//! The size of the program as a file.

use std::fs;

use anyhow::{Context, Result};

use super::{
    Bench,
    report::{Limit, Line, MB, Measure},
};

/// By the profile that it is built with.
const MB_MAX: [(&str, f64); 2] = [("release", 20.0), ("dist", 15.0)];

/// All builds that are measured.
pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    for (profile, path) in bench.programs {
        let bytes = fs::metadata(path).context("the size of a program")?.len();
        let value = Measure::Amount(bytes as f64 / MB, "MB");
        if let Some((_, most)) = MB_MAX.iter().find(|(name, _)| name == profile) {
            let what = format!("program, {profile}");
            lines.push(Line::plain(what, "file", 0, value, Limit::AtMost(*most)));
        }
    }
    Ok(lines)
}
