//! stub
use crate::error::Result;
use crate::file::FileWriter;
impl super::TreeFormat {
    pub(super) fn write_record(&self, _file: &FileWriter) -> Result<()> {
        Ok(())
    }
}
