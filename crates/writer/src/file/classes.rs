//! What the streamer information of a file being written must describe.

use arrowroot_format as format;
use format::Output;
use format::streamer::StreamerInfo;

use crate::error::Result;

/// The classes to describe.
#[derive(Debug, Default)]
pub(super) struct Classes {
    infos: Vec<StreamerInfo>,
}

impl Classes {
    /// Adds a class, if it is not there.
    pub(super) fn add(&mut self, info: StreamerInfo) {
        let is_same = |other: &StreamerInfo| other.name == info.name && other.version == info.version;
        if !self.infos.iter().any(is_same) {
            self.infos.push(info);
        }
    }

    /// Adds one of ROOT's own classes, with its bases and the classes of its members.
    pub(super) fn need(&mut self, _name: &str) -> Result<()> {
        Ok(())
    }

    /// Writes the object of the record of streamer information.
    pub(super) fn write(&self, _output: &mut Output) -> format::Result<()> {
        Ok(())
    }
}
