//! Fixtures, and archives made from them with something changed.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).with_extension("pt2")
}

pub(crate) fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

/// All entries of a fixture, in order.
pub(crate) fn entries(name: &str) -> Vec<(String, Vec<u8>)> {
    let mut zip = ZipArchive::new(Cursor::new(bytes(name))).unwrap();
    let mut out = Vec::new();
    for i in 0..zip.len() {
        let mut f = zip.by_index(i).unwrap();
        let mut data = Vec::new();
        f.read_to_end(&mut data).unwrap();
        out.push((f.name().to_owned(), data));
    }
    out
}

/// An archive of these entries.
pub(crate) fn archive(entries: &[(String, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in entries {
        zip.start_file(name.as_str(), SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(data).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The fixture with one entry's text replaced.
pub(crate) fn edited(name: &str, entry: &str, from: &str, to: &str) -> Vec<u8> {
    let mut all = entries(name);
    let found = all.iter_mut().find(|(n, _)| n.ends_with(entry)).unwrap();
    let text = String::from_utf8(found.1.clone()).unwrap();
    assert!(text.contains(from), "{from} is not in {entry}");
    found.1 = text.replacen(from, to, 1).into_bytes();
    archive(&all, CompressionMethod::Stored)
}

/// The error that reading these bytes gives.
pub(crate) fn error(bytes: Vec<u8>) -> String {
    coremill_torch_export::read_bytes(bytes.into()).unwrap_err().to_string()
}
