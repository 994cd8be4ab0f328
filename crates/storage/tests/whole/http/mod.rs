//! The HTTP and S3 stores against servers: nginx, and one that answers as a script says.

mod caches;
mod checks;
mod faults;
mod nginx;
mod plain;
mod redirects;
mod room;
mod s3;
pub(crate) mod scripted;
mod small;
mod tls;
