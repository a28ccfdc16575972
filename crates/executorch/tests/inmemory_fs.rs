//! The in-memory file system: what it writes, what it reads back, and what it refuses.

use bytes::Bytes;
use coremill_executorch::inmemory_fs::{Directory, MAX_DEPTH, Node};
use proptest::prelude::*;

/// A blob of `data` with `metadata` behind it.
fn blob(data: &[u8], metadata: &str) -> Bytes {
    data.iter().copied().chain(metadata.bytes().rev()).collect()
}

fn refusal(data: &[u8], metadata: &str) -> String {
    Directory::unflatten(&blob(data, metadata)).expect_err("it must be refused").to_string()
}

#[test]
fn files_come_first_and_reversed_metadata_last() {
    let mut root = Directory::new();
    root.insert_file("b/inner.txt", "xyz").expect("a plain path");
    root.insert_file("a.txt", "12").expect("a plain path");
    root.entries.insert("empty".to_owned(), Node::Directory(Directory::new()));
    // By hand, with the field order of ExecuTorch's blobs.
    let metadata = concat!(
        r#"{"nodes":["#,
        r#"{"children":{},"dataRegion":{"offset":0,"size":3},"kind":0,"name":"inner.txt"},"#,
        r#"{"children":{"inner.txt":0},"dataRegion":{"offset":0,"size":0},"kind":1,"name":"b"},"#,
        r#"{"children":{},"dataRegion":{"offset":3,"size":2},"kind":0,"name":"a.txt"},"#,
        r#"{"children":{},"dataRegion":{"offset":0,"size":0},"kind":1,"name":"empty"},"#,
        r#"{"children":{"a.txt":2,"b":1,"empty":3},"dataRegion":{"offset":0,"size":0},"kind":1,"name":"root"}]}"#,
    );
    let expected = blob(b"xyz12", metadata);
    let flattened = root.flatten("root").expect("plain names");
    assert_eq!(flattened, expected);
    let mut streamed = Vec::new();
    root.flatten_to("root", &mut streamed).expect("a Vec takes anything");
    assert_eq!(streamed, flattened);
    let again = Directory::unflatten(&expected).expect("just written");
    assert_eq!((again.root_name.as_str(), &again.root), ("root", &root));
    assert_eq!(again.root.file("b/inner.txt").map(|file| &file[..]), Some(&b"xyz"[..]));
    assert_eq!(again.root.file("b"), None);
    let paths: Vec<String> = again.root.files().into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["b/inner.txt", "a.txt"]);
}

