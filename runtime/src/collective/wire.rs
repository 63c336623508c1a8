//! What moves bytes between ranks: the processes of one run, each of which has some of its devices.

use std::sync::Arc;

use dialect::ir::ElementType;
use dialect::scalar::ScalarOp;

use super::Part;

/// The first tag that no collective of a program has.
pub(super) const FIRST_TAG: u32 = 1 << 30;
const TAG_LENGTHS: u32 = FIRST_TAG;
const TAG_BYTES: u32 = FIRST_TAG + 1;
const TAG_BARRIER: u32 = FIRST_TAG + 2;

/// Where an exchange belongs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Route {
    /// What has one tag comes, between two ranks, in the order in which it was sent.
    pub tag: u32,
    /// The number of the group of ranks that exchange, if [`Wire::meet`] gave it one. All of them exchange then, and in the
    /// same order all that they exchange in this group; nobody else does.
    pub group: Option<usize>,
}

/// A part of an operand that goes to another rank.
pub struct Outgoing<'b> {
    /// That rank.
    pub to: usize,
    /// The operand.
    pub operand: &'b [u8],
    /// What of it.
    pub part: Part,
}

impl<'b> Outgoing<'b> {
    /// All of these bytes.
    pub fn whole(to: usize, operand: &'b [u8]) -> Self {
        Self { to, operand, part: Part::whole(operand.len()) }
    }
}

/// A part of an operand that comes from another rank.
pub struct Incoming {
    /// That rank.
    pub from: usize,
    /// Where the whole operand would begin.
    pub start: usize,
    /// What of it comes.
    pub part: Part,
}

/// Operands that ranks combine element by element.
pub struct Combination<'b> {
    /// By what.
    pub op: ScalarOp,
    /// The type of the elements.
    pub element: ElementType,
    /// This rank's operand.
    pub operand: &'b [u8],
    /// Where the result is scattered: of how many elements each rank of the group, in ascending order, gets the result.
    pub counts: Option<Vec<usize>>,
}

/// What moves bytes between ranks.
pub trait Wire: Send + Sync {
    /// The number of this rank.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn ranks(&self) -> usize;

    /// Sends parts to ranks, and receives parts from ranks into `into`, where operands begin as [`Incoming`] says; returns
    /// when all of it is done. Parts from one rank to another, which follow each other, are one message. After an error,
    /// `into` and what was to be sent must stay in memory: somebody may still access them.
    fn exchange(
        &self,
        route: Route,
        sends: &[Outgoing<'_>],
        into: &mut [u8],
        receives: &[Incoming],
    ) -> Result<(), String>;

    /// Prepares for exchanges in groups of ranks, each in ascending order, and numbers those that it has something better
    /// for than messages between two ranks. All ranks must name the same groups in the same order.
    fn meet(&self, groups: &[Vec<usize>]) -> Result<Vec<Option<usize>>, String> {
        Ok(vec![None; groups.len()])
    }

    /// Whether [`Self::combine`] knows this operation.
    fn can_combine(&self, _op: ScalarOp, _element: ElementType) -> bool {
        false
    }

    /// Combines what the ranks of a group that [`Self::meet`] has numbered give, in an order of its own, and puts all of it
    /// or this rank's share into `into`. After an error, both must stay in memory.
    fn combine(&self, _route: Route, _what: &Combination<'_>, _into: &mut [u8]) -> Result<(), String> {
        Err("ranks can't combine values".to_owned())
    }

    /// From now on, asks these devices how they are, and tells them if another rank fails.
    fn watch(&self, devices: Option<Arc<dyn Watched>>);

    /// What every rank gives, in their order.
    fn everybody(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let others: Vec<usize> = (0..self.ranks()).filter(|&r| r != self.rank()).collect();
        self.among(mine, &others, &others)
    }

    /// What every rank gives, in their order, on the first rank; nothing on the others.
    fn to_first(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let others: Vec<usize> = (1..self.ranks()).collect();
        if self.rank() == 0 { self.among(mine, &[], &others) } else { self.among(mine, &[0], &[]).map(|_| Vec::new()) }
    }

    /// What ranks give that send to and receive from these.
    fn among(&self, mine: &[u8], to: &[usize], from: &[usize]) -> Result<Vec<Vec<u8>>, String> {
        let length = (mine.len() as u64).to_le_bytes();
        let sends: Vec<Outgoing<'_>> = to.iter().map(|&to| Outgoing::whole(to, &length)).collect();
        let mut lengths = vec![0; 8 * from.len()];
        let place = |(i, &from): (usize, &usize)| Incoming { from, start: 8 * i, part: Part::whole(8) };
        let receives: Vec<Incoming> = from.iter().enumerate().map(place).collect();
        if let Err(error) = self.exchange(Route { tag: TAG_LENGTHS, group: None }, &sends, &mut lengths, &receives) {
            // Somebody may still write there.
            std::mem::forget(lengths);
            return Err(error);
        }
        let lengths = lengths.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes) as usize);
        let mut end = 0;
        let mut receives = Vec::new();
        for (length, &from) in lengths.zip(from) {
            receives.push(Incoming { from, start: end, part: Part::whole(length) });
            end += length;
        }
        let sends: Vec<Outgoing<'_>> = to.iter().map(|&to| Outgoing::whole(to, mine)).collect();
        let mut all = vec![0; end];
        if let Err(error) = self.exchange(Route { tag: TAG_BYTES, group: None }, &sends, &mut all, &receives) {
            std::mem::forget(all);
            return Err(error);
        }
        let mut parts = vec![Vec::new(); self.ranks()];
        parts[self.rank()] = mine.to_vec();
        for Incoming { from, start, part } in receives {
            parts[from] = all[start..start + part.of].to_vec();
        }
        Ok(parts)
    }

    /// Waits until every rank is here.
    fn barrier(&self) -> Result<(), String> {
        let mut came = vec![0; self.ranks()];
        let others = || (0..self.ranks()).filter(|&r| r != self.rank());
        let sends: Vec<Outgoing<'_>> = others().map(|to| Outgoing::whole(to, &[1])).collect();
        let place = |from| Incoming { from, start: from, part: Part::whole(1) };
        let receives: Vec<Incoming> = others().map(place).collect();
        let route = Route { tag: TAG_BARRIER, group: None };
        self.exchange(route, &sends, &mut came, &receives).inspect_err(|_| std::mem::forget(came))
    }
}

/// Devices that a [`Wire`] looks after.
pub trait Watched: Send + Sync {
    /// Ends their waits for this reason.
    fn fail(&self, why: &str);

    /// What each of them does, and a number that grows whenever one of them does something else.
    fn state(&self) -> (u64, Vec<State>);

    /// What the devices of a rank did when they were heard of last, in words; without states, that they were in no call.
    fn describe(&self, rank: usize, states: &[State]) -> String;
}

/// What a device does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// It computes.
    Runs,
    /// It waits for others at the collective with this number.
    Waits(u32),
    /// It has ended.
    Left,
}
