//! `muster token`: tokens with a name and a role, for people, agents and programs.

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use muster_api::{AccessRole, App, MadeToken, NewToken, TokenRow, TokensAnswer};

use crate::{
    client::Client,
    config::{CLIENT_URL, Settings},
    output,
    people::Look,
    person::Person,
    screen::{Screen, Tone, fill},
    storage,
};

/// Columns of a name, a role and a pattern.
const NAME_COLUMNS: usize = 20;
const ROLE_COLUMNS: usize = 6;
const GLOB_COLUMNS: usize = 16;

/// Make, list and revoke tokens with a name and a role
///
/// A viewer reads. An agent works on tasks over MCP and `/api/ops`. A member also does what only a
/// person may do, such as answering approvals. An owner also manages tokens and settings. The name
/// of a token is the author of what its holder does. Only owners can do this.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster token create ada --role member
  muster token create ci --role agent --workspace 'acme/*' --expires 90d
  muster token create ci --json              the token as JSON, for scripts
  muster token list
  muster token revoke ci")]
pub(crate) struct TokenCommandLine {
    #[command(subcommand)]
    action: Action,

    #[command(flatten)]
    look: Look,
}

#[derive(Subcommand)]
enum Action {
    Create(CreateToken),
    /// List the tokens
    List,
    /// End a token at once, with the browsers that signed in with it
    Revoke {
        /// Name of the token
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Make a token; it is printed once
#[derive(Args)]
struct CreateToken {
    /// Who will hold it: 1 to 64 letters, digits and . _ @ -
    #[arg(value_name = "NAME")]
    name: String,

    /// What it may do
    #[arg(long, value_enum, value_name = "ROLE", default_value = "member")]
    role: RoleWord,

    /// Pattern of the workspaces that it is for, such as 'acme/*'; all by default
    #[arg(long, value_name = "GLOB")]
    workspace: Option<String>,

    /// When it expires: a number with s, m, h or d, such as 90d; never by default
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    expires: Option<u64>,
}

#[derive(Clone, Copy, ValueEnum)]
enum RoleWord {
    Viewer,
    Agent,
    Member,
    Owner,
}

impl From<RoleWord> for AccessRole {
    fn from(word: RoleWord) -> Self {
        match word {
            RoleWord::Viewer => Self::Viewer,
            RoleWord::Agent => Self::Agent,
            RoleWord::Member => Self::Member,
            RoleWord::Owner => Self::Owner,
        }
    }
}

/// A duration in seconds.
fn seconds(text: &str) -> Result<u64, String> {
    let expected = || "expected a number with s, m, h or d, such as 90d".to_owned();
    let (number, unit) =
        text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(expected)?;
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(expected()),
    };
    let number: u64 = number.parse().map_err(|_| expected())?;
    number.checked_mul(unit).filter(|seconds| *seconds > 0).ok_or_else(expected)
}

pub(crate) fn run(settings: &Settings, asked: &TokenCommandLine) -> anyhow::Result<ExitCode> {
    let place = TokenPlace::of(settings)?;
    match &asked.action {
        Action::Create(create) => {
            let made = place.create(&create.request())?;
            asked.look.print(&made, |screen| Ok(announced(screen, &made)))?;
        }
        Action::List => {
            let listed = place.list()?;
            asked.look.print(&listed, |screen| Ok(lines(screen, &listed.tokens)))?;
        }
        Action::Revoke { name } => {
            place.revoke(name)?;
            output::print(&format!("{name} revoked\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl CreateToken {
    fn request(&self) -> NewToken {
        NewToken {
            name: self.name.clone(),
            role: self.role.into(),
            workspaces: self.workspace.clone(),
            expires_in: self.expires,
        }
    }
}

/// Where tokens are managed: at the running server, else in the store of this machine. Both need
/// the person's key, so an agent with a shell is no owner.
enum TokenPlace {
    Server(Box<Client>),
    Store(Box<App>),
}

impl TokenPlace {
    fn of(settings: &Settings) -> anyhow::Result<Self> {
        if settings.get(&CLIENT_URL)?.value.is_some() {
            return Ok(Self::Server(Box::new(Client::of(settings)?)));
        }
        let app = storage::open_for_person(settings)?;
        let person = Person::of(settings)?;
        person.key().ensure()?;
        person.open()?;
        Ok(Self::Store(Box::new(app)))
    }

    fn create(&self, new: &NewToken) -> anyhow::Result<MadeToken> {
        match self {
            Self::Server(client) => client.post("/api/tokens", new),
            Self::Store(app) => Ok(app.tokens().create(new, app.caller())?),
        }
    }

    fn list(&self) -> anyhow::Result<TokensAnswer> {
        match self {
            Self::Server(client) => client.get("/api/tokens"),
            Self::Store(app) => Ok(app.tokens().list()?),
        }
    }

    fn revoke(&self, name: &str) -> anyhow::Result<()> {
        // It becomes part of a path.
        if !muster_core::access::is_token_name(name) {
            bail!("there is no token {name:?}");
        }
        match self {
            Self::Server(client) => client.delete(&format!("/api/tokens/{name}")),
            Self::Store(app) => {
                let revoked = app.tokens().revoke(name, app.caller());
                revoked.map_err(|fault| anyhow!(fault))
            }
        }
    }
}

fn announced(screen: Screen, made: &MadeToken) -> String {
    let MadeToken { token, shown } = made;
    let about = format!("{} is {}", shown.name, described(shown));
    let hint = screen.paint(Tone::Faint, "It is not shown again; only a hash of it is stored.");
    format!("{token}\n{about}\n{hint}\n")
}

fn described(row: &TokenRow) -> String {
    let article =
        if row.role == AccessRole::Agent || row.role == AccessRole::Owner { "an" } else { "a" };
    let until = match &row.expires_at {
        Some(at) => format!(", until {at}"),
        None => String::new(),
    };
    format!("{article} {} of the workspaces {}{until}", row.role, row.workspaces)
}

fn lines(screen: Screen, rows: &[TokenRow]) -> String {
    if rows.is_empty() {
        return "There are no named tokens: `muster token create NAME` makes one.\n".to_owned();
    }
    rows.iter().map(|row| line(screen, row)).collect()
}

fn line(screen: Screen, row: &TokenRow) -> String {
    let name = screen.paint(Tone::Strong, &fill(&row.name, NAME_COLUMNS));
    let role = fill(row.role.name(), ROLE_COLUMNS);
    let workspaces = fill(&row.workspaces, GLOB_COLUMNS);
    let until = match &row.expires_at {
        Some(at) if row.expired => format!("expired {at}"),
        Some(at) => format!("until {at}"),
        None => "does not expire".to_owned(),
    };
    let until = screen.paint(Tone::Faint, &format!("made {}, {until}", row.created_at));
    format!("{name}  {role}  {workspaces}  {until}\n")
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(seconds("90d"), Ok(7_776_000));
        assert_eq!(seconds("2h"), Ok(7_200));
        assert_eq!([seconds("5m"), seconds("1s")], [Ok(300), Ok(1)]);
        for text in ["", "d", "90", "0d", "-1d", "1w", "1.5h", "99999999999999999999d", "1é"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
