//! Tests of the transports against shards computed by hand. They also check that no device hangs or reads freed memory.

mod mail;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use dialect::collective::Groups;
use dialect::ir::ElementType;
use dialect::kernel::Body;
use dialect::literal::Literal;
use dialect::op::{Collective, CollectiveKind};
use dialect::scalar::{Scalar, ScalarOp};

use self::mail::{Mail, Post};
use super::{Members, Part, Plan, Ranks, Scratch, Shared, Site, Transport};

/// Needs for transports of one process, which ignore them: every member reads whole operands.
fn all(_: usize, _: usize) -> Part {
    Part::nothing(0)
}

fn value(device: usize, shape: &[i64], element: ElementType) -> Literal {
    let n = shape.iter().product::<i64>() as usize;
    let at = |i: usize| {
        let v = (device * 7 + i * 3) % 11;
        if element.is_float() { Scalar::Float(v as f64 - 4.0) } else { Scalar::Int(v as i128) }
    };
    Literal::from_scalars(element, shape, (0..n).map(at))
}

/// Does the same as [`run`] on devices that are divided among `ranks` ranks, and checks that every message has a
/// receiver.
fn run_on_ranks(
    (ranks, fast): (usize, bool),
    plan: &Plan,
    inputs: &[Literal],
    result_bytes: usize,
) -> Vec<Result<Vec<u8>, String>> {
    let post = Post::default();
    let wires: Vec<Mail<'_>> = (0..ranks).map(|rank| Mail::new(&post, rank, ranks)).collect();
    let mut scratch: Vec<Scratch> = (0..ranks).map(|_| Scratch::new(inputs.len() / ranks)).collect();
    std::thread::scope(|s| {
        for (scratch, wire) in scratch.iter_mut().zip(&wires) {
            s.spawn(move || scratch.meet(wire, &[(plan.site(), false)]).expect("all ranks meet"));
        }
    });
    let ids: Vec<u32> = (0..inputs.len() as u32).collect();
    let rank = |rank: usize| Ranks::new(&wires[rank], ids.clone(), &[plan.site()], &scratch[rank]);
    let transports: Vec<Ranks<'_>> = (0..ranks).map(|r| rank(r).expect("few groups").with_fast_sums(fast)).collect();
    let transports: Vec<&dyn Transport> = transports.iter().map(|t| t as &dyn Transport).collect();
    let results = run_on(&transports, plan, inputs, result_bytes);
    assert!(post.is_empty());
    results
}

fn run(
    transport: &dyn Transport,
    plan: &Plan,
    inputs: &[Literal],
    result_bytes: usize,
) -> Vec<Result<Vec<u8>, String>> {
    run_on(&[transport], plan, inputs, result_bytes)
}

/// Runs the collective on devices that are divided evenly among the transports.
fn run_on(
    transports: &[&dyn Transport],
    plan: &Plan,
    inputs: &[Literal],
    result_bytes: usize,
) -> Vec<Result<Vec<u8>, String>> {
    std::thread::scope(|s| {
        let start = |(d, input): (usize, &Literal)| {
            let bytes = input.dense_bytes().into_owned();
            let transport = transports[d * transports.len() / inputs.len()];
            s.spawn(move || {
                let mut out = vec![1; result_bytes];
                // Two iterations, as in a loop.
                for _ in 0..2 {
                    plan.run(transport, d, 0, &bytes, &mut out)?;
                }
                transport.leave(d, None);
                Ok(out)
            })
        };
        let threads: Vec<_> = inputs.iter().enumerate().map(start).collect();
        threads.into_iter().map(|t| t.join().expect("no panic")).collect()
    })
}

