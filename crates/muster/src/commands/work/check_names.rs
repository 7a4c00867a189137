//! Checks that a person names for new steps: a mistyped one would only show when the step
//! is closed.

use std::env;

use muster_api::{App, checks};
use muster_core::text::nearest;

use crate::commands::tasks::calls::NewTaskStep;

/// What to say about a check that the project of this directory does not have. The workspace may
/// have other projects, so it is not an error.
pub(super) fn remark_on_unknown(
    app: &App,
    steps: &[NewTaskStep],
) -> anyhow::Result<Option<String>> {
    let Some(known) = known(app)? else { return Ok(None) };
    let mut named = steps.iter().flat_map(|step| &step.checks);
    let Some(unknown) = named.find(|name| !known.contains(name)) else { return Ok(None) };
    let advice = match nearest(unknown, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None => "it declares none".to_owned(),
    };
    Ok(Some(format!("the project here has no check {unknown:?}: {advice}")))
}

/// The names of the checks here, as a person accepted them or as the file declares them.
fn known(app: &App) -> anyhow::Result<Option<Vec<String>>> {
    let Some(file) = checks::find(&env::current_dir()?) else { return Ok(None) };
    let root = file.parent().and_then(|root| root.to_str());
    let trust = root.map(|root| app.project_trust(root)).transpose()?.unwrap_or_default();
    let definition = match trust.accepted {
        Some(accepted) => accepted.definition,
        None => match checks::read(&file) {
            Ok(project) => project.definition,
            // The code that needs the file reports what is wrong with it.
            Err(_) => return Ok(None),
        },
    };
    Ok(Some(definition.checks.into_keys().collect()))
}
