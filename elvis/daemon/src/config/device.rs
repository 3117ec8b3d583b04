//! A device of the configuration: reads it from a file, an argument or a message to the control socket, and checks all
//! three in one place.

use crate::net::{self, LinkSpec, link, parse_mac};
use crate::server::{BackingSpec, BlkSpec, DeviceSpec, KindSpec, NetSpec};
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
/// Greatest number of pairs of queues of a network device: queues of one front-end have numbers up to 255.
const MAX_PAIRS: u16 = 127;

/// A device from a file or a message to the control socket, not yet checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawDevice {
    name: Option<Spanned<String>>,
    pub(super) socket: Spanned<PathBuf>,
    /// Disk or network of the device: the one that is given decides the kind.
    image: Option<Spanned<String>>,
    net: Option<Spanned<String>>,
    readonly: Option<Spanned<bool>>,
    direct: Option<Spanned<bool>>,
    migratable: Option<Spanned<bool>>,
    registered_buffers: Option<Spanned<bool>>,
    mac: Option<Spanned<String>>,
    isolated: Option<Spanned<bool>>,
    vlan: Option<Spanned<u16>>,
    queues: Option<Spanned<u16>>,
    weight: Option<Spanned<u32>>,
    spread: Option<Spanned<bool>>,
    serial: Option<Spanned<String>>,
    requests_per_s: Option<Spanned<u64>>,
    packets_per_s: Option<Spanned<u64>>,
    bytes_per_s: Option<Spanned<u64>>,
    service_ns: Option<Spanned<u64>>,
}

