//! The other ranks, and whether they are alive.

use std::path::PathBuf;
use std::time::Instant;

use super::beat::Beat;
use runtime::collective::State;

/// The size in bytes of the card that ranks exchange when they start: their process and host.
pub(super) const CARD: usize = 128;

/// One rank.
pub(super) struct Peer {
    pub(super) host: String,
    pub(super) process: u32,
    /// The time of its last message.
    pub(super) heard: Instant,
    /// Its last beat.
    pub(super) beat: Beat,
    /// The states of its devices in its last beat from a run.
    pub(super) devices: Vec<State>,
    /// The file with the state of its process, if it runs on this machine.
    status: Option<PathBuf>,
}

/// Returns the name of this machine.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    name.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default().trim().to_owned()
}

/// Returns the card of this rank.
pub(super) fn card() -> [u8; CARD] {
    let mut card = [0; CARD];
    card[..4].copy_from_slice(&std::process::id().to_le_bytes());
    let host = host();
    let name = &host.as_bytes()[..host.len().min(CARD - 4)];
    card[4..4 + name.len()].copy_from_slice(name);
    card
}

impl Peer {
    /// Creates the rank that has sent this card.
    pub(super) fn new(card: &[u8]) -> Self {
        let mut process = [0; 4];
        process.copy_from_slice(&card[..4]);
        let process = u32::from_le_bytes(process);
        let name = card[4..].split(|&byte| byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        let status = PathBuf::from(format!("/proc/{process}/stat"));
        // A container may have the same host name as its machine, but it sees other processes.
        let status = (name == host() && status.exists()).then_some(status);
        Self { host: name, process, heard: Instant::now(), beat: Beat::default(), devices: Vec::new(), status }
    }

    /// Stores a beat, and returns whether it differs from the last one.
    pub(super) fn says(&mut self, beat: Beat) -> bool {
        if let Some(devices) = &beat.devices {
            self.devices.clone_from(devices);
        }
        let is_new = beat != self.beat;
        self.beat = beat;
        is_new
    }

    /// Returns whether the rank runs on this machine.
    pub(super) fn is_here(&self) -> bool {
        self.status.is_some()
    }

    /// Returns whether the rank's process has ended.
    pub(super) fn has_ended(&self) -> bool {
        let Some(status) = &self.status else { return false };
        match std::fs::read_to_string(status) {
            // The state follows the name, which is in parentheses.
            Ok(text) => text.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with(['Z', 'X'])),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    }
}
