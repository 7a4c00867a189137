//! The address of a store: a folder, or a database on a server.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use tokio_postgres::{
    Config,
    config::{Host, SslMode},
};

use crate::{PostgresStore, SqliteOptions, SqliteStore, Store, StoreAccess, StoreError, sqlite};

/// How long opening a connection may take.
const CONNECT_WAIT_MAX: Duration = Duration::from_secs(10);
/// After this long without an acknowledgement a connection counts as lost.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// Port of PostgreSQL.
const PORT_DEFAULT: u16 = 5432;

/// Which database holds the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseUrl {
    /// SQLite, in this folder or in that of the settings: `sqlite:` or `sqlite:DIR`.
    Sqlite(Option<PathBuf>),
    /// A server: `postgres://user@host/name`.
    Postgres(Box<PostgresAddress>),
}

impl Default for DatabaseUrl {
    fn default() -> Self {
        Self::Sqlite(None)
    }
}

impl FromStr for DatabaseUrl {
    type Err = StoreError;

    fn from_str(text: &str) -> Result<Self, StoreError> {
        if let Some(folder) = text.strip_prefix("sqlite:") {
            let folder = Some(folder).filter(|folder| !folder.is_empty());
            return Ok(Self::Sqlite(folder.map(PathBuf::from)));
        }
        if ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return PostgresAddress::parse(text).map(|address| Self::Postgres(Box::new(address)));
        }
        Err(wrong("it begins neither with sqlite: nor with postgres://"))
    }
}

/// Without the password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(None) => write!(f, "sqlite:"),
            Self::Sqlite(Some(folder)) => write!(f, "sqlite:{}", folder.display()),
            Self::Postgres(address) => write!(f, "{address}"),
        }
    }
}

/// Opens the store of a database. The folder is that of a file, unless the address names one; with
/// a server it is created for what each installation keeps for itself.
pub fn open(
    database: &DatabaseUrl,
    folder: &Path,
    files: SqliteOptions,
) -> Result<Arc<dyn Store>, StoreError> {
    match database {
        DatabaseUrl::Sqlite(named) => {
            let folder = named.as_deref().unwrap_or(folder);
            Ok(Arc::new(SqliteStore::open(folder, files)?))
        }
        DatabaseUrl::Postgres(address) => {
            if files.access != StoreAccess::Look {
                sqlite::prepare_folder(folder)?;
            }
            Ok(Arc::new(PostgresStore::open(PostgresAddress::clone(address), files.access)?))
        }
    }
}

/// How a connection is protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Never encrypted.
    Plain,
    /// Encrypted if the server can, without knowing who it is.
    Preferred,
    /// Encrypted, without knowing who the server is.
    Required,
    /// Encrypted, with a certificate for the name of the host: of the system's authorities, or of
    /// those in this file.
    Verified(Option<PathBuf>),
}

/// A database on a server of PostgreSQL.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresAddress {
    pub(crate) config: Config,
    pub(crate) protection: Protection,
    /// All of it, with the password.
    text: String,
}

impl PostgresAddress {
    /// The address with its password, to be kept where only its user can read it.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    fn parse(text: &str) -> Result<Self, StoreError> {
        let (server, query) = text.split_once('?').unwrap_or((text, ""));
        let mut mode = None;
        let mut authorities = None;
        let mut rest: Vec<&str> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value.to_owned()),
                Some(("sslrootcert", value)) => authorities = Some(PathBuf::from(decoded(value)?)),
                _ => rest.push(pair),
            }
        }
        let separator = if rest.is_empty() { "" } else { "?" };
        let plain = format!("{server}{separator}{}", rest.join("&"));
        let mut config: Config = plain.parse().map_err(|error: tokio_postgres::Error| {
            // Its source names the parameter, and never its value.
            wrong(&std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string))
        })?;
        if config.get_hosts().is_empty() {
            return Err(wrong("it names no host"));
        }
        let protection = protection(mode.as_deref(), authorities)?;
        config.ssl_mode(match protection {
            Protection::Plain => SslMode::Disable,
            Protection::Preferred => SslMode::Prefer,
            Protection::Required | Protection::Verified(_) => SslMode::Require,
        });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_WAIT_MAX);
        }
        if config.get_application_name().is_none() {
            config.application_name("muster");
        }
        config.tcp_user_timeout(SILENCE_MAX).keepalives_idle(SILENCE_MAX);
        Ok(Self { config, protection, text: text.to_owned() })
    }
}

