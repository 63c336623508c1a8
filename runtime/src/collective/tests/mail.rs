//! A wire between ranks that are threads of this process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex};

use dialect::ir::ElementType;
use dialect::scalar::{Scalar, ScalarOp};

use crate::collective::{Combination, Incoming, Outgoing, Route, Watched, Wire};

/// A sender, a receiver and a route.
type Way = (usize, usize, Route);

/// Messages between ranks that are threads of this process.
#[derive(Default)]
pub(super) struct Post {
    boxes: Mutex<HashMap<Way, VecDeque<Vec<u8>>>>,
    came: Condvar,
}

/// The rank of one thread.
pub(super) struct Mail<'p> {
    post: &'p Post,
    rank: usize,
    ranks: usize,
    groups: Mutex<Vec<Vec<usize>>>,
}

impl Post {
    /// Returns whether every message has been received.
    pub(super) fn is_empty(&self) -> bool {
        self.boxes.lock().expect("no panic").values().all(VecDeque::is_empty)
    }
}

impl<'p> Mail<'p> {
    pub(super) fn new(post: &'p Post, rank: usize, ranks: usize) -> Self {
        Self { post, rank, ranks, groups: Mutex::default() }
    }

    fn post(&self, route: Route, to: usize, message: Vec<u8>) {
        let mut boxes = self.post.boxes.lock().expect("no panic");
        boxes.entry((self.rank, to, route)).or_default().push_back(message);
        self.post.came.notify_all();
    }

    fn fetch(&self, route: Route, from: usize) -> Vec<u8> {
        let mut boxes = self.post.boxes.lock().expect("no panic");
        loop {
            if let Some(message) = boxes.entry((from, self.rank, route)).or_default().pop_front() {
                return message;
            }
            boxes = self.post.came.wait(boxes).expect("no panic");
        }
    }
}

impl Wire for Mail<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.ranks
    }

    fn exchange(
        &self,
        route: Route,
        sends: &[Outgoing<'_>],
        into: &mut [u8],
        receives: &[Incoming],
    ) -> Result<(), String> {
        for parts in sends.chunk_by(|a, b| a.to == b.to) {
            let mut message = Vec::new();
            parts.iter().for_each(|send| send.part.pack(send.operand, &mut message));
            self.post(route, parts[0].to, message);
        }
        for parts in receives.chunk_by(|a, b| a.from == b.from) {
            let message = self.fetch(route, parts[0].from);
            let mut rest = &message[..];
            for Incoming { start, part, .. } in parts {
                rest = part.unpack(rest, &mut into[*start..start + part.of]);
            }
            assert!(rest.is_empty(), "a message is as long as what is expected");
        }
        Ok(())
    }

    /// Numbers every second group, in descending order.
    fn meet(&self, groups: &[Vec<usize>]) -> Result<Vec<Option<usize>>, String> {
        *self.groups.lock().expect("no panic") = groups.iter().rev().cloned().collect();
        Ok((0..groups.len()).map(|i| (i % 2 == 0).then_some(groups.len() - 1 - i)).collect())
    }

    fn can_combine(&self, op: ScalarOp, element: ElementType) -> bool {
        op == ScalarOp::Add && element != ElementType::BF16
    }

    /// Sums from the last rank to the first.
    fn combine(&self, route: Route, what: &Combination<'_>, into: &mut [u8]) -> Result<(), String> {
        let ranks = self.groups.lock().expect("no panic")[route.group.expect("it has one")].clone();
        let others = ranks.iter().filter(|&&rank| rank != self.rank);
        others.for_each(|&to| self.post(route, to, what.operand.to_vec()));
        let operand = |&r: &usize| if r == self.rank { what.operand.to_vec() } else { self.fetch(route, r) };
        let came: Vec<Vec<u8>> = ranks.iter().map(operand).collect();
        let (element, width) = (what.element, what.element.bytes());
        let mut all = Vec::new();
        for at in 0..what.operand.len() / width {
            let value = |bytes: &Vec<u8>| Scalar::decode(element, &bytes[at * width..(at + 1) * width]);
            let sum = came.iter().rev().map(value).reduce(|a, b| what.op.apply(element, element, &[a, b]));
            sum.expect("ranks").encode(element, &mut all);
        }
        let place = ranks.binary_search(&self.rank).expect("it is in the group");
        let (first, count) = match &what.counts {
            Some(counts) => (counts[..place].iter().sum(), counts[place]),
            None => (0, all.len() / width),
        };
        into.copy_from_slice(&all[first * width..(first + count) * width]);
        Ok(())
    }

    fn watch(&self, _: Option<Arc<dyn Watched>>) {}
}
