//! Devices that share no memory: operands travel as messages, one copy to each member of the group.
//!
//! A message names its collective, so a device that receives an unexpected message detects that the devices' programs
//! disagree. Devices of one process can also detect a cycle of waits.

use std::sync::mpsc::{Receiver, RecvError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Needs, Read, Site, Transport, wait};

enum Message {
    Operand { site: usize, bytes: Vec<u8> },
    Left(Option<String>),
}

/// Messages over channels, one for every pair of devices.
pub struct Channels {
    sites: Vec<Site>,
    /// `senders[from][to]`
    senders: Vec<Vec<Mutex<Sender<Message>>>>,
    /// `receivers[to][from]`
    receivers: Vec<Vec<Mutex<Receiver<Message>>>>,
    /// For each waiting device, the sender whose message has not been sent yet, and the collective. Locked while
    /// sending.
    waits: Mutex<Vec<Option<(usize, usize)>>>,
}

/// The reason why no message was received.
enum Nothing {
    /// The sender has ended.
    Gone,
    /// The devices wait for each other in a cycle. The number is the collective at which the sender waits.
    Ring(usize),
}

impl Channels {
    /// Creates channels for `devices` devices and these collectives.
    pub fn new(devices: usize, sites: &[Site]) -> Self {
        let mut senders: Vec<Vec<Mutex<Sender<Message>>>> = (0..devices).map(|_| Vec::new()).collect();
        let mut receivers: Vec<Vec<Mutex<Receiver<Message>>>> = (0..devices).map(|_| Vec::new()).collect();
        for from in &mut senders {
            for to in &mut receivers {
                let (s, r) = channel();
                from.push(Mutex::new(s));
                to.push(Mutex::new(r));
            }
        }
        Self { sites: sites.to_vec(), senders, receivers, waits: Mutex::new(vec![None; devices]) }
    }

    fn waits(&self) -> MutexGuard<'_, Vec<Option<(usize, usize)>>> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, from: usize, to: usize, message: Message) {
        let sender = self.senders[from][to].lock().unwrap_or_else(PoisonError::into_inner);
        let mut waits = self.waits();
        // Sending fails only if the receiver has left. It announced that in a message of its own, so the error is
        // ignored.
        let _ = sender.send(message);
        if waits[to].is_some_and(|(device, _)| device == from) {
            waits[to] = None;
        }
    }

    /// Returns the next message from `from`. Sends hold the lock too, so a recorded wait is for a message that hasn't
    /// been sent yet.
    fn receive(&self, device: usize, from: usize, site: usize) -> Result<Message, Nothing> {
        let receiver = self.receivers[device][from].lock().unwrap_or_else(PoisonError::into_inner);
        let mut waits = self.waits();
        if let Ok(message) = receiver.try_recv() {
            return Ok(message);
        }
        let mut next = from;
        for _ in 0..waits.len() {
            match waits[next] {
                Some((other, _)) if other == device => return Err(Nothing::Ring(waits[from].map_or(site, |w| w.1))),
                Some((other, _)) => next = other,
                None => break,
            }
        }
        waits[device] = Some((from, site));
        drop(waits);
        wait(|| receiver.recv()).map_err(|RecvError| Nothing::Gone)
    }
}

impl Transport for Channels {
    fn share(
        &self,
        device: usize,
        site: usize,
        group: usize,
        mine: &[u8],
        _: &Needs<'_>,
        read: &mut Read<'_>,
    ) -> Result<(), String> {
        let here = &self.sites[site];
        let members = here.members.of_group(group);
        for &to in members.iter().filter(|&&m| m != device) {
            self.send(device, to, Message::Operand { site, bytes: mine.to_vec() });
        }
        let mut received: Vec<Option<Vec<u8>>> = Vec::new();
        for &from in &members {
            if from == device {
                received.push(None);
                continue;
            }
            match self.receive(device, from, site) {
                Ok(Message::Operand { site: s, bytes }) if s == site => received.push(Some(bytes)),
                Ok(Message::Operand { site: s, .. }) => {
                    let other = self.sites.get(s).map_or("another collective", |o| &o.name);
                    return Err(format!("device {device} runs {}, but device {from} runs {other}", here.name));
                }
                Ok(Message::Left(Some(f))) => return Err(format!("device {from} failed: {f}")),
                Ok(Message::Left(None)) | Err(Nothing::Gone) => {
                    return Err(format!("device {from} ended before it took part in {}", here.name));
                }
                Err(Nothing::Ring(s)) => {
                    let other = self.sites.get(s).map_or("another collective", |o| &o.name);
                    return Err(format!(
                        "device {device} in {} and device {from} in {other} wait for each other",
                        here.name
                    ));
                }
            }
        }
        let slices: Vec<&[u8]> = received.iter().map(|r| r.as_deref().unwrap_or(mine)).collect();
        read(&slices);
        Ok(())
    }

    fn leave(&self, device: usize, failure: Option<&str>) {
        for to in 0..self.senders.len() {
            self.send(device, to, Message::Left(failure.map(str::to_owned)));
        }
    }
}