fn check(
    kind: CollectiveKind,
    element: ElementType,
    shape: &[i64],
    groups: &[&[i64]],
    dims: (usize, usize),
    expect: impl Fn(&[Literal], usize) -> Literal,
) {
    let devices = 1 + groups.iter().flat_map(|g| g.iter()).max().copied().unwrap_or(0) as usize;
    let collective = Collective {
        kind,
        groups: Groups::of_lists(&groups.iter().map(|g| g.to_vec()).collect::<Vec<_>>()),
        dim: dims.0,
        concat_dim: dims.1,
        computation: Some(Body::of(ScalarOp::Add, &[element, element], element)),
    };
    let plan = Plan::new(&collective, element, shape, devices);
    let inputs: Vec<Literal> = (0..devices).map(|d| value(d, shape, element)).collect();
    let expected: Vec<Vec<u8>> = groups.iter().flat_map(|g| g.iter().enumerate().map(|(i, &d)| (d, i, *g))).fold(
        vec![Vec::new(); devices],
        |mut all, (d, i, g)| {
            let members: Vec<Literal> = g.iter().map(|&m| inputs[m as usize].clone()).collect();
            all[d as usize] = expect(&members, i).dense_bytes().into_owned();
            all
        },
    );
    let [each, served] = [false, true].map(|served| Shared::new(devices, &[plan.site()]).served(served));
    let ranks = (2..=devices).filter(|ranks| devices.is_multiple_of(*ranks));
    // These sums are exact, so they are the same in any order.
    let ranks = ranks.flat_map(|ranks| [(ranks, false), (ranks, true)]);
    let ranks = ranks.map(|ranks| run_on_ranks(ranks, &plan, &inputs, expected[0].len()));
    let one = [&each, &served].map(|t| run(t, &plan, &inputs, expected[0].len()));
    for got in one.into_iter().chain(ranks) {
        for (d, (g, e)) in got.into_iter().zip(&expected).enumerate() {
            assert!(&g.expect("runs") == e, "{kind:?} {element:?} {shape:?} device {d}");
        }
    }
    for served in [false, true].into_iter().filter(|_| plan.is_alike()) {
        let shared = Shared::new(devices, &[plan.site()]).served(served);
        let got = run_together(&shared, &plan, &inputs, groups.len(), expected[0].len());
        for (d, e) in expected.iter().enumerate() {
            assert!(&got[plan.group(d).expect("in a group")] == e, "{kind:?} {element:?} {shape:?}");
        }
    }
}

/// Like [`run`], but each group shares one result in memory of its own.
#[allow(unsafe_code, reason = "devices of a group write parts of one result")]
fn run_together(
    transport: &dyn Transport,
    plan: &Plan,
    inputs: &[Literal],
    groups: usize,
    bytes: usize,
) -> Vec<Vec<u8>> {
    let memory: Vec<Vec<AtomicU8>> = (0..groups).map(|_| (0..bytes).map(|_| AtomicU8::new(1)).collect()).collect();
    std::thread::scope(|s| {
        for (d, input) in inputs.iter().enumerate() {
            let group = &memory[plan.group(d).expect("every device is in a group")];
            s.spawn(move || {
                let operand = input.dense_bytes();
                let result = group.as_ptr().cast::<u8>().cast_mut();
                for _ in 0..2 {
                    // SAFETY: only this collective uses the memory, which has `bytes` bytes and may be written through
                    // shared references, because its elements are atomics.
                    unsafe { plan.run_together(transport, d, 0, &operand, result, bytes) }.expect("runs");
                }
                transport.leave(d, None);
            });
        }
    });
    let read = |group: &Vec<AtomicU8>| group.iter().map(|byte| byte.load(Ordering::SeqCst)).collect();
    memory.iter().map(read).collect()
}

fn sum(all: &[Literal]) -> Literal {
    let e = all[0].element;
    let at = |i: usize| all[1..].iter().fold(all[0].get(i), |s, l| ScalarOp::Add.apply(e, e, &[s, l.get(i)]));
    Literal::from_scalars(e, &all[0].shape, (0..all[0].len()).map(at))
}

