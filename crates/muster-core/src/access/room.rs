//! The room of named tokens: one small stream for all of them, so that every server of a store
//! knows them.
//!
//! A token is a document under the digest of its secret, so that looking one up is reading one
//! document, whose name says nothing about the secret.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{AccessRole, NamedToken, WorkspaceGlob, is_token_name};
use crate::{
    Address, Aggregate, Documents, Draft, Index, ListQuery, Mark, Recorded, Subject, Unloaded,
    WorkRefusal,
};

pub const STREAM: &str = "tokens/named";
/// Tokens of a store.
pub const TOKENS_MAX: usize = 1_000;
const KIND: &str = "token";

/// What can be asked for.
#[derive(Clone, PartialEq, Debug)]
pub enum TokenCommand {
    Create {
        digest: String,
        name: String,
        role: AccessRole,
        workspaces: WorkspaceGlob,
        /// In Unix milliseconds.
        expires_at: Option<i64>,
    },
    Revoke {
        name: String,
    },
}

/// What happened to a token.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TokenEvent {
    Created {
        digest: String,
        name: String,
        role: AccessRole,
        workspaces: WorkspaceGlob,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<i64>,
        number: u64,
    },
    Revoked {
        digest: String,
        name: String,
    },
}

/// Why a command was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TokenRefusal {
    BadName,
    /// A token that has not expired has this name.
    NameTaken,
    UnknownToken,
    /// It would have expired already.
    Expired,
    TooMany {
        max: usize,
    },
}

/// The room itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NamedTokens {}

impl NamedTokens {
    /// Every token that was not revoked, oldest first.
    pub fn all(docs: &Documents<Self>) -> Result<Vec<NamedToken>, Unloaded<Self>> {
        Ok(docs.list(&ListQuery::of(KIND))?.into_iter().cloned().collect())
    }

    /// The token of a secret with this digest.
    pub fn find(
        docs: &Documents<Self>,
        digest: &str,
    ) -> Result<Option<NamedToken>, Unloaded<Self>> {
        Ok(docs.get(&digest.to_owned())?.cloned())
    }
}

impl Aggregate for NamedTokens {
    const STREAM: &'static str = "tokens";
    /// The digest of its secret.
    type Key = String;
    type Document = NamedToken;
    type Event = TokenEvent;
    type Applied = ();
    type Command = TokenCommand;
    type Rejection = TokenRefusal;
    type Brief = ();
    type Filter = Infallible;

    fn address(key: &String) -> Address {
        Address { kind: KIND.into(), name: key.clone() }
    }

    fn key(address: &Address) -> Option<String> {
        (address.kind == KIND).then(|| address.name.clone())
    }

    fn encode(document: &NamedToken) -> serde_json::Result<String> {
        serde_json::to_string(document)
    }

    fn decode(_key: &String, body: &str) -> serde_json::Result<NamedToken> {
        serde_json::from_str(body)
    }

    fn index(document: &NamedToken) -> Index {
        Index { ord: document.number, marks: Mark::Listed as u8, ..Index::default() }
    }

    fn admits(filter: &Infallible, _document: &NamedToken) -> bool {
        match *filter {}
    }

    fn event_type(event: &TokenEvent) -> &'static str {
        match event {
            TokenEvent::Created { .. } => "token.created",
            TokenEvent::Revoked { .. } => "token.revoked",
        }
    }

    fn subject(_event: &TokenEvent) -> Option<Subject> {
        None
    }

    fn relocate(_event: &mut TokenEvent, _place: &mut dyn FnMut(u64) -> u64) {}

    fn decide(
        draft: &mut Draft<'_, Self>,
        command: &TokenCommand,
    ) -> Result<(), WorkRefusal<Self>> {
        let known = Self::all(draft.documents())?;
        match command {
            TokenCommand::Create { name, .. } => {
                if !is_token_name(name) {
                    return refused(TokenRefusal::BadName);
                }
                create(draft, &known, command)
            }
            TokenCommand::Revoke { name } => {
                let Some(token) = known.iter().find(|token| token.name == *name) else {
                    return refused(TokenRefusal::UnknownToken);
                };
                Ok(draft.emit(revoked(token))?)
            }
        }
    }

    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<TokenEvent>,
    ) -> Result<(), Unloaded<Self>> {
        match event.event.clone() {
            TokenEvent::Created { digest, name, role, workspaces, expires_at, number } => {
                let created_at = event.at.0;
                let created_by = event.by.as_deref().cloned();
                let token = NamedToken {
                    digest: digest.clone(),
                    name,
                    role,
                    workspaces,
                    created_at,
                    created_by,
                    expires_at,
                    number,
                };
                documents.create(digest, token);
            }
            TokenEvent::Revoked { digest, .. } => documents.remove(digest),
        }
        Ok(())
    }
}

fn create(
    draft: &mut Draft<'_, NamedTokens>,
    known: &[NamedToken],
    command: &TokenCommand,
) -> Result<(), WorkRefusal<NamedTokens>> {
    let TokenCommand::Create { digest, name, role, workspaces, expires_at } = command else {
        unreachable!("{command:?} creates nothing")
    };
    let now = draft.env().now;
    if expires_at.is_some_and(|expires| expires <= now.0) {
        return refused(TokenRefusal::Expired);
    }
    match known.iter().find(|token| token.name == *name) {
        Some(token) if token.is_live(now) => return refused(TokenRefusal::NameTaken),
        // An expired token does not keep its name.
        Some(token) => draft.emit(revoked(token))?,
        None if known.len() >= TOKENS_MAX => {
            return refused(TokenRefusal::TooMany { max: TOKENS_MAX });
        }
        None => {}
    }
    let created = TokenEvent::Created {
        digest: digest.clone(),
        name: name.clone(),
        role: *role,
        workspaces: workspaces.clone(),
        expires_at: *expires_at,
        number: known.last().map_or(1, |last| last.number + 1),
    };
    Ok(draft.emit(created)?)
}

fn revoked(token: &NamedToken) -> TokenEvent {
    TokenEvent::Revoked { digest: token.digest.clone(), name: token.name.clone() }
}

fn refused<T>(refusal: TokenRefusal) -> Result<T, WorkRefusal<NamedTokens>> {
    Err(WorkRefusal::rejected(refusal))
}
