//! When a session may be resumed that its agent keeps in a file named by the minute: not in the
//! minute in which it began, because the file would be overwritten and everything in it lost.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

/// Sessions that this process has begun, and when.
static BEGUN: Mutex<BTreeMap<String, SystemTime>> = Mutex::new(BTreeMap::new());
/// When this process began to start sessions; unknown ones are older.
static SINCE: LazyLock<SystemTime> = LazyLock::new(SystemTime::now);
/// Sessions that are remembered.
const SESSIONS_MAX: usize = 1_000;

fn begun() -> MutexGuard<'static, BTreeMap<String, SystemTime>> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This process begins to drive runs.
pub(crate) fn watch() {
    LazyLock::force(&SINCE);
}

/// A session was begun.
pub(super) fn note(session: &str) {
    let mut begun = begun();
    let now = SystemTime::now();
    if begun.len() >= SESSIONS_MAX {
        begun.retain(|_, at| minute(*at) == minute(now));
    }
    begun.insert(session.to_owned(), now);
}

/// How long to wait before a session is resumed.
pub(super) fn pause(session: &str) -> Duration {
    let at = begun().get(session).copied();
    rest(at.unwrap_or(*SINCE), SystemTime::now())
}

/// What is left of a minute in which something was begun.
fn rest(begun: SystemTime, now: SystemTime) -> Duration {
    if minute(begun) != minute(now) {
        return Duration::ZERO;
    }
    Duration::from_secs(61).saturating_sub(Duration::from_secs(seconds(now) % 60))
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn minute(at: SystemTime) -> u64 {
    seconds(at) / 60
}

#[cfg(test)]
mod tests {
    use super::{Duration, SystemTime, note, pause, rest};

    #[test]
    fn a_session_is_resumed_in_another_minute_and_not_later_than_that() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(rest(at(120), at(120)), Duration::from_secs(61));
        assert_eq!(rest(at(120), at(179)), Duration::from_secs(2));
        assert_eq!(rest(at(179), at(180)), Duration::ZERO);
        assert_eq!(rest(at(30), at(3_600)), Duration::ZERO);
        note("fresh");
        assert!(pause("fresh") <= Duration::from_secs(61));
    }
}