/// An invalid value: its place in the text, its key, the reason.
pub(super) type Wrong = (Range<usize>, &'static str, String);

impl RawDevice {
    pub(super) fn check(&self) -> Result<DeviceSpec, Wrong> {
        let socket = self.socket.get_ref().clone();
        let bytes = socket.as_os_str().len();
        if bytes == 0 || bytes > SOCKET_PATH {
            let why = format!("a socket's path must have 1 to {SOCKET_PATH} bytes, not {bytes}");
            return Err((self.socket.span(), "socket", why));
        }
        let name = self.checked_name()?;
        let kind = match (&self.image, &self.net) {
            (Some(image), None) => KindSpec::Blk(self.blk(image, &name)?),
            (None, Some(net)) => KindSpec::Net(self.net(net)?),
            (None, None) => {
                let why = "missing; a device has an image, or a network (net)".to_owned();
                return Err((self.socket.span(), "image", why));
            }
            (Some(_), Some(net)) => {
                let why = "a device has an image or a network, not both".to_owned();
                return Err((net.span(), "net", why));
            }
        };
        let weight = within(self.weight.as_ref(), "weight", MAX_WEIGHT)?;
        // Only the limit of the device's kind can be given.
        let requests_per_s = rate(self.requests_per_s.as_ref(), "requests_per_s")?;
        let packets_per_s = rate(self.packets_per_s.as_ref(), "packets_per_s")?;
        let limit = RateLimit {
            requests_per_s: requests_per_s.or(packets_per_s),
            bytes_per_s: rate(self.bytes_per_s.as_ref(), "bytes_per_s")?,
            burst_ns: 0,
        };
        Ok(DeviceSpec {
            name,
            socket,
            kind,
            weight,
            limit,
            spread: is(self.spread.as_ref()),
        })
    }

    fn blk(&self, image: &Spanned<String>, name: &str) -> Result<BlkSpec, Wrong> {
        let others = [
            (span(&self.mac), "mac"),
            (span(&self.isolated), "isolated"),
            (span(&self.vlan), "vlan"),
            (span(&self.packets_per_s), "packets_per_s"),
        ];
        none_of(others, "a network device")?;
        Ok(BlkSpec {
            source: self.source(image)?,
            readonly: is(self.readonly.as_ref()),
            queues: within(self.queues.as_ref(), "queues", MAX_QUEUES)?,
            serial: self.checked_serial(name)?,
        })
    }

    /// Checks the options of a network device. Each option of another kind of device is an error, with its place.
    fn net(&self, net: &Spanned<String>) -> Result<NetSpec, Wrong> {
        let others = [
            (span(&self.readonly), "readonly"),
            (span(&self.direct), "direct"),
            (span(&self.migratable), "migratable"),
            (span(&self.registered_buffers), "registered_buffers"),
            (span(&self.requests_per_s), "requests_per_s"),
            (span(&self.service_ns), "service_ns"),
            (span(&self.serial), "serial"),
        ];
        none_of(others, "a block device")?;
        let backing = backing(net.get_ref()).map_err(|why| (net.span(), "net", why))?;
        let pairs = within(self.queues.as_ref(), "queues", MAX_PAIRS)?;
        let switched = matches!(backing, BackingSpec::Switch(_));
        let only = |span, key| Err((span, key, "only for a port of a switch".to_owned()));
        let mac = match &self.mac {
            Some(text) if switched => match parse_mac(text.get_ref()) {
                None => {
                    let why = "not a station's address, as in 52:54:00:12:34:56".to_owned();
                    return Err((text.span(), "mac", why));
                }
                mac => mac,
            },
            Some(text) => return only(text.span(), "mac"),
            None => None,
        };
        match (&self.isolated, &self.vlan, &self.queues) {
            (Some(flag), ..) if !switched => return only(flag.span(), "isolated"),
            (_, Some(number), _) if !switched => return only(number.span(), "vlan"),
            (.., Some(queues))
                if matches!(backing, BackingSpec::Link(LinkSpec::Interface(_))) && pairs > 1 =>
            {
                let why = "an interface has one pair of queues".to_owned();
                return Err((queues.span(), "queues", why));
            }
            _ => {}
        }
        Ok(NetSpec {
            backing,
            pairs,
            mac,
            isolated: is(self.isolated.as_ref()),
            vlan: vlan(self.vlan.as_ref())?,
        })
    }

    /// Returns the name given, or the socket's file name without its extension.
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

    /// Parses an image: `ram:SIZE`, `null:SIZE` or a file.
    fn source(&self, given: &Spanned<String>) -> Result<Source, Wrong> {
        let image = given.get_ref().as_str();
        let sized = |text: &str| size::parse(text).map_err(|why| (given.span(), "image", why));
        let source = match image.split_once(':') {
            Some(("ram", bytes)) => Source::Ram {
                bytes: sized(bytes)?,
            },
            Some(("null", bytes)) => Source::Null {
                service_ns: self.service_ns.as_ref().map_or(0, |time| *time.get_ref()),
                bytes: sized(bytes)?,
            },
            _ if image.is_empty() => {
                return Err((given.span(), "image", "it is empty".to_owned()));
            }
            _ => Source::File {
                path: image.into(),
                direct: is(self.direct.as_ref()),
                migratable: is(self.migratable.as_ref()),
                registered_buffers: is(self.registered_buffers.as_ref()),
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

    /// Returns the serial number given, or the name.
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

/// Whether a flag is given and true.
fn is(flag: Option<&Spanned<bool>>) -> bool {
    flag.is_some_and(|flag| *flag.get_ref())
}

/// Returns the place of a key, if it is given.
fn span<T>(given: &Option<Spanned<T>>) -> Option<Range<usize>> {
    given.as_ref().map(Spanned::span)
}

/// Refuses keys of the other kind of device.
fn none_of<const N: usize>(
    keys: [(Option<Range<usize>>, &'static str); N],
    whose: &str,
) -> Result<(), Wrong> {
    for (place, key) in keys {
        if let Some(place) = place {
            return Err((place, key, format!("only for {whose}")));
        }
    }
    Ok(())
}

/// Kinds of networks, and the greatest length of their names.
const NETWORKS: [(&str, usize); 3] = [
    ("tap", link::NAME),
    ("interface", link::NAME),
    ("switch", 64),
];

/// Whether a device's argument is a network: `tap:NAME`, `interface:NAME` or `switch:NAME`.
fn is_network(text: &str) -> bool {
    let kind = text.split_once(':').map_or("", |(kind, _)| kind);
    NETWORKS.iter().any(|(network, _)| *network == kind)
}

/// Reads the backing of a network device, which carries its frames.
pub(super) fn backing(text: &str) -> Result<BackingSpec, String> {
    let Some((kind, name)) = text.split_once(':').filter(|_| is_network(text)) else {
        return Err(format!(
            "{text:?} is not tap:NAME, interface:NAME or switch:NAME"
        ));
    };
    network_name(kind, name)?;
    let name = name.to_owned();
    Ok(match kind {
        "tap" => BackingSpec::Link(LinkSpec::Tap(name)),
        "interface" => BackingSpec::Link(LinkSpec::Interface(name)),
        _ => BackingSpec::Switch(name),
    })
}

/// Checks the name of a network of this kind.
pub(super) fn network_name(kind: &str, name: &str) -> Result<(), String> {
    let known = NETWORKS.iter().find(|(network, _)| *network == kind);
    let most = known.map_or(0, |(_, most)| *most);
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > most || !name.chars().all(plain) {
        return Err(format!(
            "{name:?} is not a name; use 1 to {most} of A-Z a-z 0-9 - _ ."
        ));
    }
    Ok(())
}

/// Returns the number of a VLAN; 0 if none is given.
pub(super) fn vlan(given: Option<&Spanned<u16>>) -> Result<u16, Wrong> {
    match given {
        None => Ok(0),
        given => within(given, "vlan", net::vlan::MOST),
    }
}

/// Checks a limit per second.
fn rate(given: Option<&Spanned<u64>>, key: &'static str) -> Result<Option<u64>, Wrong> {
    given
        .map(|value| {
            some(*value.get_ref(), "omit it for no limit").map_err(|why| (value.span(), key, why))
        })
        .transpose()
}

/// Checks that a limit allows something; `cure` says how to have none.
fn some(limit: u64, cure: &str) -> Result<u64, String> {
    match limit {
        0 => Err(format!("0 would allow no requests; {cure}")),
        _ => Ok(limit),
    }
}

/// Checks a weight that is changed at run time.
pub fn weight(weight: u64) -> Result<u32, String> {
    let weight = in_range(weight, MAX_WEIGHT.into()).map_err(|why| format!("weight: {why}"))?;
    Ok(u32::try_from(weight).unwrap_or(MAX_WEIGHT))
}

/// Changes limits at run time, by their names; null removes a limit. `counts` is the name of the limit on requests or
/// packets.
///
/// # Errors
///
/// A name or a value is invalid. Some limits may have changed by then.
pub fn change_limit(
    limit: &mut RateLimit,
    changes: &serde_json::Value,
    counts: &str,
) -> Result<(), String> {
    let changes = changes.as_object().filter(|changes| !changes.is_empty());
    for (name, value) in changes.ok_or("no limit is named")? {
        let new = match value.as_u64() {
            None if !value.is_null() => return Err(format!("{name}: not a number")),
            new => new.map(|limit| some(limit, "none (JSON: null) removes the limit")),
        };
        let new = new.transpose().map_err(|why| format!("{name}: {why}"))?;
        match name.as_str() {
            "bytes_per_s" => limit.bytes_per_s = new,
            name if name == counts => limit.requests_per_s = new,
            _ => {
                return Err(format!(
                    "{name}: not a limit of this device; it has {counts} and bytes_per_s"
                ));
            }
        }
    }
    Ok(())
}

/// Reads `NAME=N` and `NAME=none`, as JSON for [`change_limit`].
pub fn limits_argument(words: &[String]) -> Result<serde_json::Value, String> {
    let read = |word: &String| {
        let wrong =
            || format!("{word:?} is not LIMIT=N or LIMIT=none, as in bytes_per_s=400000000");
        let (name, value) = word.split_once('=').ok_or_else(wrong)?;
        let value = match value {
            "none" => serde_json::Value::Null,
            number => number.parse::<u64>().map_err(|_| wrong())?.into(),
        };
        Ok((name.to_owned(), value))
    };
    let limits: Result<serde_json::Map<_, _>, String> = words.iter().map(read).collect();
    limits.map(Into::into)
}

/// Checks a number from 1 to `most`; 1 if none is given.
fn within<T>(given: Option<&Spanned<T>>, key: &'static str, most: T) -> Result<T, Wrong>
where
    T: Copy + PartialOrd + Display + From<u8>,
{
    let Some(given) = given else {
        return Ok(T::from(1));
    };
    in_range(*given.get_ref(), most).map_err(|why| (given.span(), key, why))
}

/// Checks a number from 1 to `most`.
fn in_range<T>(number: T, most: T) -> Result<T, String>
where
    T: Copy + PartialOrd + Display + From<u8>,
{
    match (T::from(1)..=most).contains(&number) {
        true => Ok(number),
        false => Err(format!("{number} is not in the range 1 to {most}")),
    }
}

/// Reads a device from JSON, the format of the control socket.
pub fn device_from_json(value: serde_json::Value) -> Result<DeviceSpec, String> {
    // The device is read by way of TOML, whose spans are not used here: so one definition and one check serve both.
    let table: toml::Table = serde_json::from_value(value).map_err(|error| error.to_string())?;
    let text = toml::to_string(&table).map_err(|error| error.to_string())?;
    let raw: RawDevice = toml::from_str(&text).map_err(|error| error.message().to_owned())?;
    raw.check().map_err(|(_, key, why)| format!("{key}: {why}"))
}

/// Reads a device from `SOCKET=IMAGE[,WORD]...` or `SOCKET=NETWORK[,WORD]...`, as JSON for
/// [`device_from_json`].
pub fn device_argument(argument: &str) -> Result<serde_json::Value, String> {
    let mut words = argument.split(',');
    let disk = words.next().unwrap_or_default();
    let (socket, behind) = disk.split_once('=').ok_or_else(|| {
        format!("{disk:?} is not SOCKET=IMAGE, as in /run/vm1.sock=/var/lib/vm1.raw")
    })?;
    let mut device = serde_json::Map::new();
    device.insert("socket".to_owned(), socket.into());
    let key = if is_network(behind) { "net" } else { "image" };
    device.insert(key.to_owned(), behind.into());
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or((word, "true"));
        let value = match key {
            "readonly" | "direct" | "migratable" | "registered_buffers" | "isolated" | "spread" => {
                match value {
                    "true" => true.into(),
                    "false" => false.into(),
                    _ => return Err(format!("{word:?}: must be true or false")),
                }
            }
            "queues" | "weight" | "requests_per_s" | "packets_per_s" | "bytes_per_s"
            | "service_ns" | "vlan" => {
                let number: u64 = value.parse().map_err(|_| format!("{word:?}: bad number"))?;
                number.into()
            }
            "name" | "serial" | "mac" => value.into(),
            _ => {
                return Err(format!(
                    "{key:?} is not a device key (see docs/elvis-config.md)"
                ));
            }
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
        let KindSpec::Blk(blk) = spec.kind else {
            panic!("not a block device");
        };
        assert_eq!((blk.queues, blk.readonly), (2, true));
        let spec = device_from_json(device_argument("/a=/b,migratable").unwrap()).unwrap();
        let KindSpec::Blk(blk) = spec.kind else {
            panic!("not a block device");
        };
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

    #[test]
    fn limits_are_changed_by_their_names() {
        let changed = |words: &[&str], counts| {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            let mut limit = RateLimit {
                requests_per_s: Some(5),
                ..RateLimit::default()
            };
            change_limit(&mut limit, &limits_argument(&words)?, counts)?;
            Ok::<_, String>((limit.requests_per_s, limit.bytes_per_s))
        };
        let disk = "requests_per_s";
        assert_eq!(changed(&["bytes_per_s=9"], disk), Ok((Some(5), Some(9))));
        assert_eq!(changed(&["requests_per_s=none"], disk), Ok((None, None)));
        assert_eq!(
            changed(&["packets_per_s=7"], "packets_per_s"),
            Ok((Some(7), None))
        );
        for wrong in [
            &[][..],
            &["bytes_per_s"],
            &["bytes_per_s=x"],
            &["bytes_per_s=0"],
            &["packets_per_s=7"],
        ] {
            assert!(changed(wrong, disk).is_err(), "{wrong:?}");
        }
        assert!(weight(0).is_err() && weight(10_001).is_err() && weight(7) == Ok(7));
    }

    #[test]
    fn a_network_device_as_an_argument() {
        let spec = |argument: &str| device_from_json(device_argument(argument).unwrap());
        let net = |argument: &str| match spec(argument).unwrap().kind {
            KindSpec::Net(net) => net,
            KindSpec::Blk(_) => panic!("not a network device"),
        };
        let port = net("/run/a.sock=switch:lan,queues=2,mac=52:54:00:12:34:56,isolated,vlan=7");
        assert_eq!(port.backing, BackingSpec::Switch("lan".to_owned()));
        assert_eq!((port.pairs, port.isolated, port.vlan), (2, true, 7));
        assert_eq!(port.mac, Some([0x52, 0x54, 0, 0x12, 0x34, 0x56]));
        assert_eq!(net("/a=tap:tap0").backing.text(), "tap:tap0");
        let limit = spec("/a=tap:tap0,packets_per_s=9").unwrap().limit;
        assert_eq!(limit.requests_per_s, Some(9));
        for (wrong, why) in [
            ("/a=tap:", "net: \"\" is not a name"),
            ("/a=tap:0123456789abcdef", "net: "),
            ("/a=switch:a/b", "net: "),
            ("/a=tap:t,queues=200", "queues: "),
            ("/a=tap:t,isolated", "isolated: only for a port"),
            ("/a=tap:t,mac=52:54:00:12:34:56", "mac: only for a port"),
            ("/a=tap:t,vlan=5", "vlan: only for a port"),
            ("/a=switch:s,vlan=0", "vlan: 0 is not in the range"),
            ("/a=switch:s,vlan=4095", "vlan: 4095 is not in the range"),
            ("/a=ram:1M,vlan=5", "vlan: only for a network"),
            ("/a=switch:s,mac=ff:ff:ff:ff:ff:ff", "mac: not a station's"),
            ("/a=switch:s,readonly", "readonly: only for a block"),
            ("/a=switch:s,serial=x", "serial: only for a block"),
            (
                "/a=switch:s,requests_per_s=9",
                "requests_per_s: only for a block",
            ),
            ("/a=interface:eth0,queues=2", "queues: an interface"),
            (
                "/a=ram:1M,packets_per_s=9",
                "packets_per_s: only for a network",
            ),
            ("/a=ram:1M,mac=52:54:00:12:34:56", "mac: only for a network"),
        ] {
            let error = spec(wrong).unwrap_err();
            assert!(error.starts_with(why), "{wrong}: {error}");
        }
    }
}
