//! Bytes from anywhere: an error with the file and the place, no panic, no unbounded memory, no path out.

mod common;

use bytes::Bytes;
use common::{data, shared, small_model};
use coremill_mil::Opset;
use coremill_mlpackage::proto::mil;
use coremill_mlpackage::{
    BlobError, BlobFile, ErrorKind, Files, MANIFEST, MODEL_PATH, Manifest, Model, Place, WEIGHTS_PATH, check_relative,
};
use proptest::prelude::*;
use prost::Message;

fn open(bytes: &[u8]) -> Result<Model, coremill_mlpackage::Error> {
    Model::from_mlmodel("m.mlmodel", &Bytes::copy_from_slice(bytes))
}

fn fixtures() -> Vec<Vec<u8>> {
    let model = data("kv_cache.mlpackage").join(MODEL_PATH);
    [data("while_loop.mlmodel"), data("classify.mlmodel"), model].iter().map(|p| std::fs::read(p).unwrap()).collect()
}

#[test]
fn every_truncation_is_an_error_or_a_smaller_model() {
    for whole in fixtures() {
        for n in 0..whole.len() {
            if let Ok(m) = open(&whole[..n]) {
                let _ = m.to_mlmodel("m");
            }
        }
    }
}

#[test]
fn every_flipped_bit_is_an_error_or_another_model() {
    for whole in fixtures() {
        for at in 0..whole.len() {
            for bit in [at % 8, 7] {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                if let Ok(m) = open(&bytes) {
                    let _ = m.to_mlmodel("m");
                    let _ = m.to_package("m");
                }
            }
        }
    }
}

#[test]
fn a_flipped_package_of_weights_never_panics() {
    let files = small_model(Opset::Ios18).to_package("m").unwrap();
    let weights = files[WEIGHTS_PATH].to_bytes();
    for at in 0..weights.len() {
        let mut bytes = weights.to_vec();
        bytes[at] ^= 0x81;
        let mut files = files.clone();
        files.insert(WEIGHTS_PATH.to_owned(), bytes.into());
        let _ = Model::from_package("m", &files);
    }
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = open(&bytes);
        if let Ok(file) = BlobFile::new(bytes.clone().into()) {
            file.blobs().count();
        }
        let _ = Model::from_package("m", &Files::from([(MANIFEST.to_owned(), bytes.into())]));
    }

    #[test]
    fn many_changes_at_once_never_panic(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        for whole in fixtures() {
            let mut bytes = whole;
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            if let Ok(m) = open(&bytes) {
                let _ = m.to_package("m");
            }
        }
    }
}

#[test]
fn another_kind_of_model_is_refused_by_name() {
    // specificationVersion: 4, neuralNetwork (field 500): empty.
    let e = open(&[0x08, 4, 0xa2, 0x1f, 0]).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::NotAnMlProgram(k) if k == "neuralNetwork"), "{e}");
    assert!(e.to_string().contains("neuralNetwork, not an ML Program"), "{e}");
}

#[test]
fn a_huge_claim_in_a_small_file_is_refused_where_it_stands() {
    // mlProgram (field 502) of 2^31 - 1 bytes, in a file of a kilobyte.
    let mut bytes = vec![0x08, 8, 0xb2, 0x1f, 0xff, 0xff, 0xff, 0xff, 0x07];
    bytes.resize(1000, 0);
    let e = open(&bytes).unwrap_err();
    assert_eq!(e.place(), Some(&Place::Offset(4)), "{e}");
}

/// A model whose program has one attribute: a tensor of these extents and no elements but `elements`.
fn with_constant(extents: &[u64], elements: Option<mil::Elements>) -> Vec<u8> {
    let extent = |&size| mil::Dimension { dimension: Some(mil::Extent::Constant(mil::ConstantDimension { size })) };
    let tensor = mil::TensorType {
        data_type: 11,
        rank: extents.len() as i64,
        dimensions: extents.iter().map(extent).collect(),
        ..Default::default()
    };
    let value = mil::Immediate::Tensor(mil::TensorValue { value: elements });
    let value = mil::Value {
        r#type: Some(mil::ValueType { r#type: Some(mil::TypeKind::Tensor(tensor)) }),
        value: Some(mil::ValueKind::Immediate(mil::ImmediateValue { value: Some(value) })),
        ..Default::default()
    };
    let program = mil::Program { attributes: [("a".to_owned(), value)].into(), ..Default::default() };
    let mut out = vec![0xb2, 0x1f];
    prost::encoding::encode_varint(program.encoded_len() as u64, &mut out);
    program.encode(&mut out).unwrap();
    out
}

