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
    /// Name of that token, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<String>,
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
    /// Name of the token that it signed in with, if that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    /// Address of the page that it signed in on.
    pub(crate) origin: Option<String>,
    /// The user agent of the browser.
    pub(crate) browser: Option<String>,
    /// When it signed in.
    pub(crate) created_at: String,
    /// When it has to sign in again.
    pub(crate) expires_at: String,
}

/// What a session was opened with; it ends with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PageCredential {
    /// The key or the agents' token of this storage folder.
    Local { role: CallerRole, bound_to: String },
    /// A named token.
    Named { role: CallerRole, digest: String, name: String },
}

/// A browser that is being signed in.
pub(crate) struct NewPageSession {
    pub(crate) credential: PageCredential,
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
        let (role, bound_to, token) = match new.credential {
            PageCredential::Local { role, bound_to } => (role, bound_to, None),
            PageCredential::Named { role, digest, name } => (role, digest, Some(name)),
        };
        let record = Record {
            digest: digest(&secret),
            role,
            bound_to,
            token,
            origin: new.origin,
            browser: new.browser.map(cut),
            created,
            expires: created + PAGE_SESSION_LIFETIME.as_secs(),
        };
        write_private(&self.file(id), &serde_json::to_string(&record)?)?;
        Ok((secret, record.shown(id)))
    }

    /// The session of a secret, and what opened it; whether that is still valid is for the caller.
    /// `origin` is the page that sends the request, if the browser names it.
    pub(crate) fn find(
        &self,
        secret: &str,
        origin: Option<&str>,
        now: SystemTime,
    ) -> Option<(PageSessionId, PageCredential)> {
        let (prefix, rest) = secret.split_once('.')?;
        let id: PageSessionId = rest.split_once('.')?.0.parse().ok()?;
        let record = self.read(id).filter(|_| prefix == PREFIX)?;
        let same_page =
            origin.is_none() || record.origin.is_none() || record.origin.as_deref() == origin;
        let known = secrets_equal(&record.digest, &digest(secret));
        let live = seconds(now) < record.expires;
        (known && same_page && live).then(|| (id, record.credential()))
    }

    /// Sessions whose credential is valid, newest first.
    pub(crate) fn list(
        &self,
        now: SystemTime,
        mut is_valid: impl FnMut(&PageCredential) -> io::Result<bool>,
    ) -> io::Result<Vec<PageSession>> {
        let mut valid = Vec::new();
        for (id, record) in self.records()? {
            if seconds(now) < record.expires && is_valid(&record.credential())? {
                valid.push((id, record));
            }
        }
        valid.sort_by_key(|(_, record)| std::cmp::Reverse(record.created));
        Ok(valid.into_iter().map(|(id, record)| record.shown(id)).collect())
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
    fn credential(&self) -> PageCredential {
        let Self { role, bound_to, token, .. } = self;
        match token.clone() {
            None => PageCredential::Local { role: *role, bound_to: bound_to.clone() },
            Some(name) => PageCredential::Named { role: *role, digest: bound_to.clone(), name },
        }
    }

    fn shown(&self, id: PageSessionId) -> PageSession {
        PageSession {
            id: id.to_string(),
            role: self.role,
            token: self.token.clone(),
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

    use super::{NewPageSession, PageCredential, PageSessions};
    use crate::{
        guard::CallerRole,
        limits::{PAGE_SESSION_LIFETIME, PAGE_SESSIONS_MAX},
    };

    const PAGE: &str = "http://127.0.0.1:7717";

    fn new(role: CallerRole) -> NewPageSession {
        let origin = Some(PAGE.to_owned());
        let credential = PageCredential::Local { role, bound_to: "key".to_owned() };
        NewPageSession { credential, origin, browser: None }
    }

    #[test]
    fn a_session_outlives_a_restart_and_ends_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let sessions = || PageSessions::in_folder(folder.path());
        let (secret, shown) = sessions().open(new(CallerRole::Person), now).unwrap();
        let found = |secret: &str, at| sessions().find(secret, Some(PAGE), at);
        assert_eq!(found(&secret, now).unwrap().1, new(CallerRole::Person).credential);
        assert!(found(&secret, now + PAGE_SESSION_LIFETIME).is_none());
        assert!(found(&secret[..secret.len() - 1], now).is_none());
        assert!(found(&secret.replace("muster-page", "other"), now).is_none());
        let listed = |at| sessions().list(at, |_| Ok(true)).unwrap();
        assert_eq!(listed(now), std::slice::from_ref(&shown));
        assert_eq!(listed(now + PAGE_SESSION_LIFETIME), []);
        sessions().end(shown.id.parse().unwrap()).unwrap();
        assert!(found(&secret, now).is_none());
    }

    #[test]
    fn a_session_belongs_to_its_page_and_names_what_opened_it() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let sessions = PageSessions::in_folder(folder.path());
        let credential = PageCredential::Named {
            role: CallerRole::Agent,
            digest: "of the token".to_owned(),
            name: "ci".to_owned(),
        };
        let opened = NewPageSession { credential: credential.clone(), ..new(CallerRole::Agent) };
        let (secret, shown) = sessions.open(opened, now).unwrap();
        assert_eq!(shown.token.as_deref(), Some("ci"));
        let found = sessions.find(&secret, None, now).unwrap();
        assert_eq!(found.1, credential, "a read from the own page");
        assert!(sessions.find(&secret, Some("http://127.0.0.1:3000"), now).is_none());
        let none_is_valid = sessions.list(now, |found| Ok(*found != credential));
        assert_eq!(none_is_valid.unwrap(), []);
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
        assert_eq!(sessions.list(now, |_| Ok(true)).unwrap().len(), PAGE_SESSIONS_MAX);
    }
}
