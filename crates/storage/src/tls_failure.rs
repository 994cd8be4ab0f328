//! What failures of encryption mean.

/// What the user can do about a connection that did not become secure; `None` where something else is wrong.
pub(crate) fn hint(error: &rustls::Error) -> Option<&'static str> {
    match error {
        rustls::Error::InvalidCertificate(_) => {
            Some("if you trust the server, name its authority (option authorities, X509_CERT_DIR)")
        }
        rustls::Error::InvalidMessage(_) => {
            Some("perhaps the server speaks no TLS at this port (http:// and root:// are without)")
        }
        _ => None,
    }
}

/// Whether the server refuses who is asking. Anything else may be of the moment, or of the server.
pub(crate) fn is_refusal(error: &rustls::Error) -> bool {
    use rustls::AlertDescription as Alert;
    matches!(
        error,
        rustls::Error::AlertReceived(
            Alert::AccessDenied
                | Alert::BadCertificate
                | Alert::CertificateExpired
                | Alert::CertificateRequired
                | Alert::CertificateRevoked
                | Alert::CertificateUnknown
                | Alert::NoCertificate
                | Alert::UnknownCA
                | Alert::UnsupportedCertificate
                // Of TLS 1.2 from who wants a certificate and gets none.
                | Alert::HandshakeFailure
        )
    )
}

/// The error of TLS in one of a stream.
pub(crate) fn of_io(error: &std::io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}
