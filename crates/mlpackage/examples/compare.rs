//! Compares models by structure: `compare A B [CHECKS]`, or `compare --pairs FILE` with lines `ID A B CHECKS`, separated by tabs.

use std::path::Path;

use coremill_mil::compare::{Checks, compare};
use coremill_mlpackage::Model;

fn verdict(a: &str, b: &str, checks: &str) -> String {
    let checks = match Checks::from_names(checks.split(',').filter(|c| !c.is_empty())) {
        Ok(checks) => checks,
        Err(name) => return format!("there is no check `{name}`"),
    };
    match (Model::open(Path::new(a)), Model::open(Path::new(b))) {
        (Ok(a), Ok(b)) => compare(&a.program, &b.program, checks).unwrap_or_else(|| "equal".to_owned()),
        (Err(e), _) | (_, Err(e)) => e.to_string(),
    }
}

#[expect(clippy::print_stdout, reason = "an example that a person runs")]
fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--pairs", file] => {
            for line in std::fs::read_to_string(file)?.lines() {
                if let [id, a, b, checks] = line.splitn(4, '\t').collect::<Vec<_>>()[..] {
                    println!("{id}\t{}", verdict(a, b, checks));
                }
            }
        }
        [a, b] => println!("{}", verdict(a, b, "")),
        [a, b, checks] => println!("{}", verdict(a, b, checks)),
        _ => println!("compare A B [CHECKS]"),
    }
    Ok(())
}
