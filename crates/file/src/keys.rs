//! The keys of a file: one by its path, or all.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock, PoisonError};

use arrowroot_format as format;
use arrowroot_storage::{Ledger, Preloaded, Source};
use format::container::Directory;

use crate::access::{format_error, read_ranges};
use crate::error::{Error, Result, nearest, permanent};
use crate::file::File;
use crate::key::FileKey;
use crate::listing::{Fault, Listing, depth_first};
use crate::paths::{Paths, meanings};
use crate::recover::Unlisted;

/// Most bytes of class descriptions that are read before they are asked for.
const MAX_EARLY_INFO_BYTES: u32 = 256 << 10;
/// For the names that a wrong one is near to so many directories are listed: each may cost a request.
const MAX_NEAR_DIRECTORIES: usize = 100;

/// All keys of a file.
pub(crate) struct Keys {
    entries: Vec<FileKey>,
    /// Made when a path is asked for.
    paths: OnceLock<Paths>,
    /// Indices of the keys directly in a directory, by its path. Made when a directory is asked for.
    by_directory: OnceLock<HashMap<String, Vec<usize>>>,
    /// Some were found by walking the records.
    were_walked: bool,
    /// What cannot be read of the directories and their lists.
    fault: Option<Fault>,
}

impl Keys {
    fn new(entries: Vec<FileKey>, were_walked: bool, fault: Option<Fault>) -> Keys {
        Keys { entries, paths: OnceLock::new(), by_directory: OnceLock::new(), were_walked, fault }
    }

    fn by_directory(&self) -> &HashMap<String, Vec<usize>> {
        self.by_directory.get_or_init(|| {
            let mut indices: HashMap<String, Vec<usize>> = HashMap::new();
            for (index, entry) in self.entries.iter().enumerate() {
                match indices.get_mut(&entry.directory) {
                    Some(known) => known.push(index),
                    None => drop(indices.insert(entry.directory.clone(), vec![index])),
                }
            }
            indices
        })
    }

    fn paths(&self) -> &Paths {
        self.paths.get_or_init(|| Paths::of(&self.entries))
    }
}

impl File {
    /// Whether keys were found by walking the records: there is no key list, not written or lost with the end of the file, or
    /// the file was not closed after more had been written than the key lists say.
    pub fn was_recovered(&self) -> bool {
        match &self.inner.root_directory {
            None => true,
            // An error comes again when somebody asks for keys.
            Some(_) => self.all_keys().is_ok_and(|keys| keys.were_walked),
        }
    }

    /// What was recovered and why, if it is known already or can be known by the file's size: a file that looks whole is not
    /// read for that.
    ///
    /// Of one that is cut short the size tells: see [`File::missing_bytes`].
    pub fn recovery(&self) -> Option<String> {
        let keys = match self.inner.keys.get() {
            Some(keys) => keys,
            None if self.is_recovery_due() => self.all_keys().ok()?,
            None => return None,
        };
        let how = "its keys were found by walking its records";
        match &keys.fault {
            Some((name, error)) => Some(format!("damaged, {how}: {name}: {error}")),
            None if keys.were_walked => Some(match self.inner.root_directory {
                None => format!("the file was not closed, and has no key list: {how}"),
                Some(_) => format!("the file was not closed after more was written to it: {how}"),
            }),
            None => None,
        }
    }

    /// Whether [`File::recovery`] reads.
    pub fn is_recovery_due(&self) -> bool {
        let looks_whole = self.inner.root_directory.is_some() && !self.is_longer();
        !looks_whole && self.missing_bytes() == 0 && self.inner.keys.get().is_none()
    }

    /// Whether a file of full length is known to have been left, or to be, in the middle of writing.
    pub fn was_not_closed(&self) -> bool {
        let was_walked = self.inner.keys.get().is_some_and(|keys| keys.were_walked && keys.fault.is_none());
        self.missing_bytes() == 0 && (self.is_longer() || was_walked)
    }

