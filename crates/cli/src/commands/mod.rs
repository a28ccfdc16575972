//! The subcommands.

pub(crate) mod diff;
pub(crate) mod extract;
pub(crate) mod inspect;
pub(crate) mod lower;
pub(crate) mod opt;
pub(crate) mod passes;
