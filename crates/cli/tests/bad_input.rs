//! Bad input: a message with file, place and what to do, exit code 1, and nothing written.

mod common;

use std::io::{Cursor, Read, Write};

use common::{Out, coremill, crepe, package, peer_pte};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// Lowers a bad file; gives the message, which must name the file. Nothing may appear beside it.
fn refused(out: &Out, input: &str) -> String {
    let before = out.names();
    let ran = coremill(["lower", input, "-o", &out.path("out.pte"), "--pass-pipeline", "empty"]).failed(1);
    assert_eq!(out.names(), before, "something was left behind");
    // What is said of the options may come before.
    let message = ran.stderr.lines().skip_while(|l| !l.starts_with("error: ")).collect::<Vec<_>>().join("\n");
    assert!(message.contains(input), "{}", ran.stderr);
    message
}

fn has(message: &str, any: &[&str]) {
    assert!(any.iter().any(|text| message.contains(text)), "{message}");
}

/// The entries of a `.pt2`.
fn entries(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let count = zip.len();
    let read = |i| {
        let mut entry = zip.by_index(i).unwrap();
        let mut data = Vec::new();
        entry.read_to_end(&mut data).unwrap();
        (entry.name().to_owned(), data)
    };
    (0..count).map(read).collect()
}

fn zipped(entries: &[(String, Vec<u8>)], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in entries {
        zip.start_file(name.as_str(), SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(data).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// The example with one text of its `model.json` replaced.
fn with_model_json(from: &str, to: &str) -> Vec<u8> {
    let mut all = entries(&std::fs::read(crepe()).unwrap());
    for (name, data) in all.iter_mut().filter(|(name, _)| name.ends_with("models/model.json")) {
        let text = String::from_utf8(data.clone()).unwrap();
        assert!(text.contains(from), "{name} has no {from}");
        *data = text.replace(from, to).into_bytes();
    }
    zipped(&all, CompressionMethod::Stored)
}

fn copy_package(out: &Out, name: &str) -> String {
    let to = out.path(name);
    let mut pending = vec![(std::path::PathBuf::from(package()), std::path::PathBuf::from(&to))];
    while let Some((from, to)) = pending.pop() {
        std::fs::create_dir_all(&to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(|e| e.unwrap()) {
            let target = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                pending.push((entry.path(), target));
            } else {
                std::fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    to
}

#[test]
fn files_that_are_not_there_or_of_no_known_kind() {
    let out = Out::new();
    has(&refused(&out, &out.path("none.pt2")), &["No such file"]);
    has(&refused(&out, &out.write("a.bin", b"hello")), &["none of the files read here"]);
    has(&refused(&out, &out.write("a.pt2", b"hello")), &["zip"]);
    has(&refused(&out, &out.write("a.pte", b"hello, this is no program")), &["ET12"]);
    has(&refused(&out, &out.write("a.mlmodel", b"hello")), &["protobuf"]);
    for name in ["empty.pt2", "empty.pte"] {
        refused(&out, &out.write(name, b""));
    }
}

#[test]
fn cut_files_of_every_kind() {
    let out = Out::new();
    let pt2 = std::fs::read(crepe()).unwrap();
    let pte = std::fs::read(peer_pte()).unwrap();
    for part in [0.2, 0.6, 0.99] {
        let cut = |bytes: &[u8]| bytes[..(bytes.len() as f64 * part) as usize].to_vec();
        refused(&out, &out.write("cut.pt2", &cut(&pt2)));
        refused(&out, &out.write("cut.pte", &cut(&pte)));
        let package = copy_package(&out, "cut.mlpackage");
        let model = format!("{package}/Data/com.apple.CoreML/model.mlmodel");
        let bytes = std::fs::read(&model).unwrap();
        std::fs::write(&model, cut(&bytes)).unwrap();
        refused(&out, &package);
    }
}

#[test]
fn a_manifest_that_leaves_its_folder() {
    for path in ["../secret", "/etc/passwd", "a/../../b"] {
        let out = Out::new();
        let package = copy_package(&out, "a.mlpackage");
        let manifest = format!("{package}/Manifest.json");
        let text = std::fs::read_to_string(&manifest).unwrap();
        assert!(text.contains("com.apple.CoreML/model.mlmodel"));
        std::fs::write(&manifest, text.replace("com.apple.CoreML/model.mlmodel", path)).unwrap();
        has(&refused(&out, &package), &["refused"]);
    }
}

#[test]
fn names_in_a_blob_that_leave_their_folder() {
    let out = Out::new();
    let mut pte = std::fs::read(peer_pte()).unwrap();
    // The blob's metadata is JSON in reverse.
    let name: Vec<u8> = b"metadata.json".iter().rev().copied().collect();
    let evil: Vec<u8> = b"../../../evil".iter().rev().copied().collect();
    let places: Vec<usize> = (0..pte.len() - name.len()).filter(|&i| pte[i..].starts_with(&name)).collect();
    assert!(!places.is_empty());
    for i in places {
        pte[i..i + name.len()].copy_from_slice(&evil);
    }
    let path = out.write("evil.pte", &pte);
    has(&refused(&out, &path), &["slash", "name"]);
    coremill(["extract", &path, "-o", &out.path("x")]).failed(1);
    assert_eq!(out.names(), ["evil.pte"]);
}

#[test]
fn a_weight_that_is_cut_or_missing() {
    let out = Out::new();
    let all = entries(&std::fs::read(crepe()).unwrap());
    let is_weight = |name: &str| name.contains("/data/weights/weight_");
    let first = all.iter().map(|(n, _)| n.clone()).find(|n| is_weight(n)).unwrap();
    let without: Vec<_> = all.iter().filter(|(n, _)| *n != first).cloned().collect();
    refused(&out, &out.write("a.pt2", &zipped(&without, CompressionMethod::Stored)));
    let mut cut = all.clone();
    cut.iter_mut().filter(|(n, _)| *n == first).for_each(|(_, d)| d.truncate(d.len() / 2));
    refused(&out, &out.write("b.pt2", &zipped(&cut, CompressionMethod::Stored)));
}

#[test]
fn a_package_whose_weight_file_is_cut_or_missing() {
    let out = Out::new();
    coremill(["lower", &crepe(), "-o", &out.path("a.mlpackage"), "--pass-pipeline", "empty"]).ok();
    let package = out.path("a.mlpackage");
    let weights = format!("{package}/Data/com.apple.CoreML/weights/weight.bin");
    let bytes = std::fs::read(&weights).unwrap();
    std::fs::write(&weights, &bytes[..bytes.len() / 2]).unwrap();
    has(&refused(&out, &package), &["byte", "offset"]);
    std::fs::remove_file(&weights).unwrap();
    has(&refused(&out, &package), &["weight.bin"]);
}

#[test]
fn a_deflated_archive_is_read_and_one_without_bound_is_not() {
    let out = Out::new();
    let all = entries(&std::fs::read(crepe()).unwrap());
    let path = out.write("deflated.pt2", &zipped(&all, CompressionMethod::Deflated));
    coremill(["lower", &path, "-o", &out.path("a.pte"), "--pass-pipeline", "empty"]).ok();
    let mut bomb = all.clone();
    let model = bomb.iter_mut().find(|(n, _)| n.ends_with("models/model.json")).unwrap();
    model.1 = vec![b' '; 256 << 20];
    refused(&out, &out.write("bomb.pt2", &zipped(&bomb, CompressionMethod::Deflated)));
}

#[test]
fn ops_dtypes_and_versions_that_are_not_known() {
    let out = Out::new();
    let bytes = with_model_json("torch.ops.aten.sigmoid.default", "torch.ops.aten.sigmoidal.default");
    let message = refused(&out, &out.write("op.pt2", &bytes));
    has(&message, &["aten.sigmoidal.default (1 node)"]);
    let bytes = with_model_json("\"schema_version\": {\"major\": 8", "\"schema_version\": {\"major\": 99");
    has(&refused(&out, &out.write("version.pt2", &bytes)), &["99"]);
    let bytes = with_model_json("\"dtype\": 7", "\"dtype\": 77");
    has(&refused(&out, &out.write("dtype.pt2", &bytes)), &["77"]);
}

#[test]
fn outputs_do_not_replace_what_is_none_of_ours() {
    let out = Out::new();
    std::fs::create_dir(out.path("a.mlpackage")).unwrap();
    out.write("a.mlpackage/precious.txt", b"mine");
    coremill(["lower", &crepe(), "-o", &out.path("a.mlpackage"), "--pass-pipeline", "empty"]).failed(1);
    assert!(std::path::Path::new(&out.path("a.mlpackage/precious.txt")).exists());
    coremill(["lower", &crepe(), "-o", &out.path("missing/a.pte"), "--pass-pipeline", "empty"]).failed(1);
    assert_eq!(out.names(), ["a.mlpackage"]);
}

#[test]
fn a_pickled_weight_is_refused_by_name() {
    let out = Out::new();
    let mut all = entries(&std::fs::read(crepe()).unwrap());
    let (_, config) = all.iter_mut().find(|(n, _)| n.ends_with("model_weights_config.json")).unwrap();
    let text = String::from_utf8(config.clone()).unwrap();
    assert!(text.contains("\"use_pickle\": false"), "{text}");
    *config = text.replacen("\"use_pickle\": false", "\"use_pickle\": true", 1).into_bytes();
    has(&refused(&out, &out.write("a.pt2", &zipped(&all, CompressionMethod::Stored))), &["pickle"]);
}

#[test]
fn sizes_that_overflow_or_are_larger_than_the_file() {
    let out = Out::new();
    for size in ["9223372036854775807", "4611686018427387904"] {
        let bytes = with_model_json("{\"as_int\": 1024}", &format!("{{\"as_int\": {size}}}"));
        refused(&out, &out.write("a.pt2", &bytes));
    }
    // A record of the weight file that claims two gigabytes.
    coremill(["lower", &crepe(), "-o", &out.path("a.mlpackage"), "--pass-pipeline", "empty"]).ok();
    let package = out.path("a.mlpackage");
    let weights = format!("{package}/Data/com.apple.CoreML/weights/weight.bin");
    let mut bytes = std::fs::read(&weights).unwrap();
    assert_eq!(bytes[64..68], 0xDEAD_BEEFu32.to_le_bytes());
    bytes[72..80].copy_from_slice(&(2u64 << 30).to_le_bytes());
    std::fs::write(&weights, bytes).unwrap();
    has(&refused(&out, &package), &["byte"]);
    // A segment of a .pte that claims two gigabytes.
    let mut pte = std::fs::read(peer_pte()).unwrap();
    let header = pte.windows(4).position(|w| w == b"eh00").unwrap();
    // Magic, length, program size, segment base offset, segment data size.
    pte[header + 24..header + 32].copy_from_slice(&(2u64 << 30).to_le_bytes());
    has(&refused(&out, &out.write("a.pte", &pte)), &["byte"]);
}
