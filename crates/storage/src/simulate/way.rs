//! The way to the bytes in virtual time: a line to a store, or a local disk.

use std::ops::Range;

use super::disk::{DiskQueue, DiskWork};
use super::link::{Event, Line, Link, RequestId};

/// The line or disk that requests go to. Times in seconds since its making.
#[derive(Debug)]
pub(crate) enum Way {
    Network(Link),
    Disk(Box<DiskQueue>),
}

impl Way {
    pub(crate) fn new(line: &Line, file_bytes: u64) -> Way {
        match &line.disk {
            None => Way::Network(Link::new(line)),
            Some(disk) => Way::Disk(Box::new(DiskQueue::new(line, disk, file_bytes))),
        }
    }

    /// Asks for ranges, in one request, at a time that is not before the last one.
    pub(crate) fn submit(&mut self, at: f64, ranges: &[Range<u64>]) -> RequestId {
        match self {
            Way::Network(link) => link.submit(at, ranges.iter().map(|range| range.end - range.start).sum()),
            Way::Disk(disk) => disk.submit(at, ranges),
        }
    }

    /// Lets time pass until something happens, but not beyond `limit`. Each end is reported once.
    pub(crate) fn step(&mut self, limit: f64) -> Event {
        match self {
            Way::Network(link) => link.step(limit),
            Way::Disk(disk) => disk.step(limit),
        }
    }

    /// Lets time pass. What ends meanwhile is reported by the steps that follow.
    pub(crate) fn advance_to(&mut self, time: f64) {
        match self {
            Way::Network(link) => link.advance_to(time),
            Way::Disk(disk) => disk.advance_to(time),
        }
    }

    pub(crate) fn now(&self) -> f64 {
        match self {
            Way::Network(link) => link.now(),
            Way::Disk(disk) => disk.now(),
        }
    }

    /// When a request was answered, if it is.
    pub(crate) fn finished(&self, id: RequestId) -> Option<f64> {
        match self {
            Way::Network(link) => link.finished(id),
            Way::Disk(disk) => disk.finished(id),
        }
    }

    /// The work that a disk did; nothing of a network.
    pub(crate) fn disk_work(&self) -> DiskWork {
        match self {
            Way::Network(_) => DiskWork::default(),
            Way::Disk(disk) => disk.work(),
        }
    }
}
