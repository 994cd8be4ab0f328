//! The classes that the streamer information of a file being written must describe.

use std::collections::{HashMap, HashSet};

use arrowroot_format as format;
use format::Output;
use format::streamer::{ElementClass, Rule, StreamerInfo, StreamerInfos};

use crate::error::{Error, Result};

/// The classes to describe, as ROOT finds and orders them.
///
/// ROOT describes the classes whose objects it wrote by their description; classes that write themselves are not among them.
/// For a pointer to nothing it describes the class that it could have pointed to, with all that this one needs.
/// It numbers descriptions when it makes them, which it does for the bases of a class at once, and writes them in that order.
///
/// Source: `TStreamerInfo::Build`, `TStreamerInfo::ForceWriteInfo`, `TFile::WriteStreamerInfo` (ROOT 6.40).
#[derive(Debug, Clone, Default)]
pub(crate) struct Classes {
    /// In the order in which they are made.
    made: Vec<StreamerInfo>,
    described: HashSet<String>,
    /// As other files describe classes of objects that were copied, in all versions, and their rules.
    copied: Vec<StreamerInfo>,
    copied_rules: Vec<Rule>,
    /// Indices of those of each name.
    copied_by_name: HashMap<String, Vec<usize>>,
}

/// The classes that a record needs to be described, in the order in which they are.
#[derive(Debug, Clone, Default)]
pub(crate) struct NeededClasses {
    /// The classes of the objects in it.
    written: Vec<String>,
    /// The classes that pointers to nothing could have pointed to, behind the others.
    of_null: Vec<&'static str>,
}

impl NeededClasses {
    /// Adds the class of an object.
    pub(crate) fn add(&mut self, name: &str) {
        if !self.written.iter().any(|written| written == name) {
            self.written.push(name.to_owned());
        }
    }

    /// Adds the class that a pointer to nothing could have pointed to.
    pub(crate) fn add_of_null(&mut self, name: &'static str) {
        self.of_null.push(name);
    }
}

impl Classes {
    /// Adds a class that is not ROOT's own.
    pub(crate) fn add(&mut self, info: StreamerInfo) -> Result<()> {
        match self.made.iter().find(|made| made.name == info.name) {
            None => {
                self.described.insert(info.name.clone());
                self.made.push(info);
                Ok(())
            }
            Some(made) if made.checksum == info.checksum && made.version == info.version => Ok(()),
            Some(_) => Err(Error::InvalidRequest {
                what: format!(
                    "class {:?} is described already, in another way: give one of them another name",
                    info.name
                ),
            }),
        }
    }

    /// Describes a class whose objects are written by their description, with the bases that are, too.
    pub(crate) fn need(&mut self, name: &str) -> Result<()> {
        if writes_itself(name) || !self.described.insert(name.to_owned()) {
            return Ok(());
        }
        let info = self.make(name).ok_or_else(|| unknown(name))?;
        let bases: Vec<String> = info.bases().map(|base| base.name.to_string()).collect();
        bases.iter().try_for_each(|base| self.need(base))
    }

    /// Describes the classes of a record.
    pub(crate) fn need_all(&mut self, needed: &NeededClasses) -> Result<()> {
        needed.written.iter().try_for_each(|name| self.need(name))?;
        needed.of_null.iter().for_each(|name| self.need_for_null(name));
        Ok(())
    }

    /// Describes a class that a pointer to nothing could have pointed to, and all that it needs, as far as that is known.
    pub(crate) fn need_for_null(&mut self, name: &str) {
        let Some(info) = self.make(name) else { return };
        if !self.described.insert(name.to_owned()) {
            return;
        }
        for element in &info.elements {
            match element.class {
                ElementClass::Base => self.need_for_null(&element.name),
                ElementClass::BasicType | ElementClass::BasicPointer => {}
                _ => self.need_for_null(element.type_name.trim_end_matches('*')),
            }
        }
    }

    /// Makes the description of a class, and those of its bases; `None` if the class is not known.
    fn make(&mut self, name: &str) -> Option<StreamerInfo> {
        if let Some(made) = self.made.iter().find(|made| made.name == name) {
            return Some(made.clone());
        }
        let info = StreamerInfos::of_root().latest(name)?;
        self.made.push(info.clone());
        info.bases().for_each(|base| _ = self.make(&base.name));
        Some(info.clone())
    }

