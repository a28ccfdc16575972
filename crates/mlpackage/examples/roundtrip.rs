//! Reads models and writes them back: `roundtrip IN OUT [IN OUT]...`.

use std::path::Path;
use std::process::ExitCode;

use coremill_mlpackage::Model;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut code = ExitCode::SUCCESS;
    for pair in args.chunks_exact(2) {
        if let Err(e) = Model::open(Path::new(&pair[0])).and_then(|m| m.save(Path::new(&pair[1]))) {
            #[expect(clippy::print_stderr, reason = "an example that a person runs")]
            {
                eprintln!("{e}");
            }
            code = ExitCode::FAILURE;
        }
    }
    code
}
