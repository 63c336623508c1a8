//! Devices that share no memory: operands travel as messages, one copy to each member.
//!
//! The shape other transports have: a message names its collective, and a device that gets one it doesn't expect
//! knows that the devices' programs disagree.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use super::{Site, Transport};

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
}

impl Channels {
    /// For `devices` devices and these collectives.
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
        Self { sites: sites.to_vec(), senders, receivers }
    }

    fn send(&self, from: usize, to: usize, message: Message) {
        let sender = self.senders[from][to].lock().unwrap_or_else(PoisonError::into_inner);
        // Who no longer listens has said so by a message of its own.
        let _ = sender.send(message);
    }
}

impl Transport for Channels {
    fn share(
        &self,
        device: usize,
        site: usize,
        group: usize,
        mine: &[u8],
        read: &mut dyn FnMut(&[&[u8]]),
    ) -> Result<(), String> {
        let here = &self.sites[site];
        let members = &here.groups[group];
        for &to in members.iter().filter(|&&m| m != device) {
            self.send(device, to, Message::Operand { site, bytes: mine.to_vec() });
        }
        let mut received: Vec<Option<Vec<u8>>> = Vec::new();
        for &from in members {
            if from == device {
                received.push(None);
                continue;
            }
            let receiver = self.receivers[device][from].lock().unwrap_or_else(PoisonError::into_inner);
            match receiver.recv() {
                Ok(Message::Operand { site: s, bytes }) if s == site => received.push(Some(bytes)),
                Ok(Message::Operand { site: s, .. }) => {
                    let other = self.sites.get(s).map_or("another collective", |o| &o.name);
                    return Err(format!("device {device} is at {}, device {from} at {other}", here.name));
                }
                Ok(Message::Left(Some(f))) => return Err(format!("device {from} failed: {f}")),
                Ok(Message::Left(None)) | Err(_) => {
                    return Err(format!("device {from} ended before it took part in {}", here.name));
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