#[test]
fn a_claim_of_elements_is_checked_before_memory_is_taken() {
    let floats = |values: &[f32]| Some(mil::Elements::Floats(mil::Floats { values: values.to_vec() }));
    assert!(open(&with_constant(&[2], floats(&[1.0, 2.0]))).is_ok());
    assert!(open(&with_constant(&[0], None)).is_ok());
    for (extents, elements) in [
        (&[1 << 40][..], floats(&[1.0])),
        (&[1 << 40], None),
        (&[u64::MAX, 2, 0], floats(&[])),
        (&[u64::MAX, 2, 0], None),
        (&[1 << 40], Some(mil::Elements::Bytes(mil::RawBytes { values: Bytes::from_static(&[0; 4]) }))),
        (&[3], floats(&[1.0])),
        (&[1], Some(mil::Elements::Bools(mil::Bools { values: vec![true] }))),
    ] {
        let e = open(&with_constant(extents, elements)).unwrap_err();
        let field = "mlProgram.attributes[\"a\"].immediateValue.tensor".to_owned();
        assert_eq!(e.place(), Some(&Place::Field(field)), "{extents:?}: {e}");
    }
}

#[test]
fn a_message_in_many_parts_costs_no_more_than_in_one() {
    // The program and the description, each in a hundred thousand empty parts.
    let mut bytes = Vec::new();
    for _ in 0..100_000 {
        bytes.extend([0x12, 0, 0xb2, 0x1f, 0]);
    }
    assert!(open(&bytes).unwrap().program.functions.is_empty());
}

#[test]
fn deep_nesting_stops() {
    // A type of lists in lists, a thousand deep, as an input of a function.
    let mut ty = vec![0x0a, 0];
    for _ in 0..1000 {
        let mut list = vec![0x0a];
        prost::encoding::encode_varint(ty.len() as u64, &mut list);
        list.extend(&ty);
        let mut outer = vec![0x12];
        prost::encoding::encode_varint(list.len() as u64, &mut outer);
        outer.extend(list);
        ty = outer;
    }
    let wrap = |field: u32, inner: Vec<u8>| {
        let mut out = Vec::new();
        prost::encoding::encode_varint(u64::from(field) << 3 | 2, &mut out);
        prost::encoding::encode_varint(inner.len() as u64, &mut out);
        out.extend(inner);
        out
    };
    let input = wrap(1, wrap(2, ty));
    let function = [wrap(1, b"main".to_vec()), wrap(2, input)].concat();
    let e = open(&wrap(502, wrap(2, function))).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Protobuf(_)), "{e}");
}

#[test]
fn a_reference_outside_the_weight_file_is_refused_with_its_field() {
    let files = small_model(Opset::Ios17).to_package("m").unwrap();
    let mut cut = files.clone();
    cut.insert(WEIGHTS_PATH.to_owned(), files[WEIGHTS_PATH].to_bytes().slice(..150).into());
    let e = Model::from_package("m", &cut).unwrap_err();
    let past = BlobError::PastEnd { record: 64, offset: 128, size: 48, len: 150 };
    assert!(matches!(e.kind(), ErrorKind::Blob(b) if *b == past), "{e}");
    let want = "m/Data/com.apple.CoreML/model.mlmodel: mlProgram.functions[\"main\"].block_specializations[\"CoreML7\"]\
                .operations[0].attributes[\"val\"].blobFileValue.offset";
    assert!(e.to_string().starts_with(want), "{e}");
    cut.remove(WEIGHTS_PATH);
    let e = Model::from_package("m", &cut).unwrap_err().to_string();
    assert!(e.contains("holds no file `Data/com.apple.CoreML/weights/weight.bin`"), "{e}");
}

#[test]
fn paths_that_lead_out_are_refused() {
    for bad in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/./b", "C:/x", "a\\b", "a\0b", ".."] {
        assert!(check_relative(bad).is_err(), "{bad:?}");
    }
    assert!(check_relative("com.apple.CoreML/weights/weight.bin").is_ok());
    let manifest = |path: &str| {
        let text = format!(
            r#"{{"fileFormatVersion":"1.0.0","itemInfoEntries":{{"A":{{"path":"{path}"}}}},"rootModelIdentifier":"A"}}"#
        );
        let files = Files::from([(MANIFEST.to_owned(), text.into_bytes().into())]);
        Manifest::read("m", &files).map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(manifest("com.apple.CoreML/model.mlmodel"), Ok(()));
    for bad in ["../../etc/passwd", "/etc/passwd", ""] {
        assert!(manifest(bad).unwrap_err().contains("refused"));
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_package_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let package = dir.path().join("m.mlpackage");
    small_model(Opset::Ios17).save(&package).unwrap();
    std::fs::write(dir.path().join("secret"), "x").unwrap();
    std::os::unix::fs::symlink(dir.path().join("secret"), package.join("Data/leak")).unwrap();
    let e = Model::open(&package).unwrap_err().to_string();
    assert!(e.contains("leads out of the package"), "{e}");
}

#[test]
fn things_that_are_no_models_say_so() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Model::open(dir.path()).unwrap_err().kind(), ErrorKind::NotAModel));
    assert!(matches!(Model::open(&dir.path().join("absent")).unwrap_err().kind(), ErrorKind::Io(_)));
    assert!(matches!(open(b"").unwrap_err().kind(), ErrorKind::Malformed(_)));
}

#[test]
fn real_models_cut_short_never_panic() {
    let Some(shared) = shared() else { return };
    let whole = std::fs::read(shared.join("models/public/crepe_tiny.mlpackage").join(MODEL_PATH)).unwrap();
    for n in (0..whole.len()).step_by(97) {
        let _ = open(&whole[..n]);
    }
}
