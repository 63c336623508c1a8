//! Tests with files that NumPy wrote (`tests/data/*.npz`), our own files, and corrupt files.

use super::*;
use dialect::ir::TensorType;
use dialect::scalar::Scalar;

const NUMPY: &[u8] = include_bytes!("../../tests/data/numpy.npz");
const DEFLATED: &[u8] = include_bytes!("../../tests/data/numpy_compressed.npz");

fn ints(element: ElementType, shape: &[i64], values: &[i128]) -> Literal {
    Literal::from_scalars(element, shape, values.iter().map(|&v| Scalar::Int(v)))
}

fn floats(element: ElementType, shape: &[i64], values: &[f64]) -> Literal {
    Literal::from_scalars(element, shape, values.iter().map(|&v| Scalar::Float(v)))
}

fn complexes(element: ElementType, values: &[(f64, f64)]) -> Literal {
    Literal::from_scalars(element, &[values.len() as i64], values.iter().map(|&(re, im)| Scalar::Complex(re, im)))
}

/// Returns the contents of both files, in the order in which their generator wrote them.
fn expected() -> Arrays {
    use ElementType::*;
    let counting: Vec<i128> = (0..24).collect();
    let named = |name: &str, literal| (name.to_owned(), literal);
    vec![
        named("bool", ints(I1, &[3], &[1, 0, 1])),
        named("i8", ints(I8, &[2], &[-128, 127])),
        named("i16", ints(I16, &[2], &[-32768, 32767])),
        named("i32", ints(I32, &[2], &[i32::MIN.into(), i32::MAX.into()])),
        named("i64", ints(I64, &[2], &[i64::MIN.into(), i64::MAX.into()])),
        named("u8", ints(UI8, &[2], &[0, 255])),
        named("u16", ints(UI16, &[2], &[0, 65535])),
        named("u32", ints(UI32, &[2], &[0, u32::MAX.into()])),
        named("u64", ints(UI64, &[2], &[0, u64::MAX.into()])),
        named("f16", floats(F16, &[3], &[-1.5, 65504.0, f64::INFINITY])),
        named("f32", floats(F32, &[2, 1], &[-1.5, 3.25])),
        named("f64", floats(F64, &[2], &[-0.1, 1e300])),
        named("bf16", floats(BF16, &[2], &[-1.5, 3.0])),
        named("f8", floats(F8E5M2, &[2], &[-1.5, 3.0])),
        named("c64", complexes(C64, &[(1.0, -2.0), (0.5, 0.25)])),
        named("c128", complexes(C128, &[(1.0, -2.0), (0.1, 0.25)])),
        named("scalar", floats(F32, &[], &[7.0])),
        named("empty", floats(F32, &[0, 3], &[])),
        named("fortran", ints(I32, &[2, 3, 4], &counting)),
        named("big", ints(I32, &[2], &[1, -2])),
        named("big_complex", complexes(C64, &[(1.0, -2.0)])),
        named("big_fortran", ints(I16, &[2, 2], &[1, 2, 3, 4])),
    ]
}

#[test]
fn what_numpy_writes_is_read() {
    for file in [NUMPY, DEFLATED] {
        let found = read(file).unwrap();
        assert_eq!(found.len(), expected().len());
        for (found, expected) in found.iter().zip(expected()) {
            assert!(*found == expected, "{found:?} is not {expected:?}");
        }
    }
}

#[test]
fn what_is_written_is_read_and_always_the_same() {
    let arrays = expected();
    let bytes = write(&arrays).unwrap();
    let back = read(bytes.clone()).unwrap();
    for ((name, literal), (found_name, found)) in arrays.iter().zip(&back) {
        assert_eq!(name, found_name);
        // f8 types are written as another dtype.
        assert_eq!(conform(found, literal.element).as_ref(), Some(literal), "{name}");
    }
    assert_eq!(bytes, write(&arrays).unwrap());
    let path = std::env::temp_dir().join(format!("shardc-npz-{}.npz", std::process::id()));
    write_file(&path, &arrays).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    assert_eq!(read_file(&path).unwrap(), back);
    std::fs::remove_file(&path).unwrap();
    assert!(read_file(&path).unwrap_err().contains("cannot read"));
}