fn protection(mode: Option<&str>, authorities: Option<PathBuf>) -> Result<Protection, StoreError> {
    let protection = match mode {
        Some("disable") => Protection::Plain,
        None | Some("prefer") => Protection::Preferred,
        Some("require") => Protection::Required,
        Some("verify-full") => return Ok(Protection::Verified(authorities)),
        Some(_) => {
            return Err(wrong("sslmode is none of disable, prefer, require and verify-full"));
        }
    };
    match authorities {
        Some(_) => Err(wrong("sslrootcert has an effect only with sslmode=verify-full")),
        None => Ok(protection),
    }
}

fn wrong(finding: &str) -> StoreError {
    StoreError::Address { finding: finding.to_owned() }
}

/// Undoes the escapes of a query, such as `%2F`.
fn decoded(value: &str) -> Result<String, StoreError> {
    let bad = || wrong("sslrootcert has an escape that is none");
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2).ok_or_else(bad)?;
        let digits = std::str::from_utf8(digits).map_err(|_| bad())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| bad())?);
        rest = after;
    }
    String::from_utf8(bytes).map_err(|_| bad())
}

/// Without the password.
impl fmt::Display for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://")?;
        if let Some(user) = self.config.get_user() {
            write!(f, "{user}@")?;
        }
        let ports = self.config.get_ports();
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            let separator = if at > 0 { "," } else { "" };
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(PORT_DEFAULT);
            match host {
                Host::Tcp(name) => write!(f, "{separator}{name}:{port}")?,
                #[cfg(unix)]
                Host::Unix(folder) => write!(f, "{separator}{}:{port}", folder.display())?,
            }
        }
        write!(f, "/{}", self.config.get_dbname().or(self.config.get_user()).unwrap_or_default())
    }
}

impl fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{DatabaseUrl, Protection};

    fn protection(query: &str) -> Result<Protection, String> {
        match format!("postgres://ann:secret@db.example/work{query}").parse() {
            Ok(DatabaseUrl::Postgres(address)) => Ok(address.protection),
            Ok(DatabaseUrl::Sqlite(_)) => unreachable!("it begins with postgres:"),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            ("sqlite:", "sqlite:"),
            ("sqlite:/var/work", "sqlite:/var/work"),
            ("postgres://ann:secret@db.example/work", "postgres://ann@db.example:5432/work"),
            ("postgresql://ann:secret@one:1,two:2/w", "postgres://ann@one:1,two:2/w"),
            ("postgres://ann@[::1]:77/?password=secret", "postgres://ann@::1:77/ann"),
        ] {
            let url: DatabaseUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("secret"), "{url:?}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_repeating_it() {
        for text in [
            "",
            "mysql://ann:secret@db/work",
            "/var/work",
            "postgres://",
            "postgres:///work",
            "postgres://ann:secret@db:port/work",
            "postgres://ann:secret@db/work?shoe=secret",
            "postgres://ann:secret@db/work?sslmode=secret",
            "postgres://ann:secret@db/work?sslmode=verify-full&sslrootcert=%zz",
        ] {
            let error = text.parse::<DatabaseUrl>().unwrap_err().to_string();
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    }

    #[test]
    fn the_protection_is_the_one_asked_for() {
        assert_eq!(protection(""), Ok(Protection::Preferred));
        assert_eq!(protection("?sslmode=disable"), Ok(Protection::Plain));
        assert_eq!(protection("?sslmode=require"), Ok(Protection::Required));
        assert_eq!(protection("?sslmode=verify-full"), Ok(Protection::Verified(None)));
        let file = Some(PathBuf::from("/etc/our ca.pem"));
        assert_eq!(
            protection("?sslrootcert=/etc/our%20ca.pem&sslmode=verify-full"),
            Ok(Protection::Verified(file))
        );
        assert!(protection("?sslmode=require&sslrootcert=/etc/ca.pem").is_err());
        assert!(protection("?sslmode=verify-ca").is_err());
    }
}
