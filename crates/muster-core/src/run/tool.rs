//! Calls of tools: which there are, who may make them, and what comes of them.

pub(crate) mod arguments;
pub(crate) mod calls;
pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod perform;
pub(crate) mod provider_calls;
pub(crate) mod work;
