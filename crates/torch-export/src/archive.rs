//! The zip archive that a `.pt2` is, handed out as slices of the mapped file.
//!
//! Promises: a stored entry is a slice of the given bytes and costs nothing; a deflated entry (as after
//! re-zipping) is inflated within a bound that its own header and compressed size set. Whatever a header
//! claims is checked against what the file holds before memory is taken for it. Entries that share a name,
//! leave the archive (`..`, absolute), overlap or lie about their place are refused by name, all at once.
//!
//! Deliberately not here: writing, encryption, archives over several disks, compression other than deflate,
//! and the checksum of a stored entry, which torch can be told not to write. It is its own reader, as a
//! general one drops repeated names and copies entries.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;

use crate::error::{Error, Problem, Result};

mod directory;

/// A `.pt2` archive: entries by their name without the top folder that torch puts around them.
#[derive(Clone, Debug)]
pub struct Archive {
    file: Bytes,
    root: String,
    entries: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    data: Range<usize>,
    method: Method,
    size: u64,
    crc: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Stored,
    Deflated,
}

/// Deflate can't do better than 1032 to 1; a claim beyond it is a lie.
const MAX_RATIO: u64 = 1032;

/// The most that one deflated entry may become. Torch stores entries, so only re-zipped files pay this limit.
const MAX_INFLATED: u64 = 8 << 30;

impl Archive {
    /// Maps the archive at `path`.
    ///
    /// # Errors
    /// When it can't be mapped, is no zip, or has an entry that is refused.
    pub fn open(path: &Path) -> Result<Archive> {
        let bytes = coremill_tensor::map_file(path).map_err(|e| Error::from(Problem::Io(e)).in_file(path))?;
        Archive::from_bytes(bytes).map_err(|e| e.in_file(path))
    }

    /// The archive that these bytes are.
    ///
    /// # Errors
    /// When they are no zip, or an entry is refused.
    pub fn from_bytes(file: Bytes) -> Result<Archive> {
        let found = directory::read(&file)?;
        let mut problems = Vec::new();
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        let root = common_root(&found);
        for (name, entry) in found {
            let short = name.strip_prefix(&root).unwrap_or(&name).to_owned();
            match entry {
                Err(what) => problems.push(Problem::Entry { entry: name, what }),
                Ok(_) if entries.contains_key(&short) => {
                    problems.push(Problem::Entry { entry: name, what: "occurs more than once".to_owned() });
                }
                Ok(e) => {
                    entries.insert(short, e);
                }
            }
        }
        problems.extend(overlaps(&root, &entries));
        Error::check(problems)?;
        Ok(Archive { file, root, entries })
    }

    /// The top folder that every entry is in, with its slash; empty when there is none.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Entry names without the top folder, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Does it have this entry?
    pub fn contains(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The bytes of an entry: a slice of the file when stored, else inflated.
    ///
    /// # Errors
    /// When there is no such entry, or it does not inflate to what its header says.
    pub fn get(&self, name: &str) -> Result<Bytes> {
        let Some(e) = self.entries.get(name) else {
            return Err(Problem::MissingEntry { entry: name.to_owned(), hint: "is it whole?".to_owned() }.into());
        };
        let refuse = |what: String| Problem::Entry { entry: format!("{}{name}", self.root), what };
        let raw = match self.file.get(e.data.clone()) {
            Some(_) => self.file.slice(e.data.clone()),
            None => return Err(refuse("lies past the end of the file".to_owned()).into()),
        };
        match e.method {
            Method::Stored => Ok(raw),
            Method::Deflated => inflate(&raw, e).map_err(|what| refuse(what).into()),
        }
    }
}

fn inflate(raw: &[u8], e: &Entry) -> std::result::Result<Bytes, String> {
    // The claim was held against the compressed size when the directory was read; still take memory only as it fills.
    let mut out = Vec::with_capacity(usize::try_from(e.size).unwrap_or(0).min(1 << 20));
    let mut decoder = flate2::read::DeflateDecoder::new(raw).take(e.size.saturating_add(1));
    decoder.read_to_end(&mut out).map_err(|err| format!("does not inflate: {err}"))?;
    let got = out.len() as u64;
    if got > e.size {
        return Err(format!("inflates to more than the {} bytes that its header says", e.size));
    }
    if got < e.size {
        return Err(format!("inflates to {got} bytes, and its header says {}", e.size));
    }
    let mut crc = flate2::Crc::new();
    crc.update(&out);
    if crc.sum() != e.crc {
        return Err(format!("its checksum is {:08x}, and the header says {:08x}", crc.sum(), e.crc));
    }
    Ok(out.into())
}

/// The first path component, with its slash, when all entries share it.
fn common_root(found: &[(String, std::result::Result<Entry, String>)]) -> String {
    let Some(root) = found.first().and_then(|(n, _)| n.split_once('/')).map(|(r, _)| format!("{r}/")) else {
        return String::new();
    };
    if found.iter().all(|(n, _)| n.starts_with(&root)) { root } else { String::new() }
}

/// Entries whose data shares bytes: the making of a zip bomb.
fn overlaps(root: &str, entries: &BTreeMap<String, Entry>) -> Vec<Problem> {
    let mut by_place: Vec<_> = entries.iter().filter(|(_, e)| !e.data.is_empty()).collect();
    by_place.sort_by_key(|(_, e)| (e.data.start, e.data.end));
    let mut end = 0;
    let mut problems = Vec::new();
    for (name, e) in by_place {
        if e.data.start < end {
            let what = "shares bytes with the entry before it".to_owned();
            problems.push(Problem::Entry { entry: format!("{root}{name}"), what });
        }
        end = end.max(e.data.end);
    }
    problems
}
