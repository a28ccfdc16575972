//! The text form: what is printed reads back, what is read prints the same, and problems are told where they are.

use coremill_mil::text::spec::parse_spec;
use coremill_mil::text::{
    BlobPlace, Names, NoBlobs, Notes, PrintOptions, parse, parse_function, print, print_annotated, print_function,
    print_op,
};
use coremill_mil::{Const, Function, NewOp, OpKind, Opset, Place, TensorType, Type};
use coremill_tensor::{DType, Data, f16};

fn golden(name: &str) -> String {
    let path = format!("{}/tests/specs/text/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Prints what it reads, byte for byte, and reads that again.
fn round_trips(text: &str) {
    let program = parse(text, &NoBlobs).unwrap_or_else(|e| panic!("{e}"));
    let printed = print(&program, &PrintOptions::default());
    assert_eq!(printed, text.trim_end());
    assert_eq!(print(&parse(&printed, &NoBlobs).unwrap(), &PrintOptions::default()), printed);
}

/// Reads one function and prints it.
fn reprint(text: &str) -> String {
    let (name, f) = parse_function(text, &NoBlobs).unwrap_or_else(|e| panic!("{e}"));
    print_function(&name, &f, &PrintOptions::default())
}

#[test]
fn canonical_files_print_as_they_were() {
    for name in ["transpose_encoder.mil", "ios17.mil", "ios18.mil", "control_flow.mil", "constants.mil"] {
        round_trips(&golden(name));
    }
}

#[test]
fn blob_files_are_read_and_written_through_the_caller() {
    let text = "    func main<ios18>() {\n            tensor<fp32, [2]> w = const()[val = tensor<fp32, [2]>(BLOBFILE(path = \
                string(\"@model_path/weights/weight.bin\"), offset = uint64(64)))];\n        } -> (w);\n";
    let blobs = |path: &str, offset: u64, ty: &TensorType| {
        assert_eq!((path, offset, ty.dtype), ("@model_path/weights/weight.bin", 64, DType::Fp32));
        Ok(Data::from_elements(&[2], &[1f32, 2.0]))
    };
    let (name, f) = parse_function(text, &blobs).unwrap();
    let place =
        |_, _: &str, _: &Data| Some(BlobPlace { path: "@model_path/weights/weight.bin".to_owned(), offset: 64 });
    assert_eq!(print_function(&name, &f, &PrintOptions { blobs: Some(&place), ..PrintOptions::default() }), text);
    let wrong = |_: &str, _: u64, _: &TensorType| Ok(Data::from_elements(&[3], &[0f32; 3]));
    let e = parse_function(text, &wrong).unwrap_err().to_string();
    assert!(e.contains("it holds tensor<fp32, [3]> where tensor<fp32, [2]> is stated"), "{e}");
    assert!(parse_function(text, &NoBlobs).unwrap_err().to_string().contains("without weight files"));
}

#[test]
fn conveniences_become_const_ops() {
    let out = reprint(
        "func main<CoreML7>(tensor<fp32, [2*s0 + 1, 2]> x) { // comment\n tensor<fp32,[2*s0+1, 2]> a = add(x=x, y = \
         tensor<fp32, [2]>(0.5)); tensor<fp32,[2*s0+1, 2]> y = concat(axis = 1, values = (a), interleave = false); } -> (y);",
    );
    assert_eq!(
        out,
        "    func main<ios17>(tensor<fp32, [2*s0 + 1, 2]> x) {\n            \
         tensor<fp32, [2]> a_y_0 = const()[val = tensor<fp32, [2]>([0x1p-1, 0x1p-1])];\n            \
         tensor<fp32, [2*s0 + 1, 2]> a = add(x = x, y = a_y_0);\n            \
         tensor<int32, []> y_axis_0 = const()[val = tensor<int32, []>(1)];\n            \
         tensor<bool, []> y_interleave_0 = const()[val = tensor<bool, []>(false)];\n            \
         tensor<fp32, [2*s0 + 1, 2]> y = concat(axis = y_axis_0, values = a, interleave = y_interleave_0);\n        \
         } -> (y);\n"
    );
}

#[test]
fn names_are_unique_and_public_names_stay() {
    let mut f = Function::new(Opset::Ios17);
    let ty = Type::known(DType::Fp32, &[1]);
    let x = f.add_input(f.body(), "x.1", ty.clone());
    let end = Place::End(f.body());
    let a = f.insert(end, NewOp::new(OpKind::Relu).input("x", x).output("y", ty.clone()));
    let a = f.op(a).output();
    let b = f.insert(end, NewOp::new(OpKind::Relu).input("x", a).output("x_1", ty.clone()));
    let b = f.op(b).output();
    let c = f.insert(end, NewOp::new(OpKind::Relu).input("x", b).output("0", ty));
    let c = f.op(c).output();
    f.set_outputs(vec![("y".to_owned(), b), ("z:0".to_owned(), c), ("again".to_owned(), b)]);
    let out = print_function("main", &f, &PrintOptions::default());
    assert_eq!(
        out,
        "    func main<ios17>(tensor<fp32, [1]> \"x.1\" = x_1) {\n            \
         tensor<fp32, [1]> y_1 = relu(x = x_1);\n            \
         tensor<fp32, [1]> y = relu(x = y_1);\n            \
         tensor<fp32, [1]> var_0 = relu(x = y);\n        \
         } -> (y, \"z:0\" = var_0, again = y);\n"
    );
    assert_eq!(reprint(&out), out);
    let (_, g) = parse_function(&out, &NoBlobs).unwrap();
    assert_eq!(g.output_names(), ["y", "z:0", "again"]);
    assert_eq!(g.value(g.inputs()[0]).name, "x.1");
}

#[test]
fn notes_elision_and_single_ops() {
    let mut f = Function::new(Opset::Ios18);
    let end = Place::End(f.body());
    let w = f.insert_const(end, "w", Const::Tensor(Data::from_elements(&[4, 8], &[f16::ONE; 32])));
    let op = f.insert(end, NewOp::new(OpKind::Relu).input("x", w).output("y", Type::known(DType::Fp16, &[4])));
    let y = f.op(op).output();
    f.set_outputs(vec![("y".to_owned(), y)]);
    let mut notes = Notes::new();
    notes.add(op, "the shape is wrong\nby far");
    let options = PrintOptions { context: Some(0), ..PrintOptions::brief() };
    assert_eq!(
        print_annotated("main", &f, &options, &notes),
        "    func main<ios18>() {\n            // ... 1 ops\n            tensor<fp16, [4]> y = relu(x = w);\n            \
         // -> the shape is wrong\n            //    by far\n        } -> (y);\n"
    );
    let names = Names::of(&f);
    let w_op = f.producer(w).unwrap();
    assert_eq!(
        print_op(&f, w_op, &names, &PrintOptions::brief()),
        "tensor<fp16, [4, 8]> w = const()[val = tensor<fp16, [4, 8]>(...)];"
    );
    let short = PrintOptions { names_only: true, ..PrintOptions::brief() };
    assert_eq!(print_op(&f, op, &names, &short), "y = relu(x = w);");
    let e = parse(&print_function("main", &f, &PrintOptions::brief()), &NoBlobs).unwrap_err().to_string();
    assert!(e.contains("was left out when the text was printed"), "{e}");
}

#[test]
fn problems_are_told_as_in_the_golden_file() {
    let cases = golden("errors.txt");
    let mut got = String::new();
    for case in cases.split("---- case\n").skip(1) {
        let text = case.split("---- problems\n").next().unwrap();
        let problems = parse(text, &NoBlobs).map(|_| "none".to_owned()).unwrap_or_else(|e| e.to_string());
        got += &format!("---- case\n{text}---- problems\n{problems}\n");
    }
    if std::env::var_os("COREMILL_BLESS").is_some() {
        std::fs::write(format!("{}/tests/specs/text/errors.txt", env!("CARGO_MANIFEST_DIR")), &got).unwrap();
    } else {
        assert_eq!(got, cases, "set COREMILL_BLESS=1 to write the file anew");
    }
}

#[test]
fn hostile_text_is_refused_without_panic() {
    let whole = ["transpose_encoder.mil", "ios17.mil", "ios18.mil", "control_flow.mil", "constants.mil"].map(golden);
    for text in &whole {
        for end in (0..text.trim_end().len()).filter(|&i| text.is_char_boundary(i)) {
            assert!(parse(&text[..end], &NoBlobs).is_err(), "{}", &text[..end]);
        }
    }
    let deep = |open: &str, n: usize| open.repeat(n);
    let func = |s: &str| format!("func main<ios17>() {{ {s} }} -> ();");
    for text in [
        func(&format!("{}fp32", deep("list<", 100_000))),
        func(&format!(
            "tensor<fp32, [2]> a = const()[val = tensor<fp32, [{}]>({})];",
            deep("1,", 9999) + "1",
            deep("[", 10_000)
        )),
        func(&deep("cond() {", 100_000)),
        func(&format!("tensor<fp32, [{}s0]> a = const();", deep("(", 100_000))),
        func("int8 a = const()[val = int8(999999999999999999999999999999999999999999999999)];"),
        func("fp32 a = const()[val = fp32(1e999999999)];"),
        func("fp32 a = const()[val = tensor<fp32, [99999999999, 99999999999]>(1.0)];"),
        func("fp32 a = const()[val = tensor<fp32, [1000000000]>(1.0)];"),
        func("fp32 a = const()[val = tensor<fp32, [99999999999999999999999]>([])];"),
        "\"".to_owned(),
        "func \u{1f600}".to_owned(),
    ] {
        assert!(parse(&text, &NoBlobs).is_err());
    }
}

#[test]
fn spec_files_split_into_cases() {
    let text =
        "// about\n// case: one\n// opts: {\"n\": 1}\nfunc a\n// after\nfunc b\n\n// case: two\nfunc c\n// unchanged\n";
    let cases = parse_spec(text).unwrap();
    assert_eq!(cases.len(), 2);
    assert_eq!((cases[0].name.as_str(), cases[0].opts.as_deref(), cases[0].line), ("one", Some("{\"n\": 1}"), 2));
    assert_eq!(cases[0].before, "\n\n\nfunc a\n");
    assert_eq!(cases[0].after.as_deref().map(str::trim), Some("func b"));
    assert_eq!((cases[1].after.as_deref(), cases[1].before.trim()), (None, "func c"));
    for (bad, line) in [
        ("", 1),
        ("func a", 1),
        ("// case: a\nfunc a\n", 1),
        ("// case: a\n// after\nfunc", 1),
        ("// case: a\nfunc a\n// after\n// unchanged\n", 4),
        ("// case: a\nfunc a\n// unchanged\nfunc b", 4),
    ] {
        assert_eq!(parse_spec(bad).unwrap_err().line, line, "{bad}");
    }
}
