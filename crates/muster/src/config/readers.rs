//! Parsers for the values of settings, from a variable or the file.

use std::{ffi::OsStr, fmt, net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

use clap::ValueEnum as _;
use muster_api::{
    Toolset, WorkspaceId,
    notify::{QuietHours, WebhookUrl},
};
use muster_core::{AUTHOR_NAME_CHARS_MAX, text::trim, todo::view::Strategy, watched::WatchPolicy};
use tracing_subscriber::EnvFilter;

use crate::arguments::LogFormat;

/// Rows of a preview at most, as the tallest terminal shows them (UI-2).
pub(super) const PREVIEW_ROWS_MAX: u64 = 7;

/// The largest number of a duration.
const DURATION_MAX: u64 = 100_000;

/// A secret that is never displayed or logged.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// The secret, to be sent where it belongs.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

fn trimmed(text: &OsStr) -> Option<&str> {
    Some(trim(text.to_str()?))
}

pub(super) fn folder(text: &OsStr) -> Option<Option<PathBuf>> {
    (!text.is_empty()).then(|| Some(PathBuf::from(text)))
}

/// A workspace, exactly as written.
pub(super) fn workspace(text: &OsStr) -> Option<Option<WorkspaceId>> {
    text.to_str()?.parse().ok().map(Some)
}

pub(super) fn name(text: &OsStr) -> Option<Option<String>> {
    let name = text.to_str()?.trim();
    let fits = !name.is_empty() && name.chars().count() <= AUTHOR_NAME_CHARS_MAX;
    (fits && !name.chars().any(char::is_control)).then(|| Some(name.to_owned()))
}

pub(super) fn log_filter(text: &OsStr) -> Option<Option<String>> {
    let text = trimmed(text)?;
    EnvFilter::try_new(text).is_ok().then(|| Some(text.to_owned()))
}

pub(super) fn log_format(text: &OsStr) -> Option<LogFormat> {
    LogFormat::from_str(trimmed(text)?, false).ok()
}

pub(super) fn address(text: &OsStr) -> Option<SocketAddr> {
    trimmed(text)?.parse().ok()
}

/// On or off.
pub(super) fn switch(text: &OsStr) -> Option<bool> {
    match trimmed(text)? {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

/// Comma-separated values.
pub(super) fn list<T: FromStr>(text: &OsStr) -> Option<Vec<T>> {
    let names = trimmed(text)?.split(',').map(trim).filter(|name| !name.is_empty());
    names.map(|name| name.parse().ok()).collect()
}

/// A program and its arguments, as a JSON array; an empty one means none.
pub(super) fn command(text: &OsStr) -> Option<Vec<String>> {
    let words: Vec<String> = serde_json::from_str(trimmed(text)?).ok()?;
    let is_plain = |word: &String| !word.contains('\0');
    let has_program = words.first().is_none_or(|program| !program.is_empty());
    (has_program && words.iter().all(is_plain)).then_some(words)
}

/// A whole number of seconds, minutes or hours: `90s`, `5m`, `1h`.
pub(super) fn duration(text: &OsStr) -> Option<Duration> {
    let text = trimmed(text)?;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => return None,
    };
    let number: u64 = number.parse().ok().filter(|number| *number <= DURATION_MAX)?;
    Some(Duration::from_secs(number * seconds))
}

/// The webhook of notifications.
pub(super) fn webhook(text: &OsStr) -> Option<Option<WebhookUrl>> {
    trimmed(text)?.parse().ok().map(Some)
}

/// The hours without notifications.
pub(super) fn quiet_hours(text: &OsStr) -> Option<Option<QuietHours>> {
    trimmed(text)?.parse().ok().map(Some)
}

/// A toolset by its name.
pub(super) fn toolset(text: &OsStr) -> Option<Toolset> {
    trimmed(text)?.parse().ok()
}

/// How much is watched, by its word.
pub(super) fn watch(text: &OsStr) -> Option<WatchPolicy> {
    WatchPolicy::of_word(trimmed(text)?)
}

/// A whole number from 1.
pub(super) fn positive(text: &OsStr) -> Option<u64> {
    trimmed(text)?.parse().ok().filter(|number| *number >= 1)
}

/// A number of rows.
pub(super) fn rows(text: &OsStr) -> Option<u64> {
    trimmed(text)?.parse().ok().filter(|number| (1..=PREVIEW_ROWS_MAX).contains(number))
}

/// Which rows a preview shows, by its name.
pub(super) fn strategy(text: &OsStr) -> Option<Strategy> {
    let all = [Strategy::ActiveFirst, Strategy::IncompleteFirst, Strategy::FirstN];
    let name = trimmed(text)?;
    all.into_iter().find(|strategy| strategy_name(*strategy) == name)
}

pub(super) fn strategy_name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::ActiveFirst => "active_first",
        Strategy::IncompleteFirst => "incomplete_first",
        Strategy::FirstN => "first_n",
    }
}

/// The URL of a server without a trailing slash. One with a user or a password is
/// refused: the token has a setting of its own.
pub(super) fn url(text: &OsStr) -> Option<Option<String>> {
    let text = trimmed(text)?.trim_end_matches('/');
    let (_, rest) = text.split_once("://").filter(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })?;
    let host = rest.split('/').next().unwrap_or_default();
    let plain = rest.bytes().all(|byte| byte.is_ascii_graphic() && !b"@?#\\\"<>".contains(&byte));
    (plain && !host.is_empty() && !host.starts_with(':')).then(|| Some(text.to_owned()))
}

/// A token that can be sent in a header.
pub(super) fn token(text: &OsStr) -> Option<Option<Secret>> {
    let text = trimmed(text)?;
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    plain.then(|| Some(Secret(text.to_owned())))
}
