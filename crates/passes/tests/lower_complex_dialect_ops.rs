//! `common::lower_complex_dialect_ops` by value: what the real ops compute is what NumPy's `fft` module and
//! `torch.stft` gave for the same numbers. And what has no real form is reported, all of it at once.

#[allow(dead_code, reason = "only the evaluation is wanted here")]
mod common;

use common::outputs_on_seeded_inputs;
use coremill_mil::text::{NoBlobs, parse};
use coremill_passes::{PassManager, Pipeline};

const X: &str = "tensor<fp32, [3, 5]>([[1, 2, 0, -1, 3], [0, 1, 1, 2, -2], [4, 0, 1, 0, 1]])";
const Y: &str = "tensor<fp32, [3, 5]>([[0, 1, 2, 0, -1], [1, 1, 0, -2, 2], [3, 0, 1, 0, 0]])";

fn lowered(body: &str, outputs: &str) -> Result<Vec<Vec<f64>>, String> {
    let text = format!("func main<ios17>(tensor<fp32, [1]> unused) {{\n{body}\n}} -> ({outputs});\n");
    let mut program = parse(&text, &NoBlobs).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let pipeline = Pipeline::from_ids("test", ["common::lower_complex_dialect_ops"]);
    PassManager::new().run(&pipeline, &mut program).map_err(|e| e.to_string())?;
    let outputs = outputs_on_seeded_inputs(program.functions.values().next().unwrap()).expect("real ops that can run");
    Ok(outputs.iter().map(|c| c.as_data().unwrap().to_f64s().unwrap()).collect())
}

/// The real and the imaginary part of an op's complex result.
fn transformed(op: &str, shape: &str) -> Vec<Vec<f64>> {
    let body = format!(
        "tensor<complex64, [3, 5]> z = complex(real_data = {X}, imag_data = {Y});
         tensor<complex64, {shape}> c = {op};
         tensor<fp32, {shape}> re = complex_real(data = c);
         tensor<fp32, {shape}> im = complex_imag(data = c);"
    );
    lowered(&body, "re, im").unwrap()
}

fn real(op: &str, shape: &str) -> Vec<f64> {
    let body = format!(
        "tensor<complex64, [3, 5]> z = complex(real_data = {X}, imag_data = {Y});
         tensor<fp32, {shape}> y = {op};"
    );
    lowered(&body, "y").unwrap().remove(0)
}

fn close(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    for (g, e) in got.iter().zip(expected) {
        assert!((g - e).abs() < 2e-5, "{got:?}\nis not\n{expected:?}");
    }
}

#[test]
fn a_longer_transform_along_the_first_axis() {
    // numpy.fft.fft(z, n=4, axis=0, norm="ortho")
    let c = transformed("complex_fft(data = z, n = int32(4), dim = int32(0), norm = string(\"ortho\"))", "[4, 5]");
    let re = [2.5, 1.5, 1., 0.5, 1., -1., 1.5, -0.5, -1.5, 2., 2.5, 0.5, 0., -1.5, 3., -2., 0.5, -0.5, 0.5, 0.];
    let im = [2., 1., 1.5, -1., 0.5, -1.5, 0., 0., -1., 0.5, 1., 0., 1.5, 1., -1.5, -1.5, 1., 1., 1., -1.5];
    close(&c[0], &re);
    close(&c[1], &im);
}

#[test]
fn an_inverse_over_two_axes_one_shorter_one_longer() {
    // numpy.fft.ifftn(z, s=(2, 7), axes=(0, 1), norm="forward")
    let op = "complex_ifftn(data = z, shapes = tensor<int32, [2]>([2, 7]), dims = tensor<int32, [2]>([0, 1]), norm = string(\"forward\"))";
    let c = transformed(op, "[2, 7]");
    let re = [
        7., -1.365857, -2.749135, 2.096221, -5.145138, 4.106031, 3.057878, 3., -4.075202, 7.702352, -4.280477,
        2.341476, -1.851497, 4.163348,
    ];
    let im = [
        4., 6.023329, 0.620431, 1.187383, 0.147743, -4.361369, -0.617516, 0., -4.208239, 4.238036, -6.114208, 7.053209,
        -11.088891, 3.120093,
    ];
    close(&c[0], &re);
    close(&c[1], &im);
}

