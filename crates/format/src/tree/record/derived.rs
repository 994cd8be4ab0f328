//! Classes that derive from `TTree`: where in their objects the tree is.

use crate::column::is_bare_object;
use crate::cursor::{Cursor, VersionFrame};
use crate::error::{Error, Result};
use crate::streamer::{StreamerInfo, StreamerInfos, object_base};

/// A class may have so many bases in a row up to `TTree`.
const MAX_BASES: usize = 64;

/// Leads a cursor from the first byte of an object of `class` to the members of its `TTree`; returns the frame of that.
///
/// # Errors
/// [`Error::Unsupported`] if the class is not described, or is no tree; else as the bytes are wrong.
pub(super) fn enter_tree<'i>(
    cursor: &mut Cursor<'_>,
    class: &str,
    infos: &dyn Fn() -> Result<&'i StreamerInfos>,
) -> Result<VersionFrame> {
    let mut class = class;
    for _ in 0..MAX_BASES {
        let position = cursor.position();
        let frame = cursor.version()?;
        class = match class {
            "TTree" => return Ok(frame),
            "TNtuple" | "TNtupleD" => "TTree",
            _ => {
                let infos = infos()?;
                let info = info_of(cursor, class, &frame, infos)?;
                let unknown = || {
                    let version = frame.version;
                    Error::unsupported(
                        position,
                        format!("a {class} of version {version}, which the file does not describe"),
                    )
                };
                skip_to_tree(cursor, info.ok_or_else(unknown)?, infos)?
            }
        };
    }
    Err(Error::unsupported(cursor.position(), format!("a tree below more than {MAX_BASES} bases of its class")))
}

/// The description of the version that a frame names; that of another version if it is not there.
fn info_of<'i>(
    cursor: &mut Cursor<'_>,
    class: &str,
    frame: &VersionFrame,
    infos: &'i StreamerInfos,
) -> Result<Option<&'i StreamerInfo>> {
    // A class without a version is known by its checksum.
    let info = match frame.version {
        0 => infos.by_checksum(class, cursor.u32()?),
        version => infos.get(class, version),
    };
    Ok(info.or_else(|| infos.latest(class)))
}

/// Passes over the bases before the one that is a tree; returns the class of that.
fn skip_to_tree<'i>(cursor: &mut Cursor<'_>, info: &'i StreamerInfo, infos: &StreamerInfos) -> Result<&'i str> {
    for base in info.bases() {
        if infos.is_tree(&base.name) {
            return Ok(&base.name);
        }
        match &*base.name {
            "TQObject" => {} // which writes nothing
            name if is_bare_object(name) => {
                object_base(cursor)?;
            }
            _ => cursor.skip_object()?,
        }
    }
    let what = format!("a {} of version {}, which is no TTree", info.name, info.version);
    Err(Error::unsupported(cursor.position(), what))
}
