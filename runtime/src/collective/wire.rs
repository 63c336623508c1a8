//! Moves bytes between ranks: the processes of one run, each of which has a part of the devices.

use std::sync::Arc;

use dialect::ir::ElementType;
use dialect::scalar::ScalarOp;

use super::Part;

/// The first tag that no collective of a program uses.
pub(super) const FIRST_TAG: u32 = 1 << 30;
const TAG_LENGTHS: u32 = FIRST_TAG;
const TAG_BYTES: u32 = FIRST_TAG + 1;
const TAG_BARRIER: u32 = FIRST_TAG + 2;

/// Identifies the exchange to which a message belongs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Route {
    /// Messages with the same tag between two ranks arrive in the order in which they were sent.
    pub tag: u32,
    /// The number of the group of ranks that exchange, if [`Wire::meet`] assigned one. Then all ranks of the group take
    /// part, in the same order for all exchanges in this group, and no other rank does.
    pub group: Option<usize>,
}

/// A part of an operand that is sent to another rank.
pub struct Outgoing<'b> {
    /// The receiving rank.
    pub to: usize,
    /// The operand.
    pub operand: &'b [u8],
    /// The part to send.
    pub part: Part,
}

impl<'b> Outgoing<'b> {
    /// Returns all of these bytes, to be sent to rank `to`.
    pub fn whole(to: usize, operand: &'b [u8]) -> Self {
        Self { to, operand, part: Part::whole(operand.len()) }
    }
}

/// A part of an operand that comes from another rank.
pub struct Incoming {
    /// The sending rank.
    pub from: usize,
    /// Offset at which the whole operand would begin.
    pub start: usize,
    /// The part that is received.
    pub part: Part,
}

/// Operands that ranks combine element by element.
pub struct Combination<'b> {
    /// The operation.
    pub op: ScalarOp,
    /// The type of the elements.
    pub element: ElementType,
    /// This rank's operand.
    pub operand: &'b [u8],
    /// For a scattered result: the number of elements of the result that each rank of the group gets, in ascending
    /// order of ranks.
    pub counts: Option<Vec<usize>>,
}

/// Moves bytes between ranks.
pub trait Wire: Send + Sync {
    /// Returns the number of this rank.
    fn rank(&self) -> usize;

    /// Returns the number of ranks.
    fn ranks(&self) -> usize;

    /// Sends parts to ranks, and receives parts from ranks into `into`, at the offsets in [`Incoming`]. Returns when
    /// all of it is done. Consecutive parts from one rank to another are one message. After an error, `into` and the
    /// operands to send must stay in memory, because the transfer may still access them.
    fn exchange(
        &self,
        route: Route,
        sends: &[Outgoing<'_>],
        into: &mut [u8],
        receives: &[Incoming],
    ) -> Result<(), String>;

    /// Prepares for exchanges in groups of ranks, each in ascending order. Numbers the groups for which this wire has a
    /// faster way than messages between two ranks. All ranks must pass the same groups in the same order.
    fn meet(&self, groups: &[Vec<usize>]) -> Result<Vec<Option<usize>>, String> {
        Ok(vec![None; groups.len()])
    }

    /// Returns whether [`Self::combine`] supports this operation.
    fn can_combine(&self, _op: ScalarOp, _element: ElementType) -> bool {
        false
    }

    /// Combines the operands of the ranks of a group that [`Self::meet`] has numbered, in an order that the wire
    /// chooses. Writes the whole result or this rank's share to `into`. After an error, the operand and `into` must
    /// stay in memory.
    fn combine(&self, _route: Route, _what: &Combination<'_>, _into: &mut [u8]) -> Result<(), String> {
        Err("ranks can't combine values".to_owned())
    }

    /// From now on, queries the state of these devices, and informs them if another rank fails.
    fn watch(&self, devices: Option<Arc<dyn Watched>>);

    /// Returns the bytes `mine` of every rank, in the order of the ranks.
    fn everybody(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let others: Vec<usize> = (0..self.ranks()).filter(|&r| r != self.rank()).collect();
        self.among(mine, &others, &others)
    }

    /// Returns the bytes `mine` of every rank on the first rank, in the order of the ranks, and nothing on the others.
    fn to_first(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let others: Vec<usize> = (1..self.ranks()).collect();
        if self.rank() == 0 { self.among(mine, &[], &others) } else { self.among(mine, &[0], &[]).map(|_| Vec::new()) }
    }

    /// Sends `mine` to the ranks `to`, and returns what the ranks `from` sent and this rank's own bytes, in the order
    /// of the ranks.
    fn among(&self, mine: &[u8], to: &[usize], from: &[usize]) -> Result<Vec<Vec<u8>>, String> {
        let length = (mine.len() as u64).to_le_bytes();
        let sends: Vec<Outgoing<'_>> = to.iter().map(|&to| Outgoing::whole(to, &length)).collect();
        let mut lengths = vec![0; 8 * from.len()];
        let place = |(i, &from): (usize, &usize)| Incoming { from, start: 8 * i, part: Part::whole(8) };
        let receives: Vec<Incoming> = from.iter().enumerate().map(place).collect();
        if let Err(error) = self.exchange(Route { tag: TAG_LENGTHS, group: None }, &sends, &mut lengths, &receives) {
            // The buffer is leaked, because the transfer may still write to it after an error.
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

    /// Waits until every rank has arrived.
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

/// This process and the others of its launch.
pub trait World: Wire {
    /// Returns the number of ranks on this rank's machine, including this rank.
    fn neighbors(&self) -> usize;

    /// Describes a rank: its number, its host and its process.
    fn place(&self, rank: usize) -> String;

    /// Informs the other ranks that this one has failed, and waits a moment until they have been informed.
    fn fail(&self, why: &str);

    /// Leaves when all ranks are here. After a failure that would take forever, so the process should just end. Fails
    /// if there is another owner.
    fn finish(self: Arc<Self>) -> Result<(), String>;
}

/// Devices that a [`Wire`] watches.
pub trait Watched: Send + Sync {
    /// Ends the devices' waits for this reason.
    fn fail(&self, why: &str);

    /// Returns the state of each device, and a number that grows whenever a state changes.
    fn state(&self) -> (u64, Vec<State>);

    /// Describes the last known states of the devices of a rank. Empty `states` mean that the devices were in no call.
    fn describe(&self, rank: usize, states: &[State]) -> String;
}

/// The state of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The device computes.
    Runs,
    /// The device waits for others at the collective with this number.
    Waits(u32),
    /// The device has ended.
    Left,
}
