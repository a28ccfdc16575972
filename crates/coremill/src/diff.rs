//! Are two models the same? By structure; and how many ops of each type each has.

use std::collections::BTreeMap;
use std::path::Path;

use coremill_mil::Program;
use coremill_mil::compare::{Checks, compare, count_ops};

use crate::delegates::core_ml_delegates;
use crate::{Error, Kind, open_model, open_pte};

/// How two models compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The first difference as a sentence; `None` when they are equal.
    pub first: Option<String>,
    /// By op type, constants apart: how many in the first, how many in the second.
    pub ops: BTreeMap<String, (usize, usize)>,
}

/// Compares two `.mlpackage`s, `.mlmodel`s or `.pte`s.
///
/// Of a `.pte` with one Core ML delegate its model is compared.
///
/// # Errors
/// When one cannot be read.
pub fn diff(a: &Path, b: &Path, checks: Checks) -> Result<Difference, Error> {
    let (a, b) = (program_of(a)?, program_of(b)?);
    let mut ops: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for f in a.functions.values() {
        count_ops(f, false).into_iter().for_each(|(op, n)| ops.entry(op).or_default().0 += n);
    }
    for f in b.functions.values() {
        count_ops(f, false).into_iter().for_each(|(op, n)| ops.entry(op).or_default().1 += n);
    }
    Ok(Difference { first: compare(&a, &b, checks), ops })
}

fn program_of(path: &Path) -> Result<Program, Error> {
    match Kind::of_input(path)? {
        Kind::MlPackage | Kind::MlModel => Ok(open_model(path)?.program),
        Kind::Pt2 => Err(Error::unusable(path.display(), "a .pt2 holds no MIL program; lower it first")),
        Kind::Pte => {
            let pte = open_pte(path)?;
            let delegates = core_ml_delegates(path, &pte)?;
            match delegates.as_slice() {
                [one] => Ok(one.model(path)?.program),
                _ => Err(Error::unusable(
                    path.display(),
                    format!("holds {} Core ML delegates; extract them and compare one by one", delegates.len()),
                )),
            }
        }
    }
}
