//! Files, streams and memory: a failed write is an error that leaves the old file complete, a program that doesn't fit
//! into memory is refused before anything is allocated, and an error names the format of an input that is no program.

use std::path::Path;

use shardc::Literal;
use shardc_tests::command::shardc;
use shardc_tests::tools::scratch;

const PROGRAM: &str = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
";

/// Returns the exit code and the error output.
fn fails(args: &[&str], input: &str) -> (u8, String) {
    let output = shardc(args, input);
    (output.code, output.errors())
}

#[test]
fn a_result_is_written_whole_or_not_at_all() {
    let folder = scratch("resources");
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    std::fs::write(path("a.mlir"), "old").unwrap();
    // A program with errors, and a folder in place of a file.
    assert_eq!(shardc(&["compile", "-", "-o", &path("a.mlir")], "nothing").code, 1);
    assert_eq!(std::fs::read_to_string(path("a.mlir")).unwrap(), "old");
    let (code, said) = fails(&["compile", "-", "-o", &folder.to_string_lossy()], PROGRAM);
    assert!(code == 1 && said.contains("can't write"), "{code} {said}");
    shardc(&["compile", "-", "-o", &path("a.mlir")], PROGRAM).succeeded();
    assert!(std::fs::read_to_string(path("a.mlir")).unwrap().contains("stablehlo.add"));
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "drafts are left");
    if Path::new("/dev/full").exists() {
        for args in [["compile", "-", "-o"], ["run", "-", "--outputs"], ["cost", "-", "--trace"]] {
            let (code, said) = fails(&[&args[..], &["/dev/full"]].concat(), PROGRAM);
            assert!(code == 1 && said.contains("can't write /dev/full"), "{args:?}: {code} {said}");
        }
    }
}

/// A stream that is full.
struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("full"))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    for args in [
        &["compile", "-"][..],
        &["help"],
        &["help", "codes"],
        &["--version"],
        &["compile", "-", "-o", "/dev/null", "--json"],
    ] {
        let mut err = Vec::new();
        let io = shardc::Io {
            stdin: &mut PROGRAM.as_bytes(),
            out: &mut Full,
            err: &mut err,
            out_color: false,
            err_color: false,
        };
        assert_eq!(shardc::run(args, io), 1, "{args:?}");
    }
}

#[test]
fn files_in_other_formats_are_named_in_the_error() {
    let said = |input: &str| shardc(&["compile", "-"], input).errors();
    assert!(said("HloModule jit_f, entry_computation_layout={()->f32[]}\n").contains("is HLO text"));
    assert!(said("").contains("<stdin> is empty"));
    assert!(said(" \n\n").contains("<stdin> is empty"));
    let marked = [b"\xef\xbb\xbf", PROGRAM.as_bytes()].concat();
    shardc(&["compile", "-"], marked).succeeded();
}

/// An endless stream.
struct Endless;

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        buffer.fill(b'y');
        Ok(buffer.len())
    }
}

#[test]
fn an_endless_input_stops_at_the_limit() {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let io = shardc::Io { stdin: &mut Endless, out: &mut out, err: &mut err, out_color: false, err_color: false };
    assert_eq!(shardc::run(["compile", "-"], io), 2);
    assert!(String::from_utf8_lossy(&err).contains("more than 1 GiB"));
}

#[test]
fn arguments_that_do_not_fit_in_memory_are_refused() {
    let huge = PROGRAM.replace("4xf32", "274877906944xf32");
    for command in [&["run", "-"][..], &["check", "-"], &["run", "--interpret", "-"]] {
        let (code, said) = fails(command, &huge);
        assert!(code == 1 && said.contains("error[device-memory]") && said.contains("1 TiB"), "{command:?}: {said}");
    }
}

#[test]
fn arrays_are_matched_by_position_and_extra_arrays_are_refused() {
    let folder = scratch("resources-arrays");
    let array = |n: f64| {
        let ty = dialect::ir::TensorType::new(&[4], dialect::ir::ElementType::F32);
        Literal::from_fn(&ty, |i| dialect::scalar::Scalar::Float(n * i as f64))
    };
    let write = |file: &str, arrays: &[(&str, Literal)]| {
        let path = folder.join(file);
        let arrays: Vec<_> = arrays.iter().map(|(n, a)| ((*n).to_owned(), a.clone())).collect();
        runtime::npz::write_file(&path, &arrays).unwrap();
        path.to_string_lossy().into_owned()
    };
    let given = write("given.npz", &[("arr_0", array(1.0))]);
    let right = write("right.npz", &[("arr_0", array(2.0))]);
    let more = write("more.npz", &[("out0", array(2.0)), ("out1", array(2.0))]);
    let run = |expected: &str| shardc(&["run", "--interpret", "-", "--inputs", &given, "--expect", expected], PROGRAM);
    assert_eq!(run(&right).text(), "result 0: as expected\n");
    let (code, said) = run(&more).code_and_text();
    assert!(code == 2 && said.contains("'out1' is superfluous: the program has 1 results"), "{said}");
    let wide = dialect::ir::TensorType::new(&[4], dialect::ir::ElementType::F64);
    let wide = write("wide.npz", &[("arg0", Literal::from_fn(&wide, |_| dialect::scalar::Scalar::Float(1e300)))]);
    let (code, said) = fails(&["run", "--interpret", "-", "--inputs", &wide], PROGRAM);
    assert!(code == 2 && said.contains("'arg0' has the value 1e300, which f32 can't represent"), "{said}");
}

#[test]
fn a_program_that_does_not_fit_names_its_largest_tensors() {
    let program = "func.func @main(%x: tensor<4000000x1xf32>, %y: tensor<1x4000000xf32>) -> tensor<f32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4000000x1xf32>, tensor<1x4000000xf32>) -> tensor<4000000x4000000xf32>
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [0, 1] x [0, 1] : (tensor<4000000x4000000xf32>, tensor<4000000x4000000xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
";
    let output = shardc(&["run", "-"], program);
    let (out, said) = (output.text(), output.errors());
    assert_eq!((output.code, out.as_str()), (if shardc::HAS_NATIVE { 1 } else { 2 }, ""), "{said}");
    if shardc::HAS_NATIVE {
        assert!(said.contains("error[device-memory]: the program's tensors take 58.2 TiB of memory"), "{said}");
        assert!(said.contains("58.2 TiB: stablehlo.dot_general tensor<4000000x4000000xf32>"), "{said}");
        assert!(!said.contains("MiB:"), "small tensors are no reason: {said}");
        let (_, said) = fails(&["run", "-", "--inputs", "/nowhere.npz"], program);
        assert!(said.contains("error[device-memory]"), "inputs are read before: {said}");
    }
}
