//! The parts of a Core ML delegate's blob.

mod common;

use bytes::Bytes;
use coremill_executorch::blob::{BlobError, CoreMlBlob, Metadata, MethodNames, ModelNames, identifier_of};
use coremill_executorch::inmemory_fs::{Directory, Node};
use coremill_executorch::pte::PteFile;

fn names(inputs: &[&str], outputs: &[&str]) -> MethodNames {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    MethodNames { inputs: owned(inputs), outputs: owned(outputs) }
}

/// The blob of the one delegate of `file`.
fn blob_of(file: &Bytes) -> Bytes {
    let program = PteFile::read(file).expect("the peer's program");
    program.delegate("forward", 0).expect("a delegate").processed
}

#[test]
fn the_blob_of_the_peer_is_made_anew_from_its_parts() {
    let mut programs = common::shared_programs();
    programs.push(("kv_cache_seed.pte".into(), common::kv_cache()));
    for (path, file) in programs {
        let theirs = blob_of(&file);
        let blob = CoreMlBlob::read(&theirs).expect("the peer's blob");
        let mut package = blob.package().expect("a package").clone();
        // The order of a folder on disk.
        fn sort(directory: &mut Directory) {
            directory.entries.sort_keys();
            for node in directory.entries.values_mut() {
                if let Node::Directory(inner) = node {
                    sort(inner);
                }
            }
        }
        sort(&mut package);
        let metadata = blob.metadata().expect("metadata");
        let ours = CoreMlBlob::new(&metadata, package, blob.debug_info().cloned());
        assert!(ours.write().expect("plain names") == theirs, "{}", path.display());
    }
}

#[test]
fn metadata_is_read_and_written_as_the_peer_spells_it() {
    let blob = CoreMlBlob::read(&blob_of(&common::kv_cache())).expect("the fixture");
    let metadata = blob.metadata().expect("metadata");
    assert_eq!(metadata.names, ModelNames::Single(names(&["pos", "k", "q"], &["aten_mm_default"])));
    assert_eq!(metadata.identifier, "executorch_2c522dbe-3c73-41ae-bcae-b2d941ea6b11");
    assert!(!blob.is_compiled());

    // Two methods on one model: `asdict(MultifunctionModelMetadata(...))` through `json.dumps`.
    let text = concat!(
        r#"{"identifier": "executorch_x", "methods": {"forward": {"inputNames": ["a"], "outputNames": ["b"]}, "#,
        r#""prefill": {"inputNames": [], "outputNames": ["c"]}}}"#
    );
    let metadata = Metadata::from_json(text.as_bytes()).expect("sound");
    let ModelNames::PerMethod(methods) = &metadata.names else { panic!("two methods") };
    assert_eq!(methods["prefill"], names(&[], &["c"]));
    assert_eq!(metadata.to_json(), text);
}

#[test]
fn parts_are_replaced_and_others_kept() {
    let mut blob = CoreMlBlob::read(&blob_of(&common::kv_cache())).expect("the fixture");
    blob.root.insert_file("extra.txt", "kept").expect("plain");
    let old = blob.package().expect("a package").clone();
    let mut package = Directory::new();
    package.insert_file("Manifest.json", "{}").expect("plain");
    assert_ne!(identifier_of(&old), identifier_of(&package));
    let metadata = Metadata { identifier: identifier_of(&package), names: ModelNames::Single(names(&["x"], &["y"])) };
    blob.set_metadata(&metadata);
    blob.set_package(package.clone());
    blob.set_debug_info(None);
    let again = CoreMlBlob::read(&blob.write().expect("plain names").into()).expect("just written");
    assert_eq!(again.metadata().expect("metadata"), metadata);
    assert_eq!(again.package().expect("a package"), &package);
    assert_eq!(again.debug_info(), None);
    assert_eq!(again.root.file("extra.txt").map(|file| &file[..]), Some(&b"kept"[..]));
}

#[test]
fn an_identifier_is_a_uuid_of_the_contents() {
    let mut package = Directory::new();
    package.insert_file("a", "1").expect("plain");
    let identifier = identifier_of(&package);
    // SHA-256 of the two lengths (64 bits each) and texts, with UUID version 8 and variant 2 put in.
    assert_eq!(identifier, "executorch_9fe2af43-0579-8bd0-b097-66d7e53ab693");
    package.insert_file("a", "2").expect("plain");
    assert_ne!(identifier_of(&package), identifier);
}

#[test]
fn what_is_missing_or_damaged_is_named() {
    let empty = CoreMlBlob { root_name: "r".to_owned(), root: Directory::new() };
    assert!(matches!(empty.metadata(), Err(BlobError::Missing("metadata.json"))));
    assert_eq!(empty.package().expect_err("none").to_string(), "the delegate's blob has no model.mlpackage");
    for (text, part) in [
        ("{", "EOF"),
        (r#"{"inputNames": [], "outputNames": []}"#, "missing field `identifier`"),
        (r#"{"identifier": "x", "outputNames": []}"#, "missing field `inputNames`"),
        (r#"{"identifier": "x", "inputNames": []}"#, "missing field `outputNames`"),
        (r#"{"identifier": "x", "inputNames": [1], "outputNames": []}"#, "invalid type"),
    ] {
        let error = Metadata::from_json(text.as_bytes()).expect_err("damaged").to_string();
        assert!(error.starts_with("metadata.json in the delegate's blob") && error.contains(part), "{error}");
    }
    assert!(CoreMlBlob::read(&Bytes::from_static(b"junk")).is_err());
}
