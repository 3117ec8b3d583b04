//! A device of the configuration: reads it from a file, an argument or a message to the control socket,
//! and checks it in one place for all three.

use crate::server::{BlkSpec, DeviceSpec, KindSpec};
use crate::size;
use crate::storage::Source;
use elvis_policy::{MAX_WEIGHT, RateLimit};
use serde::Deserialize;
use std::fmt::Display;
use std::ops::Range;
use std::path::PathBuf;
use toml::Spanned;

/// Greatest length of a socket's path (unix(7)).
const SOCKET_PATH: usize = 107;
/// Greatest `service_ns` of a null disk.
const LONGEST_SERVICE_NS: u64 = 1_000_000;
/// Greatest number of queues of a device.
const MAX_QUEUES: u16 = 256;

/// A device from a file or a message to the control socket, not yet checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawDevice {
    name: Option<Spanned<String>>,
    pub(super) socket: Spanned<PathBuf>,
    image: Spanned<String>,
    #[serde(default)]
    readonly: bool,
    #[serde(default)]
    direct: bool,
    #[serde(default)]
    migratable: bool,
    #[serde(default)]
    registered_buffers: bool,
    queues: Option<Spanned<u16>>,
    weight: Option<Spanned<u32>>,
    serial: Option<Spanned<String>>,
    requests_per_s: Option<Spanned<u64>>,
    bytes_per_s: Option<Spanned<u64>>,
    service_ns: Option<Spanned<u64>>,
}

