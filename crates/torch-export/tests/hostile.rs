//! Bytes that are no `.pt2`, or one that lies: a clear error, no panic, no memory for what is not there.

mod common;

use common::{archive, bytes, edited, entries, error};
use coremill_torch_export::read_bytes;
use zip::CompressionMethod::{Deflated, Stored};

const MODEL: &str = "state/models/model.json";
const WEIGHTS: &str = "data/weights/model_weights_config.json";

/// Reads and uses what could be read.
fn survive(bytes: Vec<u8>) {
    if let Ok(mut p) = read_bytes(bytes.into()) {
        let _ = p.to_string();
        let _ = p.functionalize();
        for w in p.weights.values().chain(p.constants.values()) {
            let _ = w.to_contiguous();
        }
    }
}

/// A small reproducible sequence.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |x| Some(x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407)))
        .skip(1)
        .map(|x| x >> 17)
}

#[test]
fn every_truncation_is_an_error() {
    let whole = bytes("state");
    for len in (0..whole.len()).step_by(97).chain(whole.len() - 30..whole.len()) {
        let e = error(whole[..len].to_vec());
        assert!(e.contains("cut short") || e.contains("zip"), "{len}: {e}");
    }
}

#[test]
fn flipped_bytes_never_panic() {
    for name in ["state", "weights", "dynamic", "nested"] {
        let whole = bytes(name);
        let mut n = numbers(7);
        for _ in 0..400 {
            let mut b = whole.clone();
            for _ in 0..=n.next().unwrap() % 3 {
                let at = n.next().unwrap() as usize % b.len();
                b[at] ^= 1 << (n.next().unwrap() % 8);
            }
            survive(b);
        }
    }
}

#[test]
fn changed_json_never_panics() {
    for name in ["state", "dynamic", "inputs", "through_view"] {
        let all = entries(name);
        let model = all.iter().position(|(n, _)| n.contains("/models/")).unwrap();
        let mut n = numbers(11);
        for _ in 0..300 {
            let mut some = all.clone();
            let text = &mut some[model].1;
            let at = n.next().unwrap() as usize % text.len();
            let with = b"0123456789-[]{},:\"eatnsu"[n.next().unwrap() as usize % 24];
            text[at] = with;
            survive(archive(&some, Stored));
        }
    }
}

#[test]
fn names_that_leave_the_archive_or_repeat_are_refused() {
    let mut all = entries("state");
    all.push(("state/../../etc/passwd".to_owned(), b"x".to_vec()));
    all.push(("state/data\\x".to_owned(), b"x".to_vec()));
    let e = error(archive(&all, Stored));
    assert!(e.contains("`state/../../etc/passwd`: its name leaves the archive"), "{e}");
    assert!(e.contains("state/data\\x"), "{e}");
    let mut all = entries("state");
    let len = all.len();
    all.push((all[len - 1].0.replace("serialization_id", "serialization_ix"), b"x".to_vec()));
    let mut b = archive(&all, Stored);
    // The zip writer refuses a repeated name, so it is made one here, in both headers.
    let ix = b"serialization_ix";
    let places: Vec<usize> = (0..b.len() - ix.len()).filter(|&i| b[i..].starts_with(ix)).collect();
    assert_eq!(places.len(), 2);
    places.iter().for_each(|&p| b[p + ix.len() - 1] = b'd');
    assert!(error(b).contains("serialization_id`: occurs more than once"));
}

/// Offset of the directory header of the entry that ends so.
fn header(b: &[u8], name: &str) -> usize {
    (0..b.len() - 46)
        .find(|&i| {
            let len = u16::from_le_bytes([b[i + 28], b[i + 29]]) as usize;
            b[i..].starts_with(b"PK\x01\x02")
                && b.get(i + 46..i + 46 + len).is_some_and(|n| n.ends_with(name.as_bytes()))
        })
        .unwrap()
}

fn set32(b: &mut [u8], at: usize, n: u32) {
    b[at..at + 4].copy_from_slice(&n.to_le_bytes());
}

#[test]
fn entries_that_lie_about_their_size_are_refused() {
    let whole = archive(&entries("state"), Stored);
    let h = header(&whole, "weight_0");
    let mut b = whole.clone();
    set32(&mut b, h + 24, 2_000_000_000);
    assert!(error(b.clone()).contains("is stored, yet has two sizes"));
    set32(&mut b, h + 20, 2_000_000_000);
    assert!(error(b).contains("lie past the end of the file"));
    let mut b = whole.clone();
    let other = header(&whole, "weight_1");
    let place: [u8; 4] = whole[other + 42..other + 46].try_into().unwrap();
    b[h + 42..h + 46].copy_from_slice(&place);
    assert!(error(b).contains("has another name"));
}

#[test]
fn deflated_bombs_are_refused() {
    let mut all = entries("state");
    let model = all.iter().position(|(n, _)| n.ends_with(MODEL)).unwrap();
    all[model].1 = vec![b' '; 30 << 20];
    let whole = archive(&all, Deflated);
    assert!(whole.len() < 100_000);
    assert!(error(whole.clone()).contains("models/model.json"));
    let h = header(&whole, MODEL);
    let mut b = whole.clone();
    set32(&mut b, h + 24, 1000);
    assert!(error(b).contains("inflates to more than the 1000 bytes"));
    let mut b = whole.clone();
    set32(&mut b, h + 24, 4_000_000_000);
    assert!(error(b).contains("more than deflate can pack"));
    let mut b = whole;
    set32(&mut b, h + 24, (30 << 20) + 1);
    assert!(error(b).contains("inflates to 31457280 bytes"));
}

