//! What is read is written back, and what is written is read back.

mod common;

use common::{assert_same, data, small_model};
use coremill_mil::{Const, Function, NewOp, OpKind, Opset, Place, Program, Type};
use coremill_mlpackage::{BlobFile, Content, Description, Files, MANIFEST, MODEL_PATH, Model, WEIGHTS_PATH};
use coremill_tensor::{DType, Data};

#[test]
fn a_package_keeps_program_description_and_files() {
    let path = data("kv_cache.mlpackage");
    let model = Model::open(&path).unwrap();
    assert_eq!(model.specification_version, 9);
    assert!(model.files.contains_key("executorch_debug_handle_mapping.json"));
    let Description::Kept(raw) = model.description.clone() else { panic!("it has a description") };

    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("out.mlpackage");
    model.save(&to).unwrap();
    model.save(&to).unwrap();
    let back = Model::open(&to).unwrap();
    assert_same(&model.program, &back.program);
    assert!(matches!(&back.description, Description::Kept(b) if *b == raw));
    assert_eq!(model.files, back.files);
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 1, "nothing temporary is left");
}

#[test]
fn a_model_without_description_stays_without() {
    for name in ["while_loop.mlmodel", "classify.mlmodel"] {
        let model = Model::open(&data(name)).unwrap();
        let written = model.to_mlmodel(name).unwrap().to_bytes();
        let back = Model::from_mlmodel(name, &written).unwrap();
        assert_same(&model.program, &back.program);
        assert!(matches!(back.description, Description::Absent));
        assert_eq!(back.to_mlmodel(name).unwrap().to_bytes(), written);
    }
}

#[test]
fn a_classifier_is_described_as_one() {
    let model = Model::open(&data("classify.mlmodel")).unwrap();
    let d = model.described("classify").unwrap();
    assert_eq!(d.predicted_feature_name, d.output[0].name);
    assert_eq!(d.predicted_probabilities_name, d.output[1].name);
}

#[test]
fn a_new_model_says_what_made_it_and_holds_weights_apart() {
    let model = small_model(Opset::Ios17);
    let files = model.to_package("m").unwrap();
    assert_eq!(files.keys().collect::<Vec<_>>(), [MODEL_PATH, WEIGHTS_PATH, MANIFEST]);
    assert_eq!(files, model.to_package("m").unwrap(), "the same bytes each time");
    let weights = BlobFile::new(files[WEIGHTS_PATH].to_bytes()).unwrap();
    assert_eq!(weights.count(), 1);
    assert_eq!(weights.blob(64).unwrap().bytes.len(), 48);

    let back = Model::from_package("m", &files).unwrap();
    let d = back.described("m").unwrap();
    let user = d.metadata.unwrap().user_defined;
    assert_eq!(user["coremill.source_dialect"], "TorchExport::ATEN");
    assert_eq!(user["coremill.version"], env!("CARGO_PKG_VERSION"));
    assert!(back.program.attributes.contains_key("buildInfo"));
    assert_eq!(d.output.iter().map(|o| o.name.as_str()).collect::<Vec<_>>(), ["y", "copy"]);
    // An input that is an output by another name gets an op that carries that name.
    let f = &back.program.functions["main"];
    assert_eq!(f.output_names(), ["y", "copy"]);
    let copy = f.outputs().nth(1).unwrap();
    assert!(f.producer_of(copy, OpKind::Identity).is_some());
}

#[test]
fn weights_are_shared_with_the_input_file() {
    let files = small_model(Opset::Ios16).to_package("m").unwrap();
    let weights = files[WEIGHTS_PATH].to_bytes();
    let mut whole = files.clone();
    whole.insert(WEIGHTS_PATH.to_owned(), weights.clone().into());
    let again = Model::from_package("m", &whole).unwrap().to_package("m").unwrap();
    let range = weights.as_ptr_range();
    let mut shared = false;
    again[WEIGHTS_PATH]
        .for_each_piece(&mut |p| {
            shared |= p.len() == 48 && range.contains(&p.as_ptr());
            Ok(())
        })
        .unwrap();
    assert!(shared, "the weight is written from the bytes it was read from");
    assert_eq!(again[WEIGHTS_PATH].to_bytes(), weights);
}