    /// Checks that classes can be described as these do.
    pub(super) fn check_copied(&self, infos: &StreamerInfos) -> Result<()> {
        for info in infos.iter().filter(|info| !StreamerInfos::is_of_root(&info.name)) {
            if let Some(known) = self.copied_like(info)
                && known.checksum != info.checksum
                && !has_same_members(known, info)
            {
                let what = format!(
                    "class {:?} has other members in the same version {} (checksums {:#010x} and {:#010x})",
                    info.name, info.version, known.checksum, info.checksum
                );
                return Err(Error::InvalidRequest { what });
            }
        }
        Ok(())
    }

    /// Describes classes as these do, where their version is not described yet.
    pub(super) fn copy(&mut self, infos: &StreamerInfos) {
        for info in infos.iter() {
            if self.copied_like(info).is_none() {
                self.copied_by_name.entry(info.name.clone()).or_default().push(self.copied.len());
                self.copied.push(info.clone());
            }
        }
        for rule in infos.rules() {
            if !self.copied_rules.iter().any(|known| known.text == rule.text) {
                self.copied_rules.push(rule.clone());
            }
        }
    }

    /// The copied description of the same class in the same version.
    fn copied_like(&self, info: &StreamerInfo) -> Option<&StreamerInfo> {
        let indices = self.copied_by_name.get(&info.name)?;
        indices.iter().map(|&index| &self.copied[index]).find(|known| known.version == info.version)
    }

    /// Writes the object of the record of streamer information.
    pub(super) fn write(&self, output: &mut Output) -> format::Result<()> {
        // Objects that were made, and not copied, may have another version than those of other files.
        let is_made = |info: &&StreamerInfo| self.described.contains(&info.name) && self.copied_like(info).is_none();
        let infos: Vec<StreamerInfo> = self.copied.iter().chain(self.made.iter().filter(is_made)).cloned().collect();
        let rules_of = |info: &StreamerInfo| {
            let source = format!("sourceClass=\"{}\"", info.name);
            StreamerInfos::of_root().rules().iter().filter(move |rule| rule.text.contains(&source)).cloned()
        };
        let made = infos.iter().flat_map(rules_of);
        let rules = self.copied_rules.iter().cloned().chain(made);
        let mut texts = HashSet::new();
        let rules = rules.filter(|rule| texts.insert(rule.text.clone())).collect();
        StreamerInfos::of(infos).with_rules(rules).write(output)
    }
}

/// True if a class writes itself, and is described only where a pointer needs it.
fn writes_itself(class: &str) -> bool {
    matches!(class, "TObject" | "TString" | "TList" | "THashList" | "TObjArray" | "TCollection" | "TSeqCollection")
        || class.strip_prefix("TArray").is_some_and(|kind| kind.len() <= 3)
}

/// True if objects of both are stored in the same way: the checksums of some classes of the standard library differ by writer.
fn has_same_members(one: &StreamerInfo, other: &StreamerInfo) -> bool {
    let members = |info: &StreamerInfo| -> Vec<_> {
        info.elements.iter().map(|element| (element.name.clone(), element.type_name.clone())).collect()
    };
    members(one) == members(other)
}

fn unknown(name: &str) -> Error {
    let what = format!("class {name:?} is not known: describe it first, as files written by ROOT do");
    Error::InvalidRequest { what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_that_is_written_is_described_beside_other_versions_of_other_files() {
        let root = StreamerInfos::of_root().latest("TAttLine").unwrap();
        let older = StreamerInfo { version: root.version - 1, ..root.clone() };
        let mut classes = Classes::default();
        classes.need("TAttLine").unwrap();
        for infos in [vec![older.clone()], vec![older.clone(), root.clone()]] {
            classes.copy(&StreamerInfos::of(infos));
            let mut output = Output::new(0);
            classes.write(&mut output).unwrap();
            let written = StreamerInfos::parse(&output.into_bytes(), 0).unwrap();
            let versions: Vec<u16> = written.named("TAttLine").map(|info| info.version).collect();
            assert_eq!(versions, [older.version, root.version]);
        }
    }
}
