//! The HTTP and S3 stores against servers: nginx, and one that answers as a script says.

#[cfg(test)]
mod caches;
#[cfg(test)]
mod checks;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod nginx;
#[cfg(test)]
mod plain;
#[cfg(test)]
#[path = "../ports/mod.rs"]
mod ports;
#[cfg(test)]
mod redirects;
#[cfg(test)]
mod room;
#[cfg(test)]
mod s3;
#[cfg(test)]
mod scripted;
mod small;
#[cfg(test)]
mod tls;