#[test]
fn padding_behind_the_metadata_is_skipped() {
    let root = Directory::new();
    let mut flattened = root.flatten("root").expect("plain names");
    flattened.extend([0; 33]);
    assert_eq!(Directory::unflatten(&flattened.into()).expect("padded").root, root);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let names = ["", ".", "..", "a/b", "/etc/passwd", "..\\\\x", "C:\\\\x", "C:x", "a\\u0000b", "x\\\"y"];
    for name in names {
        let metadata = format!(
            r#"{{"nodes":[{{"kind":0,"name":"{name}"}},{{"kind":1,"name":"root","children":{{"{name}":0}}}}]}}"#
        );
        let error = refusal(b"", &metadata);
        assert!(error.contains("a name "), "{name}: {error}");
        let root = format!(r#"{{"nodes":[{{"kind":1,"name":"{name}"}}]}}"#);
        assert!(refusal(b"", &root).contains("a name "));
        let plain: String = serde_json::from_str(&format!("\"{name}\"")).expect("JSON");
        let mut tree = Directory::new();
        tree.entries.insert(plain.clone(), Node::File(Bytes::new()));
        assert!(tree.flatten("root").is_err(), "{name}");
        assert!(tree.write_to_disk(tempfile::tempdir().expect("a folder").path()).is_err(), "{name}");
        assert!(Directory::new().flatten(&plain).is_err());
    }
}

#[test]
fn ranges_outside_the_data_or_shared_are_refused() {
    let two = |a: &str, b: &str| {
        format!(
            r#"{{"nodes":[{{"kind":0,"name":"a","dataRegion":{a}}},{{"kind":0,"name":"b","dataRegion":{b}}},{{"kind":1,"name":"root","children":{{"a":0,"b":1}}}}]}}"#
        )
    };
    let sound = r#"{"offset":0,"size":2}"#;
    assert!(Directory::unflatten(&blob(b"1234", &two(sound, r#"{"offset":2,"size":2}"#))).is_ok());
    for bad in [
        r#"{"offset":2,"size":3}"#,
        r#"{"offset":5,"size":0}"#,
        r#"{"offset":18446744073709551615,"size":2}"#,
        r#"{"offset":0,"size":2147483648}"#,
    ] {
        assert!(refusal(b"1234", &two(sound, bad)).contains("reach past the 4 bytes"), "{bad}");
    }
    assert!(refusal(b"1234", &two(sound, r#"{"offset":1,"size":2}"#)).contains("also those of node 0"));
    assert!(refusal(b"1234", &two(sound, r#"{"offset":-1,"size":2}"#)).contains("metadata at offset 4"));
}

#[test]
fn what_is_no_tree_is_refused() {
    let cases = [
        (r#"{"nodes":[]}"#, "no nodes"),
        (r#"{"nodes":[{"kind":0,"name":"a"}]}"#, "must be a directory"),
        (r#"{"nodes":[{"kind":2,"name":"a"}]}"#, "neither file (0) nor directory (1)"),
        (r#"{"nodes":[{"kind":1,"name":"a","children":{"a":0}}]}"#, "not before it"),
        (r#"{"nodes":[{"kind":1,"name":"a","children":{"b":7}}]}"#, "not before it"),
        (r#"{"nodes":[{"kind":0,"name":"a"},{"kind":1,"name":"r"}]}"#, "in no directory"),
        (r#"{"nodes":[{"kind":0,"name":"a"},{"kind":1,"name":"r","children":{"b":0}}]}"#, "has another name"),
        (
            r#"{"nodes":[{"kind":0,"name":"a"},{"kind":1,"name":"d","children":{"a":0}},{"kind":1,"name":"r","children":{"a":0,"d":1}}]}"#,
            "has a parent already",
        ),
        (r#"{"nodes":7}"#, "is not what"),
        (r#"{}"#, "is not what"),
        ("x}", "where metadata of an in-memory file system ends"),
        ("{\"a}", "has no beginning"),
    ];
    for (metadata, part) in cases {
        let error = refusal(b"data", metadata);
        assert!(error.contains(part), "{metadata}: {error}");
    }
    assert!(refusal(b"", "").contains("nothing but padding"));
    assert!(refusal(&[0; 64], "").contains("nothing but padding"));
}

#[test]
fn depth_is_bounded_both_ways() {
    let nested = |depth: usize| {
        let mut nodes = vec![r#"{"kind":0,"name":"f"}"#.to_owned()];
        for level in 0..depth {
            let child = if level == 0 { "f" } else { "d" };
            nodes.push(format!(r#"{{"kind":1,"name":"d","children":{{"{child}":{level}}}}}"#));
        }
        format!(r#"{{"nodes":[{}]}}"#, nodes.join(","))
    };
    let deepest = Directory::unflatten(&blob(b"", &nested(MAX_DEPTH))).expect("deep, not too deep");
    deepest.root.flatten("d").expect("what is read can be written");
    assert!(refusal(b"", &nested(MAX_DEPTH + 1)).contains("deeper"));
    assert!(refusal(b"", &nested(10_000)).contains("deeper"));
    let mut tree = Directory::new();
    tree.insert_file(&format!("{}f", "d/".repeat(MAX_DEPTH)), "").expect("plain names");
    assert!(tree.flatten("root").is_err());
}

#[test]
fn a_tree_goes_to_disk_and_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut tree = Directory::new();
    tree.insert_file("Data/weights/weight.bin", &b"\0\x01"[..]).expect("plain");
    tree.insert_file("metadata.json", "{}").expect("plain");
    let path = folder.path().join("out");
    tree.write_to_disk(&path).expect("writable");
    assert_eq!(Directory::read_from_disk(&path).expect("readable"), tree);
    let again = tree.write_to_disk(&path).expect_err("nothing is overwritten");
    assert!(again.to_string().contains("weight.bin"));
    assert!(Directory::read_from_disk(&folder.path().join("none")).is_err());
}

#[test]
fn a_file_in_the_way_is_reported() {
    let mut tree = Directory::new();
    tree.insert_file("a", "1").expect("plain");
    assert!(tree.insert_file("a/b", "2").expect_err("a is a file").to_string().contains("'a/b'"));
    tree.insert_file("d/x", "1").expect("plain");
    assert!(tree.insert_file("d", "2").is_err());
    assert!(tree.insert_file("../x", "2").is_err());
    tree.insert_file("a", "3").expect("replaced");
    assert_eq!(tree.file("a").map(|file| &file[..]), Some(&b"3"[..]));
}

/// A tree of a few levels with names that are plain.
fn trees() -> impl Strategy<Value = Directory> {
    let name = "[a-zé ._{}-]{0,6}x";
    let contents = proptest::collection::vec(any::<u8>(), 0..20);
    let leaf = contents.prop_map(|bytes| Node::File(bytes.into()));
    let node = leaf.prop_recursive(4, 24, 4, move |inner| {
        let entries = proptest::collection::btree_map(name, inner, 0..4);
        entries.prop_map(|entries| Node::Directory(Directory { entries: entries.into_iter().collect() }))
    });
    proptest::collection::hash_map(name, node, 0..5)
        .prop_map(|entries| Directory { entries: entries.into_iter().collect() })
}

proptest! {
    #[test]
    fn trees_come_back_as_they_were(tree in trees()) {
        let blob = Bytes::from(tree.flatten("root").expect("plain names"));
        let again = Directory::unflatten(&blob).expect("just written");
        prop_assert_eq!(again.root.flatten("root").expect("plain names"), blob);
        prop_assert_eq!(again.root, tree);
    }

    #[test]
    fn any_bytes_are_taken_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Directory::unflatten(&bytes.into());
    }

    #[test]
    fn damaged_blobs_are_taken_without_panic(tree in trees(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut bytes = tree.flatten("root").expect("plain names");
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.drain(..cut.index(bytes.len()));
        let _ = Directory::unflatten(&bytes.into());
    }
}