#[test]
fn what_is_stored_is_not_copied() {
    let archive = Bytes::from_static(NUMPY);
    let found = read(archive.clone()).unwrap();
    let (whole, mut copied) = (archive.as_ptr_range(), Vec::new());
    for (name, literal) in &found {
        let bytes = literal.stored_bytes().as_ptr_range();
        let inside = whole.start <= bytes.start && bytes.end <= whole.end;
        if !literal.is_empty() && !inside {
            copied.push(name.as_str());
        }
    }
    assert_eq!(copied, ["fortran", "big", "big_complex", "big_fortran"]);
}

#[test]
fn a_mapped_file_may_be_replaced_while_its_arrays_live() {
    let path = std::env::temp_dir().join(format!("shardc-npz-mapped-{}.npz", std::process::id()));
    // The array is so long that its data could no longer be read if the file were truncated.
    let count = 1 << 16;
    let counting = |from: i128| ints(ElementType::I32, &[count], &(from..from + i128::from(count)).collect::<Vec<_>>());
    write_file(&path, &[("x".into(), counting(0))]).unwrap();
    let mapped = read_file(&path).unwrap();
    write_file(&path, &[("x".into(), mapped[0].1.clone()), ("y".into(), counting(7))]).unwrap();
    assert_eq!(mapped[0].1, counting(0));
    assert_eq!(read_file(&path).unwrap(), [("x".into(), counting(0)), ("y".into(), counting(7))]);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_stored_entry_that_was_damaged_is_refused() {
    let mut bytes = write(&[("x".into(), ints(ElementType::UI8, &[4], &[7, 7, 7, 7]))]).unwrap();
    let at = bytes.windows(4).position(|w| w == [7; 4]).unwrap();
    bytes[at] = 8;
    let error = read(bytes).unwrap_err();
    assert!(error.contains("checksum"), "{error}");
}

#[test]
fn a_splat_is_written_whole() {
    let ones = Literal::splat(ElementType::F32, &[5, 2], Scalar::Float(1.0));
    let back = read(write(&[("ones".into(), ones)]).unwrap()).unwrap();
    assert_eq!(back[0].1, floats(ElementType::F32, &[5, 2], &[1.0; 10]));
}

#[test]
fn raw_bits_become_what_is_expected() {
    use ElementType::*;
    let raw = |bytes: &[u8]| Literal::from_bytes(UI8, &[bytes.len() as i64], bytes.to_vec());
    assert_eq!(conform(&raw(&[0x38, 0xB8]), F8E4M3FN), Some(floats(F8E4M3FN, &[2], &[1.0, -1.0])));
    assert_eq!(conform(&raw(&[0x0F, 0xFF]), I4), Some(ints(I4, &[2], &[-1, -1])));
    assert_eq!(conform(&raw(&[0x1F, 0x00]), I4), None);
    assert_eq!(conform(&raw(&[0x0F, 0x01]), UI4), Some(ints(UI4, &[2], &[15, 1])));
    assert_eq!(conform(&raw(&[0x1F, 0x01]), UI4), None);
    assert_eq!(conform(&ints(I8, &[2], &[-8, 7]), I4), Some(ints(I4, &[2], &[-8, 7])));
    assert_eq!(conform(&ints(I8, &[2], &[-9, 7]), I4), None);
    assert_eq!(conform(&raw(&[1, 2]), I8), None);
    assert_eq!(conform(&ints(I64, &[1], &[1]), I32), None);
}

/// Returns a file with one array of this header and data.
fn file(head: &str, data: &[u8]) -> Vec<u8> {
    let mut array = [header::MAGIC, &[2, 0], &(head.len() as u32).to_le_bytes(), head.as_bytes()].concat();
    array.extend_from_slice(data);
    raw_file(&array)
}

fn raw_file(entry: &[u8]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file("a.npy", options).unwrap();
    zip.write_all(entry).unwrap();
    zip.finish().unwrap().into_inner()
}

/// Returns a file with an entry that claims to be compressed by `method`: 12 is bzip2, 14 is LZMA.
fn by_method(method: u8) -> Vec<u8> {
    let mut file = raw_file(b"text");
    let central = file.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    (file[8], file[central + 10]) = (method, method);
    file
}

#[test]
fn lies_are_told_apart() {
    let dict = |shape: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    let cases: &[(Vec<u8>, &str)] = &[
        (b"PK".to_vec(), "not an .npz archive"),
        (Vec::new(), "not an .npz archive"),
        (b"\x93NUMPY\x01\0".to_vec(), "numpy.savez"),
        (raw_file(b"text"), "ends inside the array's header"),
        (by_method(12), "unsupported compression"),
        (by_method(14), "unsupported compression"),
        (raw_file(b"some other text"), "magic string is missing"),
        (raw_file(b"\x93NUMPY\x09\0aaaa"), "version 9"),
        (raw_file(b"\x93NUMPY\x02\0\xff\xff\xff\xff{"), "header has 4294967295 bytes"),
        (file(&dict("(2,)"), &[0; 7]), "array 'a': expected 8 bytes for the shape [2], found only 7"),
        (file(&dict("(2,)"), &[0; 9]), "found more than 8"),
        (file(&dict("(1099511627776,)"), &[0; 8]), "more than the file can hold"),
        (file(&dict("(4611686018427387904, 4)"), &[]), "of the shape overflows"),
        (file(&dict("(0, 4611686018427387904, 4)"), &[]), "of the shape overflows"),
        (file(&dict("(99999999999999999999,)"), &[]), "expected a size"),
        (file(&dict("(-1,)"), &[]), "expected a size"),
        (file(&dict("[2]"), &[]), "expected '('"),
        (file(&dict(&format!("({})", "1,".repeat(70))), &[0; 4]), "more than 64 dimensions"),
        (file(&dict(&"(".repeat(60_000)), &[]), "expected a size"),
        (file("{'descr': '<U3', 'fortran_order': False, 'shape': (), }", &[]), "dtype '<U3' is not supported"),
        (file("{'descr': '|O', 'fortran_order': False, 'shape': (), }", &[]), "dtype '|O' is not supported"),
        (file("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (), }", &[]), "records"),
        (file("{'descr': '<f4', 'shape': (), }", &[0; 4]), "lacks one of"),
        (file("{'descr': '<f4', 'fortran_order': 0, 'shape': (), }", &[0; 4]), "True or False"),
        (file("{'descr': '<f4", &[]), "unterminated"),
        (file("", &[]), "expected '{'"),
    ];
    for (bytes, message) in cases {
        let error = read(bytes.clone()).unwrap_err();
        assert!(error.contains(message), "{error:?} doesn't say {message:?}");
    }
}

#[test]
fn a_cut_or_changed_file_never_panics() {
    for file in [NUMPY, DEFLATED] {
        for end in (0..file.len()).step_by(97) {
            assert!(read(&file[..end]).is_err());
        }
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..500 {
            let mut changed = file.to_vec();
            for _ in 0..4 {
                changed[random.usize(..file.len())] = random.u8(..);
            }
            // A corrupted file may still contain arrays; those must be complete.
            for (_, literal) in read(changed).unwrap_or_default() {
                assert_eq!(literal.stored_bytes().len(), literal.len() * literal.element.bytes());
            }
        }
    }
}

/// A disk that is full after `room` bytes.
struct Full {
    room: u64,
    inner: Cursor<Vec<u8>>,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let left = self.room.saturating_sub(self.inner.position()) as usize;
        match left.min(bytes.len()) {
            0 => Err(std::io::ErrorKind::StorageFull.into()),
            some => self.inner.write(&bytes[..some]),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl std::io::Seek for Full {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.inner.seek(to)
    }
}

#[test]
fn a_full_disk_is_an_error_wherever_it_is_full() {
    let arrays: Vec<(String, Literal)> = ["a", "b"]
        .map(|name| {
            let ty = TensorType::new(&[50], ElementType::F32);
            (name.to_owned(), Literal::from_fn(&ty, |i| Scalar::Float(i as f64)))
        })
        .into();
    let write = |room| super::write_to(Full { room, inner: Cursor::new(Vec::new()) }, &arrays);
    assert_eq!(write(1 << 20), Ok(()));
    for room in 0..800 {
        let why = write(room).expect_err("it is full");
        assert!(why.contains("array '") || why.contains("no storage space"), "{room}: {why}");
    }
}
