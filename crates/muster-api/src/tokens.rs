//! Named tokens: made, listed, revoked, and found by their secret (TEAM-WHO-1).
//!
//! They are in the store, so every server of a store knows them. A secret is shown once; only its
//! digest is stored.

use muster_core::{
    Author, Draft, Timestamp,
    access::{
        AccessRole, BadGlob, NamedToken, NamedTokens, STREAM, TOKEN_NAME_CHARS_MAX, TokenCommand,
        TokenRefusal, WorkspaceGlob,
    },
    run::hash::sha256_hex,
};
use muster_engine::ExecuteError;
use muster_store::StoreError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{App, Caller};

/// Prefix of every secret, so that it is recognized wherever it is written.
const SECRET_BEGIN: &str = "mst_";
/// Random bytes of a secret.
const SECRET_BYTES: usize = 32;
/// Longest life of a token that expires.
const EXPIRES_DAYS_MAX: u64 = 3_650;
const SECONDS_OF_DAY: u64 = 24 * 60 * 60;

/// A token to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewToken {
    /// Under which its holder is the author of events: letters, digits and `. _ @ -`.
    pub name: String,
    /// What it may do.
    pub role: AccessRole,
    /// Pattern of the workspaces that it is for, such as `acme/*`; all by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspaces: Option<String>,
    /// Seconds after which it expires; never by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
}

/// A token that was just made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MadeToken {
    /// To be sent as `Authorization: Bearer`. It is shown once.
    pub token: String,
    #[serde(flatten)]
    pub shown: TokenRow,
}

/// A token, as listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenRow {
    pub name: String,
    pub role: AccessRole,
    /// Pattern of the workspaces that it is for.
    pub workspaces: String,
    /// When it was made.
    pub created_at: String,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Author>,
    /// When it expires, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Whether it has expired.
    pub expired: bool,
}

/// The tokens of a store that were not revoked, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokensAnswer {
    pub tokens: Vec<TokenRow>,
}

/// Why a request about tokens failed.
#[derive(Debug, thiserror::Error)]
pub enum TokenFault {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "a token's name has 1 to {TOKEN_NAME_CHARS_MAX} letters, digits and . _ @ -, and begins \
         with a letter or digit"
    )]
    BadName,
    #[error(transparent)]
    BadGlob(#[from] BadGlob),
    #[error("a token expires after 1 second to {EXPIRES_DAYS_MAX} days")]
    BadExpiry,
    #[error("there is a token {0} already: revoke it first, or choose another name")]
    NameTaken(String),
    #[error("there is no token {0}: `muster token list` shows all")]
    UnknownToken(String),
    #[error("there are {max} tokens already: revoke one first")]
    TooMany { max: usize },
}

/// The named tokens of an application.
#[derive(Clone, Copy)]
pub struct TokenDesk<'a>(&'a App);

impl App {
    /// The named tokens of the store.
    pub fn tokens(&self) -> TokenDesk<'_> {
        TokenDesk(self)
    }
}

