//! The networks of a proxy that does TLS in front of the server (TEAM-WHO-4).

use std::{fmt, net::IpAddr, str::FromStr};

/// A network, such as `10.0.0.0/8`, or one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyNetwork {
    address: IpAddr,
    /// How many of its first bits count.
    bits: u8,
}

/// A string that is not a network.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a network: write ADDRESS/BITS or an address, for example 10.0.0.0/8")]
pub struct NotANetwork(String);

impl FromStr for ProxyNetwork {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        let wrong = || NotANetwork(text.to_owned());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(wrong)?,
            None => most,
        };
        let network = Self { address, bits };
        // A digit after the network's bits is a slip that would trust more than is written.
        if network.masked(address) == numbers(address) { Ok(network) } else { Err(wrong()) }
    }
}

impl fmt::Display for ProxyNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.bits)
    }
}

impl ProxyNetwork {
    /// Whether an address is in it.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.address.is_ipv4() && self.masked(address) == numbers(self.address)
    }

    /// The bits of an address that count.
    fn masked(&self, address: IpAddr) -> u128 {
        // Both kinds of addresses have their bits at the top.
        let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
        numbers(address) & mask
    }
}

fn numbers(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::ProxyNetwork;

    fn contains(network: &str, address: &str) -> bool {
        network.parse::<ProxyNetwork>().unwrap().contains(address.parse().unwrap())
    }

    #[test]
    fn a_network_has_the_addresses_with_its_first_bits() {
        for (network, address) in [
            ("10.0.0.0/8", "10.255.0.1"),
            ("10.0.0.0/8", "::ffff:10.0.0.1"),
            ("192.0.2.7", "192.0.2.7"),
            ("0.0.0.0/0", "203.0.113.9"),
            ("2001:db8::/32", "2001:db8:1::1"),
            ("::/0", "2001:db8::1"),
        ] {
            assert!(contains(network, address), "{network} {address}");
        }
        for (network, address) in [
            ("10.0.0.0/8", "11.0.0.1"),
            ("192.0.2.7", "192.0.2.8"),
            ("0.0.0.0/0", "2001:db8::1"),
            ("::/0", "10.0.0.1"),
            ("2001:db8::/32", "2001:db9::1"),
        ] {
            assert!(!contains(network, address), "{network} {address}");
        }
    }

    #[test]
    fn slips_are_refused() {
        for text in ["", "10.0.0.0/33", "10.0.0.1/8", "10.0.0/8", "host/8", "::1/129", "10.0.0.0/"]
        {
            assert!(text.parse::<ProxyNetwork>().is_err(), "{text}");
        }
    }
}
