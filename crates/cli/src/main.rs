//! The `coremill` command: one file per subcommand.

fn main() {}