    /// What is wrong with the directories of a file of full length or their key lists, if that is known: keys may be lost.
    pub fn damage(&self) -> Option<String> {
        let (name, error) = self.inner.keys.get()?.fault.as_ref()?;
        Some(format!("{name}: {error}"))
    }

    /// All keys of all directories, in the order of the file; directories before what is in them.
    ///
    /// # Errors
    /// [`Error::Format`] if a key list cannot be read.
    pub fn keys(&self) -> Result<&[FileKey]> {
        Ok(&self.all_keys()?.entries)
    }

    /// The keys directly in a directory, in the order of the file. Its path ends in a slash, or is empty for the root's.
    ///
    /// # Errors
    /// As [`File::keys`].
    pub fn keys_in(&self, directory: &str) -> Result<Vec<&FileKey>> {
        let keys = self.all_keys()?;
        let indices = keys.by_directory().get(directory).map(Vec::as_slice).unwrap_or_default();
        Ok(indices.iter().map(|&index| &keys.entries[index]).collect())
    }

    /// The key of a path such as `"dir/name"` or `"name;2"`; the highest cycle if none is given. Only the directories that the
    /// path names are listed.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the nearest paths among [`File::known_keys`]; [`Error::Format`] if a key list on the way cannot
    /// be read.
    pub fn find(&self, path: &str) -> Result<FileKey> {
        if let Some(entry) = self.found(path)? {
            return Ok(entry);
        }
        let known = self.known_keys()?;
        // Among them may be directories without a list: then the records are walked.
        if let Some(entry) = self.found(path)? {
            return Ok(entry);
        }
        let paths: Vec<String> = known.iter().map(FileKey::path).collect();
        let wanted = meanings(path.trim_start_matches('/')).next().map_or(path, |(bare, _)| bare);
        let near = nearest(wanted, paths.iter().map(String::as_str));
        Err(Error::NotFound { url: self.url().to_owned(), kind: "object", name: path.to_owned(), near })
    }

    /// As [`File::find`]; `None` if no key has the path.
    ///
    /// # Errors
    /// [`Error::Format`] if a key list on the way cannot be read.
    pub fn found(&self, path: &str) -> Result<Option<FileKey>> {
        let Some(root) = self.root_of_unwalked() else {
            let keys = self.all_keys()?;
            let at = |index: usize| &keys.entries[index];
            let index = meanings(path).find_map(|(bare, cycle)| keys.paths().find(bare, cycle, at));
            return Ok(index.map(|index| at(index).clone()));
        };
        let listed = self.with_listing(root, |listing, source| {
            for (bare, cycle) in meanings(path) {
                listing.list_around(source, bare)?;
                if listing.n_without_list() > 0 {
                    return Ok(None);
                }
                if let Some(index) = listing.find(bare, cycle) {
                    return listing.entry(source, index).map(|entry| Some(Some(entry)));
                }
            }
            Ok(Some(None))
        })?;
        match listed {
            Some(found) => Ok(found),
            None => self.all_keys().and_then(|_| self.found(path)),
        }
    }

    /// Keys for those who look for a name that is not there: those known already, and those of so many more directories as is
    /// worth it.
    ///
    /// # Errors
    /// [`Error::Storage`] if they cannot be read now.
    pub fn known_keys(&self) -> Result<Vec<FileKey>> {
        let Some(root) = self.root_of_unwalked() else { return self.keys().map(<[FileKey]>::to_vec) };
        let known = self.with_listing(root, |listing, source| {
            // A directory that cannot be read is not what was asked for.
            let _ = permanent(listing.list_more(source, MAX_NEAR_DIRECTORIES))?;
            Ok((listing.n_without_list() == 0).then(|| listing.known().cloned().collect()))
        })?;
        known.map_or_else(|| self.keys().map(<[FileKey]>::to_vec), Ok)
    }

