//! Signs browsers in and out, and reports what they may do.
//!
//! ```text
//!   printed link                     ─ a person's session; with its passphrase, if one is set
//!   the person's key                 ─ a person's session
//!   the agents' token                ─ a session with the rights of an agent
//!   the agents' token and passphrase ─ a person's session
//! ```

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use axum::{
    Extension,
    body::Bytes,
    extract::{FromRequest, Request, State},
    http::{HeaderMap, header},
};
use muster_api::AccessRole;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::{
    describe::{Describe, Described, SchemaSource},
    fault::Fault,
    guard::{CallerRole, Identity, Keys, Requester},
    page_session::{NewPageSession, PageSession, PageSessionId},
    person::PersonKeyError,
    refusal::{HttpRefusal, RefusalKind},
    reply::{NoContent, Reply},
    request::{Ids, PathPart},
    server_state::ServerState,
};

/// Pause after a wrong passphrase; only one is tried at a time.
const WRONG_PASSPHRASE_PAUSE: Duration = Duration::from_secs(1);

/// What a browser presents to be signed in.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct SignIn {
    /// One-time code of a printed page link.
    #[schemars(default, with = "String")]
    code: Option<String>,
    /// The person's key, or the agents' token.
    #[schemars(default, with = "String")]
    token: Option<String>,
    /// The passphrase of the person's key.
    #[schemars(default, with = "String")]
    passphrase: Option<String>,
}

/// A browser that was just signed in.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SignedIn {
    /// To be sent as `Authorization: Bearer`. It is shown once.
    secret: String,
    /// The session.
    session: PageSession,
}