#[test]
fn all_kinds_over_both_transports() {
    let groups: [&[i64]; 2] = [&[0, 2, 3], &[5, 4, 1]];
    for element in [ElementType::F32, ElementType::BF16, ElementType::I32, ElementType::UI8, ElementType::F64] {
        check(CollectiveKind::AllReduce, element, &[3, 6], &groups, (0, 0), |all, _| sum(all));
        check(CollectiveKind::AllReduce, element, &[64, 65], &groups, (0, 0), |all, _| sum(all));
        // These operands are so long that their parts are sent without being copied first.
        check(CollectiveKind::AllReduce, element, &[300, 400], &groups, (0, 0), |all, _| sum(all));
        check(CollectiveKind::CollectiveReduce, element, &[3, 6], &groups, (0, 0), |all, i| {
            let zero = Scalar::zero(element);
            if i == 0 { sum(all) } else { Literal::splat(element, &[3, 6], zero) }
        });
        for dim in 0..3 {
            check(CollectiveKind::AllGather, element, &[2, 3, 4], &groups, (dim, dim), |all, _| {
                Literal::concatenate(&all.iter().collect::<Vec<_>>(), dim)
            });
            check(CollectiveKind::ReduceScatter, element, &[6, 3, 9], &groups, (dim, dim), |all, i| {
                sum(all).split(dim, 3)[i].clone()
            });
            for concat in 0..3 {
                check(CollectiveKind::AllToAll, element, &[6, 3, 9], &groups, (dim, concat), |all, i| {
                    let pieces: Vec<Literal> = all.iter().map(|a| a.split(dim, 3)[i].clone()).collect();
                    Literal::concatenate(&pieces.iter().collect::<Vec<_>>(), concat)
                });
            }
        }
        check(CollectiveKind::CollectiveBroadcast, element, &[5], &groups, (0, 0), |all, _| all[0].clone());
    }
}

#[test]
fn a_permute_sends_and_gives_zeros() {
    let collective = Collective {
        kind: CollectiveKind::CollectivePermute,
        groups: Groups::of_lists(&[vec![0, 1], vec![1, 2]]),
        dim: 0,
        concat_dim: 0,
        computation: None,
    };
    let plan = Plan::new(&collective, ElementType::I32, &[2], 4);
    let inputs: Vec<Literal> = (0..4).map(|d| value(d, &[2], ElementType::I32)).collect();
    let [each, served] = [false, true].map(|served| Shared::new(4, &[plan.site()]).served(served));
    let one = [&each, &served];
    let ranks = [2, 4].map(|ranks| run_on_ranks((ranks, true), &plan, &inputs, 8));
    for got in one.map(|transport| run(transport, &plan, &inputs, 8)).into_iter().chain(ranks) {
        let got: Vec<Vec<u8>> = got.into_iter().map(|r| r.expect("runs")).collect();
        let bytes = |d: usize| inputs[d].dense_bytes().into_owned();
        assert_eq!(got, [vec![0; 8], bytes(0), bytes(1), vec![0; 8]]);
    }
}

#[test]
fn who_leaves_is_named_and_nobody_hangs() {
    let collective = Collective {
        kind: CollectiveKind::AllReduce,
        groups: Groups::of_lists(&[vec![0, 1, 2]]),
        dim: 0,
        concat_dim: 0,
        computation: Some(Body::of(ScalarOp::Add, &[ElementType::F32; 2], ElementType::F32)),
    };
    let plan = Plan::new(&collective, ElementType::F32, &[1], 3);
    for failure in [None, Some("out of memory")] {
        let transport = &Shared::new(3, &[plan.site()]);
        let errors: Vec<String> = std::thread::scope(|s| {
            let plan = &plan;
            let waiting: Vec<_> = (0..2)
                .map(|d| {
                    s.spawn(move || {
                        let result = plan.run(transport, d, 0, &[0; 4], &mut [0; 4]);
                        transport.leave(d, None);
                        result.expect_err("device 2 never comes")
                    })
                })
                .collect();
            transport.leave(2, failure);
            waiting.into_iter().map(|t| t.join().expect("no panic")).collect()
        });
        for e in errors {
            assert!(e.contains("device 2"), "{e}");
        }
    }
}

fn sites(groups: &[&[usize]]) -> Vec<Site> {
    let members = |group: &[usize]| {
        let list = group.iter().map(|&d| d as i64).collect();
        Arc::new(Members::new(&Groups::of_lists(&[list]), false, 8))
    };
    groups.iter().enumerate().map(|(i, g)| Site { name: format!("op{i}"), members: members(g) }).collect()
}

#[test]
fn an_operand_outlives_its_readers_whatever_fails_elsewhere() {
    for served in [false, true] {
        an_operand_outlives(Shared::new(3, &sites(&[&[0, 1]])).served(served));
    }
}