/// An invalid value: its place in the text, its key, the reason.
type Wrong = (Range<usize>, &'static str, String);

impl RawDevice {
    pub(super) fn check(&self) -> Result<DeviceSpec, Wrong> {
        let socket = self.socket.get_ref().clone();
        let bytes = socket.as_os_str().len();
        if bytes == 0 || bytes > SOCKET_PATH {
            let why = format!("a socket's path must have 1 to {SOCKET_PATH} bytes, not {bytes}");
            return Err((self.socket.span(), "socket", why));
        }
        let name = self.checked_name()?;
        let source = self.source()?;
        let queues = within(self.queues.as_ref(), "queues", MAX_QUEUES)?;
        let weight = within(self.weight.as_ref(), "weight", MAX_WEIGHT)?;
        let serial = self.checked_serial(&name)?;
        let limit = RateLimit {
            requests_per_s: rate(self.requests_per_s.as_ref(), "requests_per_s")?,
            bytes_per_s: rate(self.bytes_per_s.as_ref(), "bytes_per_s")?,
            burst_ns: 0,
        };
        Ok(DeviceSpec {
            name,
            socket,
            kind: KindSpec::Blk(BlkSpec {
                source,
                readonly: self.readonly,
                queues,
                serial,
            }),
            weight,
            limit,
        })
    }

    /// The name given, or the socket's file name without its extension.
    fn checked_name(&self) -> Result<String, Wrong> {
        let stem = self.socket.get_ref().file_stem();
        let name = match &self.name {
            Some(name) => name.get_ref().clone(),
            None => stem.map_or(String::new(), |stem| stem.to_string_lossy().into_owned()),
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
        if !name.is_empty() && name.len() <= 64 && name.chars().all(plain) {
            return Ok(name);
        }
        let span = self.name.as_ref().map_or(self.socket.span(), Spanned::span);
        let why = format!("{name:?} is not a name; use 1 to 64 of A-Z a-z 0-9 - _ . :");
        Err((span, "name", why))
    }

    fn source(&self) -> Result<Source, Wrong> {
        let image = self.image.get_ref().as_str();
        let sized = |text: &str| size::parse(text).map_err(|why| (self.image.span(), "image", why));
        let source = match image.split_once(':') {
            Some(("ram", bytes)) => Source::Ram {
                bytes: sized(bytes)?,
            },
            Some(("null", bytes)) => Source::Null {
                service_ns: self.service_ns.as_ref().map_or(0, |time| *time.get_ref()),
                bytes: sized(bytes)?,
            },
            _ if image.is_empty() => {
                return Err((self.image.span(), "image", "it is empty".to_owned()));
            }
            _ => Source::File {
                path: image.into(),
                direct: self.direct,
                migratable: self.migratable,
                registered_buffers: self.registered_buffers,
            },
        };
        let Some(time) = &self.service_ns else {
            return Ok(source);
        };
        let why = match source {
            Source::Null { service_ns, .. } if service_ns <= LONGEST_SERVICE_NS => {
                return Ok(source);
            }
            Source::Null { .. } => format!("must be at most {LONGEST_SERVICE_NS}"),
            _ => "only a null disk has a time per request".to_owned(),
        };
        Err((time.span(), "service_ns", why))
    }

    /// The serial number given, or the name.
    fn checked_serial(&self, name: &str) -> Result<String, Wrong> {
        let Some(given) = &self.serial else {
            return Ok(name.to_owned());
        };
        let serial = given.get_ref().clone();
        if serial.len() <= crate::blk::ID && serial.is_ascii() {
            return Ok(serial);
        }
        let why = "a serial number must be ASCII, at most 20 bytes".to_owned();
        Err((given.span(), "serial", why))
    }
}

/// A limit per second.
fn rate(given: Option<&Spanned<u64>>, key: &'static str) -> Result<Option<u64>, Wrong> {
    match given {
        Some(value) if *value.get_ref() == 0 => {
            let why = "0 would allow no requests; omit it for no limit".to_owned();
            Err((value.span(), key, why))
        }
        value => Ok(value.map(|value| *value.get_ref())),
    }
}

/// A number from 1 to `most`; 1 if none is given.
fn within<T>(given: Option<&Spanned<T>>, key: &'static str, most: T) -> Result<T, Wrong>
where
    T: Copy + PartialOrd + Display + From<u8>,
{
    let Some(given) = given else {
        return Ok(T::from(1));
    };
    let number = *given.get_ref();
    if (T::from(1)..=most).contains(&number) {
        return Ok(number);
    }
    Err((
        given.span(),
        key,
        format!("{number} is not in the range 1 to {most}"),
    ))
}

/// Reads a device from JSON, the format of the control socket.
///
/// # Errors
///
/// The key and the reason.
pub fn device_from_json(value: serde_json::Value) -> Result<DeviceSpec, String> {
    // By way of TOML, whose spans are not used here: so one definition and one check serve both.
    let table: toml::Table = serde_json::from_value(value).map_err(|error| error.to_string())?;
    let text = toml::to_string(&table).map_err(|error| error.to_string())?;
    let raw: RawDevice = toml::from_str(&text).map_err(|error| error.message().to_owned())?;
    raw.check().map_err(|(_, key, why)| format!("{key}: {why}"))
}

/// Reads a device from `SOCKET=IMAGE[,readonly][,direct][,migratable][,KEY=VALUE]...`, as JSON for
/// [`device_from_json`].
///
/// # Errors
///
/// What is wrong.
pub fn device_argument(argument: &str) -> Result<serde_json::Value, String> {
    let mut words = argument.split(',');
    let disk = words.next().unwrap_or_default();
    let (socket, image) = disk.split_once('=').ok_or_else(|| {
        format!("{disk:?} is not SOCKET=IMAGE, as in /run/vm1.sock=/var/lib/vm1.raw")
    })?;
    let mut device = serde_json::Map::new();
    device.insert("socket".to_owned(), socket.into());
    device.insert("image".to_owned(), image.into());
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, "true"));
        let value = match key {
            "readonly" | "direct" | "migratable" | "registered_buffers" => match value {
                "true" => true.into(),
                "false" => false.into(),
                _ => return Err(format!("{word:?}: must be true or false")),
            },
            "queues" | "weight" | "requests_per_s" | "bytes_per_s" | "service_ns" => {
                let number: u64 = value.parse().map_err(|_| format!("{word:?}: bad number"))?;
                number.into()
            }
            "name" | "serial" => value.into(),
            _ => return Err(format!("{key:?} is not a device key (see docs/elvis.md)")),
        };
        device.insert(key.to_owned(), value);
    }
    Ok(device.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_as_an_argument() {
        let argument = "/run/a.sock=/img,readonly,queues=2,weight=7,name=x";
        let spec = device_from_json(device_argument(argument).unwrap()).unwrap();
        assert_eq!((spec.name.as_str(), spec.weight), ("x", 7));
        let KindSpec::Blk(blk) = spec.kind;
        assert_eq!((blk.queues, blk.readonly), (2, true));
        let spec = device_from_json(device_argument("/a=/b,migratable").unwrap()).unwrap();
        let KindSpec::Blk(blk) = spec.kind;
        assert!(matches!(
            blk.source,
            Source::File {
                migratable: true,
                ..
            }
        ));
        assert!(device_argument("/run/a.sock").is_err());
        assert!(device_argument("/a=/b,fast").is_err());
        assert!(device_from_json(device_argument("/a=/b,queues=0").unwrap()).is_err());
    }
}
