//! Address at which the counters can be read.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Address at which the counters can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A port of the loopback interface.
    Loopback(SocketAddr),
    /// A unix socket.
    Socket(PathBuf),
}

/// Reads `127.0.0.1:PORT`, `[::1]:PORT`, or a path with a `/`.
impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('/') {
            return Ok(Self::Socket(text.into()));
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self::Loopback(address)),
            Ok(address) => Err(format!(
                "{address} is not on the loopback interface; use 127.0.0.1:PORT or a unix socket"
            )),
            Err(_) => Err(format!(
                "{text:?} is not 127.0.0.1:PORT or the path of a unix socket"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_near() {
        assert!(matches!(
            "127.0.0.1:9100".parse(),
            Ok(Endpoint::Loopback(_))
        ));
        assert!(matches!("[::1]:9100".parse(), Ok(Endpoint::Loopback(_))));
        assert!(matches!("/run/m".parse(), Ok(Endpoint::Socket(_))));
        for wrong in ["", "9100", "0.0.0.0:9100", "192.0.2.1:80", "localhost"] {
            assert!(wrong.parse::<Endpoint>().is_err(), "{wrong}");
        }
    }
}