impl TokenDesk<'_> {
    /// Makes a token.
    pub fn create(self, new: &NewToken, caller: &Caller) -> Result<MadeToken, TokenFault> {
        let workspaces = match &new.workspaces {
            Some(pattern) => pattern.parse()?,
            None => WorkspaceGlob::EVERYTHING,
        };
        let expires_at = new.expires_in.map(|seconds| self.after(seconds)).transpose()?;
        let token = new_secret()?;
        let digest = sha256_hex(token.as_bytes());
        let command = TokenCommand::Create {
            digest: digest.clone(),
            name: new.name.clone(),
            role: new.role,
            workspaces,
            expires_at,
        };
        self.apply(command, &new.name, caller)?;
        let now = self.0.now();
        let made = self.read(&digest)?;
        let made = made.ok_or_else(|| TokenFault::UnknownToken(new.name.clone()))?;
        Ok(MadeToken { token, shown: TokenRow::of(made, now) })
    }

    /// Ends a token at once.
    pub fn revoke(self, name: &str, caller: &Caller) -> Result<(), TokenFault> {
        self.apply(TokenCommand::Revoke { name: name.to_owned() }, name, caller)
    }

    pub fn list(self) -> Result<TokensAnswer, TokenFault> {
        let now = self.0.now();
        let all =
            self.0.engine().read::<NamedTokens, _>(STREAM, |docs| Ok(NamedTokens::all(docs)?));
        let all = all.map_err(|error| fault(error, ""))?;
        Ok(TokensAnswer { tokens: all.into_iter().map(|token| TokenRow::of(token, now)).collect() })
    }

    /// The token of a secret, if it may be used now.
    pub fn find(self, secret: &str) -> Result<Option<NamedToken>, StoreError> {
        match is_secret(secret) {
            true => self.live(&sha256_hex(secret.as_bytes())),
            false => Ok(None),
        }
    }

    /// The token with this digest, if it may be used now.
    pub fn live(self, digest: &str) -> Result<Option<NamedToken>, StoreError> {
        let now = self.0.now();
        Ok(self.read(digest)?.filter(|token| token.is_live(now)))
    }

    fn read(self, digest: &str) -> Result<Option<NamedToken>, StoreError> {
        let read = self
            .0
            .engine()
            .read::<NamedTokens, _>(STREAM, |docs| Ok(NamedTokens::find(docs, digest)?));
        read.map_err(|error| match error {
            ExecuteError::Rejected(_) => unreachable!("reading a token rejects nothing"),
            ExecuteError::Store(failure) => failure.0,
        })
    }

    fn after(self, seconds: u64) -> Result<i64, TokenFault> {
        if !(1..=EXPIRES_DAYS_MAX * SECONDS_OF_DAY).contains(&seconds) {
            return Err(TokenFault::BadExpiry);
        }
        let milliseconds = i64::try_from(seconds * 1_000).map_err(|_| TokenFault::BadExpiry)?;
        Ok(self.0.now().0.saturating_add(milliseconds))
    }

    fn apply(self, command: TokenCommand, name: &str, caller: &Caller) -> Result<(), TokenFault> {
        let work =
            move |draft: &mut Draft<'_, NamedTokens>| draft.apply(&command).map(|_events| ());
        let engine = self.0.engine();
        let done = engine.execute_for::<NamedTokens, ()>(caller.facts(), STREAM.to_owned(), work);
        done.map_err(|error| fault(error, name))
    }
}

impl TokenRow {
    fn of(token: NamedToken, now: Timestamp) -> Self {
        Self {
            expired: !token.is_live(now),
            name: token.name,
            role: token.role,
            workspaces: token.workspaces.to_string(),
            created_at: Timestamp(token.created_at).rfc3339(),
            created_by: token.created_by,
            expires_at: token.expires_at.map(|at| Timestamp(at).rfc3339()),
        }
    }
}

fn fault(error: ExecuteError<TokenRefusal>, name: &str) -> TokenFault {
    let name = || name.to_owned();
    match error {
        ExecuteError::Store(failure) => TokenFault::Store(failure.0),
        ExecuteError::Rejected(refusal) => match *refusal {
            TokenRefusal::BadName => TokenFault::BadName,
            TokenRefusal::NameTaken => TokenFault::NameTaken(name()),
            TokenRefusal::UnknownToken => TokenFault::UnknownToken(name()),
            TokenRefusal::Expired => TokenFault::BadExpiry,
            TokenRefusal::TooMany { max } => TokenFault::TooMany { max },
        },
    }
}

/// Whether a string has the form of a secret; anything else is not looked up.
fn is_secret(text: &str) -> bool {
    let digits = text.strip_prefix(SECRET_BEGIN).unwrap_or_default();
    digits.len() == 2 * SECRET_BYTES && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn new_secret() -> Result<String, StoreError> {
    let mut bytes = [0; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Engine {
        action: "drew a random number",
        cause: error.to_string(),
    })?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{SECRET_BEGIN}{digits}"))
}
