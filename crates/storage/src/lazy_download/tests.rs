use super::*;
use crate::MemorySource;
use crate::source::AccessProfile;

const N_BYTES: usize = 100;

fn download(directory: Option<&Path>, version: Option<&str>) -> (Arc<dyn Source>, Arc<Download>) {
    let inner = MemorySource::new("far://away/f.root", vec![7; N_BYTES]);
    let version = version.map(str::to_owned);
    let source = Arc::new(crate::testing::Disguised { inner, profile: AccessProfile::LOCAL, version });
    let download = Download::new(source.as_ref(), directory, 50, None, Duration::from_secs(60));
    (source, Arc::new(download))
}

/// A store during whose reads the copy is lost, as another thread finds that it was removed.
struct Losing(Arc<dyn Source>, Arc<Download>);

impl Source for Losing {
    fn url(&self) -> &str {
        self.0.url()
    }

    fn size_bytes(&self) -> u64 {
        self.0.size_bytes()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.0.read_at(offset, buffer)?;
        if offset == 0 {
            self.1.lose();
        }
        Ok(())
    }

    fn read_vector(&self, parts: &mut [Part<'_>]) -> Result<()> {
        crate::source::read_each(self, parts)
    }

    fn access_profile(&self) -> AccessProfile {
        self.0.access_profile()
    }
}

#[test]
fn what_was_copied_is_read_from_where_it_was_copied_to() {
    let (source, download) = download(None, None);
    let losing = Arc::new(Losing(source, Arc::clone(&download)));
    let layer = LazyDownload::new(losing, download, Arc::new(Ledger::new("lazy-download", false)));
    for (offset, n_bytes) in [(0, 50), (0, 10), (50, 50)] {
        let mut buffer = vec![0; n_bytes];
        layer.read_at(offset, &mut buffer).unwrap();
        assert_eq!(buffer, vec![7; n_bytes], "{offset}");
    }
}

#[test]
fn a_copy_is_removed_by_the_process_that_opened_it_and_under_its_own_name_only() {
    for (process, is_replaced, is_left) in
        [(std::process::id() + 1, false, true), (std::process::id(), true, true), (std::process::id(), false, false)]
    {
        let directory = tempfile::tempdir().unwrap();
        let (source, download) = download(Some(directory.path()), Some("1"));
        let layer = LazyDownload::new(source, Arc::clone(&download), Arc::new(Ledger::new("lazy-download", false)));
        layer.read_at(0, &mut [0; 10]).unwrap();
        let path = directory.path().join(download.name.as_ref().unwrap());
        if is_replaced {
            std::fs::rename(&path, directory.path().join("other")).unwrap();
            std::fs::File::create(&path).unwrap();
        }
        let copy = download.lock().copy.take().unwrap();
        let mut copy = Arc::into_inner(copy).unwrap();
        copy.process = process;
        drop(copy);
        assert_eq!(path.exists(), is_left, "{process} {is_replaced}");
    }
}
