//! Signed-in browsers. The page keeps a secret in the storage of its own origin and sends
//! it as a header: unlike a cookie, no other port of this host ever sees it.
//!
//! A session is one small file with the hash of its secret, so sessions survive a restart,
//! every server of the storage folder knows them, and removing the file ends one at once. It is
//! bound to the key or token that opened it, and to the origin of the page.
//!
//! ```text
//!   secret = "muster-page." id "." 256 random bits
//! ```

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    str::FromStr,
    time::{SystemTime, UNIX_EPOCH},
};

use muster_core::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    guard::CallerRole,
    limits::{BROWSER_CHARS_MAX, PAGE_SESSION_LIFETIME, PAGE_SESSIONS_MAX},
    person::{create_private_folder, digest, write_private},
    token::{random_secret, secrets_equal},
};

/// Folder of the files, inside the person's.
const FOLDER: &str = "sessions";
/// Extension of the files.
const ENDING: &str = "json";
/// Prefix of every secret.
const PREFIX: &str = "muster-page";

/// The id of a session; it is not secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageSessionId(u64);

impl fmt::Display for PageSessionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

impl FromStr for PageSessionId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let id = u64::from_str_radix(text, 16).map(Self).map_err(|_| ())?;
        // Another spelling of the number would name another file.
        if id.to_string() == text { Ok(id) } else { Err(()) }
    }
}

/// The stored part of a session.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    digest: String,
    role: CallerRole,
    /// Hash of the key or token that opened it.
    bound_to: String,
    origin: Option<String>,
    browser: Option<String>,
    created: u64,
    expires: u64,
}

/// A signed-in browser, as listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageSession {
    /// Its id.
    pub(crate) id: String,
    /// Whether it acts for a person, or has the rights of an agent.
    pub(crate) role: CallerRole,
    /// Address of the page that it signed in on.
    pub(crate) origin: Option<String>,
    /// The user agent of the browser.
    pub(crate) browser: Option<String>,
    /// When it signed in.
    pub(crate) created_at: String,
    /// When it has to sign in again.
    pub(crate) expires_at: String,
}

/// A browser that is being signed in.
pub(crate) struct NewPageSession {
    pub(crate) role: CallerRole,
    pub(crate) bound_to: String,
    pub(crate) origin: Option<String>,
    pub(crate) browser: Option<String>,
}

/// The sessions of a storage folder.
pub(crate) struct PageSessions {
    folder: PathBuf,
}

impl PageSessions {
    /// Those kept in the person's folder.
    pub(crate) fn in_folder(person: &Path) -> Self {
        Self { folder: person.join(FOLDER) }
    }

    /// Signs a browser in; returns its secret.
    pub(crate) fn open(
        &self,
        new: NewPageSession,
        now: SystemTime,
    ) -> io::Result<(String, PageSession)> {
        create_private_folder(&self.folder)?;
        self.make_room(now)?;
        let random = || random_secret().map_err(|error| io::Error::other(error.to_string()));
        let id = u64::from_str_radix(&random()?[..16], 16).map(PageSessionId);
        let id = id.map_err(io::Error::other)?;
        let secret = format!("{PREFIX}.{id}.{}", random()?);
        let created = seconds(now);
        let cut = |text: String| text.chars().take(BROWSER_CHARS_MAX).collect();
        let record = Record {
            digest: digest(&secret),
            role: new.role,
            bound_to: new.bound_to,
            origin: new.origin,
            browser: new.browser.map(cut),
            created,
            expires: created + PAGE_SESSION_LIFETIME.as_secs(),
        };
        write_private(&self.file(id), &serde_json::to_string(&record)?)?;
        Ok((secret, record.shown(id)))
    }

    /// The session of a secret. `bound_to` returns the hash of a role's current credential;
    /// `origin` is the page that sends the request, if the browser names it.
    pub(crate) fn find(
        &self,
        secret: &str,
        origin: Option<&str>,
        now: SystemTime,
        bound_to: impl FnOnce(CallerRole) -> Option<String>,
    ) -> Option<(PageSessionId, CallerRole)> {
        let (prefix, rest) = secret.split_once('.')?;
        let id: PageSessionId = rest.split_once('.')?.0.parse().ok()?;
        let record = self.read(id).filter(|_| prefix == PREFIX)?;
        let same_page =
            origin.is_none() || record.origin.is_none() || record.origin.as_deref() == origin;
        let known = secrets_equal(&record.digest, &digest(secret));
        let live = seconds(now) < record.expires && bound_to(record.role)? == record.bound_to;
        (known && same_page && live).then_some((id, record.role))
    }

    /// Valid sessions, newest first.
    pub(crate) fn list(
        &self,
        now: SystemTime,
        bound_to: impl Fn(CallerRole) -> Option<String>,
    ) -> io::Result<Vec<PageSession>> {
        let mut records = self.records()?;
        let valid = |record: &Record| {
            let bound = bound_to(record.role).is_some_and(|bound| bound == record.bound_to);
            seconds(now) < record.expires && bound
        };
        records.retain(|(_, record)| valid(record));
        records.sort_by_key(|(_, record)| std::cmp::Reverse(record.created));
        Ok(records.into_iter().map(|(id, record)| record.shown(id)).collect())
    }