/// The sender of a request, and what it may do.
#[derive(Serialize, JsonSchema)]
pub(crate) struct WhoAmI {
    /// Whether the sender acts for a person, or has the rights of an agent.
    role: CallerRole,
    /// Name of the sender's token, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// What the sender may do.
    access: AccessRole,
    /// Pattern of the workspaces that it may use.
    workspaces: String,
    /// Whether a passphrase protects the person's key.
    passphrase: bool,
    /// The sender's session, if it is a browser.
    session: Option<PageSession>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Ticket {
    ticket: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct PageSessionsAnswer {
    sessions: Vec<PageSession>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct PageLink {
    link: String,
}

impl<S: Send + Sync> FromRequest<S> for SignIn {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let body = Bytes::from_request(request, state).await.unwrap_or_default();
        let invalid = |_| {
            let recovery = "send {\"code\":\"…\"} from a printed link, or {\"token\":\"…\"}";
            HttpRefusal::invalid("wrong_type", "the body is not a sign-in", recovery)
        };
        Ok(serde_json::from_slice(&body).map_err(invalid)?)
    }
}

impl Describe for SignIn {
    fn describe<S: SchemaSource>(route: &mut Described<'_, S>) {
        route.body = Some(route.schemas.asked::<Self>());
    }
}

/// `POST /api/session`: exchanges a one-time code, the key or the token for a session.
pub(crate) async fn sign_in(
    State(site): State<Arc<ServerState>>,
    headers: HeaderMap,
    presented: SignIn,
) -> Result<Reply<SignedIn>, Fault> {
    let keys = site.gate.keys.as_ref().ok_or_else(unauthorized)?;
    let identity = identity_of(&site, keys, &presented).await?;
    if let Some(code) = &presented.code {
        keys.codes.redeem(code, Instant::now()).ok_or_else(unauthorized)?;
    }
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let new = NewPageSession {
        credential: keys.credential_of(&identity).ok_or_else(unauthorized)?,
        origin: text(header::ORIGIN),
        browser: text(header::USER_AGENT),
    };
    let opened = keys.pages.open(new, SystemTime::now());
    let (secret, session) = opened.map_err(|error| broken(&error.to_string()))?;
    let role = identity.kind().name();
    tracing::info!(session = session.id, role, "a browser signed in");
    Ok(Reply::of(&SignedIn { secret, session }))
}

/// Whose the presented secret is.
async fn identity_of(
    site: &ServerState,
    keys: &Keys,
    presented: &SignIn,
) -> Result<Identity, HttpRefusal> {
    let source = &*site.gate.source;
    let by_code = presented.code.as_ref().and_then(|code| keys.codes.look_up(code, Instant::now()));
    let by_token = match &presented.token {
        Some(token) if presented.code.is_none() => keys.identity_of(token.trim(), source),
        Some(_) | None => Ok(None),
    };
    let by_token = by_token.map_err(|error| broken(&error.to_string()))?;
    let known_by_key = by_token == Some(Identity::Local(CallerRole::Person));
    let identity = by_code.or(by_token).ok_or_else(unauthorized)?;
    if identity.named().is_some() {
        // A named token stands for itself; the passphrase protects the key of this machine.
        return Ok(identity);
    }
    let protected = keys.person.has_passphrase().map_err(|error| broken(&error.to_string()))?;
    match &presented.passphrase {
        // A caller with the key itself does not need its passphrase.
        _ if !protected || known_by_key => Ok(identity),
        Some(passphrase) => {
            check_passphrase(site, keys, passphrase.clone()).await?;
            Ok(Identity::Local(CallerRole::Person))
        }
        None if identity.kind() == CallerRole::Agent => Ok(identity),
        None => Err(HttpRefusal::new(
            RefusalKind::PassphraseRequired,
            "the person's key is protected by a passphrase",
            "send it as `passphrase` with the code",
        )),
    }
}

async fn check_passphrase(
    site: &ServerState,
    keys: &Keys,
    passphrase: String,
) -> Result<(), HttpRefusal> {
    let turn = keys.passphrase_turn.acquire().await;
    let _turn = turn.map_err(|error| broken(&error.to_string()))?;
    let person = keys.person.clone();
    let opened = site.run_blocking(move || person.open(Some(&passphrase))).await?;
    match opened {
        Ok(_) => Ok(()),
        Err(PersonKeyError::WrongPassphrase) => {
            tracing::warn!("a browser sent a wrong passphrase");
            sleep(WRONG_PASSPHRASE_PAUSE).await;
            let recovery = "try again; `muster passphrase change` sets another one";
            Err(HttpRefusal::new(RefusalKind::Unauthorized, "the passphrase is wrong", recovery))
        }
        Err(error) => Err(broken(&error.to_string())),
    }
}

/// `GET /api/session`: shows what the sender may do.
pub(crate) async fn show(
    State(site): State<Arc<ServerState>>,
    Extension(access): Extension<Requester>,
) -> Reply<WhoAmI> {
    let keys = site.gate.keys.as_ref();
    let passphrase = keys.is_some_and(|keys| keys.person.has_passphrase().unwrap_or(true));
    let session = match access {
        Requester::Browser(_, id) => keys.and_then(|keys| keys.pages.show(id)),
        Requester::Program(_) | Requester::Anybody | Requester::Node(_) | Requester::Stranger => {
            None
        }
    };
    let rights = access.rights();
    Reply::of(&WhoAmI {
        role: access.role().unwrap_or(CallerRole::Agent),
        token: access.token().map(|token| token.name.clone()),
        access: rights.role,
        workspaces: rights.workspaces.to_string(),
        passphrase,
        session,
    })
}

/// `DELETE /api/session`: signs the sending browser out.
pub(crate) async fn sign_out(
    State(site): State<Arc<ServerState>>,
    Extension(access): Extension<Requester>,
) -> Result<NoContent, Fault> {
    match access {
        Requester::Browser(_, id) => end(&site, id),
        Requester::Program(_) | Requester::Anybody | Requester::Node(_) | Requester::Stranger => {
            Ok(NoContent)
        }
    }
}

fn end(site: &ServerState, id: PageSessionId) -> Result<NoContent, Fault> {
    if let Some(keys) = &site.gate.keys {
        keys.pages.end(id).map_err(|error| broken(&error.to_string()))?;
        tracing::info!(session = %id, "a browser was signed out");
    }
    Ok(NoContent)
}

/// `POST /api/session/ticket`: opens one WebSocket, because a browser cannot send headers with it.
pub(crate) async fn ticket(
    State(site): State<Arc<ServerState>>,
    Extension(access): Extension<Requester>,
) -> Result<Reply<Ticket>, Fault> {
    let ticket = match (&site.gate.keys, access.role()) {
        (Some(keys), Some(_)) => keys.tickets.issue(access, Instant::now()),
        // The ticket is not checked where no token is needed.
        (_, _) => Ok(String::new()),
    };
    let ticket = ticket.map_err(|error| broken(&error.to_string()))?;
    Ok(Reply::of(&Ticket { ticket }))
}

/// `GET /api/page-sessions`: lists the browsers that are signed in.
pub(crate) async fn list(
    State(site): State<Arc<ServerState>>,
) -> Result<Reply<PageSessionsAnswer>, Fault> {
    let sessions = match &site.gate.keys {
        Some(keys) => keys.pages.list(SystemTime::now(), |credential| {
            let found = keys.identity_behind(credential, &*site.gate.source);
            found.map(|identity| identity.is_some()).map_err(io::Error::other)
        }),
        None => Ok(Vec::new()),
    };
    let sessions = sessions.map_err(|error| broken(&error.to_string()))?;
    Ok(Reply::of(&PageSessionsAnswer { sessions }))
}

/// `DELETE /api/page-sessions/{id}`: signs any browser out.
pub(crate) async fn revoke(
    State(site): State<Arc<ServerState>>,
    Ids(id): Ids<PageSessionId>,
) -> Result<NoContent, Fault> {
    end(&site, id)
}

impl PathPart for PageSessionId {
    const NAME: &'static str = "id";

    fn read(text: &str) -> Result<Self, Fault> {
        Ok(text.parse().map_err(|()| {
            let recovery = "GET /api/page-sessions lists them";
            HttpRefusal::new(RefusalKind::UnknownRoute, "the page session does not exist", recovery)
        })?)
    }
}

/// `POST /api/page-links`: a link that signs one browser in, once.
///
/// It signs in whoever asked for it: it gives no right that the sender does not have.
pub(crate) async fn link(
    State(site): State<Arc<ServerState>>,
    Extension(requester): Extension<Requester>,
) -> Result<Reply<PageLink>, Fault> {
    let identity = requester.identity().cloned();
    let identity = identity.unwrap_or(Identity::Local(CallerRole::Person));
    let link = site.page_link(identity).map_err(|error| broken(&error.to_string()))?;
    Ok(Reply::of(&PageLink { link }))
}

fn unauthorized() -> HttpRefusal {
    HttpRefusal::new(
        RefusalKind::Unauthorized,
        "the code is wrong, expired or already used",
        "run `muster page-sessions link` for a fresh link, or paste the key or the token",
    )
}

fn broken(cause: &str) -> HttpRefusal {
    tracing::error!(cause, "could not sign a browser in or out");
    HttpRefusal::new(
        RefusalKind::Internal,
        "the sessions of browsers cannot be read or written",
        "try again",
    )
}