#[test]
fn deep_json_is_refused() {
    let mut all = entries("state");
    let model = all.iter().position(|(n, _)| n.ends_with(MODEL)).unwrap();
    all[model].1 = "[".repeat(5_000_000).into_bytes();
    assert!(error(archive(&all, Deflated)).contains("models/model.json"));
    let unknown = format!("{{\"as_future\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let e = error(edited("state", MODEL, "{\"as_int\": 1}", &unknown));
    assert!(e.contains("recursion limit"), "{e:.300}");
}

#[test]
fn what_is_missing_or_unknown_is_named() {
    let without = |name: &str| {
        let all: Vec<_> = entries("state").into_iter().filter(|(n, _)| !n.ends_with(name)).collect();
        error(archive(&all, Stored))
    };
    assert!(without("weight_0").contains("weight `count`: the file holds no entry `data/weights/weight_0`"));
    assert!(without(WEIGHTS).contains("lists the weights"));
    assert!(without(MODEL).contains("no entry `models/model.json`"));
    let e = error(edited("state", MODEL, "\"major\": 8", "\"major\": 9"));
    assert!(e.contains("schema version 9.20 is not known"), "{e}");
    let e = error(edited("state", MODEL, "\"dtype\": 7", "\"dtype\": 99"));
    assert!(e.contains("dtype code 99 is not known"), "{e}");
    let e = error(edited("state", MODEL, "\"as_int\": 1}", "\"as_int\": \"one\"}"));
    assert!(e.contains("graph_module.graph.nodes[0].inputs[1].arg"), "{e}");
    let e = error(edited(
        "state",
        MODEL,
        "{\"as_tensor\": {\"name\": \"b_count\"}}, \"kind\"",
        "{\"as_tensor\": {\"name\": \"later\"}}, \"kind\"",
    ));
    assert!(e.contains("nodes[0] (add_)`: `later` is used before it is defined"), "{e}");
}

#[test]
fn unknown_fields_pass_and_unknown_arguments_are_reported() {
    let b = edited("state", MODEL, "{\"as_int\": 1}", "{\"as_future\": {\"x\": [1]}}");
    let p = read_bytes(b.into()).unwrap();
    assert_eq!(p.unknown_arguments(), [("add_", "other", "as_future")]);
    let b = edited("state", MODEL, "\"opset_version\"", "\"new_field\": {\"a\": [1, 2]}, \"opset_version\"");
    assert!(read_bytes(b.into()).is_ok());
}

#[test]
fn weights_that_cannot_be_had_are_all_named() {
    let e = error(edited("state", WEIGHTS, "\"use_pickle\": false", "\"use_pickle\": true"));
    assert!(e.contains("weight `count`: is pickled in `data/weights/weight_0`"), "{e}");
    let e = error(edited("state", WEIGHTS, "\"sizes\": [{\"as_int\": 3}]", "\"sizes\": [{\"as_int\": 4}]"));
    assert!(e.contains("needs 16 bytes of `data/weights/weight_0`, which holds 12"), "{e}");
    let e = error(edited(
        "state",
        WEIGHTS,
        "\"sizes\": [{\"as_int\": 3}]",
        "\"sizes\": [{\"as_int\": 9223372036854775807}]",
    ));
    assert!(e.contains("overflows"), "{e}");
    let e = error(edited("state", WEIGHTS, "\"as_int\": 3}]", "\"as_int\": -3}]"));
    assert!(e.contains("has size -3"), "{e}");
    let e = error(edited("state", WEIGHTS, "\"layout\": 7", "\"layout\": 1"));
    assert!(e.contains("has layout sparse_coo"), "{e}");
    let mut all = entries("state");
    all.iter_mut().filter(|(n, _)| n.contains("/weight_")).for_each(|(_, data)| data.truncate(4));
    let e = error(archive(&all, Stored));
    assert!(e.starts_with("2 problems") && e.contains("`count`") && e.contains("`cache`"), "{e}");
}

#[test]
fn a_view_that_repeats_without_bound_is_not_made_dense() {
    let huge = "\"sizes\": [{\"as_int\": 100000000000}]";
    let b = edited("state", WEIGHTS, "\"sizes\": [{\"as_int\": 3}]", huge);
    let mut all: Vec<(String, Vec<u8>)> = Vec::new();
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(b)).unwrap();
    for i in 0..zip.len() {
        let mut f = zip.by_index(i).unwrap();
        let mut data = Vec::new();
        std::io::Read::read_to_end(&mut f, &mut data).unwrap();
        all.push((f.name().to_owned(), data));
    }
    let config = all.iter_mut().find(|(n, _)| n.ends_with(WEIGHTS)).unwrap();
    let text = String::from_utf8(config.1.clone()).unwrap();
    config.1 = text.replacen("\"strides\": [{\"as_int\": 1}]", "\"strides\": [{\"as_int\": 0}]", 1).into_bytes();
    let p = read_bytes(archive(&all, Stored).into()).unwrap();
    assert!(p.weights["count"].to_contiguous().unwrap_err().contains("too large"));
}