fn an_operand_outlives(shared: Shared) {
    let (is_owner_gone, was_gone) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|s| {
        s.spawn(|| {
            let result = shared.share(0, 0, 0, &[1; 64], &all, &mut |_| {});
            is_owner_gone.store(true, Ordering::SeqCst);
            assert_eq!(result, Ok(()));
        });
        s.spawn(|| {
            let result = shared.share(1, 0, 0, &[2; 64], &all, &mut |all| {
                shared.leave(2, Some("out of memory"));
                std::thread::sleep(Duration::from_millis(50));
                was_gone.store(is_owner_gone.load(Ordering::SeqCst), Ordering::SeqCst);
                assert_eq!(all, [&[1; 64], &[2; 64]]);
            });
            assert_eq!(result, Ok(()));
        });
    });
    assert!(!was_gone.load(Ordering::SeqCst));
    // Every collective after the failure fails too.
    assert_eq!(shared.share(0, 0, 0, &[], &all, &mut |_| {}), Err("device 2 failed: out of memory".to_owned()));
}

#[test]
fn an_operand_taken_back_is_never_read() {
    let shared = Shared::new(3, &sites(&[&[0, 1]]));
    std::thread::scope(|s| {
        let first = s.spawn(|| shared.share(0, 0, 0, &[1; 64], &all, &mut |_| panic!("nobody else came")));
        std::thread::sleep(Duration::from_millis(20));
        shared.leave(2, Some("out of memory"));
        assert!(first.join().expect("no panic").is_err());
    });
    assert!(shared.share(1, 0, 0, &[2; 64], &all, &mut |_| panic!("device 0 has gone")).is_err());
}

#[test]
fn a_reader_that_panics_keeps_nobody() {
    for served in [false, true].repeat(20) {
        a_reader_panics(Shared::new(2, &sites(&[&[0, 1]])).served(served));
    }
}

fn a_reader_panics(shared: Shared) {
    std::thread::scope(|s| {
        s.spawn(|| {
            let read =
                catch_unwind(AssertUnwindSafe(|| shared.share(0, 0, 0, &[1], &all, &mut |_| panic!("as planned"))));
            assert!(read.is_err());
            shared.leave(0, Some("it panicked"));
        });
        assert_eq!(shared.share(1, 0, 0, &[2], &all, &mut |_| {}), Ok(()));
        assert_eq!(shared.share(1, 0, 0, &[2], &all, &mut |_| {}), Err("device 0 failed: it panicked".to_owned()));
    });
}

#[test]
fn devices_at_different_collectives_do_not_hang() {
    // In the first case the devices wait in a cycle. In the second, two devices wait for a third that waits for them.
    let rings: [(&[&[usize]], [usize; 3]); 2] =
        [(&[&[0, 1], &[1, 2], &[2, 0]], [0, 1, 2]), (&[&[0, 1, 2], &[0, 1, 2]], [0, 0, 1])];
    for (groups, at) in rings {
        let sites = sites(groups);
        let shared = Shared::new(3, &sites);
        let transport = &shared;
        std::thread::scope(|s| {
            for (device, site) in at.into_iter().enumerate() {
                s.spawn(move || {
                    let result =
                        transport.share(device, site, 0, &[0], &all, &mut |_| panic!("the group is incomplete"));
                    let error = result.expect_err("the devices disagree");
                    transport.leave(device, Some(&error));
                    assert!(error.contains("op"), "{error}");
                });
            }
        });
    }
}

#[test]
fn operands_promote_to_the_computation() {
    let collective = Collective {
        kind: CollectiveKind::AllReduce,
        groups: Groups::of_lists(&[vec![0, 1]]),
        dim: 0,
        concat_dim: 0,
        computation: Some(Body::of(ScalarOp::Add, &[ElementType::F32; 2], ElementType::F32)),
    };
    let plan = Plan::new(&collective, ElementType::BF16, &[3], 2);
    let inputs: Vec<Literal> = (0..2).map(|d| value(d, &[3], ElementType::BF16)).collect();
    let expected = Literal::from_fn(&dialect::ir::TensorType::new(&[3], ElementType::F32), |i| {
        Scalar::Float(inputs[0].get(i).as_f64() + inputs[1].get(i).as_f64())
    });
    for got in run(&Shared::new(2, &[plan.site()]), &plan, &inputs, 12) {
        assert_eq!(got.expect("runs"), *expected.dense_bytes());
    }
}
