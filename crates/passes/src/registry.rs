//! The one list of passes.

use crate::common;
use crate::pass::PassInfo;

/// Every pass, by namespace, then in the order of the pipelines that use it.
const PASSES: &[&PassInfo] = &[&common::dead_code_elimination::PASS];

/// Every pass there is.
pub fn all_passes() -> impl Iterator<Item = &'static PassInfo> {
    PASSES.iter().copied()
}

/// The pass of this id.
pub fn find_pass(id: &str) -> Option<&'static PassInfo> {
    all_passes().find(|p| p.id == id)
}