    fn all_keys(&self) -> Result<&Keys> {
        if let Some(keys) = self.inner.keys.get() {
            return Ok(keys);
        }
        let keys = match &self.inner.root_directory {
            Some(root) => match self.listed_keys(root) {
                Err(error) if error.is_damage() => self.elsewhere("key lists", error, File::whole_keys)?,
                listed => listed?,
            },
            None => {
                let fault = self.inner.root_fault.clone().filter(|_| self.missing_bytes() == 0);
                Keys::new(self.recover(&[], fault.as_ref())?, true, fault)
            }
        };
        Ok(self.inner.keys.get_or_init(|| keys))
    }

    /// The keys, if the lists can be read.
    fn whole_keys(&self) -> Result<Keys> {
        let keys = self.all_keys()?;
        match &keys.fault {
            Some((name, error)) => Err(format_error(self.source().as_ref(), name, error.clone())),
            None => Ok(Keys::new(keys.entries.clone(), keys.were_walked, None)),
        }
    }

    fn listed_keys(&self, root: &Directory) -> Result<Keys> {
        let mut listed = self.with_listing(root, |listing, source| {
            listing.list_more(source, usize::MAX)?;
            Ok(std::mem::take(listing).in_order())
        })?;
        if let Some((name, error)) = listed.fault.take() {
            // Another replica has what a walk of the records may not find.
            let error = format_error(self.source().as_ref(), &name, error);
            match permanent(self.elsewhere(&name, error, File::whole_keys))? {
                Ok(keys) => return Ok(keys),
                Err(error) => listed.fault = Some((name, error)),
            }
        }
        Ok(match self.unlisted(root, &listed)? {
            Unlisted::Nothing => Keys::new(listed.entries, false, None),
            Unlisted::Later(later) => Keys::new(depth_first([listed.entries, later].concat()), true, None),
            Unlisted::Everything(entries) => Keys::new(entries, true, listed.fault),
        })
    }

    /// The root directory, if key lists tell what there is, and they have not all been read.
    fn root_of_unwalked(&self) -> Option<&Directory> {
        let root = self.inner.root_directory.as_ref()?;
        (self.inner.keys.get().is_none() && !self.is_longer()).then_some(root)
    }

    /// Looks into what is known of the key lists, that of the root directory at least.
    fn with_listing<T>(
        &self,
        root: &Directory,
        look: impl FnOnce(&mut Listing, &dyn Source) -> Result<T>,
    ) -> Result<T> {
        let mut listing = self.inner.listing.lock().unwrap_or_else(PoisonError::into_inner);
        let source = self.source().as_ref();
        if !listing.has_root() {
            match self.read_with_infos(root)? {
                Some(known) => listing.list_root(&known, root)?,
                None => listing.list_root(source, root)?,
            }
        }
        look(&mut listing, source)
    }

    /// Where the key list is far away, it is read together with the descriptions of the classes, which most columns ask for
    /// next: they would cost a round trip of their own. `None` if there is nothing to gain.
    fn read_with_infos(&self, root: &Directory) -> Result<Option<Preloaded>> {
        let header = self.header();
        let infos = header.seek_info..header.seek_info.saturating_add(u64::from(header.n_bytes_info));
        let list = root.seek_keys..root.seek_keys.saturating_add(u64::from(root.n_bytes_keys));
        let is_here = |range: &Range<u64>| self.stack().holds(range.start, range.end - range.start);
        let is_worth_it = self.source().access_profile().is_remote
            && header.has_streamer_info()
            && header.n_bytes_info <= MAX_EARLY_INFO_BYTES
            && infos.end.max(list.end) <= self.size_bytes()
            && !is_here(&list)
            && !is_here(&infos);
        if !is_worth_it {
            return Ok(None);
        }
        let starts = [list.start, infos.start];
        let records = read_ranges(self.source().as_ref(), &[list, infos])?;
        if let Some(infos) = records.last() {
            let _ = self.inner.info_record.set(infos.clone()); // another thread has read the same
        }
        let pieces = starts.into_iter().zip(records).collect();
        Ok(Some(Preloaded::new(Arc::clone(self.source()), pieces, Arc::new(Ledger::new("records", false)))))
    }
}