#[test]
fn every_element_type_survives_inline_and_in_the_weight_file() {
    for opset in Opset::ALL {
        for &dtype in DType::ALL {
            if matches!(dtype, DType::String | DType::Complex64) {
                continue;
            }
            // 13 elements leave padding in the last byte of every sub-byte type; the pattern is valid for each.
            let len = dtype.byte_len(13).unwrap();
            let mut bytes: Vec<u8> = (0..len).map(|i| (i % 2) as u8).collect();
            if dtype == DType::Bool {
                bytes.fill(1);
            }
            let value = Data::new(dtype, &[13], bytes).unwrap();
            let mut f = Function::new(opset);
            let body = f.body();
            let v = f.insert_const(Place::End(body), "v", Const::Tensor(value.clone()));
            f.set_outputs(vec![("v".to_owned(), v)]);
            let mut model = small_model(opset);
            model.program = Program::with_main(f);
            // Core ML's interface has few of these types; the description is not what this is about.
            model.description = Description::Absent;
            let inline = Model::from_mlmodel("m", &model.to_mlmodel("m").unwrap().to_bytes()).unwrap();
            assert_eq!(constant(&inline), value, "{opset} {dtype} inline");
            let Ok(files) = model.to_package("m") else { continue };
            let apart = Model::from_package("m", &files).unwrap();
            assert_eq!(constant(&apart), value, "{opset} {dtype} in a package");
        }
    }
}

fn constant(model: &Model) -> Data {
    let f = &model.program.functions["main"];
    f.const_value(f.outputs().next().unwrap()).unwrap().as_data().unwrap().clone()
}

#[test]
fn names_become_unique_and_the_signature_stays() {
    let mut f = Function::new(Opset::Ios17);
    let body = f.body();
    let ty = Type::known(DType::Fp32, &[2]);
    let x = f.add_input(body, "x", ty.clone());
    let mut v = x;
    for _ in 0..3 {
        let op = f.insert(Place::End(body), NewOp::new(OpKind::Relu).input("x", v).output("y", ty.clone()));
        v = f.op(op).output();
    }
    let last = f.insert(Place::End(body), NewOp::new(OpKind::Relu).input("x", v).output("x", ty));
    let last = f.op(last).output();
    f.set_outputs(vec![("y".to_owned(), last)]);
    let mut model = small_model(Opset::Ios17);
    model.program = Program::with_main(f);
    let back = Model::from_mlmodel("m", &model.to_mlmodel("m").unwrap().to_bytes()).unwrap();
    let f = &back.program.functions["main"];
    let names: Vec<&str> = f.all_ops().iter().map(|&op| f.value(f.op(op).output()).name.as_str()).collect();
    assert_eq!(names, ["y_0", "y_1", "y_2", "y"]);
}

#[test]
fn unknown_ops_and_attributes_everywhere_survive() {
    let mut f = Function::new(Opset::Ios18);
    let body = f.body();
    let ty = Type::known(DType::Fp32, &[2]);
    let x = f.add_input(body, "x", ty.clone());
    let mut new = NewOp::new(OpKind::Unknown).input("x", x).output("y", ty);
    new.unknown_type = Some("from_the_future".to_owned());
    new.attributes.insert("mode".to_owned(), Const::string("odd"));
    let op = f.insert(Place::End(body), new);
    let y = f.op(op).output();
    f.set_outputs(vec![("y".to_owned(), y)]);
    f.attributes.insert("of_function".to_owned(), Const::int32(1));
    f.block_attributes_mut(body).insert("of_block".to_owned(), Const::bool(true));
    let mut model = small_model(Opset::Ios18);
    model.program = Program::with_main(f);
    model.program.attributes.insert("of_program".to_owned(), Const::Tuple(vec![Const::fp32(0.5)]));
    let back = Model::from_mlmodel("m", &model.to_mlmodel("m").unwrap().to_bytes()).unwrap();
    assert_same(&model.program, &back.program);
    assert_eq!(back.program.attributes["of_program"], Const::Tuple(vec![Const::fp32(0.5)]));
    let f = &back.program.functions["main"];
    assert_eq!(f.attributes["of_function"], Const::int32(1));
    assert_eq!(f.block(f.body()).attributes["of_block"], Const::bool(true));
    let op = f.op(f.all_ops()[0]);
    assert_eq!(op.type_name(), "from_the_future");
    assert_eq!(op.attributes["mode"], Const::string("odd"));
}

#[test]
fn an_output_is_replaced_only_when_it_is_a_model() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("precious.mlpackage");
    std::fs::create_dir(&to).unwrap();
    std::fs::write(to.join("thesis.txt"), "years of work").unwrap();
    let model = small_model(Opset::Ios17);
    let e = model.save(&to).unwrap_err().to_string();
    assert!(e.contains("something else"), "{e}");
    assert!(to.join("thesis.txt").is_file());
    assert!(model.save(&dir.path().join("a.bin")).is_err());
    let files = Files::from([("../out".to_owned(), Content::from(&b"x"[..]))]);
    let e = coremill_mlpackage::write_folder(&dir.path().join("p"), &files, |_| true).unwrap_err().to_string();
    assert!(e.contains("leads out"), "{e}");
    assert!(!dir.path().join("out").exists() && !dir.path().join("p").exists());
}