    pub(crate) fn show(&self, id: PageSessionId) -> Option<PageSession> {
        self.read(id).map(|record| record.shown(id))
    }

    /// Ends a session; a missing one has already ended.
    pub(crate) fn end(&self, id: PageSessionId) -> io::Result<()> {
        match fs::remove_file(self.file(id)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn file(&self, id: PageSessionId) -> PathBuf {
        self.folder.join(id.to_string()).with_extension(ENDING)
    }

    fn read(&self, id: PageSessionId) -> Option<Record> {
        serde_json::from_slice(&fs::read(self.file(id)).ok()?).ok()
    }

    fn records(&self) -> io::Result<Vec<(PageSessionId, Record)>> {
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let ids =
            entries.filter_map(|entry| entry.ok()?.path().file_stem()?.to_str()?.parse().ok());
        Ok(ids.filter_map(|id| Some((id, self.read(id)?))).collect())
    }

    /// Removes expired sessions, and the oldest when there are too many.
    fn make_room(&self, now: SystemTime) -> io::Result<()> {
        let mut records = self.records()?;
        records.sort_by_key(|(_, record)| std::cmp::Reverse(record.created));
        for (place, (id, record)) in records.iter().enumerate() {
            if place + 1 >= PAGE_SESSIONS_MAX || record.expires <= seconds(now) {
                self.end(*id)?;
            }
        }
        Ok(())
    }
}

impl Record {
    fn shown(&self, id: PageSessionId) -> PageSession {
        PageSession {
            id: id.to_string(),
            role: self.role,
            origin: self.origin.clone(),
            browser: self.browser.clone(),
            created_at: written(self.created),
            expires_at: written(self.expires),
        }
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn written(seconds: u64) -> String {
    Timestamp(i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX)).rfc3339()
}

#[cfg(test)]
mod tests {
    use std::{fs, time::SystemTime};

    use super::{NewPageSession, PageSessions};
    use crate::{
        guard::CallerRole,
        limits::{PAGE_SESSION_LIFETIME, PAGE_SESSIONS_MAX},
    };

    const PAGE: &str = "http://127.0.0.1:7717";

    fn new(role: CallerRole) -> NewPageSession {
        let origin = Some(PAGE.to_owned());
        NewPageSession { role, bound_to: "key".to_owned(), origin, browser: None }
    }

    fn key(_: CallerRole) -> Option<String> {
        Some("key".to_owned())
    }

    #[test]
    fn a_session_outlives_a_restart_and_ends_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let sessions = || PageSessions::in_folder(folder.path());
        let (secret, shown) = sessions().open(new(CallerRole::Person), now).unwrap();
        let found = |secret: &str, at| sessions().find(secret, Some(PAGE), at, key);
        assert_eq!(found(&secret, now).unwrap().1, CallerRole::Person);
        assert!(found(&secret, now + PAGE_SESSION_LIFETIME).is_none());
        assert!(found(&secret[..secret.len() - 1], now).is_none());
        assert!(found(&secret.replace("muster-page", "other"), now).is_none());
        assert_eq!(sessions().list(now, key).unwrap(), std::slice::from_ref(&shown));
        assert_eq!(sessions().list(now + PAGE_SESSION_LIFETIME, key).unwrap(), []);
        sessions().end(shown.id.parse().unwrap()).unwrap();
        assert!(found(&secret, now).is_none());
    }

    #[test]
    fn a_session_belongs_to_its_page_and_to_the_key_that_opened_it() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let sessions = PageSessions::in_folder(folder.path());
        let (secret, _) = sessions.open(new(CallerRole::Agent), now).unwrap();
        assert!(sessions.find(&secret, None, now, key).is_some(), "a read from the own page");
        assert!(sessions.find(&secret, Some("http://127.0.0.1:3000"), now, key).is_none());
        let other = |_| Some("another key".to_owned());
        assert!(sessions.find(&secret, Some(PAGE), now, other).is_none());
        assert_eq!(sessions.list(now, other).unwrap(), []);
    }

    #[test]
    fn the_files_hold_no_secret_and_stay_few() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = PageSessions::in_folder(folder.path());
        let now = SystemTime::now();
        for _ in 0..PAGE_SESSIONS_MAX + 3 {
            let (secret, _) = sessions.open(new(CallerRole::Person), now).unwrap();
            for entry in fs::read_dir(folder.path().join("sessions")).unwrap() {
                let text = fs::read_to_string(entry.unwrap().path()).unwrap();
                assert!(!text.contains(secret.rsplit('.').next().unwrap()));
            }
        }
        assert_eq!(sessions.list(now, key).unwrap().len(), PAGE_SESSIONS_MAX);
    }
}
