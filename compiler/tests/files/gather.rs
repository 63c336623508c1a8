//! `shardc gather` merges the shards that an index names, and nothing else.

use super::*;

/// An index of two shards, in files written by a run.
const INDEX: &str = r#"{"schema": "shardc.shards/1", "arrays": [{"name": "out0", "element": "f32", "shape": [8], "shards": [
  {"file": "a.npz", "array": "out0", "start": [0], "sizes": [4]},
  {"file": "b.npz", "array": "out0", "start": [4], "sizes": [4]}]}]}"#;

#[test]
fn shards_that_are_no_array_are_refused_and_nothing_is_written() {
    let folder = Folder::new("gather");
    for name in ["a.npz", "b.npz"] {
        code(&folder.run(&["run", "a.mlir", "--outputs", name]), 0);
    }
    fs::create_dir(folder.at("inner")).unwrap();
    fs::copy(folder.at("a.npz"), folder.at("inner/a.npz")).unwrap();
    fs::write(folder.at("i.json"), INDEX).unwrap();
    code(&folder.run(&["gather", "i.json", "--outputs", "whole.npz"]), 0);
    let expected = "func.func @main() -> tensor<8xf32> {
  %0 = stablehlo.constant dense<0.0> : tensor<8xf32>
  return %0 : tensor<8xf32>
}";
    fs::write(folder.at("other.mlir"), expected).unwrap();
    let compared = folder.run(&["run", "other.mlir", "--expect", "whole.npz"]);
    code(&compared, 1);
    fs::write(folder.at("out.npz"), "old").unwrap();
    let before = fs::read_dir(&folder.0).unwrap().count();
    for (from, to, says) in [
        ("[4], \"sizes\": [4]", "[0], \"sizes\": [4]", "overlaps"),
        ("[4], \"sizes\": [4]", "[3], \"sizes\": [4]", "overlaps"),
        ("[4], \"sizes\": [4]", "[5], \"sizes\": [4]", "outside"),
        ("[4], \"sizes\": [4]", "[-1], \"sizes\": [4]", "outside"),
        ("[4], \"sizes\": [4]", "[9223372036854775807], \"sizes\": [4]", "outside"),
        ("[4], \"sizes\": [4]", "[4, 0], \"sizes\": [4]", "outside"),
        ("[4], \"sizes\": [4]", "[4], \"sizes\": [3]", "7 of 8 elements"),
        ("\"shape\": [8]", "\"shape\": [9]", "8 of 9 elements"),
        ("\"shape\": [8]", "\"shape\": [-8]", "an array can't have the shape"),
        ("\"shape\": [8]", "\"shape\": [4611686018427387904, 4611686018427387904]", "an array can't have the shape"),
        ("\"shape\": [8]", "\"shape\": [1152921504606846976]", "elements"),
        ("\"out0\", \"element\"", "\"../../evil\", \"element\"", "not a valid name of an array"),
        ("\"out0\", \"element\"", "\"/etc/evil\", \"element\"", "not a valid name of an array"),
        ("\"out0\", \"element\"", "\"a/b\", \"element\"", "not a valid name of an array"),
        ("\"out0\", \"element\"", "\"..\\\\b\", \"element\"", "not a valid name of an array"),
        ("\"out0\", \"element\"", "\"\", \"element\"", "not a valid name of an array"),
        ("\"b.npz\"", "\"../b.npz\"", "not a file in the folder"),
        ("\"b.npz\"", "\"inner/a.npz\"", "not a file in the folder"),
        ("\"b.npz\"", "\"/dev/zero\"", "not a file in the folder"),
        ("\"b.npz\"", "\"inner\"", "is not a file"),
        ("\"b.npz\"", "\"c.npz\"", "is not a file"),
        ("\"b.npz\"", "\"a.mlir\"", "npz archive"),
        ("\"array\": \"out0\", \"start\": [4]", "\"array\": \"out1\", \"start\": [4]", "has no 'out1'"),
        ("\"f32\"", "\"f33\"", "'f33' is not a type"),
        ("\"f32\"", "\"f64\"", "differs from the index"),
        ("shards/1", "shards/2", "expected shardc.shards/1"),
        ("}]}]}", "}]}", "is not an index of shards"),
    ] {
        assert!(INDEX.contains(from), "{from}");
        let at = INDEX.rfind(from).unwrap();
        fs::write(folder.at("i.json"), format!("{}{to}{}", &INDEX[..at], &INDEX[at + from.len()..])).unwrap();
        let output = folder.run(&["gather", "i.json", "--outputs", "out.npz"]);
        code(&output, 2);
        assert!(said(&output).contains(says) && said(&output).lines().count() == 1, "{to}: {}", said(&output));
        assert_eq!(folder.text("out.npz"), "old", "{to}");
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), before, "{to}");
    }
    // Two arrays with one name.
    let array = &INDEX[INDEX.find("[{").unwrap() + 1..INDEX.rfind("]}").unwrap()];
    fs::write(folder.at("i.json"), INDEX.replace(array, &format!("{array}, {array}"))).unwrap();
    let output = folder.run(&["gather", "i.json", "--outputs", "out.npz"]);
    code(&output, 2);
    assert!(said(&output).contains("two arrays are called 'out0'"), "{}", said(&output));
    assert!(!folder.at("../evil.npy").exists());
}
