//! An uplink of the configuration: reads it from a file or an argument, and checks both in one place.

use super::device::{self, Wrong, backing, vlan};
use crate::net::UplinkSpec;
use crate::server::BackingSpec;
use serde::Deserialize;
use toml::Spanned;

/// An uplink from a file, not yet checked.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawUplink {
    pub(super) switch: Spanned<String>,
    net: Spanned<String>,
    vlan: Option<Spanned<u16>>,
}

impl RawUplink {
    pub(super) fn check(&self) -> Result<UplinkSpec, Wrong> {
        let (switch, net) = (self.switch.get_ref(), self.net.get_ref());
        let wrong = |why| (self.switch.span(), "switch", why);
        device::network_name("switch", switch).map_err(wrong)?;
        let wrong = |why| (self.net.span(), "net", why);
        let not_one = || format!("{net:?} is not tap:NAME or interface:NAME");
        if !["tap:", "interface:"]
            .iter()
            .any(|kind| net.starts_with(kind))
        {
            return Err(wrong(not_one()));
        }
        match backing(net).map_err(wrong)? {
            BackingSpec::Link(link) => Ok(UplinkSpec {
                switch: switch.clone(),
                link,
                vlan: vlan(self.vlan.as_ref())?,
            }),
            BackingSpec::Switch(_) => Err(wrong(not_one())),
        }
    }
}

/// Reads an uplink from `SWITCH=NETWORK[,vlan=N]`.
pub fn uplink_argument(argument: &str) -> Result<UplinkSpec, String> {
    let mut words = argument.split(',');
    let first = words.next().unwrap_or_default();
    let (switch, net) = first
        .split_once('=')
        .ok_or_else(|| format!("{first:?} is not SWITCH=NETWORK, as in lan=tap:tap0"))?;
    let mut table = toml::Table::new();
    table.insert("switch".to_owned(), switch.into());
    table.insert("net".to_owned(), net.into());
    for word in words {
        match word.split_once('=') {
            Some(("vlan", number)) => {
                let number: u16 = number
                    .parse()
                    .map_err(|_| format!("{word:?}: bad number"))?;
                table.insert("vlan".to_owned(), i64::from(number).into());
            }
            _ => return Err(format!("{word:?} is not vlan=N")),
        }
    }
    // By way of TOML, as for devices.
    let text = toml::to_string(&table).map_err(|error| error.to_string())?;
    let raw: RawUplink = toml::from_str(&text).map_err(|error| error.message().to_owned())?;
    raw.check().map_err(|(_, key, why)| format!("{key}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::LinkSpec;

    #[test]
    fn an_uplink_as_an_argument() {
        let tap = uplink_argument("lan=tap:tap0").unwrap();
        assert_eq!((tap.name().as_str(), tap.vlan), ("lan=tap:tap0", 0));
        let eth = uplink_argument("a.b=interface:eth0,vlan=4094").unwrap();
        assert_eq!((eth.switch.as_str(), eth.vlan), ("a.b", 4094));
        assert_eq!(eth.link, LinkSpec::Interface("eth0".to_owned()));
        for (wrong, why) in [
            ("lan", "\"lan\" is not SWITCH=NETWORK"),
            (
                "lan=switch:b",
                "net: \"switch:b\" is not tap:NAME or interface:NAME",
            ),
            (
                "lan=udp:eth0",
                "net: \"udp:eth0\" is not tap:NAME or interface:NAME",
            ),
            (
                "lan=eth0",
                "net: \"eth0\" is not tap:NAME or interface:NAME",
            ),
            ("=tap:tap0", "switch: \"\" is not a name"),
            (
                "lan=tap:tap0,vlan=0",
                "vlan: 0 is not in the range 1 to 4094",
            ),
            ("lan=tap:tap0,vlan=4095", "vlan: 4095 is not"),
            ("lan=tap:tap0,vlan=x", "\"vlan=x\": bad number"),
            ("lan=tap:tap0,mac=x", "\"mac=x\" is not vlan=N"),
        ] {
            let error = uplink_argument(wrong).unwrap_err();
            assert!(error.starts_with(why), "{wrong}: {error}");
        }
    }
}
