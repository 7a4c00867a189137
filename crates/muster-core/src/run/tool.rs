//! Tool calls: which tools exist, which nodes may call them, and their outcomes.

pub(crate) mod arguments;
pub(crate) mod calls;
pub(crate) mod command;
pub(crate) mod event;
pub(crate) mod perform;
pub(crate) mod provider_calls;
pub(crate) mod work;
