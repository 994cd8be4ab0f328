//! Sessions of TLS.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::failure::Failure;
use crate::http::credentials::Credentials;

/// What connections need that were made of late, the last one first: reading all authorities takes long, and who has a
/// session with a server goes on with it only by the same configuration. Credentials whose files were renewed are others.
static CONFIGURATIONS: Mutex<VecDeque<(Credentials, Arc<ClientConfig>)>> = Mutex::new(VecDeque::new());
const MAX_CONFIGURATIONS: usize = 8;

/// What connections need on which these credentials are shown.
pub(crate) fn configuration(credentials: &Credentials) -> Result<Arc<ClientConfig>, Failure> {
    let configurations = || CONFIGURATIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = configurations().iter().find(|(known, _)| known == credentials).map(|(_, made)| Arc::clone(made));
    let made = match known {
        Some(known) => known,
        None => credentials.tls().map_err(|error| Failure::Unable(Box::new(error)))?,
    };
    let mut configurations = configurations();
    configurations.retain(|(known, _)| known != credentials);
    configurations.push_front((credentials.clone(), Arc::clone(&made)));
    configurations.truncate(MAX_CONFIGURATIONS);
    Ok(made)
}

/// A session to begin with the server of that name or address.
pub(crate) fn session(configuration: &Arc<ClientConfig>, host: &str) -> Result<ClientConnection, Failure> {
    let failed = |what: String| Failure::Broken(format!("TLS: {what}"));
    let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(error.to_string()))?;
    ClientConnection::new(Arc::clone(configuration), name).map_err(|error| failed(error.to_string()))
}