#[test]
fn half_spectra() {
    // numpy.fft.rfftn(x, norm="forward")
    let c = transformed(&format!("complex_rfftn(data = {X}, norm = string(\"forward\"))"), "[3, 3]");
    close(&c[0], &[0.866667, 0.274536, 0.125464, 0.066667, 0.046377, -0.643704, 0.066667, 0.349908, -0.152581]);
    close(&c[1], &[0., -0.102589, 0.024218, 0.23094, 0.447661, 0.243616, -0.23094, -0.272418, 0.039934]);
    // numpy.fft.irfftn(z, s=(4, 5), axes=(1, 0))
    let op = "complex_irfftn(data = z, shapes = tensor<int32, [2]>([4, 5]), dims = tensor<int32, [2]>([1, 0]))";
    let expected = [
        1., -0.1, 0.3, 0.6, -0.416016, -0.483869, -0.891637, -0.38867, 0.311324, 0.606523, 0.579177, 0.103556,
        -0.449521, 0.226101, 0.053446, -0.041753, 0.054212, -0.248755, -0.040986, 0.226867,
    ];
    close(&real(op, "[5, 4]"), &expected);
    // numpy.fft.irfft(z, n=3, axis=0, norm="ortho")
    let op = "complex_irfft(data = z, n = int32(3), dim = int32(0), norm = string(\"ortho\"))";
    let expected = [
        0.57735, 2.309401, 1.154701, 1.732051, -0.57735, -0.42265, -0.42265, -0.57735, 0.267949, 0.886751, 1.57735,
        1.57735, -0.57735, -3.732051, 4.886751,
    ];
    close(&real(op, "[3, 5]"), &expected);
}

#[test]
fn windows_of_real_and_complex_signals() {
    // torch.stft(x, 5, 2, 3, [1, 2, 3], center=False, normalized=True, onesided=True)
    let c = transformed(
        "complex_stft(input = tensor<fp32, [10]>([1, 2, 0, -1, 3, 0, 1, 1, 2, -2]), n_fft = int32(5), hop_length = int32(2),
         win_length = int32(3), window = tensor<fp32, [3]>([1, 2, 3]), normalized = bool(true))",
        "[3, 3]",
    );
    close(&c[0], &[-0.447214, 2.236068, 2.236068, 1.361803, -2.309017, -1.809017, -1.138197, 1.190983, 0.690983]);
    close(&c[1], &[0., 0., 0., -1.639247, -1.151868, 0.262866, 0.750245, 2.814818, -0.425325]);
    // torch.stft(z, 4, 1, center=False, onesided=False), z of two signals of five complex samples
    let body = "
        tensor<complex64, [2, 5]> z = complex(real_data = tensor<fp32, [2, 5]>([[1, 2, 0, -1, 3], [0, 1, 1, 2, -2]]),
                                              imag_data = tensor<fp32, [2, 5]>([[-2, 2, 1, 1, 0], [3, -1, 0, 2, 1]]));
        tensor<complex64, [2, 4, 2]> c = complex_stft(input = z, n_fft = int32(4), onesided = bool(false));
        tensor<fp32, [2, 4, 2]> re = complex_real(data = c);
        tensor<fp32, [2, 4, 2]> im = complex_imag(data = c);";
    let c = lowered(body, "re, im").unwrap();
    close(&c[0], &[2., 4., 2., 4., 0., -2., 0., 2., 4., 2., -4., -2., -2., 4., 2., 0.]);
    close(&c[1], &[2., 4., -6., 4., -4., 2., 0., -2., 4., 2., 4., -6., 2., 0., 2., 0.]);
}

#[test]
fn what_has_no_real_form_is_reported_at_once() {
    let body = "
        tensor<complex64, [1]> c = complex_fft(data = unused);
        tensor<complex64, [2, 1]> d = complex_stft(input = tensor<fp32, [3]>([1, 2, 3]), n_fft = int32(3));";
    let message = lowered(body, "c, d").unwrap_err();
    assert!(message.contains("makes `c` is an output") && message.contains("makes `d` is an output"), "{message}");
    let text = "
func main<ios17>(tensor<fp32, [?, 4]> x) {
    tensor<complex64, [?, 4]> c = complex_fft(data = x, dim = int32(0));
    tensor<fp32, [?, 4]> y = complex_abs(x = c);
    tensor<complex64, [?, 4]> e = complex_fft(data = x);
    tensor<fp32, [?, 4]> z = complex_abs(x = e);
} -> (y, z);
";
    let mut program = parse(text, &NoBlobs).unwrap_or_else(|e| panic!("{e}"));
    let pipeline = Pipeline::from_ids("test", ["common::lower_complex_dialect_ops"]);
    let message = PassManager::new().run(&pipeline, &mut program).unwrap_err().to_string();
    assert!(message.contains("makes `c` stays: axis 0 has no fixed length") && !message.contains("`e`"), "{message}");
}
