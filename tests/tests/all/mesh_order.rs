//! The default placement of a mesh on slices of TPUs is the order of JAX.

use passes::estimate::Target;
use passes::estimate::placement::Placement;
use shardc_tests::oracle;

#[test]
#[cfg_attr(not(has = "oracles"), ignore = "run `make oracles`")]
fn devices_are_ordered_as_in_jax() {
    let python = oracle::made("oracles");
    let (cases, said) = oracle::judge(&python, "mesh_order.py", std::iter::empty());
    assert!(cases.len() > 1000, "the script stopped after {} cases:\n{said}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let target = case["target"].as_str().unwrap();
        let Ok(Target::Slice(slice)) = Target::parse(target) else { panic!("{target} is no slice") };
        let mesh: Vec<u64> = serde_json::from_value(case["mesh"].clone()).unwrap();
        let places: Vec<[u64; 5]> = serde_json::from_value(case["places"].clone()).unwrap();
        let placement = Placement::new(&slice, &mesh).unwrap();
        let ours: Vec<[u64; 5]> = (0..placement.devices()).filter_map(|d| placement.coordinates(d)).collect();
        // Which of two axes of size 2 spans the slices is the choice of JAX's user.
        let same_slices = ours.iter().zip(&places).all(|(a, b)| a[0] == b[0]);
        if ours != places && same_slices {
            wrong.push(format!("{target} {mesh:?}: {ours:?} is {places:?} in JAX"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong[..wrong.len().min(5)].join("\n"));
}
