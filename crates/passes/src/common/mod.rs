//! The passes that serve every front end: one file each.

pub(crate) mod dead_code_elimination;
